"""The arm_reach task: joint-velocity commands at 50 Hz bring the tip to a target position and approach axis."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from bedplate.core.errors import BedplateError
from bedplate.core.limits import ChannelLimits, Limits, PositionLimit, SafeAction
from bedplate.tasks.arm_reach import worlds
from bedplate.tasks.arm_reach.controller import Controller
from bedplate.tasks.arm_reach.damper import Damper
from bedplate.tasks.arm_reach.events import Events
from bedplate.tasks.arm_reach.features import Observer
from bedplate.tasks.arm_reach.judge import AXIS_TOLERANCE_RAD, HOLD_S, POSITION_TOLERANCE_M, WORLD, Judge
from bedplate.tasks.arm_reach.kinematics import Chain
from bedplate.tasks.arm_reach.scene import OBSTACLE_HALF_M, build_scene
from bedplate.tasks.arm_reach.servo import Servo
from bedplate.tasks.arm_reach.worlds import WORLD_VERSION, WorldSampler
from bedplate.tasks.robots.arm import Arm
from bedplate.tasks.robots.load import load_arm
from bedplate.tasks.spec import Action, MemoryTerm, Signal, Task
from bedplate.tasks.state import State

SIM_DT_S, DECIMATION, EPISODE_S = 0.004, 5, 8.0
# how far a measured joint may be past its limit before the guard calls the measurement wrong
POSITION_MARGIN_RAD, VELOCITY_MARGIN = 0.1, 2.0


def arm_reach(
    robot: str = "arm7",
    end_effector: str = "",
    speed: float = 0.5,
    table_height: float = 0.0,
    velocity_limits: Sequence[float] | None = None,
    acceleration_limits: Sequence[float] | None = None,
    effort_limits: Sequence[float] | None = None,
    link_masses: Sequence[float] | None = None,
    home: Sequence[float] | None = None,
) -> Task:
    """The task for one arm.

    Args:
        robot: MJCF or URDF file of an arm, or a name; "arm7" comes with Bedplate.
        end_effector: site or body at its tip; the z axis is the approach axis.
        speed: share of the velocity limits that commands may use.
        table_height: height of the table top over the arm's base, in metres.
        velocity_limits, acceleration_limits, effort_limits: one number per joint, where the file gives none.
        link_masses: kg, one per moving link to which a URDF gives no mass.
        home: rest position; starts are within +-0.2 rad of it.

    Raises:
        BedplateError: the arm's file cannot be used, or lacks something; the message names it.
    """
    if not 0.0 < speed <= 1.0:
        raise BedplateError(f"speed is {speed}", "a share of the velocity limits above 0 and up to 1")
    arm = load_arm(robot, end_effector, velocity_limits, acceleration_limits, effort_limits, link_masses, home)
    chain = Chain(arm.spec.copy().compile(), arm.joints, arm.tip)
    model = build_scene(arm, chain, table_height).compile()
    judge = Judge(model.site(arm.tip).id, torch.from_numpy(chain.base), torch.tensor(arm.acceleration))
    sampler = WorldSampler(arm, chain, table_height)
    scale = tuple(speed * limit for limit in arm.velocity)
    joints = len(arm.joints)
    servo = Servo(chain, scale)
    controller = Controller(servo, Damper(chain, table_height, arm.position_low, arm.position_high))
    return Task(
        id="arm_reach",
        model=lambda: build_scene(arm, chain, table_height),
        sim_dt_s=SIM_DT_S,
        decimation=DECIMATION,
        episode_length_s=EPISODE_S,
        signals=_signals(arm, chain),
        features=Observer(arm, chain, controller).features(),
        memory=(MemoryTerm("commanded", joints, 0.0, lambda signals, memory, action, command: command),),
        action=Action(
            channels=arm.joints,
            kind="velocity",
            unit=("rad/s",) * joints,
            low=tuple(-value for value in scale),
            high=scale,
            apply=_apply,
            noise_std=0.01,
            delay_s=(0.0, 0.02),
        ),
        rewards=judge.rewards(),
        terminations=judge.terminations(),
        events=Events(sampler, judge, model, arm.effort).all(),
        success=judge.success,
        limits=_limits(arm, scale),
        fields=("site_xpos", "site_xmat", "ncon"),
        update=judge.update,
        world=WORLD,
        world_version=WORLD_VERSION,
        metrics={
            "distance_m": judge.distance,
            "angle_rad": judge.angle,
            "across": lambda state: state.world["across"][:, 0],
            "path_efficiency": _path_efficiency,
        },
        tracked=arm.tip,
        baseline=controller.command,
        description="7-axis arm to a target position and approach axis past an obstacle",
        difficulty={
            "success": f"<= {POSITION_TOLERANCE_M} m and <= {AXIS_TOLERANCE_RAD:.4f} rad held for {HOLD_S} s",
            "start": f"home +- {worlds.START_SPREAD_RAD} rad",
            "target": "tip of a uniformly drawn collision-free posture, at least "
            f"{worlds.MIN_HEIGHT_M} m above the table and {worlds.MIN_TRAVEL_M} m from the start",
            "obstacle": f"sphere, cylinder or box, half extents {OBSTACLE_HALF_M} m; "
            f"tried across the straight path in {worlds.ACROSS_SHARE:.0%} of the worlds",
            "proven": "start and goal posture are free of collisions; a two-segment joint path between them is, "
            f"looked at every {worlds.WAY_STEP_RAD} rad with {worlds.WAY_CLEARANCE_M} m kept to table and obstacle",
            "speed": speed,
            "assumed": list(arm.assumed),
        },
    )


def _signals(arm: Arm, chain: Chain) -> tuple[Signal, ...]:
    reach = 1.5 * chain.reach_m
    lowest, highest = min(arm.position_low), max(arm.position_high)
    fastest = VELOCITY_MARGIN * max(arm.velocity)
    xyz = ("x", "y", "z")

    def told(key: str):
        return lambda state: state.world[key]

    return (
        Signal(
            name="joint_position",
            components=arm.joints,
            unit="rad",
            frame="joint",
            read=lambda state: state.qpos,
            low=lowest - POSITION_MARGIN_RAD,
            high=highest + POSITION_MARGIN_RAD,
            max_age_s=0.06,
            noise_std=0.0005,
        ),
        Signal(
            name="joint_velocity",
            components=arm.joints,
            unit="rad/s",
            frame="joint",
            read=lambda state: state.qvel,
            low=-fastest,
            high=fastest,
            max_age_s=0.06,
            noise_std=0.01,
            delay_s=(0.0, 0.02),
        ),
        # the cell tells target and obstacle; a camera would have this noise
        Signal(
            name="target_position",
            components=xyz,
            unit="m",
            frame="base",
            read=told("target"),
            low=-reach,
            high=reach,
            max_age_s=1.0,
            noise_std=0.0005,
        ),
        Signal(
            name="target_axis",
            components=xyz,
            unit="1",
            frame="base",
            read=told("target_axis"),
            low=-1.1,
            high=1.1,
            max_age_s=1.0,
            noise_std=0.002,
        ),
        Signal(
            name="obstacle_position",
            components=xyz,
            unit="m",
            frame="base",
            read=told("obstacle"),
            low=-3.0,
            high=3.0,
            max_age_s=1.0,
            noise_std=0.002,
        ),
        Signal(
            name="obstacle_size",
            components=("half_x", "half_y", "half_z"),
            unit="m",
            frame="base",
            read=told("obstacle_half"),
            low=0.0,
            high=1.0,
            max_age_s=1.0,
        ),
        Signal(
            name="obstacle_shape",
            components=("sphere", "cylinder", "box"),
            unit="1",
            frame="base",
            read=told("obstacle_shape"),
            low=0.0,
            high=1.0,
            max_age_s=1.0,
        ),
    )


def _limits(arm: Arm, scale: tuple[float, ...]) -> Limits:
    return Limits(
        channels=tuple(
            ChannelLimits(
                channel=name,
                unit="rad/s",
                low=-scale[k],
                high=scale[k],
                rate_per_s=arm.acceleration[k],
                position=PositionLimit("joint_position", k, arm.position_low[k], arm.position_high[k]),
            )
            for k, name in enumerate(arm.joints)
        ),
        safe_action=SafeAction("ramp", (0.0,) * len(arm.joints)),
    )


def _apply(state: State, command: torch.Tensor) -> None:
    state.ctrl[:] = command


def _path_efficiency(state: State) -> torch.Tensor:
    """Straight distance over the tip's path, 1 at best."""
    return (state.world["straight"] / state.world["travelled"].clamp(min=1e-6))[:, 0].clamp(max=1.0)
