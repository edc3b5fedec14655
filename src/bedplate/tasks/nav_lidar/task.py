"""Lidar navigation of a two-wheeled robot: reach a goal among unseen obstacles without touching anything.

The robot sees a 2D lidar, its odometry, its pose and the goal; it commands forward and turning speed at 20 Hz. Wheels
are driven and roll on the floor by contact.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from bedplate.core.errors import BedplateError
from bedplate.core.limits import ChannelLimits, Limits, SafeAction
from bedplate.tasks.nav_lidar import terms
from bedplate.tasks.nav_lidar.arena import RADIUS_M, WORLD, Arena, build_model
from bedplate.tasks.nav_lidar.dynamic_window import DynamicWindow
from bedplate.tasks.nav_lidar.features import features
from bedplate.tasks.spec import (
    Action,
    Event,
    RaySensor,
    RewardTerm,
    Signal,
    Task,
    Termination,
    previous_action,
)
from bedplate.tasks.terms import point_goal, randomise
from bedplate.tasks.terms.rewards import action_rate
from bedplate.tasks.terms.worlds import DiscWorlds


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
    arena = Arena(worlds)
    planner = DynamicWindow()
    angles = np.linspace(-math.pi, math.pi, num_rays, endpoint=False)
    lidar = RaySensor(
        name="scan",
        body="base",
        origin=(0.0, 0.0, 0.16),
        directions=tuple((math.cos(a), math.sin(a), 0.0) for a in angles),
        range_m=terms.LIDAR_M,
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
                high=terms.LIDAR_M + 0.5,
                max_age_s=0.2,
                noise_std=0.01,
                delay_s=(0.0, 0.05),
            ),
            Signal(
                name="speed",
                components=("forward",),
                unit="m/s",
                frame="body",
                read=terms.forward_speed,
                low=-3.0,
                high=3.0,
                max_age_s=0.1,
                noise_std=0.02,
            ),
            Signal(
                name="yaw_rate",
                components=("yaw",),
                unit="rad/s",
                frame="body",
                read=terms.yaw_rate,
                low=-10.0,
                high=10.0,
                max_age_s=0.1,
                noise_std=0.02,
            ),
            Signal(
                name="position",
                components=("x", "y"),
                unit="m",
                frame="world",
                read=lambda state: state.qpos[:, :2],
                low=-100.0,
                high=100.0,
                max_age_s=0.2,
                noise_std=0.01,
            ),
            Signal(
                name="heading",
                components=("yaw",),
                unit="rad",
                frame="world",
                read=lambda state: terms.yaw(state)[:, None],
                low=-4.0,
                high=4.0,
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
                max_age_s=3600.0,
            ),
        ),
        features=features(num_rays, planner),
        memory=(previous_action(2),),
        action=Action(
            channels=("forward_speed", "turn_rate"),
            kind="twist",
            unit=("m/s", "rad/s"),
            low=(0.0, -terms.TURN_RAD_S),
            high=(terms.SPEED_M_S, terms.TURN_RAD_S),
            apply=terms.drive,
            noise_std=0.02,
            delay_s=(0.0, 0.05),
        ),
        limits=Limits(
            channels=(
                ChannelLimits("forward_speed", "m/s", 0.0, terms.SPEED_M_S, rate_per_s=3.0),
                ChannelLimits("turn_rate", "rad/s", -terms.TURN_RAD_S, terms.TURN_RAD_S, rate_per_s=25.0),
            ),
            safe_action=SafeAction("ramp", (0.0, 0.0)),
        ),
        world=WORLD,
        world_version=worlds.version,
        update=arena.update,
        rewards=(
            RewardTerm("progress", point_goal.progress, 1.5),
            RewardTerm("time", lambda state: -torch.ones(state.num_envs), 0.3),
            RewardTerm("closeness", terms.too_close, 4.0),
            RewardTerm("smoothness", action_rate, 0.2),
            RewardTerm("success", terms.reached_goal, 10.0, event=True),
            RewardTerm("collision", lambda state: -terms.collided(state).double(), 20.0, event=True),
        ),
        terminations=(
            Termination("success", terms.reached_goal),
            Termination("collision", terms.collided, collision=True),
            Termination("tipped", terms.tipped),
        ),
        events=(
            Event("world", arena.place, ranges={"worlds": worlds}, randomisation=False),
            randomise.scale_body_mass("base", 0.9, 1.2),
            randomise.scale_friction(("tyre_left", "tyre_right"), 0.7, 1.1),
            randomise.scale_servo_gain(0.8, 1.2),
        ),
        success=terms.reached_goal,
        baseline=planner,
        metrics={"path_efficiency": point_goal.path_efficiency},
        difficulty={
            "arena": f"{arena_m:g} x {arena_m:g} m, walled",
            "obstacles": f"{obstacles[0]} to {obstacles[1]}, radius 0.15 to 0.5 m",
            "start to goal": f"at least {min_distance_m:g} m",
            "solvable": "path for the robot inflated by 0.1 m proven by grid search",
            "open worlds kept": keep_open,
            "goal radius": f"{terms.GOAL_M} m",
            "generator version": worlds.version,
        },
    )
