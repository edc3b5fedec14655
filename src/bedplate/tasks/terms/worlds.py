"""Worlds of discs in a walled square, each proven to be solvable by a grid search.

A world is a function of (version, world id) alone: equal ids give equal worlds on every machine and for every number
of environments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import ndimage
from torch import Tensor

from bedplate.core.errors import BedplateError

GRID_M = 0.1
"""Cell of the grid search."""

ATTEMPTS = 200
"""Draws after which a world description is refused as unsolvable."""


@dataclass(frozen=True)
class DiscWorlds:
    """How worlds are drawn; part of every result.

    Attributes:
        version: of this generator's distribution.
        arena_m: side of the square, centred on the origin.
        radii_m: one radius per disc that a world may hold.
        count: fewest and most discs.
        robot_radius_m: the robot's own radius.
        inflation_m: margin by which the robot is inflated in the path proof.
        min_distance_m: shortest straight distance from start to goal.
        keep_open: probability of keeping a world whose straight path is free.
    """

    version: int
    arena_m: float
    radii_m: tuple[float, ...]
    count: tuple[int, int]
    robot_radius_m: float
    inflation_m: float
    min_distance_m: float
    keep_open: float = 1.0

    def sample(self, world_id: int) -> DiscWorld:
        """Draw one world; the same id gives the same world.

        Raises:
            BedplateError: no solvable world was found; the description is too dense.
        """
        rng = np.random.default_rng([self.version, int(world_id)])
        for _ in range(ATTEMPTS):
            world = self._draw(rng)
            if world is None:
                continue
            if rng.random() > self.keep_open and self.straight_path_is_free(world):
                continue
            if self.path_exists(world):
                return world
        raise BedplateError(
            f"no solvable world in {ATTEMPTS} draws: {self.count[0]} to {self.count[1]} obstacles on "
            f"{self.arena_m:g} x {self.arena_m:g} m, start and goal {self.min_distance_m:g} m apart",
            "worlds that leave a way through",
            "fewer obstacles, a larger arena_m, or a smaller min_distance_m",
        )

    def straight_path_is_free(self, world: DiscWorld) -> bool:
        """Whether the robot, not inflated, can drive straight from start to goal."""
        span = world.goal - world.start
        share = np.clip((world.centres - world.start) @ span / (span @ span), 0.0, 1.0)
        nearest = world.start + share[:, None] * span
        gap = np.linalg.norm(world.centres - nearest, axis=1) - world.radii_m
        return bool((gap > self.robot_radius_m).all())

    def path_exists(self, world: DiscWorld) -> bool:
        """Whether the inflated robot can get from start to goal: a flood fill of the free cells of a grid."""
        half = self.arena_m / 2
        margin = self.robot_radius_m + self.inflation_m
        axis = np.arange(-half + GRID_M / 2, half, GRID_M)
        x, y = axis[:, None, None], axis[None, :, None]
        distance2 = (x - world.centres[:, 0]) ** 2 + (y - world.centres[:, 1]) ** 2
        free = (distance2 > (world.radii_m + margin) ** 2).all(axis=2)
        inside = np.abs(axis) < half - margin
        free &= inside[:, None] & inside[None, :]
        region, _ = ndimage.label(free)
        start, goal = (tuple(((point + half) / GRID_M).astype(int)) for point in (world.start, world.goal))
        return bool(region[start] != 0 and region[start] == region[goal])

    def _draw(self, rng: np.random.Generator) -> DiscWorld | None:
        half = self.arena_m / 2
        count = rng.integers(self.count[0], self.count[1] + 1)
        chosen = rng.permutation(len(self.radii_m))[:count]
        radii = np.asarray(self.radii_m)[chosen]
        centres = rng.uniform(-half, half, (count, 2))
        # start and goal: the first of many candidates that keep clear of discs, walls and each other
        margin = self.robot_radius_m + self.inflation_m + GRID_M
        points = rng.uniform(-half + margin, half - margin, (64, 2))
        gaps = np.linalg.norm(points[:, None] - centres, axis=2) - radii
        points = points[(gaps > margin).all(axis=1)]
        if len(points) < 2:
            return None
        far = np.linalg.norm(points - points[0], axis=1) >= self.min_distance_m
        if not far.any():
            return None
        return DiscWorld(centres, radii, chosen, points[0], points[far][0], rng.uniform(-np.pi, np.pi))


@dataclass(frozen=True)
class DiscWorld:
    """One world.

    Attributes:
        centres: (count, 2) of the discs, in metres, world frame.
        radii_m: (count,).
        chosen: (count,) int: which of DiscWorlds.radii_m each disc is.
        start, goal: (2,) in metres, world frame.
        heading_rad: the robot's heading at the start.
    """

    centres: np.ndarray
    radii_m: np.ndarray
    chosen: np.ndarray
    start: np.ndarray
    goal: np.ndarray
    heading_rad: float


def gap_to_nearest(position: Tensor, centres: Tensor, radii_m: Tensor, arena_m: float) -> Tensor:
    """Room between a point and the nearest disc or wall, in metres; negative inside of one.

    Args:
        position: (num_envs, 2) float64 in m, world frame.
        centres: (num_envs, discs, 2) float64 in m, world frame; discs that a world does not have are far away.
        radii_m: (discs,).
        arena_m: side of the walled square, centred on the origin.

    Returns:
        (num_envs, 1) float64.
    """
    discs = (centres - position[:, None]).norm(dim=2) - radii_m
    walls = arena_m / 2 - position.abs()
    return torch.minimum(discs.amin(dim=1), walls.amin(dim=1))[:, None]
