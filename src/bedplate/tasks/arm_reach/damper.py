"""Velocity dampers: no gap to obstacle, table, the arm itself or a joint's end closes faster than it allows.

Each gap gives one row: opening . speed >= least. Source: Faverjon and Tournassoud, "A local based approach for path
planning of manipulators with a high number of degrees of freedom", ICRA 1987.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bedplate.tasks.arm_reach.geometry import box_gap
from bedplate.tasks.arm_reach.kinematics import Chain, Pose

# closing speed per metre of gap, gap that is always kept, gap beyond which nothing is damped
DAMPING_HZ, KEEP_M, RANGE_M = 3.0, 0.015, 0.15
# the same for the joints' ends
JOINT_DAMPING_HZ, JOINT_KEEP_RAD = 4.0, 0.01
# links that are fewer joints apart cannot touch, or touch by design
SELF_JOINTS_APART = 3
# what a row asks that asks for nothing
NOTHING = -1e3
SWEEPS, RELAXATION = 6, 1.5


@dataclass(frozen=True)
class Rows:
    """Bounds of the joint speeds: opening . speed >= least.

    Attributes:
        opening: (n, num_rows, num_joints) how fast each gap opens per joint speed.
        least: (n, num_rows) the slowest it may open; negative while it may close.
    """

    opening: Tensor
    least: Tensor

    def short(self, speed: Tensor) -> Tensor:
        """How much speed (n, num_joints) falls short of each row: (n, num_rows), negative where it does not."""
        return self.least - (self.opening @ speed[:, :, None])[:, :, 0]


@dataclass(frozen=True)
class Damper:
    """The dampers of one arm.

    Attributes:
        chain: kinematics.
        table_m: height of the table top in the base frame.
        low, high: joint position limits.
    """

    chain: Chain
    table_m: float
    low: tuple[float, ...]
    high: tuple[float, ...]

    def rows(self, pose: Pose, q: Tensor, obstacle: Tensor, half: Tensor) -> Rows:
        """The bounds at a pose.

        Args:
            pose: the arm.
            q: (n, num_joints) float64 its joint positions.
            obstacle, half: (n, 3) float64 centre and half extents of the obstacle.
        """
        opening, gap = self.gaps(pose, obstacle, half)
        least = torch.where(gap < RANGE_M, -DAMPING_HZ * (gap - KEEP_M), NOTHING)
        low, high = (torch.tensor(ends, dtype=torch.float64) for ends in (self.low, self.high))
        room = torch.cat([q - low, high - q], dim=1)
        eye = torch.eye(len(self.low), dtype=torch.float64).expand(len(q), -1, -1)
        return Rows(
            opening=torch.cat([opening, eye, -eye], dim=1),
            least=torch.cat([least, -JOINT_DAMPING_HZ * (room - JOINT_KEEP_RAD)], dim=1),
        )

    def relax(self, speed: Tensor, rows: Rows) -> Tensor:
        """Joint speeds (n, num_joints) near `speed` that break the rows less.

        Cimmino's simultaneous projections: smooth, and made of operations that ONNX has.
        """
        size = rows.opening.square().sum(dim=2) + 1e-3
        for _ in range(SWEEPS):
            short = rows.short(speed).clamp(min=0.0)
            share = short / (short.sum(dim=1, keepdim=True) + 1e-9)
            step = (RELAXATION * share * short / size)[:, None] @ rows.opening
            speed = speed + step[:, 0]
        return speed

    def gaps(self, pose: Pose, obstacle: Tensor, half: Tensor) -> tuple[Tensor, Tensor]:
        """How fast each gap opens per joint speed (n, num_gaps, num_joints), and the gaps (n, num_gaps) in metres."""
        chain, points = self.chain, pose.points
        gap, away = box_gap(points, obstacle, half)
        up = torch.zeros_like(points)
        up[:, :, 2] = 1.0
        opening = [chain.along(pose, away), chain.along(pose, up)]
        gaps = [gap - chain.radii, points[:, :, 2] - self.table_m - chain.radii]

        # pairs of points of the arm itself; joints up to the nearer one carry both
        far_carriers = chain.carriers
        for near, carrier in enumerate(chain.carriers.tolist()):
            far = (far_carriers - carrier >= SELF_JOINTS_APART).nonzero()[:, 0]
            if not len(far):
                continue
            apart = points - points[:, near, None]
            distance = apart.norm(dim=2, keepdim=True)
            opens = chain.along(pose, apart / (distance + 1e-9))[:, far]
            opening.append(opens * (torch.arange(opens.shape[2]) > carrier))
            gaps.append(distance[:, far, 0] - chain.radii[far] - chain.radii[near])
        return torch.cat(opening, dim=1), torch.cat(gaps, dim=1)
