"""Tables of named things that are imported when used.

An entry is "package.module:attribute", so that a table costs nothing until a member is asked for. A user's own
things need no entry: they are named as "package.module:attribute" directly, or come from an entry point.
"""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Iterator, Mapping
from importlib import metadata
from types import ModuleType
from typing import Any

from bedplate.core.errors import BedplateError, UnknownName


class Registry:
    """A table from names to lazily imported objects.

    Args:
        kind: what the members are, such as "task"; used in messages.
        table: name -> "package.module:attribute".
        entry_points: group under which other packages add members, such as "bedplate.tasks".
    """

    def __init__(self, kind: str, table: Mapping[str, str], entry_points: str = "") -> None:
        self.kind = kind
        self.table = dict(table)
        self.entry_points = entry_points

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self.table, *self._from_entry_points()}))

    def __contains__(self, name: str) -> bool:
        return name in self.table or name in self._from_entry_points()

    def load(self, name: str) -> Any:
        """Import the member called `name`, or the object at "package.module:attribute".

        Raises:
            UnknownName: no member has that name.
            BedplateError: the module or attribute cannot be imported.
        """
        target = self.table.get(name) or self._from_entry_points().get(name)
        if target is None and ":" in name:
            target = name
        if target is None:
            raise UnknownName(self.kind, name, self)
        return load_attribute(target, self.kind)

    def _from_entry_points(self) -> dict[str, str]:
        if not self.entry_points:
            return {}
        return {point.name: point.value for point in metadata.entry_points(group=self.entry_points)}


def load_attribute(target: str, kind: str = "object") -> Any:
    """Import "package.module:attribute".

    Raises:
        BedplateError: the text has another form, or the import fails; says which part and why.
    """
    module_name, _, attribute = target.partition(":")
    if not module_name or not attribute:
        raise BedplateError(
            f"{kind} {target!r} has no attribute part", "package.module:attribute", "name the object after a colon"
        )
    if not all(part.isidentifier() for part in [*module_name.split("."), *attribute.split(".")]):
        raise BedplateError(
            f"{kind} {target!r} is no name of a Python object",
            "package.module:attribute",
            "write the module as in an import statement, with dots and without .py",
        )
    if module_name == "__main__":
        raise BedplateError(
            f"{kind} {target!r} lives in __main__",
            "an importable module: worker processes cannot import __main__",
            "move it into a module file and name it as package.module:attribute",
        )
    module = _import(module_name, f"{kind} {target!r}")
    try:
        return getattr(module, attribute)
    except AttributeError:
        known = [name for name in vars(module) if not name.startswith("_")]
        raise UnknownName(f"attribute of {module_name}", attribute, known) from None


def _import(module_name: str, wanted_by: str) -> ModuleType:
    """Import a module of ours or of a site, and say in one message what went wrong.

    Raises:
        BedplateError: the module is absent, needs one that is absent, or raises when it is imported.
    """
    found = f"cannot import {module_name!r} for {wanted_by}"
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        # the module itself is absent, or one that it needs
        absent = error.name or ""
        if module_name == absent or module_name.startswith(f"{absent}."):
            next_step = f"run from the folder that holds {module_name.split('.')[0]!r}, or pip install it"
        else:
            next_step = f"pip install {absent.split('.')[0]}, or the Bedplate extra that brings it"
        raise BedplateError(f"{found}: {error}", "an importable module", next_step) from error
    except Exception as error:
        # our own modules import; a site's module that raises is the site's to mend, and the line says where
        if module_name.startswith("bedplate."):
            raise
        where = raised_at(error)
        raise BedplateError(f"{found}: {type(error).__name__}: {error}", "a module that imports", where) from error


def raised_at(error: Exception) -> str:
    """The advice for an error in a site's module: file and line to mend."""
    if isinstance(error, SyntaxError):
        return f"mend {error.filename}, line {error.lineno}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"mend {frame.filename}, line {frame.lineno}"
