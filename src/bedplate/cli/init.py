"""`bedplate init DIR`: a working site project whose code lives in the user's own package."""

from __future__ import annotations

import keyword
import os
import re
import shlex
import shutil
import sys
from importlib import util
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from bedplate import __version__
from bedplate.cli import render
from bedplate.core.errors import BedplateError, StorageError
from bedplate.core.files import storage_error, write_text

TEMPLATES = Path(__file__).parent / "templates" / "site"
SUFFIX = ".tmpl"


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New or empty folder.")],
    name: Annotated[str, typer.Option(help="Name of the Python package; made from DIR's name when not given.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Write a working site project into DIR: one task, one recipe, one test.

    Raises:
        BedplateError: DIR holds something already, or the package's name cannot be used.
        StorageError: DIR cannot be written.
    """
    package = checked_name(name) if name else package_name(folder.resolve().name)
    written = write_site(folder, package)
    if as_json:
        render.show_json({"schema": render.SCHEMA, "folder": folder, "package": package, "files": written})
        return
    render.show_table(f"site project in {folder}", ("file", "what it is"), [(path, _about(path)) for path in written])
    if not name and package != folder.resolve().name:
        render.show_note(f"the Python package is called {package}; --name gives it another name")
    render.show_note(
        f"next: cd {shlex.quote(str(folder))} && python -m pytest && bedplate tasks check {package}.task:cart"
    )
    render.show_note("then: bedplate train recipes/cart.yaml --name first")


def write_site(folder: Path, package: str) -> list[str]:
    """Fill the templates into `folder`, all of them or none.

    Args:
        folder: absent or empty.
        package: a valid package name.

    Returns:
        The files' paths relative to `folder`.

    Raises:
        BedplateError: `folder` holds something already.
        StorageError: it cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise BedplateError(f"{folder} is a file", "a new or empty folder", "name another folder")
    if folder.exists() and any(folder.iterdir()):
        raise BedplateError(
            f"{folder} is not empty", "a new or empty folder", "name another folder; nothing was written"
        )
    above = next(parent for parent in folder.resolve().parents if parent.exists())
    if not above.is_dir():
        raise BedplateError(f"{above} is a file", "a folder to write the new one into", "name another folder")
    values = {
        "package": package,
        "project": package.replace("_", "-"),
        "task": package,
        "bedplate_version": __version__,
    }

    # written beside the target and moved there, so that a full disk leaves nothing half done
    staging = folder.resolve().parent / f".{folder.resolve().name}.{os.getpid()}.tmp"
    try:
        for source, relative in template_files(package):
            write_text(staging / relative, Template(source.read_text(encoding="utf-8")).substitute(values))
        folder.mkdir(exist_ok=True)
        for entry in sorted(staging.iterdir()):
            os.replace(entry, folder / entry.name)
    except OSError as error:
        raise storage_error(folder, error) from error
    except StorageError as error:
        # it names the file beside the target
        raise StorageError(error.found.replace(str(staging), str(folder)), error.expected, error.next_step) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return [relative for _, relative in template_files(package)]


def template_files(package: str) -> list[tuple[Path, str]]:
    """Each template with the path it gets in the project."""
    found = []
    for source in sorted(TEMPLATES.rglob(f"*{SUFFIX}")):
        relative = source.relative_to(TEMPLATES).as_posix().removesuffix(SUFFIX)
        relative = re.sub("^package/", f"{package}/", relative)
        found.append((source, re.sub("^gitignore$", ".gitignore", relative)))
    return found


def package_name(text: str) -> str:
    """A usable package name made from a folder's name, such as "my_robot" from "My Robot-2.0"."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if not name:
        return "robot_site"
    if name[0].isdigit():
        name = f"site_{name}"
    return f"{name}_site" if _problem(name) else name


def checked_name(name: str) -> str:
    """`name`, when it can be a package's name.

    Raises:
        BedplateError: says why it cannot.
    """
    problem = _problem(name)
    if problem:
        raise BedplateError(
            f"package name {name!r} {problem}",
            "small letters, digits and _, and no name that is taken",
            f"--name {package_name(name)}",
        )
    return name


def _problem(name: str) -> str:
    if name[:1].isdigit():
        return "begins with a digit"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        return "has a character that packages don't have"
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        return "is a word of Python"
    # "tests" and "recipes" are folders of the project itself
    if name in sys.stdlib_module_names or name in ("tests", "recipes", "package"):
        return "is taken"
    # a bare folder in the search path is a spec without an origin: it takes no name
    spec = util.find_spec(name)
    if spec is not None and spec.origin is not None:
        return "is taken"
    return ""


def _about(path: str) -> str:
    abouts = {
        "task.py": "the task: model, signals, features, action, rewards, limits",
        "test_task.py": "what must hold before training is worth its time",
        "pyproject.toml": "the package and its entry point",
        "README.md": "the commands, in order",
        ".gitignore": "runs and caches stay out of git",
        "__init__.py": "makes the folder a package",
    }
    if path.startswith("recipes/"):
        return "how it is trained"
    return abouts.get(Path(path).name, "")
