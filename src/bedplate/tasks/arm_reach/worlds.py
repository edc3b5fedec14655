"""Worlds of arm_reach: a start, a target that can be reached, an obstacle, and a collision-free way between them.

A world follows from its id alone: equal ids give equal worlds, whatever was made before. Collisions are MuJoCo's own,
with the clearances below kept to table and obstacle.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from bedplate.core.errors import BedplateError
from bedplate.tasks.arm_reach.kinematics import Chain
from bedplate.tasks.arm_reach.scene import AWAY_M, OBSTACLE_HALF_M, build_scene
from bedplate.tasks.robots.arm import Arm

WORLD_VERSION = 1

SHAPES = (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_BOX)
# share of worlds whose obstacle stands across the straight path of the tip
ACROSS_SHARE = 0.35
# distance kept to table and obstacle at the start and the target, and on the proven way
CLEARANCE_M, WAY_CLEARANCE_M = 0.025, 0.02
START_SPREAD_RAD = 0.2
MIN_TRAVEL_M = 0.2
MIN_HEIGHT_M = 0.05
# longest joint motion between two collision checks of a way
WAY_STEP_RAD = 0.08
OBSTACLE_TRIES, VIA_TRIES, WORLD_TRIES = 8, 6, 2000


@dataclass(frozen=True)
class World:
    """One world; positions in the base frame.

    Attributes:
        start: (num_joints,) joint positions at the start.
        goal: (num_joints,) collision-free joint positions that put the tip on the target; the policy never sees them.
        via: (num_joints,) joint positions: start - via - goal is collision-free in straight joint-space lines.
        target: (3,) target position of the tip, in metres.
        axis: (3,) target approach axis.
        shape: mjtGeom of the obstacle: sphere, cylinder or box, its axes along the world's.
        obstacle: (3,) centre of the obstacle.
        half: (3,) half extents of the obstacle's bounding box.
        across: the straight path of the tip from start to target runs through the obstacle.
    """

    start: np.ndarray
    goal: np.ndarray
    via: np.ndarray
    target: np.ndarray
    axis: np.ndarray
    shape: int
    obstacle: np.ndarray
    half: np.ndarray
    across: bool


class WorldSampler:
    """Makes worlds for one arm.

    Args:
        arm: the arm.
        chain: its kinematics.
        table_height_m: height of the table top in the base frame.
    """

    def __init__(self, arm: Arm, chain: Chain, table_height_m: float) -> None:
        self.arm, self.chain = arm, chain
        self.floor_m = table_height_m + MIN_HEIGHT_M
        self.low, self.high = np.array(arm.position_low), np.array(arm.position_high)
        self.home = np.array(arm.home)
        self.model = build_scene(arm, chain, table_height_m).compile()
        self.data = mujoco.MjData(self.model)
        self._tip = self.model.site(arm.tip).id
        self._geom = self.model.geom("obstacle").id
        self._table = self.model.geom("table").id
        self._mocap = self.model.body("obstacle").mocapid[0]
        self._away = chain.base + AWAY_M

    def make(self, world_id: int) -> World:
        """The world with this id.

        Raises:
            BedplateError: the arm has no collision-free motion above the table.
        """
        rng = np.random.default_rng([WORLD_VERSION, int(world_id)])
        self._place(None)
        self._clear(CLEARANCE_M)
        start = self._start(rng)
        start_tip = self.tip_of(start)[0]
        across = rng.random() < ACROSS_SHARE
        for _ in range(WORLD_TRIES):
            # a target that exists: a random collision-free posture puts the tip there
            self._place(None)
            self._clear(CLEARANCE_M)
            goal = rng.uniform(self.low, self.high)
            target, axis = self.tip_of(goal)
            if target[2] < self.floor_m or np.linalg.norm(target - start_tip) < MIN_TRAVEL_M or self.collides(goal):
                continue
            obstacle = self._obstacle(rng, across, start, goal, start_tip, target)
            if obstacle is None:
                continue
            shape, centre, half = obstacle
            via = self._via(rng, start, goal)
            if via is not None:
                return World(start, goal, via, target, axis, shape, centre, half, across)
        raise BedplateError(
            f"no reachable target found for {self.arm.name!r} in {WORLD_TRIES} tries",
            "an arm that can move above its table without colliding",
            "check task.table_height, task.home and the model's collision shapes",
        )

    def tip_of(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tip position (3,) in the base frame and approach axis (3,) at joint positions `q`."""
        self.data.qpos[:] = q
        mujoco.mj_kinematics(self.model, self.data)
        tip = self.data.site_xpos[self._tip] - self.chain.base
        return tip, self.data.site_xmat[self._tip].reshape(3, 3)[:, 2].copy()

    def collides(self, q: np.ndarray) -> bool:
        """Whether the arm at `q` touches itself, the table or the obstacle, clearance included."""
        self.data.qpos[:] = q
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_collision(self.model, self.data)
        return bool(self.data.ncon > 0)

    def _start(self, rng: np.random.Generator) -> np.ndarray:
        for _ in range(WORLD_TRIES):
            around = self.home + rng.uniform(-START_SPREAD_RAD, START_SPREAD_RAD, len(self.home))
            q = np.clip(around, self.low, self.high)
            if not self.collides(q):
                return q
        raise BedplateError(
            f"{self.arm.name!r} collides at its home position {self.home.round(3).tolist()}",
            f"a rest position {CLEARANCE_M} m away from table and arm",
            "give one: --set task.home=[...]",
        )

    def _obstacle(
        self,
        rng: np.random.Generator,
        across: bool,
        start: np.ndarray,
        goal: np.ndarray,
        start_tip: np.ndarray,
        target: np.ndarray,
    ) -> tuple[int, np.ndarray, np.ndarray] | None:
        """Shape, centre and half extents of an obstacle that is clear of start and goal, placed in the model.

        It stands across the straight path of the tip exactly when `across` says so.
        """
        for _ in range(OBSTACLE_TRIES):
            shape = SHAPES[rng.integers(len(SHAPES))]
            half = rng.uniform(*OBSTACLE_HALF_M, 3)
            if shape == mujoco.mjtGeom.mjGEOM_SPHERE:
                half[:] = half[0]
            elif shape == mujoco.mjtGeom.mjGEOM_CYLINDER:
                half[1] = half[0]
            if across:
                centre = start_tip + rng.uniform(0.3, 0.7) * (target - start_tip) + rng.uniform(-0.5, 0.5, 3) * half
            else:
                centre = rng.uniform(-0.8, 0.8, 3) * self.chain.reach_m
                centre[2] = abs(centre[2])
            centre[2] = max(centre[2], self.floor_m - MIN_HEIGHT_M + half[2])
            if meets(start_tip, target, shape, centre, half) != across:
                continue
            self._place((shape, centre, half))
            if not self.collides(start) and not self.collides(goal):
                return int(shape), centre, half
        return None

    def _via(self, rng: np.random.Generator, start: np.ndarray, goal: np.ndarray) -> np.ndarray | None:
        """A posture that joins start and goal by two collision-free straight lines in joint space, if one is found."""
        self._clear(WAY_CLEARANCE_M)
        via = (start + goal) / 2
        for _ in range(VIA_TRIES):
            if self._way_is_free(start, via) and self._way_is_free(via, goal):
                return via
            spread = np.maximum(np.abs(goal - start), 0.5)
            via = np.clip((start + goal) / 2 + rng.normal(0.0, 0.5, len(goal)) * spread, self.low, self.high)
        return None

    def _way_is_free(self, first: np.ndarray, last: np.ndarray) -> bool:
        steps = max(1, int(np.ceil(np.abs(last - first).max() / WAY_STEP_RAD)))
        # coarse to fine: a collision is found early
        fractions = np.arange(1, steps + 1) / steps
        order = np.argsort(-(np.arange(1, steps + 1) & -np.arange(1, steps + 1)), kind="stable")
        return not any(self.collides(first + fraction * (last - first)) for fraction in fractions[order])

    def _place(self, obstacle: tuple[int, np.ndarray, np.ndarray] | None) -> None:
        if obstacle is None:
            self.data.mocap_pos[self._mocap] = self._away
            return
        shape, centre, half = obstacle
        self.model.geom_type[self._geom] = shape
        self.model.geom_size[self._geom] = geom_size(shape, half)
        self.data.mocap_pos[self._mocap] = self.chain.base + centre

    def _clear(self, clearance_m: float) -> None:
        # a contact's margin is the sum of both geoms' margins; the arm's own are left as they are
        self.model.geom_margin[[self._geom, self._table]] = clearance_m


def geom_size(shape: int, half: np.ndarray) -> np.ndarray:
    """MuJoCo's geom_size (3,) of a shape with half extents `half` (3,)."""
    if shape == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return np.array([half[0], half[2], 0.0])
    return half


def meets(first: np.ndarray, last: np.ndarray, shape: int, centre: np.ndarray, half: np.ndarray) -> bool:
    """Whether the straight line from `first` to `last` runs through an obstacle.

    Boxes and spheres are exact; of a cylinder the largest box inside counts, so that the answer errs towards no.
    """
    step = last - first
    if shape == mujoco.mjtGeom.mjGEOM_SPHERE:
        along = np.clip((centre - first) @ step / max(step @ step, 1e-12), 0.0, 1.0)
        return bool(np.linalg.norm(first + along * step - centre) <= half[0])
    if shape == mujoco.mjtGeom.mjGEOM_CYLINDER:
        half = half * np.array([0.5**0.5, 0.5**0.5, 1.0])
    # slab method
    step = np.where(np.abs(step) < 1e-9, 1e-9, step)
    one, two = (centre - half - first) / step, (centre + half - first) / step
    enter, leave = np.minimum(one, two).max(), np.maximum(one, two).min()
    return bool(max(enter, 0.0) <= min(leave, 1.0))
