"""What the simulator judges and varies: rewards, terminations, events. None of it reaches the robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from torch import Tensor

from bedplate.tasks.state import State


@dataclass(frozen=True)
class RewardTerm:
    """One additive part of the reward, logged under its name.

    Attributes:
        name: such as "progress".
        func: State -> (num_envs,).
        weight: reward per second, or per occurrence when `event` is set.
        event: the term pays once when it happens (success, collision) and is not multiplied by the control period.
    """

    name: str
    func: Callable[[State], Tensor]
    weight: float
    event: bool = False


@dataclass(frozen=True)
class Termination:
    """A reason for an episode to end.

    Attributes:
        name: such as "collision".
        func: State -> (num_envs,) bool.
        truncated: the episode was cut, not decided: the learner bootstraps its value.
        collision: the robot touched something it must not touch; counted as a collision in every result.
    """

    name: str
    func: Callable[[State], Tensor]
    truncated: bool = False
    collision: bool = False


@dataclass(frozen=True)
class Event:
    """Something that sets or changes worlds: initial state, obstacles, masses, pushes.

    Attributes:
        name: such as "friction".
        func: (state, ids, rng): changes the worlds `ids` (n,) int64 of `state`.
        mode: "startup" once for all worlds, "reset" at the start of each episode, "interval" during episodes.
        interval_s: smallest and largest time between two occurrences in one world, for "interval".
        ranges: what is drawn from where: name -> value, (low, high), or a dataclass; an evaluation records the ranges
            of the events that were active, and the report shows them.
        randomisation: the event varies physics or sensing and is left out with randomisation off; events that set
            the world up (obstacles, goal, start pose) say False.
    """

    name: str
    func: Callable[[State, np.ndarray, np.random.Generator], None]
    mode: Literal["startup", "reset", "interval"] = "reset"
    interval_s: tuple[float, float] = (0.0, 0.0)
    ranges: Mapping[str, Any] = field(default_factory=dict)
    randomisation: bool = True
