"""`bedplate doctor`: what is wrong with a GPU host, from this machine, a snapshot folder, or a pasted log."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from bedplate.cli import render
from bedplate.core.check import Finding, Safety, Status, do_text, to_json, verdict
from bedplate.core.errors import BedplateError, GateFailed, UnknownName

COLOURS = {Status.FAIL: "bold red", Status.WARN: "yellow", Status.CRASH: "bold magenta", Status.SKIP: "cyan"}

WORDS = {
    "en": {
        "blocks": "blocks",
        "from": "follows from",
        "reboot": "needs a reboot",
        "disruptive": "disturbs running work",
        "else": "passed {passed}, could not tell {skipped}",
        "all": "--all shows them",
    },
    "zh": {
        "blocks": "阻断",
        "from": "由此引起：",
        "reboot": "需要重启",
        "disruptive": "会影响正在运行的任务",
        "else": "通过 {passed} 项，无法判断 {skipped} 项",
        "all": "用 --all 查看",
    },
}


def doctor(
    snapshot: Annotated[Path | None, typer.Option(metavar="DIR", help="a snapshot folder instead of this host")] = None,
    log: Annotated[str, typer.Option(metavar="FILE", help="a pasted error, command or file; - is standard input")] = "",
    for_: Annotated[str, typer.Option("--for", metavar="STAGE", help="train, image or serve")] = "",
    lang: Annotated[str, typer.Option(metavar="en|zh", help="language; the locale's when not given")] = "",
    show_all: Annotated[bool, typer.Option("--all", help="show passes and skips too")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the findings as JSON")] = False,
) -> None:
    """Say what is wrong with a GPU host for training, containers and serving, root cause first.

    Raises:
        BedplateError: the snapshot or log cannot be read, or an option has an unknown value.
        GateFailed: something blocks.
    """
    from bedplate.host import snapshot as reading
    from bedplate.host.doctor import STAGES, diagnose
    from bedplate.host.language import LANGUAGES, choose_language, translated

    if for_ and for_ not in STAGES:
        raise UnknownName("stage", for_, STAGES)
    if lang and lang not in LANGUAGES:
        raise UnknownName("language", lang, LANGUAGES)
    if snapshot and log:
        raise BedplateError("--snapshot and --log are both given", "one of them", "put the log into the folder")
    language = choose_language(lang)

    # where the texts come from
    if snapshot:
        host = reading.read_folder(snapshot)
    elif log == "-":
        host = reading.read_log(sys.stdin.buffer, "standard input")
    elif log:
        host = _read_file(Path(log))
    else:
        host = reading.read_live()

    findings = [translated(finding, language) for finding in diagnose(host, for_)]
    if as_json:
        render.show_json(to_json(findings))
    else:
        show_findings(findings, language, show_all)
        if not host.live:
            for note in host.notes:
                render.show_note(note)
    blocking = [finding for finding in findings if finding.blocks and not finding.caused_by]
    if blocking:
        raise GateFailed(f"{blocking[0].code}: {blocking[0].summary}")


def _read_file(path: Path):  # type: ignore[no-untyped-def]
    from bedplate.host.snapshot import read_log

    try:
        with open(path, "rb") as stream:
            return read_log(stream, str(path))
    except OSError as error:
        raise BedplateError(f"log {path}: {error.strerror}", "a readable file, or - for standard input") from error


def show_findings(findings: Sequence[Finding], language: str, show_all: bool) -> None:
    """Print findings for people; passes and skips with `show_all` only."""
    words = WORDS[language]
    render.out.print(Text(f"host: {verdict(findings)}", style="bold"))
    quiet = (Status.PASS, Status.SKIP)
    for index, finding in enumerate(findings):
        # the answer "not enough to tell" stands first and is shown
        if finding.status in quiet and not show_all and not (index == 0 and finding.remedy):
            continue
        _show_finding(finding, words)
    if not show_all:
        counts = {
            "passed": sum(finding.status is Status.PASS for finding in findings),
            "skipped": sum(finding.status is Status.SKIP for finding in findings),
        }
        render.out.print(Text(f"\n{words['else'].format(**counts)}; {words['all']}", style="dim"))


def _show_finding(finding: Finding, words: dict[str, str]) -> None:
    mark = Text(f"\n{finding.status.value:5}", style=COLOURS.get(finding.status, "green"))
    render.out.print(Text.assemble(mark, f" {finding.code}  ", (finding.title, "bold")), soft_wrap=True)
    render.out.print(Text(f"      {finding.summary}"), soft_wrap=True)
    if finding.caused_by:
        render.out.print(Text(f"      {words['from']} {finding.caused_by}", style="dim"))
    if finding.blocks:
        render.out.print(Text(f"      {words['blocks']}: {', '.join(sorted(finding.blocks))}", style="dim"))
    for source, text in finding.evidence:
        for line in text.splitlines():
            render.out.print(Text(f"      | {source}: {line}", style="dim"), soft_wrap=True)
    for number, step in enumerate(finding.remedy, 1):
        risk = {Safety.REBOOT: words["reboot"], Safety.DISRUPTIVE: words["disruptive"]}.get(step.safety, "")
        render.out.print(Text(f"   {number}. {do_text(step)}", style="bold"), soft_wrap=True)
        render.out.print(Text(f"      {step.why}{f' ({risk})' if risk else ''}"), soft_wrap=True)
