"""`bedplate collect`: a snapshot of this host, or the sh script that makes one where Bedplate is not installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bedplate.cli import render
from bedplate.core.errors import BedplateError


def collect(
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="DIR", help="folder to write")] = None,
    script: Annotated[bool, typer.Option("--script", help="print a POSIX sh script instead")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print what was written as JSON")] = False,
) -> None:
    """Collect what `bedplate doctor --snapshot` reads, without names, serial numbers and addresses.

    Raises:
        BedplateError: neither a folder nor --script is given, or the folder is not empty.
    """
    if script:
        from bedplate.host.script import collect_script

        text = collect_script()
        if as_json:
            render.show_json({"schema": render.SCHEMA, "script": text})
        else:
            sys.stdout.write(text)
            sys.stdout.flush()
        return
    if output is None:
        raise BedplateError("nothing to write to", "-o DIR, or --script", "bedplate collect -o snapshot")
    from bedplate.host.collect import write_snapshot

    written = write_snapshot(output)
    if as_json:
        render.show_json({"schema": render.SCHEMA, "folder": str(output), "sources": written})
    else:
        render.out.print(f"{len(written)} texts in {output}")
        render.show_note(f"look at them before you send them; then: bedplate doctor --snapshot {output}")
