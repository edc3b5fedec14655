"""Where the tip should go: towards the target, with a detour past the obstacle."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bedplate.tasks.arm_reach.geometry import detour, turning
from bedplate.tasks.arm_reach.kinematics import Chain
from bedplate.tasks.arm_reach.sight import Sight

# weight of the approach axis against metres, gain towards the target
AXIS_WEIGHT_M, GAIN_HZ = 0.1, 4.0
# farthest that the tip is drawn at once, and the detour; chosen on 200 training worlds
LEASH_M, DETOUR_MARGIN_M, DETOUR_LIFT_M, BOX_TO_BALL = 0.4, 0.15, 0.05, 0.8


@dataclass(frozen=True)
class Servo:
    """The servo of one arm.

    Attributes:
        chain: kinematics.
        speed: fastest joint speeds, in rad/s.
    """

    chain: Chain
    speed: tuple[float, ...]

    def goal(self, sight: Sight) -> tuple[Tensor, Tensor]:
        """What the tip should do: J^T (n, num_joints, 6) of position and weighted approach axis, and e (n, 6, 1).

        Turning about the approach axis itself is free.
        """
        pose, obstacle = sight.pose, sight.obstacle
        radius = BOX_TO_BALL * obstacle.half.norm(dim=1, keepdim=True) + DETOUR_MARGIN_M
        aim = detour(pose.tip, sight.target, obstacle.centre, radius, DETOUR_LIFT_M)
        error = aim - pose.tip
        error = error / (error.norm(dim=1, keepdim=True) / LEASH_M).clamp(min=1.0)
        linear = self.chain.jacobian(pose, pose.tip)
        angular = self.chain.axis_jacobian(pose)
        angular = angular - (angular @ pose.axis[:, :, None]) * pose.axis[:, None]
        jacobian = torch.cat([linear, AXIS_WEIGHT_M * angular], dim=2)
        return jacobian, torch.cat([error, AXIS_WEIGHT_M * turning(pose.axis, sight.axis)], dim=1)[:, :, None]
