"""`bedplate evaluate RUN|BUNDLE`: success on worlds never trained on, with the guard in the loop."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedplate.cli import render
from bedplate.core.clock import duration

if TYPE_CHECKING:
    from bedplate.evaluate.evaluation import Evaluation
    from bedplate.evaluate.results import Outcome


def evaluate(
    target: Annotated[Path, typer.Argument(metavar="RUN|BUNDLE", help="run folder or bundle folder")],
    episodes: Annotated[
        int, typer.Option(min=0, help="worlds, each run once; 0 means 500 for a run, 100 for a bundle")
    ] = 0,
    gate: Annotated[
        list[str], typer.Option("--gate", help="'success>=0.95 collisions<=0.03'; exit 1 when one does not hold")
    ] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(min=0, help="of the evaluation worlds; recipes were tuned on 0")] = 0,
    unguarded: Annotated[bool, typer.Option(help="measure without the guard too")] = True,
    baseline: Annotated[bool, typer.Option(help="measure the task's classical baseline too, if it has one")] = True,
    pictures: Annotated[bool, typer.Option(help="draw trajectories and render a video")] = True,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="folder of the results")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
) -> None:
    """Measure a policy on worlds it was never trained on, deterministic, with the guard in the loop.

    Writes evaluation.json, episodes.npz, trajectories.png and video.mp4 into the run folder; for a bundle into
    bundle-evaluation/ beside it. Exit 1 when a gate does not hold.
    """
    from bedplate.core.files import check_folder
    from bedplate.evaluate.evaluation import Plan, evaluate as run_evaluation
    from bedplate.evaluate.gates import check_gates, check_names, parse_gates
    from bedplate.evaluate.results import figures_of
    from bedplate.evaluate.rollouts import Worlds
    from bedplate.evaluate.sources import open_source
    from bedplate.runs.layout import CONFIG, EVALUATION

    gates = parse_gates(gate)
    source = open_source(target)
    if source.origin.world_change:
        render.show_warning(source.origin.world_change)
    check_names(gates, source.task.metrics)
    plan = Plan(
        worlds=Worlds(episodes or source.episodes, seed, source.randomisation),
        guard=source.guard,
        unguarded=unguarded,
        baseline=baseline,
        pictures=pictures,
    )
    folder = output or source.folder
    # minutes of work must not end in a folder that cannot be written
    check_folder(folder)
    with progress_bar() as on_progress:
        result = run_evaluation(source.task, source.controller, plan, folder, source.origin, on_progress)
    if as_json:
        render.show_json(result.to_json())
    else:
        show_result(result, folder / EVALUATION)
    check_gates(gates, figures_of(result.guarded))
    # a run that is not exported yet; a bundle is
    if not as_json and (target / CONFIG).exists():
        render.show_note(f"next: bedplate export {shlex.quote(str(target))}")


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """One bar on stderr per part of the evaluation, with the time left."""
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn

    from bedplate.cli.progress import LateBar

    columns = (
        TextColumn("evaluate: {task.description}"),
        BarColumn(bar_width=None if render.err.width < 100 else 40),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with LateBar(*columns) as bar:
        rows: dict[str, TaskID] = {}

        def update(what: str, finished: int, total: int) -> None:
            if what not in rows:
                rows[what] = bar.add_task(what, total=total)
            bar.show(rows[what], f"evaluate: {what}: {finished} of {total}")
            bar.update(rows[what], completed=finished)

        yield update


def show_result(result: Evaluation, path: Path) -> None:
    """A table of the outcomes, and what the reader must know about the worlds."""
    columns = [("policy, guarded", result.guarded)]
    columns += [("policy, no guard", result.unguarded)] if result.unguarded else []
    columns += [("baseline, guarded", result.baseline)] if result.baseline else []
    cells = [outcome_cells(outcome) for _, outcome in columns]
    rows = [
        (name, *(cell.get(name, "-") for cell in cells))
        for name in dict.fromkeys(name for cell in cells for name in cell)
    ]
    worlds = result.plan.worlds
    randomised = "on" if worlds.randomisation else "off"
    title = f"{result.task.id}: {worlds.episodes} unseen worlds, seed {worlds.seed}, randomisation {randomised}"
    render.show_table(title, ("", *(name for name, _ in columns)), rows)
    if result.task.difficulty:
        facts = "; ".join(f"{name}: {value}" for name, value in result.task.difficulty.items())
        render.show_line(f"worlds: {facts}")
    if result.pictures.get("video") is None and result.plan.pictures:
        render.show_warning(f"no video: {result.pictures['video_note']}")
    render.show_note(f"measured in {duration(result.seconds)}, written to {path}")


def outcome_cells(outcome: Outcome) -> dict[str, str]:
    """Row name -> text, for one column of the table."""
    from bedplate.evaluate.statistics import percent
    from bedplate.report.figures import heading

    cells = {"success (95 % interval)": str(outcome.success), "collisions": str(outcome.collisions)}
    cells["time-outs"] = str(outcome.time_outs)
    for reason, rate in outcome.by_reason.items():
        if reason not in ("success", "collision", "time_out"):
            note = ", a collision" if reason in outcome.collision_reasons else ""
            cells[f"{reason.replace('_', ' ')}{note}"] = str(rate)
    for name, quartiles in outcome.metrics_of_successes.items():
        cells[f"{heading(name)}, successes"] = str(quartiles) if quartiles else "-"
    cells["episode length (s)"] = str(outcome.length_s) if outcome.length_s else "-"
    if outcome.guard is not None:
        rules = outcome.guard.by_rule
        most = f", most by {max(rules, key=lambda rule: rules[rule])}" if rules else ""
        cells["commands the guard changed"] = percent(outcome.guard.clamp_rate) + most
        cells["guard faults"] = str(outcome.guard.faults)
    return cells
