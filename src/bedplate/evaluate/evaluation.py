"""One evaluation: worlds never trained on, the guard in the loop, figures and pictures on disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bedplate.bundle.contract import GuardSettings
from bedplate.core.files import write_bytes, write_json
from bedplate.evaluate.controllers import BaselinePolicy, Controller
from bedplate.evaluate.ranges import active_ranges
from bedplate.evaluate.recording import Recorder, choose_worlds
from bedplate.evaluate.results import Outcome, episode_arrays, npz_bytes, outcome_of
from bedplate.evaluate.rollouts import Rollout, Worlds, run_worlds
from bedplate.evaluate.trajectories import NUM_WORLDS as PLOTTED_WORLDS, draw_trajectories
from bedplate.evaluate.video import NUM_WORLDS as FILMED_WORLDS, render_video
from bedplate.runs.layout import EPISODES, EVALUATION, TRAJECTORIES, VIDEO
from bedplate.tasks.spec import Task

SCHEMA = 1

Progress = Callable[[str, int, int], None]
"""(what is running, finished episodes, all episodes)."""


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Attributes:
        worlds: which, how many, with or without randomisation.
        guard: settings of the guard in the loop.
        unguarded: measure the policy without a guard too, to see what the guard costs.
        baseline: measure the task's classical baseline too, when it has one.
        pictures: draw trajectories and render a video.
    """

    worlds: Worlds = field(default_factory=Worlds)
    guard: GuardSettings = field(default_factory=GuardSettings)
    unguarded: bool = True
    baseline: bool = True
    pictures: bool = True


@dataclass(frozen=True)
class Origin:
    """Which policy is measured.

    Attributes:
        kind: "run" or "bundle".
        model_sha256: of the run's model file; "" when it is not known.
        trained_world_version: version of the world generator it was trained with; None when it is not known.
        world_change: what changed in the world generator since, in one line; "" when nothing did.
    """

    kind: str = "run"
    model_sha256: str = ""
    trained_world_version: int | None = None
    world_change: str = ""


@dataclass(frozen=True)
class Evaluation:
    """What was measured.

    Attributes:
        task: what was simulated.
        plan: how it was measured.
        origin: which policy was measured.
        guarded: the policy with the guard in the loop: the figure that counts.
        unguarded: the policy alone; None when it was not measured.
        baseline: the classical baseline with the guard; None when there is none or it was not measured.
        seconds: wall time of the rollouts.
        pictures: what became of plot and video, for evaluation.json.
    """

    task: Task
    plan: Plan
    origin: Origin
    guarded: Outcome
    unguarded: Outcome | None
    baseline: Outcome | None
    seconds: float
    pictures: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The content of evaluation.json."""
        task, worlds = self.task, self.plan.worlds
        return {
            "schema": SCHEMA,
            "task": task.id,
            "description": task.description,
            "source": self.origin.kind,
            "model_sha256": self.origin.model_sha256 or None,
            "time_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "seconds": round(self.seconds, 2),
            "episodes": worlds.episodes,
            "worlds": {
                "version": task.world_version,
                "trained_version": self.origin.trained_world_version,
                "change": self.origin.world_change,
                "seed": worlds.seed,
                "split": "evaluation",
            },
            "difficulty": dict(task.difficulty),
            "randomisation": worlds.randomisation,
            "randomisation_ranges": active_ranges(task, worlds.randomisation),
            "control_dt_s": task.control_dt_s,
            "episode_length_s": task.episode_length_s,
            **self.guarded.to_json(),
            "unguarded": self.unguarded.to_json() if self.unguarded else None,
            "baseline": self.baseline.to_json() if self.baseline else None,
            **self.pictures,
        }


def evaluate(
    task: Task,
    controller: Controller,
    plan: Plan,
    folder: Path,
    origin: Origin = Origin(),
    progress: Progress = lambda what, finished, total: None,
) -> Evaluation:
    """Measure a controller and write evaluation.json, episodes.npz, trajectories.png and video.mp4 into `folder`.

    Args:
        task: what is simulated.
        controller: what is measured.
        plan: how.
        folder: where the results go; earlier results are replaced file by file, evaluation.json last.
        origin: which policy it is, noted in the result.
        progress: told how far it is.

    Raises:
        BedplateError: the controller gives an action that is not finite while no guard is in the loop.
        StorageError: the folder cannot be written.
    """
    start_s = time.perf_counter()

    def measure(who: Controller, what: str, guard: GuardSettings | None, recorder: Recorder | None = None) -> Rollout:
        return run_worlds(task, who, plan.worlds, guard, recorder, partial(progress, what))

    # the policy behind its guard, then what it is compared with, on the same worlds
    recorder = Recorder() if plan.pictures else None
    guarded = measure(controller, "policy with guard", plan.guard, recorder)
    unguarded = measure(controller, "policy without guard", None) if plan.unguarded else None
    baseline = None
    if plan.baseline and task.baseline is not None:
        baseline = measure(BaselinePolicy(task.baseline), "classical baseline", plan.guard)
    seconds = time.perf_counter() - start_s

    # pictures
    nothing: dict[str, Any] = {"trajectories": None, "video": None, "video_note": "not asked for"}
    pictures = nothing
    if recorder is not None:
        progress("video", 0, 1)
        pictures = _draw(recorder, folder)
        progress("video", 1, 1)

    result = Evaluation(
        task=task,
        plan=plan,
        origin=origin,
        guarded=outcome_of(guarded, task),
        unguarded=outcome_of(unguarded, task) if unguarded else None,
        baseline=outcome_of(baseline, task) if baseline else None,
        seconds=seconds,
        pictures=pictures,
    )
    write_bytes(folder / EPISODES, npz_bytes(episode_arrays(guarded.episodes)))
    write_json(folder / EVALUATION, result.to_json())
    return result


def _draw(recorder: Recorder, folder: Path) -> dict[str, Any]:
    """Plot and film; what cannot be rendered is said in one line and does not fail an evaluation."""
    plotted = choose_worlds(recorder.worlds, PLOTTED_WORLDS)
    write_bytes(folder / TRAJECTORIES, draw_trajectories(recorder.worlds, plotted))
    filmed = choose_worlds(recorder.worlds, FILMED_WORLDS)
    video = render_video(recorder.worlds, filmed, folder / VIDEO)
    # an old video would show another policy
    if video.reason:
        (folder / VIDEO).unlink(missing_ok=True)
    return {
        "trajectories": TRAJECTORIES,
        "trajectory_worlds": plotted,
        "video": None if video.reason else VIDEO,
        "video_note": video.reason,
        "video_speed": video.speed,
        "video_worlds": filmed,
    }
