"""A loaded arm: a model with velocity servos, and the limits that hold for it."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco


@dataclass(frozen=True)
class Arm:
    """A serial arm, ready for a task.

    Attributes:
        name: the model's name.
        spec: the model: the arm's joints only, each with a velocity servo, gravity compensated.
        joints: joint names from base to tip; qpos, qvel, ctrl and act are in this order.
        position_low, position_high: joint position limits in rad (m for slides).
        velocity: largest joint speed in rad/s (m/s).
        acceleration: largest joint acceleration in rad/s^2 (m/s^2).
        effort: largest joint torque in N m (N).
        home: rest position, inside the limits.
        tip: name of the end-effector site.
        assumed: what the model did not say and Bedplate filled in, in words, for reports.
    """

    name: str
    spec: mujoco.MjSpec
    joints: tuple[str, ...]
    position_low: tuple[float, ...]
    position_high: tuple[float, ...]
    velocity: tuple[float, ...]
    acceleration: tuple[float, ...]
    effort: tuple[float, ...]
    home: tuple[float, ...]
    tip: str
    assumed: tuple[str, ...] = ()
