"""Going to a point: the distances that such a task keeps per world, and the terms that read them."""

from __future__ import annotations

import torch
from torch import Tensor

from bedplate.tasks.state import State


def world_numbers(dimensions: int) -> dict[str, int]:
    """Per-world numbers for Task.world: name -> width.

    Goal, start and last position (m, world frame, `dimensions` wide); distance travelled, distance to the goal now and
    one control step ago (m).
    """
    points = dict.fromkeys(("goal", "start", "last"), dimensions)
    return {**points, "travelled": 1, "distance": 1, "last_distance": 1}


def begin(state: State, rows: Tensor) -> None:
    """Begin anew in the worlds `rows` (n,) int64, whose start and goal are set."""
    world = state.world
    world["last"][rows] = world["start"][rows]
    world["travelled"][rows] = 0.0
    distance = (world["goal"][rows] - world["start"][rows]).norm(dim=1, keepdim=True)
    for name in ("distance", "last_distance"):
        world[name][rows] = distance


def update(state: State, position: Tensor) -> None:
    """Keep the distances after a control step; `position` (num_envs, dimensions) float64 in m, world frame."""
    world = state.world
    world["last_distance"].copy_(world["distance"])
    world["distance"].copy_((world["goal"] - position).norm(dim=1, keepdim=True))
    world["travelled"] += (position - world["last"]).norm(dim=1, keepdim=True)
    world["last"].copy_(position)


def within(state: State, radius_m: float) -> Tensor:
    """(num_envs,) bool: closer to the goal than `radius_m`."""
    return state.world["distance"][:, 0] < radius_m


def progress(state: State) -> Tensor:
    """(num_envs,) m/s towards the goal: sums to the distance covered, so circling earns nothing."""
    return (state.world["last_distance"] - state.world["distance"])[:, 0] / state.control_dt_s


def path_efficiency(state: State) -> Tensor:
    """(num_envs,) straight distance over distance travelled, at most 1; meaningful for successes."""
    straight = (state.world["goal"] - state.world["start"]).norm(dim=1)
    return straight / torch.maximum(state.world["travelled"][:, 0], straight)
