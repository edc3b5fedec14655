"""What it takes to fly among the pillars: straight flight does not do, the classical controller does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from bedplate.envs.vec_env import TaskVecEnv
from bedplate.tasks.quad_avoid import flight, quad_avoid
from bedplate.tasks.spec import Signals


def _straight(signals: Signals) -> torch.Tensor:
    """A velocity controller that flies straight at the goal at 1 m/s."""
    gravity, goal = signals["gravity"], signals["goal"]
    wanted = goal / goal.norm(dim=1, keepdim=True)
    pull = 2.0 * (wanted - signals["velocity"])
    pitch = 6 * ((pull[:, 0] / 9.81).clamp(-0.3, 0.3) - gravity[:, 0])
    roll = 6 * ((-pull[:, 1] / 9.81).clamp(-0.3, 0.3) + gravity[:, 1])
    thrust = (pull[:, 2].clamp(-2, 2) + 9.81) * flight.MASS_KG
    return torch.stack([thrust, roll, pitch, torch.zeros_like(roll)], dim=1)


def _successes(
    pilot: Callable[[Signals], torch.Tensor], count: int, randomisation: bool = False, **params: object
) -> list[bool]:
    """Whether `pilot` (signals -> command) reached the goal, in the first episode of each world."""
    env = TaskVecEnv(quad_avoid(**params), count, split="evaluation", randomisation=randomisation)  # type: ignore[arg-type]
    env.reset()
    first: dict[int, bool] = {}
    for _ in range(env.task.episode_steps):
        action = env.task.action.to_action(pilot(env.signals), env.signals, env.memory)
        for episode in env.step(action).episodes:
            first.setdefault(episode.env_id, episode.success)
        if len(first) == count:
            break
    env.close()
    return list(first.values())


def test_straight_flight_fails_in_most_worlds(full: bool) -> None:
    count = 500 if full else 60
    done = _successes(_straight, count)
    assert len(done) == count
    assert np.mean(done) <= 0.30
    # the same controller flies well where nothing is in the way, so it is the pillars that stop it
    assert np.mean(_successes(_straight, 12, pillars=(1, 1), keep_open=1.0)) >= 0.8


def test_the_classical_controller_avoids_what_straight_flight_hits(full: bool) -> None:
    count = 500 if full else 24
    steering = quad_avoid().baseline
    assert steering is not None
    done = _successes(steering, count, randomisation=True)
    assert len(done) == count
    assert np.mean(done) >= 0.8


def test_the_classical_controller_turns_to_the_nearest_free_direction() -> None:
    # hovering, the goal 4 m ahead, a wall 0.6 m ahead that leaves the left free
    ranges = torch.full((1, 32), flight.RANGE_M)
    bearings = flight.fan_angles(32)
    wall = (bearings > -1.2) & (bearings < 0.5)
    ranges[0, wall] = 0.6
    zeros = torch.zeros(1, 3)
    signals = {"range": ranges, "velocity": zeros, "gyro": zeros, "height": torch.ones(1, 1)}
    signals |= {"gravity": torch.tensor([[0.0, 0.0, -1.0]]), "goal": torch.tensor([[4.0, 0.0, 0.0]])}
    steering = quad_avoid().baseline
    assert steering is not None
    thrust, roll, pitch, yaw = steering(signals)[0].tolist()
    # left is a negative roll; thrust hovers at the goal's height
    assert roll < -0.3 and yaw == 0.0 and thrust == pytest.approx(flight.HOVER_N, rel=1e-3)
    open_pitch = steering({**signals, "range": torch.full((1, 32), flight.RANGE_M)})[0, 2].item()
    assert open_pitch > 1.0 and pitch < open_pitch
