"""Guards in the loop: what a world does with a command that may not be sent, and what evaluation cannot judge."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from bedplate.bundle.contract import GuardSettings
from bedplate.core.limits import ChannelLimits, Limits, PositionLimit, SafeAction
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.evaluate.guarding import GuardBank
from bedplate.tasks.contract import contract_of
from bedplate.tasks.spec import Action, Event, Task

START_M = (9.0, 12.0)
"""Of the first world and of the others; the second is outside of what the signal "x" may say: no guard believes it."""


def _go(state, command):
    state.qvel[:, 0] = (command[:, 0].double() - state.qpos[:, 0]) / state.control_dt_s


def _far_away(state, ids, rng):
    state.qpos[torch.from_numpy(ids), 0] = torch.tensor(START_M)[(ids > 0).astype(int)].double()
    state.world["goal"][torch.from_numpy(ids)] = state.world["trap"][torch.from_numpy(ids)] = 100.0


@pytest.fixture
def positioned(task: Task) -> Task:
    """The cart with commanded positions, which start from the measured one."""
    channel = ChannelLimits("x", "m", -20.0, 20.0, rate_per_s=5.0, position=PositionLimit("x", 0, -20.0, 20.0))
    return dataclasses.replace(
        task,
        action=Action(
            channels=("x",),
            kind="delta_position",
            unit=("m",),
            low=(-0.5,),
            high=(0.5,),
            apply=_go,
            relative_to="measured",
            signal="x",
        ),
        limits=Limits((channel,), SafeAction("hold", (0.0,))),
        events=(Event("world", _far_away, randomisation=False),),
    )


def test_a_command_that_is_held_back_leaves_the_robot_where_it_stands(positioned: Task) -> None:
    env = TaskVecEnv(positioned, 3, split="evaluation")
    bank = GuardBank(env, contract_of(positioned), GuardSettings())
    env.reset()
    for _ in range(4):
        env.step(-torch.ones(3, 1))
    assert env.state.qpos[:, 0].tolist() == pytest.approx([7.0, 12.0, 12.0])
    assert env.sent[1:].tolist() == [[12.0]] * 2
    assert bank.use().held_back == 2 * 4
    env.close()


@pytest.mark.parametrize("delay_s", [0.0, 1.0])
def test_a_simulated_delay_makes_no_signal_stale(task: Task, delay_s: float) -> None:
    late = dataclasses.replace(task.signals[0], delay_s=(delay_s, delay_s))
    assert late.max_age_s < 1.0
    delayed = dataclasses.replace(task, signals=(late,))
    env = TaskVecEnv(delayed, 2, split="evaluation")
    bank = GuardBank(env, contract_of(delayed), GuardSettings())
    env.reset()
    for _ in range(20):
        env.step(torch.full((2, 1), 0.2))
    # the delay is real: the robot is elsewhere than it measures
    behind_m = env.state.qpos[:, 0].numpy() - env.signals["x"][:, 0].numpy()
    assert np.allclose(behind_m, 0.2 * delay_s, atol=0.03)
    assert bank.use().by_rule == {}
    env.close()
