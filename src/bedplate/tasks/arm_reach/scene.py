"""The cell around the arm: a table under its base, one obstacle, a marker for the target."""

from __future__ import annotations

import mujoco
import numpy as np

from bedplate.tasks.arm_reach.kinematics import Chain
from bedplate.tasks.robots.arm import Arm

# thicker than any arm moves in one control step, so that nothing tunnels through it
TABLE_THICKNESS_M = 0.2
# half extents of the obstacle; its bounding volumes are compiled for the largest
OBSTACLE_HALF_M = (0.04, 0.12)
# all collision bits: table and obstacle touch whatever the arm's own file lets collide with anything
ALL_BITS = 0x7FFFFFFF
# closer than this counts as a collision, while contact forces start at zero distance: a look once per control step
# missed 1 of 257 touches that a look after every substep finds; without this margin it missed 4 of 225
TOUCH_M = 0.005
# where an obstacle waits that is not in the world, from the base
AWAY_M = np.array([0.0, 0.0, -2.0])


def build_scene(arm: Arm, chain: Chain, table_height_m: float) -> mujoco.MjSpec:
    """The arm's model with table, obstacle and target marker added.

    Args:
        arm: the arm.
        chain: its kinematics; the table is centred on its base and reaches as far as the arm does.
        table_height_m: height of the table top in the base frame.
    """
    spec = arm.spec.copy()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    half_m = chain.reach_m + 0.2
    top = chain.base + np.array([0.0, 0.0, table_height_m])

    # a static body: its contacts with other static geoms, such as the arm's foot, are not computed
    spec.worldbody.add_geom(
        name="table",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[half_m, half_m, TABLE_THICKNESS_M / 2],
        pos=top - [0.0, 0.0, TABLE_THICKNESS_M / 2],
        rgba=[0.55, 0.5, 0.45, 1.0],
        contype=ALL_BITS,
        conaffinity=ALL_BITS,
        margin=TOUCH_M,
        gap=TOUCH_M,
    )

    # a mocap body is static too, and can be placed per world
    obstacle = spec.worldbody.add_body(name="obstacle", mocap=True, pos=chain.base + AWAY_M)
    obstacle.add_geom(
        name="obstacle",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[OBSTACLE_HALF_M[1]] * 3,
        rgba=[0.8, 0.25, 0.2, 1.0],
        contype=ALL_BITS,
        conaffinity=ALL_BITS,
        margin=TOUCH_M,
        gap=TOUCH_M,
    )

    # drawn only
    target = spec.worldbody.add_body(name="target", mocap=True)
    target.add_geom(
        name="target",
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        size=[0.008, 0.04, 0.0],
        pos=[0.0, 0.0, -0.04],
        rgba=[0.1, 0.7, 0.3, 0.6],
        contype=0,
        conaffinity=0,
        group=2,
    )
    return spec
