"""A classical planner to measure the policy against: the dynamic window approach (Fox, Burgard, Thrun, 1997).

Every control step it rolls out a grid of speeds the robot can reach within a short time, drops those that would hit a
lidar return, and takes the best by progress, clearance and speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bedplate.tasks.nav_lidar.arcs import arcs, gaps
from bedplate.tasks.nav_lidar.terms import SPEED_M_S, TURN_RAD_S
from bedplate.tasks.spec import Signals

FORWARD = 6
TURN = 15
"""Grid of candidate speeds."""


@dataclass(frozen=True)
class DynamicWindow:
    """Lidar, position, heading and goal -> forward and turning speed.

    The defaults are the best of 120 trials on training worlds: see `benchmarks/tune_dynamic_window.py`.

    Attributes:
        horizon_s: how far ahead arcs are rolled out.
        margin_m: gap below which an arc counts as a collision.
        heading: weight of the direction to the goal at the arc's end.
        progress: weight of the distance gained.
        clearance: weight of the smallest gap, up to clearance_m.
        clearance_m: gap beyond which more room has no value.
        speed: weight of forward speed.
    """

    horizon_s: float = 2.149
    margin_m: float = 0.048
    heading: float = 0.113
    progress: float = 1.192
    clearance: float = 0.384
    clearance_m: float = 0.161
    speed: float = 0.773

    def __call__(self, signals: Signals) -> Tensor:
        """(num_envs, 2) float32 command in m/s and rad/s."""
        # in doubles: a candidate is chosen, and every runtime must choose the same one
        value, gap = self._judge({name: signal.double() for name, signal in signals.items()})
        # with nothing free, turn on the spot towards the freer side
        value = torch.where(gap > self.margin_m, value, value - 100.0 + gap)
        # of two equal candidates the first, whatever the rounding
        best = (value - 1e-9 * torch.arange(value.shape[1])).argmax(dim=1)
        return torch.stack(_grid(torch.float32), dim=1)[best]

    def _judge(self, signals: Signals) -> tuple[Tensor, Tensor]:
        """Value of each candidate, and the smallest gap in m along its arc; (num_envs, candidates) each."""
        goal = torch.stack(goal_offset(signals), dim=1)
        forward, turn = _grid(goal.dtype)
        x, y, yaw = arcs(forward, turn, self.horizon_s)
        gap = gaps(signals["scan"], x, y).amin(dim=2)

        # value of each arc's end
        to_goal_x, to_goal_y = goal[:, None, 0] - x[None, :, -1], goal[:, None, 1] - y[None, :, -1]
        remaining = torch.sqrt(to_goal_x**2 + to_goal_y**2)
        gained = (goal.norm(dim=1, keepdim=True) - remaining) / (SPEED_M_S * self.horizon_s)
        # cosine of the angle between the arc's end and the goal
        ahead = to_goal_x * torch.cos(yaw[:, -1]) + to_goal_y * torch.sin(yaw[:, -1])
        heading = ahead / remaining.clamp(min=1e-9)
        room = gap.clamp(max=self.clearance_m) / self.clearance_m
        value = (
            self.progress * gained
            + self.heading * heading
            + self.clearance * room
            + self.speed * forward[None, :] / SPEED_M_S
        )
        return value, gap


def _grid(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    forward = torch.linspace(0.0, SPEED_M_S, FORWARD, dtype=dtype)
    turn = torch.linspace(-TURN_RAD_S, TURN_RAD_S, TURN, dtype=dtype)
    pairs = torch.cartesian_prod(forward, turn)
    return pairs[:, 0], pairs[:, 1]


def goal_offset(signals: Signals) -> tuple[Tensor, Tensor]:
    """How far the goal is ahead and to the left of the robot, in metres; (num_envs,) each."""
    offset = signals["goal"] - signals["position"]
    cos, sin = torch.cos(signals["heading"][:, 0]), torch.sin(signals["heading"][:, 0])
    return offset[:, 0] * cos + offset[:, 1] * sin, offset[:, 1] * cos - offset[:, 0] * sin
