"""The quad_avoid task: signals, action, rewards and limits of a nano quadrotor among pillars.

The drone sees a level fan of range sensors, its height, its velocity, its gyro, the direction of gravity and the
goal; it commands collective thrust and body rates at 100 Hz. The rate loop, the rotors' lag and the mixing run in
the model at 400 Hz. The fan is level although the drone tilts: a multi-zone range sensor lets the driver pick the row
of zones nearest to the horizon.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from bedplate.core.errors import BedplateError
from bedplate.core.limits import ChannelLimits, Limits, SafeAction
from bedplate.sim.engine import RaySensor
from bedplate.tasks.quad_avoid import arena as place, flight, variation
from bedplate.tasks.quad_avoid.steering import Steering
from bedplate.tasks.spec import Action, Event, Feature, RewardTerm, Signal, Task, Termination, previous_action
from bedplate.tasks.state import State
from bedplate.tasks.terms import point_goal, randomise
from bedplate.tasks.terms.rewards import action_rate, proximity
from bedplate.tasks.terms.worlds import DiscWorlds

XYZ = ("x", "y", "z")
CRUISE_M_S = 1.0
"""Speed above which flight is penalised."""


def quad_avoid(
    pillars: tuple[int, int] = (12, 18),
    arena_m: float = 8.0,
    min_distance_m: float = 5.0,
    num_rays: int = 32,
    keep_open: float = 0.3,
    episode_length_s: float = 15.0,
) -> Task:
    """The obstacle avoidance task.

    Args:
        pillars: fewest and most pillars in a world.
        arena_m: side of the walled square.
        min_distance_m: shortest straight distance from start to goal, seen from above.
        num_rays: range sensors in the level fan, evenly over the full circle; at least 16.
        keep_open: probability of keeping a world whose straight path is free.
        episode_length_s: a time-out, which counts as a failure.
    """
    if num_rays < 16:
        raise BedplateError(f"num_rays is {num_rays}", "at least 16")
    if not 0 < pillars[0] <= pillars[1]:
        raise BedplateError(f"pillars is {pillars}", "two whole numbers, fewest and most, above zero")
    worlds = DiscWorlds(
        version=1,
        arena_m=arena_m,
        radii_m=tuple(np.linspace(0.15, 0.35, pillars[1]).round(4).tolist()),
        count=(pillars[0], pillars[1]),
        robot_radius_m=flight.RADIUS_M,
        inflation_m=0.1,
        min_distance_m=min_distance_m,
        keep_open=keep_open,
    )
    arena = place.Arena(worlds)
    fan = tuple((math.cos(a), math.sin(a), 0.0) for a in flight.fan_angles(num_rays).tolist())
    action, steering = _action(), Steering()
    return Task(
        id="quad_avoid",
        description="obstacle avoidance of a 32 g quadrotor among unseen pillars",
        model=lambda: place.build_model(worlds),
        sim_dt_s=0.0025,
        decimation=4,
        episode_length_s=episode_length_s,
        rays=(
            RaySensor("range", "quad", (0, 0, 0), fan, flight.RANGE_M, (place.FAN_GROUP,), yaw_only=True),
            RaySensor("down", "quad", (0, 0, 0), ((0.0, 0.0, -1.0),), flight.RANGE_M, (place.FLOOR_GROUP,)),
        ),
        fields=("xmat",),
        signals=_signals(num_rays),
        features=_features(num_rays, action, steering),
        memory=(previous_action(4),),
        action=action,
        limits=_limits(),
        world=place.WORLD,
        world_version=worlds.version,
        update=arena.update,
        rewards=(
            RewardTerm("progress", point_goal.progress, 2.0),
            RewardTerm("time", lambda state: -torch.ones(state.num_envs), 1.0),
            RewardTerm("closeness", _too_close, 3.0),
            RewardTerm("speed", _too_fast, 2.0),
            RewardTerm("facing", _facing, 0.5),
            RewardTerm("spin", lambda state: -flight.gyro(state).square().sum(dim=1), 0.02),
            RewardTerm("smoothness", action_rate, 0.1),
            RewardTerm("success", place.reached_goal, 10.0, event=True),
            RewardTerm("crash", _crash, 20.0, event=True),
        ),
        terminations=(
            Termination("collision", place.collided, collision=True),
            Termination("altitude", place.left_altitude, collision=True),
            Termination("tilt", place.tumbled),
            Termination("success", place.reached_goal),
        ),
        events=(
            Event("world", arena.place, ranges={"worlds": worlds}, randomisation=False),
            variation.initial_motion(tilt_rad=0.2, speed_m_s=0.3, rate_rad_s=0.5),
            randomise.scale_body_mass("quad", 0.92, 1.08),
            variation.motor_gain(0.9, 1.1),
            variation.rotor_lag(0.8, 1.2),
            variation.drag(0.5, 1.5),
            variation.gusts(speed_m_s=2.0, vertical_m_s=0.5, interval_s=(0.5, 3.0)),
        ),
        success=place.reached_goal,
        baseline=steering,
        metrics={"path_efficiency": point_goal.path_efficiency, "mean_speed_m_s": _mean_speed},
        difficulty={
            "arena": f"{arena_m:g} x {arena_m:g} x {place.CEILING_M:g} m, walled",
            "pillars": f"{pillars[0]} to {pillars[1]}, floor to ceiling, radius 0.15 to 0.35 m",
            "start to goal": f"at least {min_distance_m:g} m",
            "solvable": "path for the drone inflated by 0.1 m proven by grid search",
            "open worlds kept": keep_open,
            "goal radius": f"{place.GOAL_M} m",
            "generator version": worlds.version,
        },
    )


def _signals(num_rays: int) -> tuple[Signal, ...]:
    rays = tuple(f"ray_{i}" for i in range(num_rays))
    return (
        Signal(
            name="range",
            components=rays,
            unit="m",
            frame="heading",
            read=lambda state: state.rays["range"],
            low=-0.5,
            high=flight.RANGE_M + 0.5,
            max_age_s=0.1,
            noise_std=0.02,
            delay_s=(0.0, 0.03),
        ),
        Signal(
            name="height",
            components=("down",),
            unit="m",
            frame="body",
            read=flight.height,
            low=-0.5,
            high=flight.RANGE_M + 0.5,
            max_age_s=0.1,
            noise_std=0.01,
        ),
        Signal(
            name="velocity",
            components=XYZ,
            unit="m/s",
            frame="body",
            read=flight.velocity,
            low=-10.0,
            high=10.0,
            max_age_s=0.05,
            noise_std=0.05,
            delay_s=(0.0, 0.02),
        ),
        Signal(
            name="gyro",
            components=XYZ,
            unit="rad/s",
            frame="body",
            read=flight.gyro,
            low=-35.0,
            high=35.0,
            max_age_s=0.03,
            noise_std=0.05,
        ),
        Signal(
            name="gravity",
            components=XYZ,
            unit="1",
            frame="body",
            read=flight.gravity,
            low=-1.2,
            high=1.2,
            max_age_s=0.03,
            noise_std=0.01,
        ),
        Signal(
            name="goal",
            components=XYZ,
            unit="m",
            frame="heading",
            read=flight.goal,
            low=-100.0,
            high=100.0,
            max_age_s=0.1,
            noise_std=0.02,
        ),
    )


def _features(num_rays: int, action: Action, steering: Steering) -> tuple[Feature, ...]:
    return (
        Feature("range", num_rays, lambda signals, memory: signals["range"] / flight.RANGE_M),
        Feature("closeness", num_rays, flight.closeness),
        Feature("closing", num_rays, flight.closing),
        Feature("altitude", 1, flight.altitude),
        Feature("velocity", 3, lambda signals, memory: signals["velocity"] / flight.SPEED_M_S),
        Feature("gyro", 3, lambda signals, memory: signals["gyro"] / flight.RATE_RAD_S),
        Feature("gravity", 3, lambda signals, memory: signals["gravity"]),
        Feature("goal", 5, flight.goal_direction),
        Feature("previous_action", 4, lambda signals, memory: memory["previous_action"]),
        # what the classical controller would do, without the yaw rate, which it leaves alone
        Feature("steering", 3, lambda signals, memory: action.to_action(steering(signals), signals, memory)[:, :3]),
    )


def _action() -> Action:
    rate, yaw = flight.RATE_RAD_S, flight.YAW_RATE_RAD_S
    return Action(
        channels=("thrust", "roll_rate", "pitch_rate", "yaw_rate"),
        kind="thrust_and_body_rate",
        unit=("N", "rad/s", "rad/s", "rad/s"),
        low=(flight.THRUST_N[0], -rate, -rate, -yaw),
        high=(flight.THRUST_N[1], rate, rate, yaw),
        apply=flight.fly,
        noise_std=0.02,
        delay_s=(0.0, 0.01),
    )


def _limits() -> Limits:
    rate, yaw = flight.RATE_RAD_S, flight.YAW_RATE_RAD_S
    return Limits(
        channels=(
            ChannelLimits("thrust", "N", *flight.THRUST_N, rate_per_s=10.0),
            ChannelLimits("roll_rate", "rad/s", -rate, rate, rate_per_s=200.0),
            ChannelLimits("pitch_rate", "rad/s", -rate, rate, rate_per_s=200.0),
            ChannelLimits("yaw_rate", "rad/s", -yaw, yaw, rate_per_s=150.0),
        ),
        # hover: level flight is held by the rate loop, height by the nominal weight; it drifts, it does not land
        safe_action=SafeAction("ramp", (flight.HOVER_N, 0.0, 0.0, 0.0)),
    )


def _facing(state: State) -> Tensor:
    # 0 with the nose at the goal, -1 with the tail at it: one direction of flight to learn instead of all
    offset = flight.goal(state)[:, :2]
    return (offset[:, 0] / offset.norm(dim=1).clamp(min=1e-6) - 1) / 2


def _too_fast(state: State) -> Tensor:
    # what the range sensors see in time: faster flight cannot stop inside of their range
    return -(state.qvel[:, :3].norm(dim=1) - CRUISE_M_S).clamp(min=0.0).square()


def _too_close(state: State) -> Tensor:
    # to whatever is nearest: pillar, wall, floor or ceiling
    low, high = place.ALTITUDE_M
    vertical = torch.minimum(state.qpos[:, 2] - low, high - state.qpos[:, 2])
    gap = torch.minimum(state.world["gap"][:, 0], vertical)
    return proximity(gap, 0.15)


def _crash(state: State) -> Tensor:
    return -(place.collided(state) | place.left_altitude(state) | place.tumbled(state)).double()


def _mean_speed(state: State) -> Tensor:
    return state.world["travelled"][:, 0] / state.time_s.clamp(min=state.control_dt_s)
