"""Directions and distances in torch: only operations that ONNX has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

CG_STEPS = 7


def turning(axis: Tensor, target: Tensor) -> Tensor:
    """Rotation vector (n, 3) that turns `axis` towards `target`; its length is the chord 2 sin(angle / 2)."""
    cross = torch.linalg.cross(axis, target)
    chord = torch.sqrt((2.0 - 2.0 * (axis * target).sum(dim=1, keepdim=True)).clamp(min=0.0))
    return cross / (cross.norm(dim=1, keepdim=True) + 1e-4) * chord


@dataclass(frozen=True)
class Obstacle:
    """The obstacle of each world.

    Attributes:
        centre: (n, 3) in the base frame.
        half: (n, 3) half extents of its bounding box.
        shape: (n, 3) 1 in the column of its shape: sphere, upright cylinder, box.
    """

    centre: Tensor
    half: Tensor
    shape: Tensor

    @classmethod
    def of(cls, signals: Mapping[str, Tensor]) -> Obstacle:
        """As measured, float64."""
        return cls(*(signals[f"obstacle_{name}"].double() for name in ("position", "size", "shape")))

    def gap(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Distance (n, k) of points (n, k, 3) to the surface, negative inside, and the unit way out (n, k, 3)."""
        away = points - self.centre[:, None]
        half = self.half[:, None]
        level = away[:, :, :2].norm(dim=2, keepdim=True)
        far = away.norm(dim=2)

        # distance beyond the sides: a box has three pairs of them, a cylinder one round side and one pair
        sides = away.abs() - half
        round_sides = torch.cat([level - half[:, :, :1], sides[:, :, 2:]], dim=2)
        gaps = torch.stack([far - half[:, :, 0], _beyond(round_sides), _beyond(sides)], dim=2)

        # ways out: from the centre, from the axis or an end, from the nearest side
        reach, round_reach = sides.clamp(min=0.0), round_sides.clamp(min=0.0)
        outward = torch.where(away < 0, -1.0, 1.0)
        outwards = torch.cat(
            [away[:, :, :2] / (level + 1e-9) * round_reach[:, :, :1], outward[:, :, 2:] * round_reach[:, :, 1:]], dim=2
        )
        ways = torch.stack([away, outwards, outward * reach], dim=3)
        way = (ways * self.shape[:, None, None]).sum(dim=3) + 1e-3 * away
        return (gaps * self.shape[:, None]).sum(dim=2), way / (way.norm(dim=2, keepdim=True) + 1e-9)


def _beyond(sides: Tensor) -> Tensor:
    """Distance to a shape from the distances (n, k, m) beyond each pair of its sides."""
    return sides.clamp(min=0.0).norm(dim=2) + sides.amax(dim=2).clamp(max=0.0)


def detour(tip: Tensor, target: Tensor, centre: Tensor, radius: Tensor, lift_m: float) -> Tensor:
    """Where to aim: the target, or while a ball bars the straight line to it, the nearest point beside the ball.

    Args:
        tip, target: (n, 3) ends of the line.
        centre: (n, 3) of the ball.
        radius: (n, 1) of the ball, in metres.
        lift_m: how strongly the way over the ball is preferred to the way around it.

    Returns:
        (n, 3).
    """
    line = target - tip
    length = line.norm(dim=1, keepdim=True) + 1e-6
    ahead = line / length
    along = ((centre - tip) * ahead).sum(dim=1, keepdim=True)
    foot = tip + torch.minimum(along.clamp(min=0.0), length) * ahead
    aside = foot - centre
    barred = (aside.norm(dim=1, keepdim=True) < radius) & (along > 0.0) & (along < length)

    # sideways from the ball's centre, across the line
    aside = aside + lift_m * torch.tensor([0.0, 0.0, 1.0], dtype=tip.dtype)
    aside = aside - (aside * ahead).sum(dim=1, keepdim=True) * ahead
    beside = centre + aside / (aside.norm(dim=1, keepdim=True) + 1e-6) * radius
    return torch.where(barred, beside, target)


def solve(square: Tensor, wanted: Tensor) -> Tensor:
    """Solve square @ x = wanted for symmetric positive (n, m, m) and (n, m, k), m <= 7, by conjugate gradients."""
    x = torch.zeros_like(wanted)
    rest = wanted
    direction = rest
    power = (rest * rest).sum(dim=1, keepdim=True)
    for _ in range(CG_STEPS):
        image = square @ direction
        # the small numbers keep 0 / 0 away once the rest is zero
        rate = power / ((direction * image).sum(dim=1, keepdim=True) + 1e-12)
        x = x + rate * direction
        rest = rest - rate * image
        following = (rest * rest).sum(dim=1, keepdim=True)
        direction = rest + following / (power + 1e-12) * direction
        power = following
    return x
