"""The classical controller: the servo's aim, brought there by a small quadratic programme within all dampers.

It answers to the measured signals alone and has no plan: it gets stuck where only a larger detour helps. It is the
task's baseline, the teacher of a policy's first steps, and one of the policy's features.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bedplate.tasks.arm_reach.damper import Damper, Rows
from bedplate.tasks.arm_reach.geometry import solve
from bedplate.tasks.arm_reach.servo import GAIN_HZ, Servo
from bedplate.tasks.arm_reach.sight import Sight
from bedplate.tasks.spec import Signals

# weight of joint speed against tip speed, and how strongly free joints are drawn to the middle of their range
DAMPING, CENTRING = 0.03, 0.05
ITERATIONS = 20


@dataclass(frozen=True)
class Controller:
    """The controller of one arm.

    Attributes:
        servo: where the tip should go.
        damper: what must not come nearer.
    """

    servo: Servo
    damper: Damper

    def command(self, signals: Signals) -> Tensor:
        """Joint speeds (n, num_joints) float32 in rad/s (m/s)."""
        return self.speed(Sight.of(self.servo.chain, signals)).float()

    def speed(self, sight: Sight) -> Tensor:
        """The same, float64."""
        servo, damper = self.servo, self.damper
        jacobian, wanted = servo.goal(sight)
        low, high, fastest = (
            torch.tensor(values, dtype=torch.float64) for values in (damper.low, damper.high, servo.speed)
        )

        # least squares with some weight on joint speed
        centring = CENTRING * ((low + high) / 2 - sight.q)
        missing = wanted - (jacobian * centring[:, :, None]).sum(dim=1)[:, :, None]
        eye = torch.eye(len(damper.low), dtype=torch.float64)
        weight = jacobian @ jacobian.transpose(1, 2) + DAMPING**2 * eye
        inverse = solve(weight, eye.expand_as(weight))
        speed = GAIN_HZ * (centring + (inverse @ (jacobian @ missing))[:, :, 0])

        # the same within the bounds
        speed = nearest(speed, damper.rows(sight), inverse)
        return speed / (speed.abs() / fastest).amax(dim=1, keepdim=True).clamp(min=1.0)


def nearest(speed: Tensor, rows: Rows, inverse: Tensor) -> Tensor:
    """The speeds within `rows` that are nearest to `speed` by a weight: Hildreth's method, most broken row first.

    Args:
        speed: (n, num_joints) wanted speeds.
        rows: the bounds.
        inverse: (n, num_joints, num_joints) inverse of the weight's matrix.

    Returns:
        (n, num_joints); after few iterations the rows hold approximately.
    """
    back = rows.opening @ inverse
    size = (back * rows.opening).sum(dim=2) + 1e-9
    root = size.sqrt()
    number = torch.arange(rows.least.shape[1])
    pull = torch.zeros_like(rows.least)
    for _ in range(ITERATIONS):
        # a row that has pulled may give way again
        change = torch.maximum(rows.short(speed) / size, -pull)
        worst = (change.abs() * root).argmax(dim=1, keepdim=True)
        change = torch.where(number == worst, change, 0.0)
        pull = pull + change
        speed = speed + (change[:, None] @ back)[:, 0]
    return speed
