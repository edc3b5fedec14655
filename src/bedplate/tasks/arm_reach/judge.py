"""What is judged: distance and angle to the target, holding still there, collision, and the rewards."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bedplate.tasks.arm_reach.geometry import turning
from bedplate.tasks.spec import RewardTerm, Termination
from bedplate.tasks.state import State

POSITION_TOLERANCE_M, AXIS_TOLERANCE_RAD, HOLD_S = 0.01, 0.1745329, 0.5
# lengths and angles at which the potential's slope halves
NEAR_M, NEAR_RAD = 0.05, 0.2
# per-world numbers: target and obstacle, and what is tracked from step to step
WORLD = {
    "target": 3,
    "target_axis": 3,
    "obstacle": 3,
    "obstacle_half": 3,
    "obstacle_shape": 3,
    "across": 1,
    "potential": 1,
    "gained": 1,
    "held": 1,
    "travelled": 1,
    "tip": 3,
    "straight": 1,
}


@dataclass(frozen=True)
class Judge:
    """Reads the state of all worlds, and keeps what needs a memory in state.world.

    Attributes:
        site: id of the tip site.
        base: (3,) float64 origin of the base frame in the world.
        acceleration: (num_joints,) float32 acceleration limits, to scale the price of large accelerations.
    """

    site: int
    base: Tensor
    acceleration: Tensor

    def tip(self, state: State) -> Tensor:
        """(num_envs, 3) true tip position in the base frame."""
        return state.site_xpos[:, self.site] - self.base

    def distance(self, state: State) -> Tensor:
        """(num_envs,) true distance of the tip to the target, in metres."""
        return (state.world["target"] - self.tip(state)).norm(dim=1)

    def angle(self, state: State) -> Tensor:
        """(num_envs,) true angle between approach axis and target axis, in rad."""
        axis = state.site_xmat[:, self.site].reshape(-1, 3, 3)[:, :, 2]
        return 2.0 * torch.asin((turning(axis, state.world["target_axis"]).norm(dim=1) / 2).clamp(max=1.0))

    def potential(self, state: State) -> Tensor:
        """(num_envs,) how far from the goal, steeper the nearer: log(1 + distance) and log(1 + angle), scaled."""
        near = torch.log1p(self.distance(state) / NEAR_M)
        return near + 0.5 * torch.log1p(self.angle(state) / NEAR_RAD)

    def inside(self, state: State) -> Tensor:
        """(num_envs,) bool: position and axis within tolerance."""
        return (self.distance(state) <= POSITION_TOLERANCE_M) & (self.angle(state) <= AXIS_TOLERANCE_RAD)

    def begin(self, state: State, ids: Tensor) -> None:
        """Start tracking the worlds `ids` (n,); their derived fields must be current."""
        world = state.world
        world["potential"][ids] = self.potential(state)[ids, None]
        world["tip"][ids] = self.tip(state)[ids]
        world["straight"][ids] = self.distance(state)[ids, None]
        for name in ("gained", "held", "travelled"):
            world[name][ids] = 0.0

    def update(self, state: State) -> None:
        """Bring the tracked numbers up to this control step; called once per step, before any term is read."""
        world = state.world
        potential, tip = self.potential(state)[:, None], self.tip(state)
        world["gained"][:] = world["potential"] - potential
        world["potential"][:] = potential
        world["travelled"] += (tip - world["tip"]).norm(dim=1, keepdim=True)
        world["tip"][:] = tip
        world["held"][:] = torch.where(self.inside(state)[:, None], world["held"] + 1.0, 0.0)

    def success(self, state: State) -> Tensor:
        """(num_envs,) bool: within tolerance for HOLD_S without a break."""
        return state.world["held"][:, 0] * state.control_dt_s >= HOLD_S - 1e-6

    def collision(self, state: State) -> Tensor:
        """(num_envs,) bool: the arm touches itself, the table or the obstacle; nothing else in the model can touch."""
        return state.ncon > 0

    def rewards(self) -> tuple[RewardTerm, ...]:
        """Reward terms: a potential that pays for progress and takes it back, a price on time, two events."""
        return (
            # paid per step, not per second: the sum is the potential's fall, so that circling earns nothing
            RewardTerm("progress", _progress, 1.0, event=True),
            RewardTerm("time", _time, -1.0),
            RewardTerm("smoothness", self._rush, -0.5),
            RewardTerm("success", lambda state: self.success(state).double(), 10.0, event=True),
            RewardTerm("collision", lambda state: self.collision(state).double(), -10.0, event=True),
        )

    def terminations(self) -> tuple[Termination, ...]:
        """Collision first: a world that does both has failed."""
        return (Termination("collision", self.collision), Termination("success", self.success))

    def _rush(self, state: State) -> Tensor:
        change = (state.command - state.previous_command) / state.control_dt_s
        return (change / self.acceleration).square().mean(dim=1)


def _progress(state: State) -> Tensor:
    return state.world["gained"][:, 0]


def _time(state: State) -> Tensor:
    return (state.world["held"][:, 0] == 0).double()
