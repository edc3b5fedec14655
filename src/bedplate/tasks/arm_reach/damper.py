"""Velocity dampers: no gap to obstacle, table, the arm itself or a joint's end closes faster than it allows.

Each gap gives one row: opening . speed >= least. Source: Faverjon and Tournassoud, "A local based approach for path
planning of manipulators with a high number of degrees of freedom", ICRA 1987.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from bedplate.tasks.arm_reach.kinematics import Chain
from bedplate.tasks.arm_reach.sight import Sight

# closing speed per metre of gap, gap that is always kept, gap beyond which nothing is damped
DAMPING_HZ, KEEP_M, RANGE_M = 1.5, 0.02, 0.15
# the same for the joints' ends
JOINT_DAMPING_HZ, JOINT_KEEP_RAD = 4.0, 0.01
# links that are fewer joints apart cannot touch, or touch by design
SELF_JOINTS_APART = 3
# what a row asks that asks for nothing
NOTHING = -1e3


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

    def rows(self, sight: Sight) -> Rows:
        """The bounds at what is seen."""
        opening, gap = self.gaps(sight)
        least = torch.where(gap < RANGE_M, -DAMPING_HZ * (gap - KEEP_M), NOTHING)
        low, high = (torch.tensor(ends, dtype=torch.float64) for ends in (self.low, self.high))
        room = torch.cat([sight.q - low, high - sight.q], dim=1)
        eye = torch.eye(len(self.low), dtype=torch.float64).expand(len(room), -1, -1)
        return Rows(
            opening=torch.cat([opening, eye, -eye], dim=1),
            least=torch.cat([least, -JOINT_DAMPING_HZ * (room - JOINT_KEEP_RAD)], dim=1),
        )

    def gaps(self, sight: Sight) -> tuple[Tensor, Tensor]:
        """How fast each gap opens per joint speed (n, num_gaps, num_joints), and the gaps (n, num_gaps) in metres."""
        chain, pose, points = self.chain, sight.pose, sight.pose.points
        near, far, between = self._pairs
        # to the obstacle, to the table, and from point to point of the arm itself
        up = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64).expand_as(points)
        apart = points[:, far] - points[:, near]
        distance = apart.norm(dim=2, keepdim=True)
        opening = chain.along(
            pose,
            torch.cat([points, points, points[:, far]], dim=1),
            torch.cat([sight.away, up, apart / (distance + 1e-9)], dim=1),
            torch.cat([chain.moved, chain.moved, between]),
        )
        gaps = [
            sight.gap,
            points[:, :, 2] - self.table_m - chain.radii,
            distance[:, :, 0] - chain.radii[far] - chain.radii[near],
        ]
        return opening, torch.cat(gaps, dim=1)

    @cached_property
    def _pairs(self) -> tuple[Tensor, Tensor, Tensor]:
        """Points that may touch: nearer and farther one, and (num_pairs, num_joints) 1 where a joint parts them."""
        carriers = self.chain.carriers
        near, far = (carriers[None] - carriers[:, None] >= SELF_JOINTS_APART).nonzero(as_tuple=True)
        joints = torch.arange(len(self.low))
        return near, far, ((joints > carriers[near, None]) & (joints <= carriers[far, None])).double()
