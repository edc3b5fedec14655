"""Worlds of pillars between floor, ceiling and walls, and the distances that the terms read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import torch
from torch import Tensor

from bedplate.tasks.quad_avoid.flight import BODY, RADIUS_M, rotation
from bedplate.tasks.state import State
from bedplate.tasks.terms import point_goal
from bedplate.tasks.terms.worlds import DiscWorlds, gap_to_nearest

ROBOT = Path(__file__).parents[1] / "robots" / "quad" / "quad.xml"
GOAL_M = 0.3
CEILING_M = 2.5
ALTITUDE_M = (0.15, 2.35)
START_HEIGHT_M = (0.8, 1.4)
GOAL_HEIGHT_M = (0.8, 1.6)
TILT_COS = math.cos(math.radians(75))
WALL_M = 0.1
PARKED_M = 40.0

# geom groups: what the level fan sees, and what only the down-looking sensor sees
FAN_GROUP = 0
FLOOR_GROUP = 1

WORLD = {**point_goal.world_numbers(3), "gap": 1, "wind": 3}
"""Per-world numbers; "gap" is between the rotors' circle and the nearest pillar or wall (m), "wind" in m/s."""


def build_model(worlds: DiscWorlds) -> mujoco.MjSpec:
    """The drone, the walls, the floor, and one movable pillar per disc that a world may hold."""
    spec = mujoco.MjSpec.from_file(str(ROBOT))
    world, half, tall = spec.worldbody, worlds.arena_m / 2 + WALL_M, CEILING_M / 2
    world.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=(half, half, 0.1), group=FLOOR_GROUP)
    world.add_light(pos=(0, 0, 4 * CEILING_M), dir=(0, 0, -1), castshadow=False)
    for name, x, y in (("east", 1, 0), ("west", -1, 0), ("north", 0, 1), ("south", 0, -1)):
        world.add_geom(
            name=f"wall_{name}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=(WALL_M if x else half + WALL_M, WALL_M if y else half + WALL_M, tall),
            pos=(x * half, y * half, tall),
            group=FAN_GROUP,
            rgba=(0.55, 0.57, 0.6, 0.3),
        )
    for k, radius in enumerate(worlds.radii_m):
        pillar = world.add_body(name=f"pillar_{k}", mocap=True, pos=(PARKED_M, k, tall))
        pillar.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=(radius, tall, 0.0), group=FAN_GROUP, rgba=(0.35, 0.37, 0.4, 1.0)
        )
    return spec


@dataclass(frozen=True)
class Arena:
    """Places worlds and keeps the distances that the terms read.

    Attributes:
        worlds: the horizontal layout; heights of start and goal are drawn here, from the same world id.
    """

    worlds: DiscWorlds

    def place(self, state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
        """Set pillars, start, heading and goal of the worlds `ids`; hover thrust is already spun up."""
        pillars, qpos = state.mocap_pos.numpy(), state.qpos.numpy()
        start, goal = state.world["start"].numpy(), state.world["goal"].numpy()
        for env in ids:
            world = self.worlds.sample(state.world_id[env])
            heights = np.random.default_rng([self.worlds.version, int(state.world_id[env]), 1])
            pillars[env, :, :2] = PARKED_M
            pillars[env, world.chosen, :2] = world.centres
            start[env] = (*world.start, heights.uniform(*START_HEIGHT_M))
            goal[env] = (*world.goal, heights.uniform(*GOAL_HEIGHT_M))
            qpos[env, :3] = start[env]
            qpos[env, 3:7] = (math.cos(world.heading_rad / 2), 0.0, 0.0, math.sin(world.heading_rad / 2))
        rows = torch.from_numpy(ids)
        model = state.engine.model
        state.act[rows, 0] = float(model.body_mass[BODY] * -model.opt.gravity[2])
        state.world["wind"][rows] = 0.0
        point_goal.begin(state, rows)

    def update(self, state: State) -> None:
        """Distances after a control step."""
        position, centres = state.qpos[:, :3], state.mocap_pos[:, :, :2]
        point_goal.update(state, position)
        radii_m = torch.tensor(self.worlds.radii_m, dtype=torch.float64)
        gap = gap_to_nearest(position[:, :2], centres, radii_m, self.worlds.arena_m)
        state.world["gap"].copy_(gap - RADIUS_M)


def reached_goal(state: State) -> Tensor:
    """Whether the drone's centre is within the goal radius and it touches nothing."""
    return point_goal.within(state, GOAL_M) & ~collided(state)


def collided(state: State) -> Tensor:
    """Whether the circle through the propeller tips touches a pillar or a wall."""
    return state.world["gap"][:, 0] < 0.0


def left_altitude(state: State) -> Tensor:
    """Whether the drone is about to touch the floor or the ceiling."""
    height = state.qpos[:, 2]
    return (height < ALTITUDE_M[0]) | (height > ALTITUDE_M[1])


def tumbled(state: State) -> Tensor:
    """Whether the drone is tilted by more than 75 degrees."""
    return rotation(state)[:, 2, 2] < TILT_COS
