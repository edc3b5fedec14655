"""The arm and what is around it: what controller and features both start from, so that it is worked out once."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from bedplate.tasks.arm_reach.geometry import Obstacle
from bedplate.tasks.arm_reach.kinematics import Chain, Pose
from bedplate.tasks.spec import Signals


@dataclass(frozen=True)
class Sight:
    """One control step of all worlds; float64, base frame, metres.

    Attributes:
        q: (n, num_joints) joint positions in rad or m.
        pose: the arm at `q`.
        target: (n, 3) target position.
        axis: (n, 3) target approach axis, about a unit vector.
        obstacle: the obstacle.
        gap: (n, num_points) from the arm's surface around each of its points to the obstacle's, negative inside.
        away: (n, num_points, 3) unit vectors out of the obstacle.
    """

    q: Tensor
    pose: Pose
    target: Tensor
    axis: Tensor
    obstacle: Obstacle
    gap: Tensor
    away: Tensor

    @classmethod
    def of(cls, chain: Chain, signals: Signals) -> Sight:
        """As measured."""
        q, target, axis = (signals[name].double() for name in ("joint_position", "target_position", "target_axis"))
        return cls.at(chain, q, target, axis, Obstacle.of(signals))

    @classmethod
    def at(cls, chain: Chain, q: Tensor, target: Tensor, axis: Tensor, obstacle: Obstacle) -> Sight:
        """The arm at joint positions `q`; all float64."""
        pose = chain.pose(q)
        gap, away = obstacle.gap(pose.points)
        return cls(q, pose, target, axis, obstacle, gap - chain.radii, away)
