"""What the command line prints: tables and results on stdout, errors and progress on stderr, JSON when asked for.

With --json, stdout carries exactly one JSON object: the command's result, or the error when there is no result.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bedplate.core.errors import BedplateError
from bedplate.core.files import json_text

SCHEMA = 1

out = Console(highlight=False)
"""Results for people."""

err = Console(stderr=True, highlight=False)
"""Errors, warnings and progress bars: they never mix with a result that is piped on."""

_results_shown: list[bool] = []


def show_json(value: Any) -> None:
    """Print `value` to stdout as one JSON object; dataclasses, pydantic models, paths and arrays are taken as they are.

    Raises:
        ValueError: a number is NaN or infinite, which JSON cannot say.
    """
    sys.stdout.write(json_text(value) + "\n")
    sys.stdout.flush()
    _results_shown.append(True)


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table to stdout; numbers are aligned to the right, square brackets are printed as they are."""
    content = [[value if isinstance(value, Text) else Text(str(value)) for value in row] for row in rows]
    table = Table(title=Text(title) if title else None, title_justify="left", header_style="bold", box=box.SIMPLE)
    for index, column in enumerate(columns):
        numeric = bool(content) and all(_is_number(row[index].plain) for row in content)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in content:
        table.add_row(*row)
    out.print(table)


def show_note(text: str) -> None:
    """Print one plain line to stderr: what is being done, or where a file went."""
    err.print(Text(text), soft_wrap=True)


def show_warning(text: str) -> None:
    """Print one warning to stderr."""
    err.print(Text.assemble(("warning: ", "bold yellow"), text), soft_wrap=True)


def show_error(error: BedplateError, *, as_json: bool, exit_code: int | None = None) -> None:
    """Say what was found, what was expected and what to do next.

    Args:
        error: what the user can mend.
        as_json: print a JSON error object to stdout too, unless the command has already printed its result there.
        exit_code: the code the process will end with; the error's own when not given.
    """
    code = error.exit_code if exit_code is None else exit_code
    if as_json and not _results_shown:
        show_json({"schema": SCHEMA, "error": error_fields(error), "exit_code": code})
    label = "no: " if code == 1 else "error: "
    err.print(Text.assemble((label, "bold red"), error.found), soft_wrap=True)
    if error.expected:
        err.print(Text.assemble(("expected: ", "bold"), error.expected), soft_wrap=True)
    if error.next_step:
        err.print(Text.assemble(("next step: ", "bold green"), error.next_step), soft_wrap=True)


def error_fields(error: BedplateError) -> dict[str, str]:
    """The parts of an error for JSON."""
    kind = type(error).__name__
    return {"kind": kind, "found": error.found, "expected": error.expected, "next_step": error.next_step}


def forget_results() -> None:
    """Start of a command: nothing has been printed to stdout yet."""
    _results_shown.clear()


def _is_number(text: str) -> bool:
    try:
        float(text.rstrip("%").replace(",", ""))
    except ValueError:
        return text in ("", "-")
    return True
