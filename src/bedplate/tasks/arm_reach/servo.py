"""The classical servo: a damped least-squares step of the tip towards the target, with a detour past the obstacle.

What it would do is one of the policy's features, and the controller's aim.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bedplate.tasks.arm_reach.geometry import detour, solve, turning
from bedplate.tasks.arm_reach.kinematics import Chain, Pose
from bedplate.tasks.spec import Signals

# damping of the least-squares step, weight of the approach axis against metres, gain towards the target
DAMPING, AXIS_WEIGHT_M, GAIN_HZ = 0.05, 0.3, 4.0
# a joint this near to the limit that it moves towards leaves the work to the others, down to a least share
LIMIT_ROOM_RAD, LEAST_SHARE = 0.3, 0.02
# farthest that the tip is drawn at once, and the detour; chosen on 200 training worlds
LEASH_M, DETOUR_MARGIN_M, DETOUR_LIFT_M, BOX_TO_BALL = 0.25, 0.15, 0.05, 0.8


@dataclass(frozen=True)
class Servo:
    """The servo of one arm.

    Attributes:
        chain: kinematics.
        low, high: joint position limits.
        speed: fastest joint speeds, in rad/s.
    """

    chain: Chain
    low: tuple[float, ...]
    high: tuple[float, ...]
    speed: tuple[float, ...]

    def goal(self, pose: Pose, signals: Signals) -> tuple[Tensor, Tensor]:
        """What the tip should do: J^T (n, num_joints, 6) of position and weighted approach axis, and e (n, 6, 1).

        Turning about the approach axis itself is free.
        """
        target, axis = signals["target_position"].double(), signals["target_axis"].double()
        obstacle, half = signals["obstacle_position"].double(), signals["obstacle_size"].double()
        radius = BOX_TO_BALL * half.norm(dim=1, keepdim=True) + DETOUR_MARGIN_M
        aim = detour(pose.tip, target, obstacle, radius, DETOUR_LIFT_M)
        error = aim - pose.tip
        error = error / (error.norm(dim=1, keepdim=True) / LEASH_M).clamp(min=1.0)
        linear = self.chain.jacobian(pose, pose.tip)
        angular = self.chain.axis_jacobian(pose)
        angular = angular - (angular @ pose.axis[:, :, None]) * pose.axis[:, None]
        jacobian = torch.cat([linear, AXIS_WEIGHT_M * angular], dim=2)
        return jacobian, torch.cat([error, AXIS_WEIGHT_M * turning(pose.axis, axis)], dim=1)[:, :, None]

    def speed_at(self, pose: Pose, signals: Signals) -> Tensor:
        """Joint speeds (n, num_joints) float64 in rad/s; the fastest slows the others down.

        The step is W J^T (J W J^T + d^2 I)^-1 e. W starts as one; a second pass takes weight from joints that the first
        one drives into a near limit.
        """
        jacobian, wanted = self.goal(pose, signals)
        first = _damped(jacobian, jacobian, wanted)
        q, low, high = signals["joint_position"].double(), _double(self.low), _double(self.high)
        room = torch.where(first > 0, high - q, q - low)
        weight = (room / LIMIT_ROOM_RAD).clamp(LEAST_SHARE, 1.0)
        speed = GAIN_HZ * _damped(jacobian * weight[:, :, None], jacobian, wanted)
        return speed / (speed.abs() / _double(self.speed)).amax(dim=1, keepdim=True).clamp(min=1.0)


def _damped(weighted: Tensor, jacobian: Tensor, wanted: Tensor) -> Tensor:
    """(n, num_joints): W J^T (J W J^T + d^2 I)^-1 e for `weighted` = W J^T and `jacobian` = J^T (n, num_joints, 6)."""
    square = jacobian.transpose(1, 2) @ weighted + DAMPING**2 * torch.eye(6, dtype=torch.float64)
    return (weighted @ solve(square, wanted))[:, :, 0]


def _double(values: tuple[float, ...]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)
