"""`bedplate tasks` lists the robot jobs; `bedplate tasks check ID` proves what can be proved about one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from bedplate.cli import render
from bedplate.core.check import Finding, Status, to_json, verdict
from bedplate.core.errors import BedplateError, GateFailed
from bedplate.core.settings import task_parameters

COLOURS = {Status.PASS: "green", Status.WARN: "yellow", Status.FAIL: "bold red", Status.CRASH: "bold magenta"}

tasks = typer.Typer(invoke_without_command=True)


@tasks.callback()
def listing(
    context: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="print the table as JSON")] = False
) -> None:
    """List the tasks: what the policy reads and writes, and how often."""
    if context.invoked_subcommand is not None:
        return
    from bedplate.tasks import TASKS

    rows = [_row(name) for name in TASKS]
    if as_json:
        render.show_json({"schema": render.SCHEMA, "tasks": rows})
        return
    columns = ("task", "obs", "act", "control Hz", "episode s", "description")
    render.show_table("tasks", columns, [["-" if row[key] is None else row[key] for key in ROW_KEYS] for row in rows])
    render.show_note("a task of your own: bedplate init DIR, then name it as package.module:function")


@tasks.command()
def check(
    task: Annotated[str, typer.Argument(metavar="ID", help="a task's name, or package.module:function")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="a factory argument, such as task.obstacles=[4, 8]")
    ] = None,
    worlds: Annotated[int, typer.Option(min=1, help="worlds each simple policy plays")] = 24,
    seed: Annotated[int, typer.Option(min=0, help="seed of the worlds")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print the findings as JSON")] = False,
) -> None:
    """Prove what can be proved about one task before anybody trains on it.

    Raises:
        BedplateError: the task or one of its arguments is wrong.
        GateFailed: a check failed.
    """
    from bedplate.envs.lint import lint_task
    from bedplate.tasks import make_task

    subject = make_task(task, task_parameters(set_ or []))
    with render.err.status(f"task {subject.id}: simple policies play {worlds} worlds each"):
        findings = lint_task(subject, worlds=worlds, seed=seed)
    if as_json:
        render.show_json({"task": subject.id, **to_json(findings)})
    else:
        show_findings(f"task {subject.id}: {verdict(findings)}", findings)
    failed = [finding.code for finding in findings if finding.status is Status.FAIL]
    if failed:
        raise GateFailed(
            f"task {subject.id} fails {', '.join(failed)}", next_step="mend the terms named above, then ask again"
        )
    render.show_note("next: bedplate train RECIPE, a recipe with this task; bedplate recipes lists them")


def show_findings(title: str, findings: Sequence[Finding]) -> None:
    """Print findings as a table, and the evidence of those that are not a pass."""
    rows = [(finding.code, _coloured(finding.status), finding.title, finding.summary) for finding in findings]
    render.show_table(title, ("code", "status", "what", "found"), rows)
    for finding in findings:
        if finding.status not in (Status.FAIL, Status.CRASH):
            continue
        for source, text in finding.evidence:
            render.out.print(Text(f"{finding.code}  {source}: {text}"), soft_wrap=True)


def _coloured(status: Status) -> Text:
    return Text(status.value, style=COLOURS.get(status, ""))


ROW_KEYS = ("id", "obs_dim", "act_dim", "control_hz", "episode_s", "description")


def _row(name: str) -> dict[str, Any]:
    from bedplate.tasks import make_task

    # one task that cannot be built must not hide the others
    try:
        task = make_task(name, {})
    except BedplateError as error:
        return {**dict.fromkeys(ROW_KEYS), "id": name, "description": f"cannot be loaded: {error.found}"}
    return {
        "id": name,
        "obs_dim": task.obs_dim,
        "act_dim": task.act_dim,
        "control_hz": round(1 / task.control_dt_s, 3),
        "episode_s": round(task.episode_length_s, 3),
        "description": task.description,
    }
