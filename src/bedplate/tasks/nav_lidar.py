"""Lidar navigation of a two-wheeled robot: reach a goal among unseen obstacles without touching anything.

The robot sees a 2D lidar, its odometry, its pose and the goal; it commands forward and turning speed at 20 Hz. Wheels
are driven and roll on the floor by contact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import torch
from torch import Tensor

from bedplate.core.errors import BedplateError
from bedplate.core.limits import ChannelLimits, Limits, SafeAction
from bedplate.sim.engine import RaySensor
from bedplate.tasks.spec import (
    Action,
    Event,
    Feature,
    Memory,
    RewardTerm,
    Signal,
    Signals,
    Task,
    Termination,
    previous_action,
)
from bedplate.tasks.state import State
from bedplate.tasks.terms import randomise
from bedplate.tasks.terms.worlds import DiscWorlds

ROBOT = Path(__file__).parent / "robots" / "diff_drive" / "robot.xml"
RADIUS_M = 0.177
WHEEL_RADIUS_M = 0.038
WHEEL_BASE_M = 0.230
SPEED_M_S = 0.65
TURN_RAD_S = 2.5
LIDAR_M = 3.5
GOAL_M = 0.3
WALL_M = 0.1
PARKED_M = 40.0


def nav_lidar(
    obstacles: tuple[int, int] = (12, 20),
    arena_m: float = 10.0,
    min_distance_m: float = 5.0,
    num_rays: int = 48,
    keep_open: float = 0.5,
    episode_length_s: float = 45.0,
) -> Task:
    """The navigation task.

    Args:
        obstacles: fewest and most obstacles in a world; (24, 40) is the dense set.
        arena_m: side of the walled square.
        min_distance_m: shortest straight distance from start to goal.
        num_rays: lidar rays, evenly over the full circle; at least 36.
        keep_open: probability of keeping a world whose straight path is free.
        episode_length_s: a time-out, which counts as a failure.
    """
    if num_rays < 36:
        raise BedplateError(f"num_rays is {num_rays}", "at least 36")
    if not 0 < obstacles[0] <= obstacles[1]:
        raise BedplateError(f"obstacles is {obstacles}", "two whole numbers, fewest and most, above zero")
    worlds = DiscWorlds(
        version=1,
        arena_m=arena_m,
        radii_m=tuple(np.linspace(0.15, 0.5, obstacles[1]).round(4).tolist()),
        count=(obstacles[0], obstacles[1]),
        robot_radius_m=RADIUS_M,
        inflation_m=0.1,
        min_distance_m=min_distance_m,
        keep_open=keep_open,
    )
    arena = _Arena(worlds)
    angles = np.linspace(-math.pi, math.pi, num_rays, endpoint=False)
    lidar = RaySensor(
        name="scan",
        body="base",
        origin=(0.0, 0.0, 0.16),
        directions=tuple((math.cos(a), math.sin(a), 0.0) for a in angles),
        range_m=LIDAR_M,
        yaw_only=True,
    )
    return Task(
        id="nav_lidar",
        description="2D-lidar navigation of a two-wheeled robot among unseen obstacles",
        model=lambda: build_model(worlds),
        sim_dt_s=0.01,
        decimation=5,
        episode_length_s=episode_length_s,
        rays=(lidar,),
        signals=(
            Signal(
                name="scan",
                components=tuple(f"ray_{i}" for i in range(num_rays)),
                unit="m",
                frame="body",
                read=lambda state: state.rays["scan"],
                low=0.0,
                high=LIDAR_M + 0.5,
                max_age_s=0.2,
                noise_std=0.01,
                delay_s=(0.0, 0.05),
            ),
            Signal(
                name="odometry",
                components=("forward_speed", "turn_rate"),
                unit="m/s, rad/s",
                frame="body",
                read=_odometry,
                low=-6.0,
                high=6.0,
                max_age_s=0.1,
                noise_std=0.02,
            ),
            Signal(
                name="pose",
                components=("x", "y", "yaw"),
                unit="m, m, rad",
                frame="world",
                read=_pose,
                low=-100.0,
                high=100.0,
                max_age_s=0.2,
                noise_std=0.01,
            ),
            Signal(
                name="goal",
                components=("x", "y"),
                unit="m",
                frame="world",
                read=lambda state: state.world["goal"],
                low=-100.0,
                high=100.0,
                max_age_s=math.inf,
            ),
        ),
        features=(
            Feature("scan", num_rays, lambda signals, memory: signals["scan"] / LIDAR_M),
            Feature("closeness", num_rays, _closeness),
            Feature("goal", 4, _goal_in_body),
            Feature("odometry", 2, _scaled_odometry),
            Feature("previous_action", 2, lambda signals, memory: memory["previous_action"]),
        ),
        memory=(previous_action(2),),
        action=Action(
            channels=("forward_speed", "turn_rate"),
            kind="twist",
            unit=("m/s", "rad/s"),
            low=(0.0, -TURN_RAD_S),
            high=(SPEED_M_S, TURN_RAD_S),
            apply=_drive,
            noise_std=0.02,
            delay_s=(0.0, 0.05),
        ),
        limits=Limits(
            channels=(
                ChannelLimits("forward_speed", "m/s", 0.0, SPEED_M_S, rate_per_s=3.0),
                ChannelLimits("turn_rate", "rad/s", -TURN_RAD_S, TURN_RAD_S, rate_per_s=25.0),
            ),
            safe_action=SafeAction("ramp", (0.0, 0.0)),
        ),
        world={"goal": 2, "start": 2, "last": 2, "travelled": 1, "distance": 1, "last_distance": 1, "gap": 1},
        world_version=worlds.version,
        update=arena.update,
        rewards=(
            RewardTerm("progress", _progress, 1.5),
            RewardTerm("time", lambda state: -torch.ones(state.num_envs), 0.3),
            RewardTerm("closeness", _too_close, 1.0),
            RewardTerm("smoothness", _roughness, 0.1),
            RewardTerm("success", reached_goal, 10.0, event=True),
            RewardTerm("collision", lambda state: -collided(state).double(), 10.0, event=True),
        ),
        terminations=(Termination("success", reached_goal), Termination("collision", collided)),
        events=(
            Event("world", arena.place, ranges={"worlds": worlds}, randomisation=False),
            randomise.scale_body_mass("base", 0.9, 1.2),
            randomise.scale_friction("floor", 0.7, 1.1),
            randomise.scale_servo_gain(0.8, 1.2),
        ),
        success=reached_goal,
        metrics={"path_efficiency": _path_efficiency},
        difficulty={
            "arena": f"{arena_m:g} x {arena_m:g} m, walled",
            "obstacles": f"{obstacles[0]} to {obstacles[1]}, radius 0.15 to 0.5 m",
            "start to goal": f"at least {min_distance_m:g} m",
            "solvable": "path for the robot inflated by 0.1 m proven by grid search",
            "open worlds kept": keep_open,
            "goal radius": f"{GOAL_M} m",
            "generator version": worlds.version,
        },
    )


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
class _Arena:
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


def reached_goal(state: State) -> Tensor:
    """Whether the robot's centre is within the goal radius."""
    return state.world["distance"][:, 0] < GOAL_M


def collided(state: State) -> Tensor:
    """Whether the hull touches an obstacle or a wall."""
    return state.world["gap"][:, 0] < 0.0


def _yaw(state: State) -> Tensor:
    w, x, y, z = state.qpos[:, 3:7].unbind(dim=1)
    return torch.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def _pose(state: State) -> Tensor:
    return torch.cat([state.qpos[:, :2], _yaw(state)[:, None]], dim=1)


def _odometry(state: State) -> Tensor:
    # a free joint's linear velocity is in the world frame, its angular velocity in the body frame
    yaw = _yaw(state)
    forward = state.qvel[:, 0] * torch.cos(yaw) + state.qvel[:, 1] * torch.sin(yaw)
    return torch.stack([forward, state.qvel[:, 5]], dim=1)


def _closeness(signals: Signals, memory: Memory) -> Tensor:
    # resolves the last half metre before contact, where a linear scale is flat
    return torch.exp((RADIUS_M - signals["scan"]) / 0.4)


def _goal_in_body(signals: Signals, memory: Memory) -> Tensor:
    pose = signals["pose"]
    offset = signals["goal"] - pose[:, :2]
    cos, sin = torch.cos(pose[:, 2]), torch.sin(pose[:, 2])
    ahead = offset[:, 0] * cos + offset[:, 1] * sin
    left = offset[:, 1] * cos - offset[:, 0] * sin
    distance = torch.sqrt(ahead * ahead + left * left + 1e-6)
    near = torch.clamp(distance, max=LIDAR_M) / LIDAR_M
    return torch.stack([ahead / distance, left / distance, near, distance / 10.0], dim=1)


def _scaled_odometry(signals: Signals, memory: Memory) -> Tensor:
    return signals["odometry"] / torch.tensor([SPEED_M_S, TURN_RAD_S])


def _drive(state: State, command: Tensor) -> None:
    """Wheel speeds of a differential drive: (v -+ w * base / 2) / radius."""
    forward, turn = command[:, 0], command[:, 1]
    state.ctrl[:, 0] = (forward - turn * WHEEL_BASE_M / 2) / WHEEL_RADIUS_M
    state.ctrl[:, 1] = (forward + turn * WHEEL_BASE_M / 2) / WHEEL_RADIUS_M


def _progress(state: State) -> Tensor:
    # metres per second towards the goal: sums to the distance covered, so circling earns nothing
    return (state.world["last_distance"] - state.world["distance"])[:, 0] / state.control_dt_s


def _too_close(state: State) -> Tensor:
    return -torch.exp(-state.world["gap"][:, 0].clamp(min=0.0) / 0.08)


def _roughness(state: State) -> Tensor:
    return -(state.action - state.previous_action).square().sum(dim=1) / state.control_dt_s * 0.1


def _path_efficiency(state: State) -> Tensor:
    # straight distance over distance driven, at most 1; meaningful for successes
    straight = (state.world["goal"] - state.world["start"]).norm(dim=1)
    return straight / torch.maximum(state.world["travelled"][:, 0], straight)
