"""`bedplate demo`: the whole way, from nothing to a guarded robot, in a few minutes on two cores."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedplate.cli import render
from bedplate.core.clock import duration
from bedplate.core.errors import BedplateError, GateFailed
from bedplate.core.files import storage_error

if TYPE_CHECKING:
    from bedplate.core.signals import StopRequest
    from bedplate.evaluate.evaluation import Evaluation
    from bedplate.learn.config import RunConfig
    from bedplate.learn.saving import TrainResult
    from bedplate.runs.layout import Run
    from bedplate.runtime.verification import Verification

RECIPE = "demo"
NAME = "demo"
DRIVE_S = 10.0
ROBOT_START_S = 30.0


@dataclass(frozen=True)
class DemoResult:
    """What each stage of the demo measured."""

    trained: TrainResult
    evaluation: Evaluation
    verification: Verification
    served: dict[str, Any]
    seconds: float


def demo(
    set_: Annotated[list[str], typer.Option("--set", help="override a key of the demo recipe")] = [],  # noqa: B006
    episodes: Annotated[int, typer.Option(min=1, help="unseen worlds in the evaluation")] = 500,
    seconds: Annotated[float, typer.Option(min=0.0, help="how long the simulated robot is driven")] = DRIVE_S,
    runs: Annotated[Path, typer.Option(help="folder of all runs")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="print the closing table as JSON")] = False,
) -> None:
    """Train, evaluate, export, verify, drive a simulated robot and report, in one go.

    Exit 1 when the bundle fails its verification; the report is written all the same.
    """
    from bedplate.core.signals import StopRequest
    from bedplate.learn.config import load_config
    from bedplate.recipes import recipe_path
    from bedplate.runs.layout import REPORT, VERIFICATION, Run

    config = load_config(recipe_path(RECIPE), set_)
    run = Run(runs / NAME)
    with StopRequest() as stop, _only_demo(runs):
        _keep_earlier(run)
        result = _all_stages(config, run, episodes, seconds, stop)
    rows = closing_rows(result)
    if as_json:
        render.show_json({"schema": render.SCHEMA, "run": str(run.folder), **dict(rows)})
    else:
        render.show_table(f"{run.folder}: {result.evaluation.task.description}", ("measured", "value"), rows)
    for fault in result.served["faults"]:
        render.show_warning(f"the guard took the robot from the policy: {fault['rule']}: {fault['detail']}")
    render.show_note(f"report: {run.path(REPORT)}")
    judge(result.verification, run.path(VERIFICATION))


def _all_stages(config: RunConfig, run: Run, episodes: int, seconds: float, stop: StopRequest) -> DemoResult:
    from bedplate.bundle.bundle import read_bundle
    from bedplate.cli.evaluate import progress_bar as evaluation_bar
    from bedplate.cli.train import progress_bar as training_bar
    from bedplate.core.files import write_json
    from bedplate.evaluate.evaluation import Plan, evaluate
    from bedplate.evaluate.rollouts import Worlds
    from bedplate.evaluate.sources import open_source
    from bedplate.export.run import export_run
    from bedplate.learn.training import train
    from bedplate.report.html import write_report
    from bedplate.runs.layout import BUNDLE, VERIFICATION
    from bedplate.runtime.verification import verify

    start_s = time.perf_counter()
    with training_bar("train", config.learn.max_minutes) as on_progress:
        trained = train(config, run, stop, on_progress)
    stop.finish(f"what was learned until then is in {run.folder}")

    source = open_source(run.folder)
    plan = Plan(worlds=Worlds(episodes, randomisation=source.randomisation), unguarded=False)
    with evaluation_bar() as on_part:
        evaluation = evaluate(source.task, source.controller, plan, run.folder, source.origin, on_part)
    stop.finish(f"trained and evaluated: {run.folder}")

    render.show_note("export and verify")
    export_run(run)
    bundle = read_bundle(run.path(BUNDLE))
    verification = verify(bundle)
    write_json(run.path(VERIFICATION), verification)
    stop.finish(f"trained, evaluated, exported and verified: {run.folder}")

    render.show_note(f"drive the simulated robot for {seconds:g} s")
    served = _drive(config, run, seconds, stop)
    write_report(run)
    return DemoResult(trained, evaluation, verification, served, time.perf_counter() - start_s)


def _drive(config: RunConfig, run: Run, seconds: float, stop: StopRequest) -> dict[str, Any]:
    """Serve the run's bundle to a simulated robot, each in a process of its own; returns the serve report.

    Raises:
        BedplateError: the robot was not driven to the end; says why.
        Interrupted: a stop was requested; Ctrl-C reaches robot and writer too, and each ends by itself.
    """
    from bedplate.core.files import read_json
    from bedplate.runs.layout import BUNDLE, SERVE

    with tempfile.TemporaryDirectory(prefix="bedplate-") as folder:
        link = ["--link", f"unix://{folder}/robot.sock"]
        settings = [f"--set=task.{key}={value}" for key, value in config.task.params.items()]
        robot = _start(["robot", config.task.name, *link, *settings, "--seconds", str(seconds + ROBOT_START_S)])
        writer = _start(
            ["serve", str(run.path(BUNDLE)), *link, "--wait", str(ROBOT_START_S), "--seconds", str(seconds)]
        )
        try:
            _, complaint = writer.communicate(timeout=2 * ROBOT_START_S + seconds)
        finally:
            for process in (writer, robot):
                _end(process)
    report: dict[str, Any] = read_json(run.path(SERVE)) if run.path(SERVE).exists() else {}
    stop.finish(f"all but the driving is done: {run.folder}")
    # a latched fault is a result, and the table shows it; anything else is not
    if writer.returncode and not report.get("faults"):
        raise BedplateError(f"the robot was not driven: {complaint.strip()}", "a run to the end", "see the lines above")
    return report


def _start(command: list[str]) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "bedplate.cli", *command, "--json"]
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _end(process: subprocess.Popen[str]) -> None:
    """Stop a process, and wait until it is gone."""
    process.terminate()
    try:
        process.communicate(timeout=5.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


@contextmanager
def _only_demo(runs: Path) -> Iterator[None]:
    """Hold the folder of runs while a demo works in it: a second one would move the first one's files away.

    Raises:
        BedplateError: another demo is at work there.
        StorageError: the folder cannot be made.
    """
    try:
        runs.mkdir(parents=True, exist_ok=True)
        handle = os.open(runs, os.O_RDONLY)
    except OSError as error:
        raise storage_error(runs / NAME, error) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BedplateError(
                f"another demo is at work in {runs}", "one demo per folder", "wait for it, or give --runs FOLDER"
            ) from None
        yield
    finally:
        os.close(handle)


def _keep_earlier(run: Run) -> None:
    """Keep an earlier demo under another name."""
    if not run.folder.exists():
        return
    kept = run.folder.with_name(f"{run.folder.name}-{time.strftime('%Y%m%d-%H%M%S', time.localtime())}")
    os.rename(run.folder, kept)
    render.show_note(f"the earlier demo is now {kept}")


def judge(verification: Verification, path: Path) -> None:
    """Say no to a bundle that failed its verification.

    Raises:
        GateFailed: names the gates.
    """
    failed = [gate for gate in verification.gates if not gate.passed]
    if failed or not verification.passed:
        raise GateFailed(
            "the bundle failed its verification: " + "; ".join(f"{gate.name}: {gate.found}" for gate in failed),
            "; ".join(f"{gate.name} {gate.expected}" for gate in failed),
            f"do not serve this bundle; look at {path}",
        )


def closing_rows(result: DemoResult) -> list[tuple[str, Any]]:
    """The closing table: what was measured, in the order of the stages."""
    guarded, served = result.evaluation.guarded, result.served
    interventions = sum(served["interventions"].values())
    clamp = guarded.guard.clamp_rate if guarded.guard is not None else float("nan")
    baseline = result.evaluation.baseline
    rows: list[tuple[str, Any]] = [
        ("success rate, guarded (95 % interval)", str(guarded.success)),
        ("collisions", str(guarded.collisions)),
        ("time-outs", str(guarded.time_outs)),
    ]
    rows += [("success of the classical baseline", str(baseline.success))] if baseline else []
    rows += [
        ("env steps/s, learning included", f"{result.trained.steps_per_s:,.0f}"),
        ("verification of the bundle", _verdict(result.verification)),
        ("parity error of the bundle", f"{result.verification.parity.max_error:.2g}"),
        ("loop rate", f"{served['rate_hz']:.2f} Hz of {1.0 / served['control_dt_s']:g} Hz"),
        ("deadline misses", f"{served['deadline_misses']} of {served['driven_ticks']}"),
        ("guard in the evaluation", f"changed {clamp:.1%} of the commands"),
        ("guard on the robot", f"{interventions} interventions, {_faults(served)}"),
        ("time of the whole demo", f"{duration(result.seconds)}"),
    ]
    return rows


def _verdict(verification: Verification) -> str:
    failed = [gate.name for gate in verification.gates if not gate.passed]
    return "passed" if verification.passed else f"FAILED: {', '.join(failed)}"


def _faults(served: dict[str, Any]) -> str:
    rules = [str(fault["rule"]) for fault in served["faults"]]
    return f"FAULT: {', '.join(rules)}; the robot was stopped by its safe action" if rules else "0 faults"
