"""Arcs a differential drive can follow, and how much room a lidar scan leaves along them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bedplate.tasks.nav_lidar.arena import RADIUS_M
from bedplate.tasks.nav_lidar.terms import LIDAR_M

POINTS = 8
"""Positions looked at along each arc."""

WORLDS_AT_ONCE = 8
"""Worlds whose distances are held at a time: they fit the core's cache, which makes 256 worlds 15 times faster."""


def arcs(forward: Tensor, turn: Tensor, horizon_s: float) -> tuple[Tensor, Tensor, Tensor]:
    """(arcs, POINTS) x and y in m and heading in rad, in the body frame, at equal times up to the horizon.

    Args:
        forward: (arcs,) forward speed in m/s.
        turn: (arcs,) turning speed in rad/s.
        horizon_s: how far ahead.
    """
    time = torch.linspace(horizon_s / POINTS, horizon_s, POINTS, dtype=turn.dtype)
    yaw = turn[:, None] * time
    # exact arc; straight where the turn rate is zero
    straight = turn.abs() < 1e-6
    radius = forward / torch.where(straight, torch.ones_like(turn), turn)
    x = torch.where(straight[:, None], forward[:, None] * time, radius[:, None] * torch.sin(yaw))
    y = torch.where(straight[:, None], torch.zeros_like(yaw), radius[:, None] * (1.0 - torch.cos(yaw)))
    return x, y, yaw


def gaps(scan: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """(num_envs, arcs, POINTS) distance in m from the hull to the nearest lidar return, at each point of each arc.

    Args:
        scan: (num_envs, num_rays) in m, from behind the robot counter-clockwise.
        x, y: (arcs, POINTS) in m, body frame.
    """
    # |a - b|^2 = |a|^2 - 2 a.b + |b|^2, the last two in one product
    points = torch.stack([-2.0 * x.flatten(), -2.0 * y.flatten(), torch.ones_like(x).flatten()])
    hits = _returns(scan)
    hits = torch.cat([hits, hits.square().sum(dim=2, keepdim=True)], dim=2)
    nearest = torch.cat([(part @ points).amin(dim=1) for part in hits.split(WORLDS_AT_ONCE)])
    nearest = nearest + (x * x + y * y).flatten()
    return nearest.clamp(min=0.0).sqrt().unflatten(1, x.shape) - RADIUS_M


def _returns(scan: Tensor) -> Tensor:
    """(num_envs, num_rays, 2) lidar returns in the body frame; a miss is put out of reach."""
    angle = torch.arange(scan.shape[1], dtype=scan.dtype) * (2 * math.pi / scan.shape[1]) - math.pi
    distance = torch.where(scan >= LIDAR_M - 0.02, torch.full_like(scan, 100.0), scan)
    return torch.stack([distance * torch.cos(angle), distance * torch.sin(angle)], dim=2)
