"""From episodes to the figures of evaluation.json and the arrays of episodes.npz."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedplate.envs.vec_env import Episode
from bedplate.evaluate.guarding import GuardUse
from bedplate.evaluate.rollouts import Rollout
from bedplate.evaluate.statistics import Quartiles, Rate, quartiles_of, rate_of
from bedplate.tasks.spec import Task

COLLISION = "collision"
TIME_OUT = "time_out"


@dataclass(frozen=True)
class Outcome:
    """How a set of episodes ended.

    Attributes:
        success: episodes that the task judged a success.
        collisions: ended by a termination that is a collision, whatever its name.
        collision_reasons: names of those terminations.
        time_outs: ended by time without success.
        by_reason: every reason -> rate, successes included.
        ret: undiscounted return.
        length_s: length of the episodes in simulated time.
        metrics: the task's metrics over all episodes.
        metrics_of_successes: the same over successful episodes, where a path efficiency means something.
        guard: what the guards did; None when none was in the loop.
    """

    success: Rate
    collisions: Rate
    collision_reasons: tuple[str, ...]
    time_outs: Rate
    by_reason: Mapping[str, Rate]
    ret: Quartiles | None
    length_s: Quartiles | None
    metrics: Mapping[str, Quartiles | None]
    metrics_of_successes: Mapping[str, Quartiles | None]
    guard: GuardUse | None

    def to_json(self) -> dict[str, Any]:
        """The figures under the names of evaluation.json."""
        values = {
            "success": self.success,
            "collisions": self.collisions,
            "collision_reasons": self.collision_reasons,
            "time_outs": self.time_outs,
            "by_reason": dict(self.by_reason),
            "return": self.ret,
            "length_s": self.length_s,
            "metrics": dict(self.metrics),
            "metrics_of_successes": dict(self.metrics_of_successes),
            "guard": None,
        }
        if self.guard is not None:
            use, ticks = self.guard, max(self.guard.ticks, 1)
            values["guard"] = {
                "clamp_rate": use.clamp_rate,
                "by_rule": {name: count / ticks for name, count in sorted(use.by_rule.items())},
                "by_channel": {name: count / ticks for name, count in use.by_channel.items()},
                "safe_action_rate": use.safe_ticks / ticks,
                "held_back": use.held_back,
                "faults": use.faults,
                "faults_by_rule": use.faults_by_rule,
                "ticks": use.ticks,
            }
        return values


def collision_reasons(task: Task) -> tuple[str, ...]:
    """Terminations of a task that are a collision: marked as one, or named "collision"."""
    return tuple(term.name for term in task.terminations if term.collision or term.name == COLLISION)


def outcome_of(rollout: Rollout, task: Task) -> Outcome:
    """Judge a rollout of `task`."""
    episodes = rollout.episodes
    total = len(episodes)
    successes = [episode for episode in episodes if episode.success]
    reasons = Counter(episode.reason for episode in episodes)
    collided = collision_reasons(task)
    time_outs = sum(episode.reason == TIME_OUT and not episode.success for episode in episodes)
    return Outcome(
        success=rate_of(len(successes), total),
        collisions=rate_of(sum(reasons[name] for name in collided), total),
        collision_reasons=collided,
        time_outs=rate_of(time_outs, total),
        by_reason={reason: rate_of(count, total) for reason, count in reasons.most_common()},
        ret=quartiles_of([episode.ret for episode in episodes]),
        length_s=quartiles_of([episode.length * task.control_dt_s for episode in episodes]),
        metrics=_metrics(episodes),
        metrics_of_successes=_metrics(successes),
        guard=rollout.guard,
    )


def figures_of(outcome: Outcome) -> dict[str, float | None]:
    """Names that a gate can ask for. A metric is its median over successful episodes."""
    figures: dict[str, float | None] = {
        "success": outcome.success.rate,
        "collisions": outcome.collisions.rate,
        "time_outs": outcome.time_outs.rate,
        "return": outcome.ret.median if outcome.ret else None,
        "length_s": outcome.length_s.median if outcome.length_s else None,
        "clamp_rate": outcome.guard.clamp_rate if outcome.guard else None,
        "faults": float(outcome.guard.faults) if outcome.guard else None,
    }
    for name in outcome.metrics:
        quartiles = outcome.metrics_of_successes.get(name)
        figures.setdefault(name, quartiles.median if quartiles else None)
    return figures


def episode_arrays(episodes: Sequence[Episode]) -> dict[str, np.ndarray]:
    """One row per episode: world_id, length, return, success, reason, and every metric and reward term."""
    arrays = {
        "world_id": np.array([episode.world_id for episode in episodes], np.int64),
        "length": np.array([episode.length for episode in episodes], np.int64),
        "return": np.array([episode.ret for episode in episodes]),
        "success": np.array([episode.success for episode in episodes], bool),
        "reason": np.array([episode.reason for episode in episodes], np.str_),
    }
    for name in episodes[0].metrics:
        arrays[f"metric.{name}"] = np.array([episode.metrics[name] for episode in episodes])
    for name in episodes[0].reward_terms:
        arrays[f"reward.{name}"] = np.array([episode.reward_terms[name] for episode in episodes])
    return arrays


def npz_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The arrays as the content of an .npz file; it holds no pickles."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **dict(arrays))  # type: ignore[arg-type]
    return buffer.getvalue()


def _metrics(episodes: Sequence[Episode]) -> dict[str, Quartiles | None]:
    names = episodes[0].metrics if episodes else ()
    return {name: quartiles_of([episode.metrics[name] for episode in episodes]) for name in names}
