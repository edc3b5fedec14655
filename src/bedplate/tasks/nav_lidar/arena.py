"""Worlds of the navigation task: the model with its movable obstacles, where they are put, and how far the robot is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import torch

from bedplate.tasks.spec import State
from bedplate.tasks.terms.worlds import DiscWorlds

ROBOT = Path(__file__).parents[1] / "robots" / "diff_drive" / "robot.xml"
RADIUS_M = 0.177
WALL_M = 0.1
PARKED_M = 40.0

WORLD = {"goal": 2, "start": 2, "last": 2, "travelled": 1, "distance": 1, "last_distance": 1, "gap": 1}
"""Per-world numbers: goal, start and last position (m), distance travelled, distance to the goal now and one step ago,
gap between the hull and the nearest obstacle or wall (m)."""


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
        rows = torch.from_numpy(ids)
        state.world["last"][rows] = state.world["start"][rows]
        state.world["travelled"][rows] = 0.0
        distance = (state.world["goal"][rows] - state.world["start"][rows]).norm(dim=1, keepdim=True)
        state.world["distance"][rows] = distance
        state.world["last_distance"][rows] = distance

    def update(self, state: State) -> None:
        """Distances after a control step."""
        world, position = state.world, state.qpos[:, :2]
        world["last_distance"].copy_(world["distance"])
        world["distance"].copy_((world["goal"] - position).norm(dim=1, keepdim=True))
        world["travelled"] += (position - world["last"]).norm(dim=1, keepdim=True)
        world["last"].copy_(position)
        # gap between the hull and the nearest disc or wall
        discs = (state.mocap_pos[:, :, :2] - position[:, None]).norm(dim=2) - torch.tensor(self.worlds.radii_m)
        walls = self.worlds.arena_m / 2 - position.abs()
        world["gap"].copy_(torch.minimum(discs.amin(dim=1), walls.amin(dim=1))[:, None] - RADIUS_M)
