"""`bedplate train RECIPE`: recipe in, run folder out."""

from __future__ import annotations

import math
import re
import shlex
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedplate.cli import render
from bedplate.core.clock import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bedplate.learn.saving import TrainResult
    from bedplate.learn.training import Progress


def train(
    recipe: Annotated[str, typer.Argument(help="a recipe's name (see `bedplate recipes`) or a YAML file")],
    set_: Annotated[list[str], typer.Option("--set", help="override a key, such as learn.total_steps=100000")] = [],  # noqa: B006
    name: Annotated[str, typer.Option(help="name of the run; default: recipe and time")] = "",
    envs: Annotated[int, typer.Option(min=0, help="number of environments; 0 keeps the recipe's")] = 0,
    seed: Annotated[int, typer.Option(min=-1, help="seed; -1 keeps the recipe's")] = -1,
    runs: Annotated[Path, typer.Option(help="folder of all runs")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
) -> None:
    """Train a policy from a recipe into a run folder."""
    from bedplate.core.signals import StopRequest
    from bedplate.learn.config import load_config
    from bedplate.learn.training import train as run_training
    from bedplate.recipes import recipe_path
    from bedplate.runs.layout import Run

    path = recipe_path(recipe)
    overrides = [*set_, *([f"env.num_envs={envs}"] if envs else []), *([f"seed={seed}"] if seed >= 0 else [])]
    config = load_config(path, overrides)
    run = Run(runs / run_name(name, path.stem))
    with StopRequest(on_request=_announce_stop) as stop, progress_bar("train", config.learn.max_minutes) as on_progress:
        result = run_training(config, run, stop, on_progress)
    show_result(run.folder, result, as_json)
    stop.finish()


def run_name(name: str, recipe: str) -> str:
    """The run's folder name.

    Raises:
        BedplateError: the name would leave the folder of runs.
    """
    from bedplate.core.errors import BedplateError

    name = name or f"{recipe}-{time.strftime('%Y%m%d-%H%M%S')}"
    if not re.fullmatch(r"[\w][\w.+-]*", name):
        raise BedplateError(f"run name {name!r}", "letters, digits, and . _ + - inside", "choose another --name")
    return name


@contextmanager
def progress_bar(label: str, max_minutes: float | None = None) -> Iterator[Callable[[Progress], None]]:
    """A bar on stderr with speed, time left, and how well recent episodes went.

    It appears with the first progress, so that a refusal stands alone; where stderr is no terminal, a line every
    half minute takes its place.

    Args:
        label: beside the bar.
        max_minutes: wall time after which the training ends, as in the recipe; None for steps alone.
    """
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from bedplate.cli.progress import LateBar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None if render.err.width < 100 else 40),
        TaskProgressColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[quality]}"),
    )
    with LateBar(*columns) as bar:
        row = bar.add_task(label, total=1.0, speed="", quality="")
        start_s = time.perf_counter()

        def update(progress: Progress) -> None:
            quality = "" if math.isnan(progress.success) else f"success {progress.success:.0%}"
            share = share_done(progress, (time.perf_counter() - start_s) / 60, max_minutes)
            speed = f"{progress.steps_per_s:,.0f} steps/s"
            bar.show(row, f"{label}: {share:.0%}, {speed}{', ' * bool(quality)}{quality}")
            bar.update(row, completed=share, speed=speed, quality=quality)

        yield update


def share_done(progress: Progress, minutes: float, max_minutes: float | None) -> float:
    """How much of a training is done, 0 to 1: by steps or by time, whichever will end it first."""
    by_steps = progress.steps / progress.total_steps
    by_time = minutes / max_minutes if max_minutes else 0.0
    return min(1.0, max(by_steps, by_time))


def show_result(folder: Path, result: TrainResult, as_json: bool) -> None:
    """What was trained, where it lies, and the next command."""
    facts: dict[str, Any] = {
        "schema": render.SCHEMA,
        "run": str(folder),
        "steps": result.steps,
        "seconds": round(result.seconds, 2),
        "steps_per_s": round(result.steps_per_s, 1),
        "interrupted": result.interrupted,
        "num_diverged": result.num_diverged,
    }
    if as_json:
        render.show_json(facts)
        return
    render.show_line(
        f"{folder}: {result.steps:,} steps in {duration(result.seconds)} "
        f"({result.steps_per_s:,.0f} steps/s with learning)"
    )
    if result.num_diverged:
        render.show_warning(
            f"the physics of {result.num_diverged} worlds failed; they were terminated and not learned from"
        )
    render.show_note(f"next: bedplate evaluate {shlex.quote(str(folder))}")


def _announce_stop(reason: str) -> None:
    render.show_note(f"{reason}: finishing this step and saving; once more to stop at once")
