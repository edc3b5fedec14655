"""The protocol every physics engine fulfils: many worlds of one model, stepped together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import mujoco
import numpy as np
from torch import Tensor


@dataclass(frozen=True)
class RaySensor:
    """A fan of distance rays fixed to a body, computed once per control step.

    Attributes:
        name: key in Engine.rays.
        body: body the rays are fixed to; its own geoms are ignored.
        origin: (3,) start of every ray in the body frame, in metres.
        directions: unit vectors in the body frame, one per ray.
        range_m: distance reported for a miss, and the longest distance reported.
        geomgroups: geom groups the rays see.
        yaw_only: directions follow only the body's heading and stay level (a stabilised lidar).
    """

    name: str
    body: str
    origin: tuple[float, float, float]
    directions: tuple[tuple[float, float, float], ...]
    range_m: float
    geomgroups: tuple[int, ...] = (0,)
    yaw_only: bool = False


class Engine(Protocol):
    """Many worlds of one model.

    Views returned by field(), rays and expand() are live and batched: (num_envs, ...) float64 on `device`.
    """

    model: mujoco.MjModel
    num_envs: int
    rays: dict[str, Tensor]
    diverged: Tensor
    """(num_envs,) bool: worlds whose physics failed in the last step(); terminate them, never bootstrap them."""

    def field(self, name: str) -> Tensor:
        """Live view of a MuJoCo data field, such as "qpos"; (num_envs, ...) float64.

        State fields (qpos, qvel, act, ctrl, mocap_pos, ...) may be written; derived fields are current after
        step() and forward().
        """
        ...

    def reset(self, ids: np.ndarray) -> None:
        """Put the worlds `ids` (n,) int64, sorted, at the model's defaults.

        Write their state, then call forward(ids).
        """
        ...

    def forward(self, ids: np.ndarray) -> None:
        """Compute derived fields and rays of the worlds `ids` from their state."""
        ...

    def step(self) -> None:
        """Advance every world by one control step under its ctrl; then derived fields and rays are current."""
        ...

    def expand(self, name: str) -> Tensor:
        """Per-world values of a model field, such as "body_mass"; (num_envs, ...). Call set_const() after a write."""
        ...

    def set_const(self, ids: np.ndarray) -> None:
        """Recompute model constants that follow from expanded fields, for the worlds `ids`."""
        ...

    def world_model(self, world: int) -> mujoco.MjModel:
        """One world's model with its own fields, for rendering."""
        ...

    def world_data(self, world: int) -> mujoco.MjData:
        """One world's data, for rendering."""
        ...

    def close(self) -> None:
        """Release threads and memory."""
        ...
