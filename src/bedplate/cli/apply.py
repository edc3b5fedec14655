"""`bedplate apply`: run a plan on this host, with a journal, and ask the doctor again."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from bedplate.cli import render
from bedplate.cli.doctor import show_findings
from bedplate.core.check import to_json
from bedplate.core.errors import BedplateError, GateFailed


def apply(
    script: Annotated[Path, typer.Argument(metavar="PLAN", help="file of bedplate plan")],
    journal: Annotated[
        Path | None, typer.Option(metavar="FILE", help="commands and outputs; PLAN.journal.jsonl when not given")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
) -> None:
    """Run a plan on this host as root: asks first, journals every command, stops at the first failure.

    Raises:
        BedplateError: not root, no plan, or a host that the plan refuses.
        GateFailed: a step failed, or the host must reboot before the rest.
    """
    from bedplate.host.doctor import diagnose
    from bedplate.host.language import choose_language, translated
    from bedplate.host.plan.apply import needed_steps, run_plan
    from bedplate.host.plan.engine import REBOOT_CODE
    from bedplate.host.snapshot import read_live

    if os.geteuid() != 0:
        raise BedplateError("apply changes the host, and this user is not root", "root", f"sudo sh {script}")
    steps = needed_steps(script)
    stream = sys.stderr if as_json else sys.stdout

    # the only command that changes a host asks first
    for step in steps:
        stream.write(f"{step}\n")
    stream.flush()
    if steps and not yes:
        if not sys.stdin.isatty():
            raise BedplateError("nobody is there to ask", "a terminal, or --yes", f"bedplate apply {script} --yes")
        if not typer.confirm(f"do these {len(steps)} steps on this host?", err=as_json):
            raise GateFailed("nothing was done")

    def show(text: str) -> None:
        stream.write(text)
        stream.flush()

    book = journal or script.with_name(f"{script.name}.journal.jsonl")
    code, last = run_plan(script, book, show)
    language = "en" if as_json else choose_language()
    findings = [translated(finding, language) for finding in diagnose(read_live())]
    if as_json:
        state = {0: "done", REBOOT_CODE: "reboot"}.get(code, "failed")
        result = {"schema": render.SCHEMA, "state": state, "last": last, "journal": str(book)}
        render.show_json({**result, "doctor": to_json(findings)})
    else:
        show_findings(findings, language, False)
        render.show_note(f"journal: {book}")
    if code == REBOOT_CODE:
        raise GateFailed("the host must reboot", "", f"systemctl reboot; then: bedplate apply {script}")
    if code != 0:
        raise GateFailed(last, "", f"mend the cause that {book} shows, then run the same command again")
