"""Gymnasium's own model files, and the torque commands that their motors take."""

from __future__ import annotations

import warnings
from pathlib import Path

import gymnasium
import mujoco
import numpy as np
from torch import Tensor

from bedplate.core.errors import BedplateError
from bedplate.core.limits import ChannelLimits, Limits, SafeAction
from bedplate.sim.library import keep_mujoco_quiet
from bedplate.tasks.spec import Action, Signal, State

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"


def load(file_name: str) -> mujoco.MjSpec:
    """A model file of the installed Gymnasium.

    Raises:
        BedplateError: this Gymnasium does not carry the file.
    """
    path = ASSETS / file_name
    if not path.is_file():
        raise BedplateError(f"{path} does not exist", "a model file of Gymnasium", "pip install 'gymnasium>=1.2'")
    # some of these files use attributes that MuJoCo has deprecated; it says so when they are read and compiled
    keep_mujoco_quiet()
    warnings.filterwarnings("ignore", "compiler attribute 'settotalmass' is deprecated")
    return mujoco.MjSpec.from_file(str(path))


def torques(joints: tuple[str, ...], high: float, control_dt_s: float, unit: str = "1") -> tuple[Action, Limits]:
    """The motors' command, in Gymnasium's action units, and its limits.

    Args:
        joints: driven joints in actuator order; they name the channels.
        high: largest magnitude of Gymnasium's action space, the same on every channel.
        control_dt_s: control period; the command may cross its whole range in one, twice over.
        unit: of the command; the models' motors multiply it by a gear.
    """
    action = Action(
        channels=joints,
        kind="effort",
        unit=(unit,) * len(joints),
        low=(-high,) * len(joints),
        high=(high,) * len(joints),
        apply=_drive,
    )
    # never a limit: Gymnasium has none
    channels = tuple(ChannelLimits(name, unit, -high, high, rate_per_s=4 * high / control_dt_s) for name in joints)
    return action, Limits(channels, SafeAction("constant", (0.0,) * len(joints)))


def joint_position(components: tuple[str, ...], first: int) -> Signal:
    """The signal "joint_position": qpos from index `first` on, in radians and metres."""
    return Signal(
        name="joint_position",
        components=components,
        unit="rad, m",
        frame="joint",
        read=lambda state: state.qpos[:, first : first + len(components)],
        low=-1e3,
        high=1e3,
        max_age_s=0.1,
    )


def joint_velocity(components: tuple[str, ...]) -> Signal:
    """The signal "joint_velocity": the first elements of qvel, in radians and metres per second."""
    return Signal(
        name="joint_velocity",
        components=components,
        unit="rad/s, m/s",
        frame="joint",
        read=lambda state: state.qvel[:, : len(components)],
        low=-1e3,
        high=1e3,
        max_age_s=0.1,
    )


def body_position(name: str, body_ids: tuple[int, ...], components: tuple[str, ...]) -> Signal:
    """A signal with the world positions of bodies side by side, in metres."""
    return Signal(
        name=name,
        components=components,
        unit="m",
        frame="world",
        read=lambda state: state.xpos[:, list(body_ids)].flatten(1),
        low=-1e2,
        high=1e2,
        max_age_s=0.1,
    )


def uniform(rng: np.random.Generator, magnitude: float, ids: np.ndarray, size: int) -> np.ndarray:
    """(n, size) draws from [-magnitude, magnitude] for the worlds `ids`."""
    return rng.uniform(-magnitude, magnitude, (len(ids), size))


def control_cost(state: State) -> Tensor:
    """(num_envs,) minus the sum of the squared commands."""
    return -state.command.double().square().sum(dim=1)


def _drive(state: State, command: Tensor) -> None:
    state.ctrl.copy_(command)
