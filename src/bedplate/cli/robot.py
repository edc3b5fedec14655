"""`bedplate robot`: a simulated robot in its own process, in real time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedplate.cli import render
from bedplate.core.errors import StorageError

if TYPE_CHECKING:
    from bedplate.tasks.spec import Task


def robot(
    task: Annotated[str, typer.Argument(help="Name of the task; `bedplate tasks` lists them.")],
    link: Annotated[str, typer.Option(help="Where to listen, such as unix:///tmp/robot.sock.")],
    seconds: Annotated[float | None, typer.Option(min=0.0, help="End after this time; without it, at Ctrl-C.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Argument of the task, as task.KEY=VALUE.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the worlds.")] = 0,
    randomisation: Annotated[bool, typer.Option(help="Noise, delays and varied physics, as in training.")] = True,
    priority: Annotated[int, typer.Option(min=0, max=99, help="Real-time priority (SCHED_FIFO); 0 for none.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Write what was received and what came of it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run a simulated robot: it measures, waits for commands, and does what it is told, in real time.

    Args:
        task: name of the task.
        link: where to listen.
        seconds: how long.
        set_: arguments of the task.
        seed: of the worlds.
        randomisation: noise, delays and varied physics.
        priority: real-time priority.
        report: where the report goes.
        as_json: print the summary as JSON.

    Raises:
        BedplateError: the task, the link or the report's folder cannot be used.
        Interrupted: SIGINT or SIGTERM; the report is written.
    """
    import math
    import time

    from bedplate.cli.notes import BackgroundNotes
    from bedplate.core.clock import MonotonicClock
    from bedplate.core.signals import StopRequest
    from bedplate.robot.simulated import SimulatedRobot
    from bedplate.runtime.links import listen
    from bedplate.runtime.loop import no_garbage_collection
    from bedplate.runtime.priority import set_real_time_priority
    from bedplate.runtime.telemetry import check_writable

    # everything that may be refused is refused before anybody can connect
    built = _build(task, set_ or [])
    if report is not None:
        check_writable(report)
    with StopRequest() as stop, BackgroundNotes() as notes:
        simulated = SimulatedRobot(built, MonotonicClock(), seed, randomisation, notes.say)
        listener = listen(link, simulated.contract)
        notes.say(f"{built.id} listens on {link}")
        until_s = math.inf if seconds is None else time.monotonic() + seconds
        try:
            set_real_time_priority(priority)
            with no_garbage_collection():
                simulated.run(listener, lambda: stop.requested or time.monotonic() >= until_s)
        finally:
            listener.close()
            simulated.close()
    # what happened is shown even where it cannot be written
    not_written: StorageError | None = None
    if report is not None:
        try:
            simulated.record.write(report)
        except StorageError as error:
            not_written = error
    _show(simulated.record.summary(), as_json)
    if not_written is not None:
        raise not_written
    stop.finish(f"report: {report}" if report is not None else "")


def _build(name: str, settings: list[str]) -> Task:
    """The task `name` with the arguments of `--set task.KEY=VALUE`."""
    from bedplate.core.settings import task_parameters
    from bedplate.tasks import make_task

    return make_task(name, task_parameters(settings))


def _show(summary: dict[str, Any], as_json: bool) -> None:
    if as_json:
        render.show_json(summary)
        return
    episodes, latency = summary["episodes"], summary["latency"]
    reasons = ", ".join(f"{reason} {count}" for reason, count in episodes["by_reason"].items())
    rows = [
        ("time", f"{summary['seconds']:.1f} s, {summary['ticks']} periods, {summary['missed_ticks']} missed"),
        ("episodes", f"{episodes['count']}, {episodes['success']} successful{': ' * bool(reasons)}{reasons}"),
        ("commands", f"{summary['commands']}, {summary['commands_not_finite']} not finite"),
        ("state to command", f"p50 {latency['p50_us']:.0f} us, p99 {latency['p99_us']:.0f} us (n {latency['n']})"),
    ]
    render.show_table("", ("robot", summary["task"]), rows)
