"""`bedplate serve`: drive a robot with a bundle's policy behind the guard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedplate.cli import render
from bedplate.core.errors import BedplateError, GateFailed, Interrupted, StorageError

if TYPE_CHECKING:
    from bedplate.bundle.bundle import Bundle
    from bedplate.runtime.telemetry import ServeReport


def serve(
    bundle: Annotated[Path, typer.Argument(help="The bundle's folder, such as runs/ID/bundle.")],
    link: Annotated[str, typer.Option(help="URL of the robot, such as unix:///tmp/robot.sock.")],
    seconds: Annotated[float | None, typer.Option(min=0.0, help="End after this time; without it, at Ctrl-C.")] = None,
    wait: Annotated[float, typer.Option(min=0.0, help="Seconds the robot may take to start listening.")] = 10.0,
    priority: Annotated[int, typer.Option(min=0, max=99, help="Real-time priority (SCHED_FIFO); 0 for none.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Where the report goes; serve.json beside the bundle.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Drive a robot: this process is the writer with the guard, a second one is the policy.

    Ends with the robot brought to its safe action. Exit code 1 when the guard took the authority from the policy.

    Args:
        bundle: the bundle's folder.
        link: URL of the robot.
        seconds: how long.
        wait: how long the robot may take to start listening.
        priority: real-time priority of the writer.
        report: where the report goes.
        as_json: print the report as JSON.

    Raises:
        BedplateError: the bundle, the link or the report's folder cannot be used, or the robot has gone.
        GateFailed: the guard latched a fault.
        Interrupted: SIGINT or SIGTERM; the robot is at rest and the report written.
    """
    from bedplate.bundle.bundle import read_bundle
    from bedplate.cli.notes import BackgroundNotes
    from bedplate.runs.layout import SERVE
    from bedplate.runtime.session import serve as run
    from bedplate.runtime.telemetry import check_writable

    # everything that may be refused is refused before the robot moves
    loaded = read_bundle(bundle)
    path = report if report is not None else loaded.folder.resolve().parent / SERVE
    check_writable(path)
    with BackgroundNotes() as notes:
        notes.say(f"serving {loaded.contract.task} on {link} at {1.0 / loaded.contract.control_dt_s:.0f} Hz")
        result, died = run(
            loaded,
            link,
            seconds,
            wait,
            priority,
            lambda fault: notes.say(f"guard: {fault.rule}: {fault.detail}; safe action"),
            lambda: notes.say(f"nobody listens on {link} yet; waiting up to {wait:g} s for the robot"),
        )
    # what happened is shown even where it cannot be written
    not_written: StorageError | None = None
    try:
        result.write(path)
    except StorageError as error:
        not_written = error
    if as_json:
        render.show_json(result)
    else:
        _show(result)
    if not_written is not None:
        raise not_written
    if not as_json:
        render.show_note(f"report: {path}")
    _judge(result, loaded, died, path)


def _show(result: ServeReport) -> None:
    latency, period_us = result.latency, result.control_dt_s * 1e6
    interventions = ", ".join(f"{rule} {count}" for rule, count in result.interventions.items() if count)
    rate = f"{result.rate_hz:.2f} Hz of {1.0 / result.control_dt_s:g} Hz"
    rows = [
        (
            "commands",
            f"{result.ticks} in {result.seconds:.1f} s: {result.waiting_ticks} before the policy's first answer, "
            f"{result.driven_ticks} driven, {result.rest_ticks} to come to rest",
        ),
        ("loop rate", rate if result.rate_hz else "not measured: fewer than two driven commands"),
        (
            "state to command",
            f"p50 {latency.p50_us:.0f} us, p99 {latency.p99_us:.0f} us, p99.9 {latency.p99_9_us:.0f} us "
            f"(n {latency.n}, period {period_us:.0f} us)",
        ),
        (
            "deadline misses",
            f"{result.deadline_misses} ({', '.join(f'{kind} {n}' for kind, n in result.misses.items())})",
        ),
        ("guard", interventions or "never acted"),
        ("faults", "; ".join(f"{fault['rule']}: {fault['detail']}" for fault in result.faults) or "none"),
    ]
    render.show_table("", ("served", result.task), rows)


def _judge(result: ServeReport, bundle: Bundle, died: str, path: Path) -> None:
    """Turn how it ended into an exit code."""
    from bedplate.runtime.writer import ANSWER_BUDGET_PERIODS

    period_ms = result.control_dt_s * 1e3
    if result.end == "robot_gone":
        raise BedplateError(
            f"the robot on {result.link} is gone after {result.ticks} commands",
            "a robot that stays until the writer ends",
            f"the report is complete: {path}; start the robot again",
        )
    if result.end == "policy_never_started":
        raise BedplateError(
            f"the policy process gave no command: {died or 'it did not start in time'}",
            "a policy that answers",
            f"bedplate verify {bundle.folder}",
        )
    if result.end == "policy_too_slow":
        late = result.late_latency
        raise BedplateError(
            f"the policy is too slow: each of its {late.n} answers came too late, half of them more than "
            f"{late.p50_us * 1e-3:.1f} ms after the state",
            f"an answer within {ANSWER_BUDGET_PERIODS} control periods, {ANSWER_BUDGET_PERIODS * period_ms:.1f} ms",
            f"bedplate verify {bundle.folder} times the policy alone; a smaller one, or a less busy machine",
        )
    if result.faults:
        first = result.faults[0]
        why = f"; the policy process: {died}" if died else ""
        raise GateFailed(
            f"the guard took the authority from the policy: {first['rule']}: {first['detail']}{why}",
            "a run without a fault",
            f"the inputs of that tick are in {path}",
        )
    if result.end == "stopped" and result.latency.n == 0:
        why = "no state was fresh enough to start from" if result.held_back else "it had no time to"
        why = f"the last state was refused: {result.last_rejection}" if result.last_rejection else why
        raise GateFailed(f"the policy never drove the robot: {why}", "states within the contract's bounds, and time")
    if result.end == "interrupted":
        raise Interrupted(f"the robot is at rest; report: {path}")
