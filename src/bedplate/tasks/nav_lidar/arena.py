"""Worlds of the navigation task: the model with its movable obstacles, where they are put, and how far the robot is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import torch

from bedplate.tasks.spec import State
from bedplate.tasks.terms import point_goal
from bedplate.tasks.terms.worlds import DiscWorlds, gap_to_nearest

ROBOT = Path(__file__).parents[1] / "robots" / "diff_drive" / "robot.xml"
RADIUS_M = 0.177
WALL_M = 0.1
PARKED_M = 40.0

WORLD = {**point_goal.world_numbers(2), "gap": 1}
"""Per-world numbers; "gap" is between the hull and the nearest obstacle or wall (m)."""


def build_model(worlds: DiscWorlds) -> mujoco.MjSpec:
    """The robot, the walls, and one movable cylinder per obstacle a world may hold."""
    spec = mujoco.MjSpec.from_file(str(ROBOT))
    half = worlds.arena_m / 2 + WALL_M
    for name, x, y, along_x in (("east", 1, 0, 0), ("west", -1, 0, 0), ("north", 0, 1, 1), ("south", 0, -1, 1)):
        spec.worldbody.add_geom(
            name=f"wall_{name}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=(half + WALL_M, WALL_M, 0.25) if along_x else (WALL_M, half + WALL_M, 0.25),
            pos=(x * half, y * half, 0.25),
            contype=0,
            conaffinity=0,
            group=0,
            rgba=(0.55, 0.57, 0.6, 1.0),
        )
    for k, radius in enumerate(worlds.radii_m):
        body = spec.worldbody.add_body(name=f"obstacle_{k}", mocap=True, pos=(PARKED_M, k, 0.25))
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CYLINDER,
            size=(radius, 0.25, 0.0),
            contype=0,
            conaffinity=0,
            group=0,
            rgba=(0.35, 0.37, 0.4, 1.0),
        )
    return spec


@dataclass(frozen=True)
class Arena:
    """Places worlds and keeps the distances that the terms read."""

    worlds: DiscWorlds

    def place(self, state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
        """Set obstacles, start and goal of the worlds `ids`."""
        centres = state.mocap_pos.numpy()
        qpos = state.qpos.numpy()
        for env in ids:
            world = self.worlds.sample(state.world_id[env])
            centres[env, :, 0] = PARKED_M
            centres[env, world.chosen, :2] = world.centres
            qpos[env, :2] = world.start
            qpos[env, 3] = math.cos(world.heading_rad / 2)
            qpos[env, 6] = math.sin(world.heading_rad / 2)
            state.world["start"][env] = torch.from_numpy(world.start)
            state.world["goal"][env] = torch.from_numpy(world.goal)
        point_goal.begin(state, torch.from_numpy(ids))

    def update(self, state: State) -> None:
        """Distances after a control step."""
        position, centres = state.qpos[:, :2], state.mocap_pos[:, :, :2]
        point_goal.update(state, position)
        gap = gap_to_nearest(position, centres, torch.tensor(self.worlds.radii_m), self.worlds.arena_m)
        state.world["gap"].copy_(gap - RADIUS_M)
