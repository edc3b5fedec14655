"""A task that can be worked out by hand: a cart on a rail must reach its goal before a trap and the clock."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
import torch

from bedplate.core.limits import ChannelLimits, Limits, SafeAction
from bedplate.evaluate.controllers import BatchPolicy
from bedplate.tasks.spec import Action, Event, Feature, RewardTerm, Signal, Task, Termination, previous_action

MODEL = """
<mujoco>
  <worldbody>
    <geom name="rail" type="box" size="9 0.1 0.05" pos="0 0 -0.2"/>
    <geom name="post" type="cylinder" size="0.2 0.5" pos="3 1 0.3"/>
    <body name="cart" gravcomp="1">
      <joint type="slide" axis="1 0 0"/>
      <geom type="sphere" size="0.1" mass="1" contype="0" conaffinity="0"/>
      <site name="tip" pos="0.1 0 0"/>
    </body>
  </worldbody>
</mujoco>
"""

STEPS = 50
STEP_M = 0.1


def layout(world_id: int) -> tuple[float, float]:
    """Goal and trap of a world, in metres; off the grid of positions that full speed reaches."""
    rng = np.random.default_rng(world_id)
    goal = rng.uniform(0.5, 8.0)
    trap = rng.uniform(0.5, 8.0) if rng.random() < 0.4 else 100.0
    return float(goal), float(trap)


def _ending(world_id: int) -> tuple[str, int]:
    """Worked out without the simulator: reason and length when the cart drives at full speed."""
    goal, trap = layout(world_id)
    for step in range(1, STEPS + 1):
        # the first command is halved by the rate limit of 5 m/s2
        x = (step - 0.5) * STEP_M
        if x > goal:
            return "success", step
        if x > trap:
            return "collision", step
    return "time_out", STEPS


def _place(state, ids, rng):
    for env in ids:
        state.world["goal"][env, 0], state.world["trap"][env, 0] = layout(int(state.world_id[env]))


def _drive(state, command):
    state.qvel[:, 0] = command[:, 0].double()


@pytest.fixture
def ending_at_full_speed() -> Callable[[int], tuple[str, int]]:
    """World id -> reason and length of an episode at full speed without a guard."""
    return _ending


@pytest.fixture
def full_speed() -> BatchPolicy:
    """The policy output 1, always."""
    return BatchPolicy(lambda obs: torch.ones(len(obs), 1))


@pytest.fixture
def task() -> Task:
    goal = lambda state: state.qpos[:, 0] > state.world["goal"][:, 0]  # noqa: E731
    trap = lambda state: state.qpos[:, 0] > state.world["trap"][:, 0]  # noqa: E731
    return Task(
        id="cart",
        description="a cart on a rail",
        model=lambda: mujoco.MjSpec.from_string(MODEL),
        sim_dt_s=0.05,
        decimation=2,
        episode_length_s=STEPS * 0.1,
        signals=(
            Signal(
                name="x",
                components=("x",),
                unit="m",
                frame="world",
                read=lambda state: state.qpos[:, :1],
                low=-10.0,
                high=10.0,
                max_age_s=0.2,
            ),
        ),
        features=(Feature("x", 1, lambda signals, memory: signals["x"]),),
        memory=(previous_action(1),),
        action=Action(channels=("speed",), kind="velocity", unit=("m/s",), low=(-1.0,), high=(1.0,), apply=_drive),
        limits=Limits((ChannelLimits("speed", "m/s", -1.0, 1.0, rate_per_s=5.0),), SafeAction("ramp", (0.0,))),
        rewards=(RewardTerm("speed", lambda state: state.qvel[:, 0], 1.0),),
        terminations=(Termination("success", goal), Termination("collision", trap)),
        events=(Event("world", _place, randomisation=False),),
        success=goal,
        world={"goal": 1, "trap": 1},
        metrics={"way": lambda state: state.qpos[:, 0]},
        baseline=lambda signals: torch.full((len(signals["x"]), 1), 0.5),
        tracked="tip",
        difficulty={"goal": "0.5 to 8 m", "traps": "in 40 % of the worlds"},
    )
