"""What tasks that go to a point share: distances from step to step, in the worlds that they belong to."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from bedplate.tasks import make_task
from bedplate.tasks.state import State
from bedplate.tasks.terms import point_goal
from bedplate.tasks.terms.worlds import gap_to_nearest

DT_S = 0.5


@pytest.fixture
def state() -> State:
    """Two worlds in the plane, 5 m from start to goal."""
    engine: Any = SimpleNamespace(num_envs=2)
    world = {name: torch.zeros(2, size, dtype=torch.float64) for name, size in point_goal.world_numbers(2).items()}
    world["goal"][:] = torch.tensor([3.0, 4.0])
    none = torch.zeros(2, 0)
    state = State(engine, DT_S, world, np.zeros(2, np.int64), none, none, none, none, torch.zeros(2, dtype=torch.int64))
    point_goal.begin(state, torch.arange(2))
    return state


def go(state: State, *path: tuple[float, float]) -> list[torch.Tensor]:
    """Move both worlds along `path`; returns the progress of each step."""
    progress = []
    for point in path:
        point_goal.update(state, torch.tensor([point, point], dtype=torch.float64))
        progress.append(point_goal.progress(state))
    return progress


def test_progress_sums_to_the_distance_covered_and_a_circle_earns_nothing(state: State) -> None:
    there = go(state, (0.0, 4.0), (3.0, 4.0))
    assert [step[0].item() * DT_S for step in there] == pytest.approx([2.0, 3.0])
    back = go(state, (3.0, 0.0), (0.0, 0.0))
    assert sum(step[0].item() for step in there + back) == pytest.approx(0.0)


def test_path_efficiency_is_straight_over_travelled(state: State) -> None:
    # before anything was travelled it is 1, not a division by zero
    assert point_goal.path_efficiency(state).tolist() == [1.0, 1.0]
    go(state, (0.0, 4.0), (3.0, 4.0))
    assert point_goal.path_efficiency(state).tolist() == pytest.approx([5 / 7, 5 / 7])


def test_a_world_that_begins_anew_leaves_the_other_alone(state: State) -> None:
    go(state, (0.0, 4.0))
    state.world["start"][1] = torch.tensor([3.0, 3.0])
    point_goal.begin(state, torch.tensor([1]))
    assert state.world["travelled"][:, 0].tolist() == [4.0, 0.0]
    assert state.world["distance"][:, 0].tolist() == [3.0, 1.0]
    assert state.world["last_distance"][:, 0].tolist() == [5.0, 1.0]
    assert state.world["last"].tolist() == [[0.0, 4.0], [3.0, 3.0]]


def test_the_gap_is_to_the_nearest_disc_or_wall() -> None:
    position = torch.tensor([[0.0, 0.0], [4.5, 0.0], [1.0, 1.0]], dtype=torch.float64)
    centres = torch.tensor([[2.0, 0.0], [0.0, -3.0]], dtype=torch.float64).expand(3, 2, 2)
    radii_m = torch.tensor([0.5, 2.0], dtype=torch.float64)
    # a disc ahead, the wall at 5 m, a disc beside the way
    expected = [1.0, 0.5, math.sqrt(2.0) - 0.5]
    assert gap_to_nearest(position, centres, radii_m, 10.0)[:, 0].tolist() == pytest.approx(expected)
    assert gap_to_nearest(centres[:1, 0], centres[:1], radii_m, 10.0).item() == pytest.approx(-0.5)


@pytest.mark.parametrize("name", ["nav_lidar", "quad_avoid"])
def test_the_tasks_that_go_to_a_point_are_judged_alike(name: str) -> None:
    task = make_task(name, {})
    assert task.metrics["path_efficiency"] is point_goal.path_efficiency
    assert [term.func for term in task.rewards if term.name == "progress"] == [point_goal.progress]
    assert point_goal.world_numbers(task.world["goal"]).items() <= task.world.items()
