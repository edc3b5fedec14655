"""The policy's output corrects the classical servo; the sum obeys velocity and acceleration limits by construction."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bedplate.core.limits import Limits
from bedplate.tasks.arm_reach.servo import Servo
from bedplate.tasks.spec import Action, Memory, Signals


@dataclass(frozen=True, kw_only=True)
class CorrectedServo(Action):
    """Joint velocity = servo + correction, moved by a bounded amount per control step from memory "commanded".

    A policy that gives zeros is the servo; near the target its corrections lose strength, see Servo.authority. All of
    it is inside the exported graph, so that the guard's velocity and rate rules have nothing to do while all is well.
    (Residual policy learning: Johannink et al., ICRA 2019.)

    Attributes:
        servo: the motion to correct; None leaves all of it to the policy.
        slew: largest change of the command in one control step, per channel.
    """

    servo: Servo | None
    slew: tuple[float, ...]

    def to_command(self, action: Tensor, signals: Signals, memory: Memory, limits: Limits) -> Tensor:
        """Turn a policy output into a command; see Action.to_command."""
        top = torch.tensor(self.high)
        wanted = action.clamp(-1.0, 1.0)
        if self.servo is not None:
            pose = self.servo.chain.pose(signals["joint_position"])
            wanted = self.servo.action_at(pose, signals) + self.servo.authority(pose, signals) * wanted
        wanted = top * wanted
        bound = torch.tensor([channel.high for channel in limits.channels])
        last, slew = memory["commanded"], torch.tensor(self.slew)
        wanted = torch.minimum(torch.maximum(wanted, -bound), bound)
        return torch.minimum(torch.maximum(wanted, last - slew), last + slew)

    def alone(self, action: Tensor, signals: Signals) -> Tensor:
        """The policy output that cancels the servo; exact where corrections have full strength. See Action.alone."""
        return action if self.servo is None else action - self.servo.action(signals)
