"""A task small enough to predict: a cart on a rail, driven by a velocity servo."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import mujoco
import pytest
import torch

from bedplate.core.limits import ChannelLimits, Limits, SafeAction
from bedplate.tasks.spec import (
    Action,
    Event,
    Feature,
    MemoryTerm,
    RewardTerm,
    Signal,
    Task,
    Termination,
    previous_action,
)

CART = """
<mujoco>
  <option gravity="0 0 0"/>
  <worldbody>
    <body name="cart"><joint name="rail" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/></body>
  </worldbody>
  <actuator><velocity joint="rail" kv="20"/></actuator>
</mujoco>
"""
TOP_SPEED_M_S = 2.0
WALL_M = 1.0


def cart(**changes: Any) -> Task:
    """Drive the cart; the episode is decided at +1 m, cut at -1 m, and times out after 20 steps of 0.05 s."""
    task = Task(
        id="cart",
        model=lambda: mujoco.MjSpec.from_string(CART),
        sim_dt_s=0.01,
        decimation=5,
        episode_length_s=1.0,
        signals=(signal("position", lambda s: s.qpos), signal("speed", lambda s: s.qvel)),
        features=(
            Feature("position", 1, lambda signals, memory: signals["position"]),
            Feature("speed", 1, lambda signals, memory: signals["speed"]),
            Feature("previous_action", 1, lambda signals, memory: memory["previous_action"]),
            Feature("first", 1, lambda signals, memory: memory["first_position"]),
        ),
        memory=(previous_action(1), MemoryTerm("first_position", 1, 0.0, _keep_first, "position")),
        action=Action(
            channels=("rail",),
            kind="velocity",
            unit=("m/s",),
            low=(-TOP_SPEED_M_S,),
            high=(TOP_SPEED_M_S,),
            apply=lambda state, command: state.ctrl.copy_(command),
        ),
        limits=Limits(
            (ChannelLimits("rail", "m/s", -TOP_SPEED_M_S, TOP_SPEED_M_S, 100.0),), SafeAction("constant", (0.0,))
        ),
        rewards=(
            RewardTerm("forward", lambda state: state.qvel[:, 0], 2.0),
            RewardTerm("arrival", lambda state: (state.qpos[:, 0] > WALL_M).double(), 10.0, event=True),
        ),
        terminations=(
            Termination("arrived", lambda state: state.qpos[:, 0] > WALL_M),
            Termination("left", lambda state: state.qpos[:, 0] < -WALL_M, truncated=True),
        ),
        events=(Event("start", _start, randomisation=False),),
        success=lambda state: state.qpos[:, 0] > WALL_M,
        metrics={"position_m": lambda state: state.qpos[:, 0]},
    )
    return dataclasses.replace(task, **changes)


def signal(name: str, read: Callable, **changes: Any) -> Signal:
    """A one-element signal."""
    fields = {"components": ("x",), "unit": "m", "frame": "world", "low": -9.0, "high": 9.0, "max_age_s": 1.0}
    return Signal(name=name, read=read, **{**fields, **changes})


def _start(state, ids, rng):
    state.qpos.numpy()[ids, 0] = rng.uniform(-0.5, 0.5, len(ids))


def _keep_first(signals, memory, action, command):
    return memory["first_position"]


@pytest.fixture
def make_cart() -> Callable[..., Task]:
    """Builds the task with some of its fields replaced."""
    return cart


@pytest.fixture
def make_signal() -> Callable[..., Signal]:
    """Builds a one-element signal."""
    return signal


@pytest.fixture
def actions() -> Callable[..., list[torch.Tensor]]:
    """Builds a list of random actions (num_envs, 1)."""

    def draw(count: int, num_envs: int, seed: int = 0) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(seed)
        return [torch.rand(num_envs, 1, generator=generator) * 2 - 1 for _ in range(count)]

    return draw
