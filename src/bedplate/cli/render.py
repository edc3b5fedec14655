"""What the command line prints: tables and results on stdout, errors and progress on stderr, JSON when asked for.

With --json, stdout carries exactly one JSON object: the command's result, or the error when there is no result.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bedplate.core.errors import BedplateError
from bedplate.core.files import json_text

SCHEMA = 1

out = Console(highlight=False)
"""Results for people."""

err = Console(stderr=True, highlight=False)
"""Errors, warnings and progress bars: they never mix with a result that is piped on."""

READABLE_WIDTH = 22
"""Columns folded into fewer characters than this are hard to read."""

COLUMN_GAP = 3
"""Characters between two columns of a table."""

PIPE_WIDTH = 10_000
"""Longest line of a table in a pipe or a file."""

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
    """Print a table to stdout; numbers are aligned to the right, square brackets are printed as they are.

    In a pipe or a file every row is one line, whatever its length. On a terminal that is too narrow for the columns
    side by side, each row becomes a short list under its first cell.
    """
    content = [[value if isinstance(value, Text) else Text(str(value)) for value in row] for row in rows]
    if out.is_terminal and _is_cramped(columns, content):
        _show_records(title, columns, content)
        return
    table = Table(title=Text(title) if title else None, title_justify="left", header_style="bold", box=box.SIMPLE)
    for index, column in enumerate(columns):
        numeric = bool(content) and all(_is_number(row[index].plain) for row in content)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in content:
        table.add_row(*row)
    _print_without_padding(table)


def _print_without_padding(table: Table) -> None:
    # a terminal folds long cells; whoever reads a pipe searches and cuts lines, so they stay whole and end in no blanks
    if out.is_terminal:
        out.print(table)
        return
    lines = io.StringIO()
    Console(file=lines, width=PIPE_WIDTH, highlight=False, no_color=True).print(table)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in lines.getvalue().splitlines()))


def _is_cramped(columns: Sequence[str], content: Sequence[Sequence[Text]]) -> bool:
    """Whether some column would have to be folded into fewer than READABLE_WIDTH characters."""
    widths = [max([len(name), *(row[index].cell_len for row in content)]) for index, name in enumerate(columns)]
    room = out.width - COLUMN_GAP * len(widths) - 2
    # what is left for the wide columns, shared evenly
    narrow = [width for width in widths if width <= READABLE_WIDTH]
    wide = len(widths) - len(narrow)
    return sum(widths) > room and (wide == 0 or (room - sum(narrow)) / wide < READABLE_WIDTH)


def _show_records(title: str, columns: Sequence[str], content: Sequence[Sequence[Text]]) -> None:
    if title:
        out.print(Text(title, style="italic"), soft_wrap=True)
    for row in content:
        out.print()
        out.print(row[0].copy(), style="bold")
        for name, cell in zip(columns[1:], row[1:], strict=True):
            if cell.plain:
                out.print(Padding(Text.assemble((f"{name}: " if name else "", "dim"), cell), (0, 0, 0, 2)))
    out.print()


def show_line(text: str) -> None:
    """Print one line of the result to stdout, as it is and unbroken."""
    out.print(Text(text), soft_wrap=True)


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
