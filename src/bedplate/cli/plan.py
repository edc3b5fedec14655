"""`bedplate plan`: an ordered, idempotent shell plan that mends a RHEL 8 GPU host."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from bedplate.cli import render
from bedplate.core.errors import BedplateError, UnknownName
from bedplate.core.files import write_text


def plan(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="the script to write")],
    snapshot: Annotated[Path | None, typer.Option(metavar="DIR", help="a snapshot folder instead of this host")] = None,
    for_: Annotated[str, typer.Option("--for", metavar="STAGE", help="train, image or serve; all when not given")] = "",
    stream: Annotated[str, typer.Option(metavar="NNN-FLAVOUR", help="driver stream instead of the chosen one")] = "",
    cuda: Annotated[str, typer.Option(metavar="X.Y", help="CUDA toolkit, to compile operators")] = "",
    cudnn: Annotated[bool, typer.Option("--cudnn", help="cuDNN beside the toolkit")] = False,
    rootless_limits: Annotated[
        bool, typer.Option("--rootless-limits", help="cgroup v2: limits for containers of ordinary users")
    ] = False,
    user: Annotated[str, typer.Option(metavar="NAME", help="who runs containers; who called sudo when not given")] = "",
    offline: Annotated[str, typer.Option(metavar="FOLDER", help="folder on the host that packages come from")] = "",
    fetch: Annotated[bool, typer.Option("--fetch", help="write the script that fills that folder elsewhere")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the steps as JSON")] = False,
) -> None:
    """Write a shell plan that mends a RHEL 8 GPU host, from its findings; nothing is changed.

    Raises:
        BedplateError: the host is no RHEL 8, its GPU is not known, or an option does not fit it.
    """
    from bedplate.host import snapshot as reading
    from bedplate.host.doctor import STAGES
    from bedplate.host.plan.build import make_plan
    from bedplate.host.plan.fetch import fetch_script
    from bedplate.host.plan.script import plan_script
    from bedplate.host.plan.step import Wishes

    if for_ and for_ not in STAGES:
        raise UnknownName("stage", for_, STAGES)
    _check_form("--cuda", cuda, r"\d+\.\d+", "X.Y, such as 12.8")
    _check_form("--user", user, r"[a-z_][a-z0-9_-]*", "a user name of the host")
    _check_form("--offline", offline, r"/[\w./-]+", "an absolute path without spaces")
    stages = frozenset({for_} if for_ else STAGES)
    wishes = Wishes(stages, stream, cuda, cudnn, rootless_limits, user, offline)
    made = make_plan(reading.read_folder(snapshot) if snapshot else reading.read_live(), wishes)
    write_text(output, fetch_script(made) if fetch else plan_script(made))

    if as_json:
        steps = [{"code": s.code, "title": s.title, "stage": s.stage, "mends": list(s.mends)} for s in made.steps]
        by_hand = [finding.code for finding in made.by_hand]
        result = {"schema": render.SCHEMA, "file": str(output), "stream": made.host.stream, "steps": steps}
        render.show_json({**result, "by_hand": by_hand})
        return
    if fetch:
        render.out.print(f"{output}: run it on a machine with internet: sh {output} FOLDER", markup=False)
        return
    for step in made.steps:
        render.out.print(f"{step.stage}. {step.code}: {step.title}", markup=False)
    for finding in made.by_hand:
        render.show_note(f"not mended by this plan: {finding.code}: {finding.summary}")
    if made.steps:
        render.show_note(f"read {output}; then, on the host: bedplate apply {output}, or sudo sh {output}")
    else:
        render.out.print("nothing needs to be done")


def _check_form(option: str, value: str, pattern: str, expected: str) -> None:
    if value and not re.fullmatch(pattern, value):
        raise BedplateError(f"{option} {value!r}", expected)
