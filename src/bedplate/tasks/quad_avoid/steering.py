"""A classical controller to measure the policy against: steer to the free direction nearest to the goal's.

In the manner of the vector field histogram (Borenstein and Koren, 1991), with straight corridors between the range
returns in the place of a histogram. It keeps no map and no memory, so it stays in dead ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from bedplate.tasks.quad_avoid import flight
from bedplate.tasks.spec import Signals

DIRECTIONS = 48
"""Candidate directions, evenly over the full circle."""

GRAVITY_M_S2 = 9.81
# gains of velocity and of climb, of tilt error to body rate, and of height error to climb, all in 1/s
VELOCITY_HZ, CLIMB_HZ, TILT_HZ, HEIGHT_HZ = 3.0, 6.0, 6.0, 1.5
CLIMB_M_S, CLIMB_M_S2 = 0.8, 4.0
LARGEST_TILT = 0.35
"""Sine of the tilt in roll and in pitch that is asked for at most."""


@dataclass(frozen=True)
class Steering:
    """Range fan, velocity, gravity and goal -> thrust and body rates.

    Attributes:
        speed_m_s: speed in the open.
        look_m: how far ahead a direction is looked along.
        margin_m: room beside the propeller tips that a direction must have.
        push_m: range below which the drone is also pushed away from what it sees.
        push_m_s: speed of that push by one ray at range zero.
    """

    speed_m_s: float = 0.9
    look_m: float = 1.6
    margin_m: float = 0.18
    push_m: float = 0.25
    push_m_s: float = 0.5

    def __call__(self, signals: Signals) -> Tensor:
        """(num_envs, 4) float32 command: thrust in N, and roll, pitch and yaw rate in rad/s; may exceed the limits."""
        gravity = signals["gravity"]

        # level acceleration, by tilting
        pull = VELOCITY_HZ * (self._velocity(signals) - flight.level_velocity(signals)) / GRAVITY_M_S2
        tilt = pull.clamp(-LARGEST_TILT, LARGEST_TILT)
        pitch_rate = TILT_HZ * (tilt[:, 0] - gravity[:, 0])
        roll_rate = TILT_HZ * (gravity[:, 1] - tilt[:, 1])

        # climb to the goal's height; tilted thrust lifts less
        climb = (HEIGHT_HZ * signals["goal"][:, 2]).clamp(-CLIMB_M_S, CLIMB_M_S)
        climbing = -(signals["velocity"] * gravity).sum(dim=1)
        lift = GRAVITY_M_S2 + (CLIMB_HZ * (climb - climbing)).clamp(-CLIMB_M_S2, CLIMB_M_S2)
        thrust = flight.MASS_KG * lift / (-gravity[:, 2]).clamp(min=0.5)
        return torch.stack([thrust, roll_rate, pitch_rate, torch.zeros_like(thrust)], dim=1)

    def _velocity(self, signals: Signals) -> Tensor:
        """(num_envs, 2) m/s ahead and to the left."""
        # in doubles: a direction is chosen, and every runtime must choose the same one
        ranges, goal = signals["range"].double(), signals["goal"][:, :2].double()
        distance = goal.norm(dim=1).clamp(min=1e-3)
        angles = flight.fan_angles(ranges.shape[1]).double()
        rays = torch.stack([torch.cos(angles), torch.sin(angles)], dim=1)

        # candidate directions, counted from the goal's: (num_envs, DIRECTIONS, 2)
        turn = torch.linspace(-math.pi, math.pi, DIRECTIONS + 1, dtype=torch.float64)
        ahead, left = (goal / distance[:, None]).split(1, dim=1)
        cos, sin = torch.cos(turn), torch.sin(turn)
        directions = torch.stack([ahead * cos - left * sin, ahead * sin + left * cos], dim=2)

        # how far each is free, up to what is looked along
        look = distance.clamp(max=self.look_m)[:, None]
        free = torch.minimum(self._free(directions, ranges[:, :, None] * rays, ranges), look)

        # the goal's side decides between directions that are free alike
        best = (4.0 * free / look - turn.abs() / math.pi).argmax(dim=1)
        world = torch.arange(len(best))
        speed = (0.15 + 0.8 * free[world, best]).clamp(max=self.speed_m_s)
        speed = torch.minimum(speed, 0.1 + 1.2 * distance)
        near = (1.0 - ranges / self.push_m).clamp(min=0.0)
        return (directions[world, best] * speed[:, None] - self.push_m_s * near @ rays).float()

    def _free(self, directions: Tensor, returns: Tensor, ranges: Tensor) -> Tensor:
        """(num_envs, DIRECTIONS) m to the first return (num_envs, num_rays, 2) inside of each direction's corridor."""
        along = directions @ returns.transpose(1, 2)
        left = torch.stack([-directions[:, :, 1], directions[:, :, 0]], dim=2)
        across = (left @ returns.transpose(1, 2)).abs()
        seen = (ranges < flight.RANGE_M - 0.1)[:, None]
        in_the_way = seen & (along > 0.0) & (across < flight.RADIUS_M + self.margin_m)
        return torch.where(in_the_way, along, torch.full_like(along, flight.RANGE_M)).amin(dim=2)
