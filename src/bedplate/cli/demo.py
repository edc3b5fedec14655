"""`bedplate demo`: the whole way, from nothing to a guarded robot, in a few minutes on two cores."""

from __future__ import annotations

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
from bedplate.core.errors import BedplateError

if TYPE_CHECKING:
    from bedplate.core.signals import StopRequest
    from bedplate.evaluate.evaluation import Evaluation
    from bedplate.learn.config import RunConfig
    from bedplate.learn.training import TrainResult
    from bedplate.runs.layout import Run
    from bedplate.runtime.telemetry import ServeReport
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
    served: ServeReport
    seconds: float


def demo(
    set_: Annotated[list[str], typer.Option("--set", help="override a key of the demo recipe")] = [],  # noqa: B006
    episodes: Annotated[int, typer.Option(min=1, help="unseen worlds in the evaluation")] = 500,
    seconds: Annotated[float, typer.Option(min=0.0, help="how long the simulated robot is driven")] = DRIVE_S,
    runs: Annotated[Path, typer.Option(help="folder of all runs")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="print the closing table as JSON")] = False,
) -> None:
    """Train, evaluate, export, verify, drive a simulated robot and report, in one go."""
    from bedplate.core.signals import StopRequest
    from bedplate.learn.config import load_config
    from bedplate.recipes import recipe_path
    from bedplate.runs.layout import REPORT, Run

    config = load_config(recipe_path(RECIPE), set_)
    run = Run(runs / NAME)
    _make_room(run)
    with StopRequest() as stop:
        result = _whole_way(config, run, episodes, seconds, stop)
    rows = closing_rows(result)
    if as_json:
        render.show_json({"schema": render.SCHEMA, "run": str(run.folder), **dict(rows)})
    else:
        render.show_table(f"{run.folder}: {result.evaluation.task.description}", ("measured", "value"), rows)
    render.show_note(f"report: {run.path(REPORT)}")


def _whole_way(config: RunConfig, run: Run, episodes: int, seconds: float, stop: StopRequest) -> DemoResult:
    from bedplate.bundle.bundle import read_bundle
    from bedplate.cli.evaluate import progress_bar as evaluation_bar
    from bedplate.cli.report import write_report
    from bedplate.cli.train import progress_bar as training_bar
    from bedplate.core.files import write_json
    from bedplate.evaluate.evaluation import Plan, evaluate
    from bedplate.evaluate.rollouts import Worlds
    from bedplate.evaluate.sources import open_source
    from bedplate.export.run import export_run
    from bedplate.learn.training import train
    from bedplate.runs.layout import BUNDLE, SERVE, VERIFICATION
    from bedplate.runtime.verification import verify

    start_s = time.perf_counter()
    with training_bar("train") as on_progress:
        trained = train(config, run, stop, on_progress)
    stop.finish(f"what was learned until then is in {run.folder}")

    source = open_source(run.folder)
    plan = Plan(worlds=Worlds(episodes, randomisation=source.randomisation), unguarded=False)
    with evaluation_bar() as on_part:
        evaluation = evaluate(source.task, source.controller, plan, run.folder, source.kind, on_part)
    stop.finish(f"trained and evaluated: {run.folder}")

    render.show_note("export and verify")
    export_run(run)
    bundle = read_bundle(run.path(BUNDLE))
    verification = verify(bundle)
    write_json(run.path(VERIFICATION), verification)

    render.show_note(f"drive the simulated robot for {seconds:g} s")
    served = _drive(config, run, seconds)
    served.write(run.path(SERVE))
    write_report(run)
    return DemoResult(trained, evaluation, verification, served, time.perf_counter() - start_s)


def _drive(config: RunConfig, run: Run, seconds: float) -> ServeReport:
    """Serve the run's bundle to a simulated robot in a process of its own."""
    from bedplate.bundle.bundle import read_bundle
    from bedplate.runs.layout import BUNDLE
    from bedplate.runtime.session import serve

    with tempfile.TemporaryDirectory(prefix="bedplate-") as folder:
        url = f"unix://{folder}/robot.sock"
        with _robot(config, url, seconds + ROBOT_START_S):
            served, died = serve(read_bundle(run.path(BUNDLE)), url, seconds, wait_s=ROBOT_START_S)
    if died:
        raise BedplateError(
            f"the policy process ended: {died}", "a policy that answers", f"bedplate verify {run.folder}/bundle"
        )
    return served


@contextmanager
def _robot(config: RunConfig, url: str, seconds: float) -> Iterator[None]:
    settings = [f"--set=task.{key}={value}" for key, value in config.task.params.items()]
    argv = [sys.executable, "-m", "bedplate.cli", "robot", config.task.name, "--link", url, "--seconds", str(seconds)]
    # its own lines would break the table
    process = subprocess.Popen([*argv, *settings, "--json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _make_room(run: Run) -> None:
    """Keep an earlier demo under another name."""
    if not run.folder.exists():
        return
    kept = run.folder.with_name(f"{run.folder.name}-{time.strftime('%Y%m%d-%H%M%S', time.localtime())}")
    os.rename(run.folder, kept)
    render.show_note(f"the earlier demo is now {kept}")


def closing_rows(result: DemoResult) -> list[tuple[str, Any]]:
    """The closing table: what was measured, in the order of the stages."""
    guarded, served = result.evaluation.guarded, result.served
    faults = len(served.faults)
    trips = sum(count for rule, count in served.interventions.items() if rule != "wait")
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
        ("parity error of the bundle", f"{result.verification.parity.max_error:.2g}"),
        ("loop rate", f"{served.rate_hz:.2f} Hz of {1.0 / served.control_dt_s:g} Hz"),
        ("deadline misses", f"{served.deadline_misses} of {served.ticks}"),
        ("guard in the evaluation", f"changed {clamp:.1%} of the commands"),
        ("guard on the robot", f"{trips} interventions, {faults} faults"),
        ("time of the whole demo", f"{result.seconds:.0f} s"),
    ]
    return rows
