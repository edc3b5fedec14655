"""`bedplate report RUN`: everything that was measured about a run, on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedplate.cli import render


def report(
    run: Annotated[Path, typer.Argument(help="run folder, such as runs/demo")],
    as_json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
) -> None:
    """Write RUN/report.html: one file that opens offline, with everything that was measured about the run.

    What was not measured is said there, with the command that measures it.
    """
    from bedplate.report.html import write_report
    from bedplate.runs.layout import Run

    path = write_report(Run(run))
    if as_json:
        render.show_json({"schema": render.SCHEMA, "report": path, "bytes": path.stat().st_size})
        return
    render.show_line(f"{path} ({path.stat().st_size / 1e6:.1f} MB); open it in any browser")
