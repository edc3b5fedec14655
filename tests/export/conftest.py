"""A task of two sliders, and Stable-Baselines3 models that were never trained but answer like trained ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO

from bedplate.core.limits import ChannelLimits, Limits, PositionLimit, SafeAction
from bedplate.export.export import Exported, export
from bedplate.learn.normalizer import Normalizer
from bedplate.tasks.spec import Action, Feature, MemoryTerm, Signal, Task, previous_action

XML = """
<mujoco>
  <worldbody>
    <body name="left"><joint name="left" type="slide" axis="1 0 0" damping="1"/><geom size="0.1" mass="1"/></body>
    <body name="right"><joint name="right" type="slide" axis="1 0 0" damping="1"/><geom size="0.1" mass="1"/></body>
  </worldbody>
  <actuator><velocity joint="left" kv="10"/><velocity joint="right" kv="10"/></actuator>
</mujoco>
"""

CHANNELS = ("left", "right")


def _limits() -> Limits:
    position = [PositionLimit("position", index, -2.0, 2.0) for index in range(2)]
    channels = tuple(
        ChannelLimits(name, "m/s", -1.5, 1.2, 4.0, position=watch)
        for name, watch in zip(CHANNELS, position, strict=True)
    )
    return Limits(channels, SafeAction("ramp", (0.0, 0.0)))


def make_task(relative_to: str = "", **changes: Any) -> Task:
    """Two sliders at 50 Hz that shall reach a target; `relative_to` as in Action."""
    small = relative_to != ""
    fields: dict[str, Any] = {
        "id": "two_sliders",
        "model": lambda: mujoco.MjSpec.from_string(XML),
        "sim_dt_s": 0.005,
        "decimation": 4,
        "episode_length_s": 2.0,
        "signals": (
            Signal(
                name="position",
                components=CHANNELS,
                unit="m",
                frame="joint",
                read=lambda state: state.qpos,
                low=-3.0,
                high=3.0,
                max_age_s=0.06,
                noise_std=0.01,
            ),
            Signal(
                name="bearing",
                components=("sin", "cos", "distance"),
                unit="1",
                frame="world",
                read=lambda state: torch.stack(
                    [state.qpos[:, 0].sin(), state.qpos[:, 1].cos(), state.qvel[:, 0]], dim=1
                ),
                low=-5.0,
                high=5.0,
                max_age_s=0.1,
            ),
        ),
        "features": (
            Feature("position", 2, lambda signals, memory: signals["position"]),
            Feature("angle", 1, lambda s, m: torch.atan2(s["bearing"][:, :1], s["bearing"][:, 1:2].abs() + 0.1)),
            Feature("near", 1, lambda s, m: torch.where(s["bearing"][:, 2:].abs() < 1.0, s["bearing"][:, 2:], 0.0)),
            Feature("previous_action", 2, lambda signals, memory: memory["previous_action"]),
            Feature("commanded", 2, lambda signals, memory: memory["commanded"]),
        ),
        "memory": (
            previous_action(2),
            MemoryTerm("commanded", 2, 0.0, lambda signals, memory, action, command: command),
        ),
        "action": Action(
            channels=CHANNELS,
            kind="velocity",
            unit=("m/s", "m/s"),
            low=(-0.2, -0.3) if small else (-1.5, -1.0),
            high=(0.2, 0.1) if small else (1.2, 1.0),
            apply=lambda state, command: state.engine.field("ctrl").copy_(command),
            relative_to=relative_to,
            signal="position" if relative_to == "measured" else "",
        ),
        "rewards": (),
        "terminations": (),
        "events": (),
        "success": lambda state: state.qpos[:, 0] > 0.5,
        "limits": _limits(),
    }
    return Task(**{**fields, **changes})


def make_model(task: Task, algorithm: type = PPO, **kwargs: Any) -> Any:
    """An untrained model with weights large enough that its mean action covers [-1, 1] and beyond."""

    class Spaces(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (task.obs_dim,), np.float32)
        action_space = gymnasium.spaces.Box(-1.0, 1.0, (task.act_dim,), np.float32)

    kwargs.setdefault("policy_kwargs", {"net_arch": [32, 16]})
    model = algorithm("MlpPolicy", Spaces(), device="cpu", seed=1, **kwargs)
    torch.manual_seed(2)
    with torch.no_grad():
        for name, parameter in model.policy.named_parameters():
            if "log_std" not in name:
                parameter.add_(0.15 * torch.randn_like(parameter))
        if algorithm is PPO:
            model.policy.action_net.weight.mul_(2.0)
    return model


def make_normalizer(task: Task) -> Normalizer:
    """A normaliser with statistics that are neither zero nor one."""
    normalizer = Normalizer(task.obs_dim)
    generator = torch.Generator().manual_seed(3)
    scale = torch.linspace(0.2, 1.5, task.obs_dim)
    normalizer.update(0.3 + scale * torch.randn(500, task.obs_dim, generator=generator))
    return normalizer


@pytest.fixture(scope="session")
def tasks() -> Callable[..., Task]:
    """Make a synthetic task."""
    return make_task


@pytest.fixture(scope="session")
def models() -> Callable[..., Any]:
    """Make an untrained model for a task."""
    return make_model


@pytest.fixture(scope="session")
def normalizers() -> Callable[[Task], Normalizer]:
    """Make a normaliser for a task."""
    return make_normalizer


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """One exported bundle, shared; tests that change it copy it first."""
    task = make_task("commanded")
    folder = tmp_path_factory.mktemp("run") / "bundle"
    return export(folder, task, make_model(task), make_normalizer(task))
