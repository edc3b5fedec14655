"""What the policy sees: pure torch functions of joint positions and velocities, target and obstacle.

Everything here goes into the exported graph, so only operations that ONNX has are used.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bedplate.tasks.arm_reach.controller import Controller
from bedplate.tasks.arm_reach.geometry import turning
from bedplate.tasks.arm_reach.kinematics import Chain
from bedplate.tasks.arm_reach.sight import Sight
from bedplate.tasks.robots.arm import Arm
from bedplate.tasks.spec import Feature, Memory, Signals

# distance over which an obstacle's push falls off, and beyond which distances are not told apart
PUSH_RANGE_M, FAR_M = 0.1, 0.4
NEAR_GAIN = 15.0


@dataclass(frozen=True)
class Observer:
    """The observation of one arm.

    Attributes:
        arm: limits, for scaling.
        chain: kinematics.
        controller: the classical controller; its speeds scale velocities.
    """

    arm: Arm
    chain: Chain
    controller: Controller

    def features(self) -> tuple[Feature, ...]:
        """All features, joint state first."""
        joints, points = len(self.arm.joints), self.chain.num_points
        return (
            Feature("joint_position", joints, self._joint_position),
            Feature("joint_velocity", joints, self._joint_velocity),
            Feature("commanded", joints, self._commanded),
            # everything that needs the arm's pose is one slice, so that kinematics run once
            Feature("reach", 29 + 3 * joints + 2 * points, self._reach),
        )

    def _joint_position(self, signals: Signals, memory: Memory) -> Tensor:
        low, high = torch.tensor(self.arm.position_low), torch.tensor(self.arm.position_high)
        return (signals["joint_position"] - (low + high) / 2) / ((high - low) / 2)

    def _joint_velocity(self, signals: Signals, memory: Memory) -> Tensor:
        return signals["joint_velocity"] / torch.tensor(self.controller.servo.speed)

    def _commanded(self, signals: Signals, memory: Memory) -> Tensor:
        return memory["commanded"] / torch.tensor(self.controller.servo.speed)

    def _reach(self, signals: Signals, memory: Memory) -> Tensor:
        sight = Sight.of(self.chain, signals)
        pose, axis, obstacle = sight.pose, sight.axis, sight.obstacle
        error, turn = sight.target - pose.tip, turning(pose.axis, axis)
        distance = error.norm(dim=1, keepdim=True)
        angle = turn.norm(dim=1, keepdim=True)

        # what the classical controller would do
        fastest = torch.tensor(self.controller.servo.speed, dtype=torch.float64)
        classical = self.controller.speed(sight) / fastest
        return torch.cat(
            [
                # where the tip is and where it has to go
                pose.tip,
                pose.axis,
                axis,
                error,
                turn,
                error / (distance + 0.05),
                torch.log(distance + 0.005),
                torch.log(angle + 0.02),
                classical,
                # the same again, magnified: the last millimetres
                (NEAR_GAIN * classical).clamp(-1.0, 1.0),
                # what is in the way
                self._push(sight),
                sight.gap.clamp(max=FAR_M),
                pose.points[:, :, 2] - self.chain.radii,
                (obstacle.centre - pose.tip).clamp(-1.0, 1.0),
                obstacle.half,
                obstacle.shape,
            ],
            dim=1,
        ).float()

    def _push(self, sight: Sight) -> Tensor:
        """Joint direction that moves the points of the arm away from the obstacle: (n, num_joints)."""
        weight = torch.exp(-sight.gap.clamp(min=-0.05) / PUSH_RANGE_M)
        return self.chain.along(sight.pose, sight.pose.points, weight[:, :, None] * sight.away, self.chain.moved).sum(
            dim=1
        )
