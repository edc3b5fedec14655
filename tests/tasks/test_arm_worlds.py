"""Worlds of arm_reach: equal by id, solvable, as hard as stated, over the reachable volume."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np

from bedplate.tasks.arm_reach.kinematics import Chain
from bedplate.tasks.arm_reach.scene import build_scene
from bedplate.tasks.arm_reach.worlds import SHAPES, WorldSampler, meets
from bedplate.tasks.robots.arm import Arm

VOXEL_M = 0.1
SPHERE, CYLINDER, BOX = (int(shape) for shape in SHAPES)


def test_straight_line_through_an_obstacle() -> None:
    first, last, centre, half = np.zeros(3), np.array([1.0, 0.0, 0.0]), np.array([0.5, 0.09, 0.09]), np.full(3, 0.1)
    assert meets(first, last, BOX, centre, half)
    # the corners of the box are not in the ball
    assert not meets(first, last, SPHERE, centre, half)
    assert not meets(first, last, CYLINDER, centre, half)
    assert not meets(first, np.array([0.3, 0.0, 0.0]), BOX, centre, half)


def test_a_world_follows_from_its_id(sampler: WorldSampler, arm: Arm, chain: Chain) -> None:
    first = sampler.make(123)
    sampler.make(5)
    again = WorldSampler(arm, chain, 0.0).make(123)
    for name in ("start", "goal", "target", "axis", "obstacle", "half"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert not np.allclose(first.target, sampler.make(124).target)


def _crosses(first: np.ndarray, last: np.ndarray, shape: int, centre: np.ndarray, half: np.ndarray) -> bool:
    """Whether one of 2,000 points between `first` and `last` is inside the obstacle."""
    offset = first + np.linspace(0, 1, 2000)[:, None] * (last - first) - centre
    if shape == SPHERE:
        inside = np.linalg.norm(offset, axis=1) < half[0]
    elif shape == CYLINDER:
        inside = (np.linalg.norm(offset[:, :2], axis=1) < half[0]) & (np.abs(offset[:, 2]) < half[2])
    else:
        inside = (np.abs(offset) < half).all(axis=1)
    return bool(inside.any())


def test_worlds_are_solvable_and_as_hard_as_stated(sampler: WorldSampler, arm: Arm, chain: Chain, full: bool) -> None:
    count = 2000 if full else 200
    model = build_scene(arm, chain, 0.0).compile()
    data = mujoco.MjData(model)
    obstacle, geom = model.body("obstacle").mocapid[0], model.geom("obstacle").id
    across = through = 0
    for world_id in range(count):
        world = sampler.make(world_id)
        across += world.across
        model.geom_type[geom] = world.shape
        size = world.half if world.shape != CYLINDER else [world.half[0], world.half[2], 0.0]
        model.geom_size[geom] = size
        data.mocap_pos[obstacle] = chain.base + world.obstacle
        # points of the straight path, each looked at by itself: a path that only grazes a corner may be missed
        crossed = _crosses(sampler.tip_of(world.start)[0], world.target, world.shape, world.obstacle, world.half)
        through += crossed
        assert world.across or not crossed

        # the goal posture puts the tip on the target, and the way there is free, looked at finer than it was made
        np.testing.assert_allclose(sampler.tip_of(world.goal)[0], world.target, atol=1e-9)
        way = [world.start, world.via, world.goal]
        for one, two in itertools.pairwise(way):
            for fraction in np.linspace(0, 1, 60):
                data.qpos[:] = one + fraction * (two - one)
                mujoco.mj_forward(model, data)
                assert data.ncon == 0
        assert (world.goal >= arm.position_low).all() and (world.goal <= arm.position_high).all()
    assert through / count >= 0.30
    assert across - through <= 0.02 * count


def test_targets_cover_the_reachable_volume(sampler: WorldSampler, arm: Arm, full: bool) -> None:
    # 80 % of the 0.1 m voxels that any collision-free posture reaches need 10,000 worlds; with fewer worlds the
    # voxels are larger, so that there are as many worlds per voxel
    worlds, postures, voxel_m = (12_000, 300_000, VOXEL_M) if full else (1_500, 40_000, 2 * VOXEL_M)
    sampler._place(None)
    sampler._clear(0.0)
    rng = np.random.default_rng(7)
    reachable = set()
    for _ in range(postures):
        q = rng.uniform(arm.position_low, arm.position_high)
        tip = sampler.tip_of(q)[0]
        voxel = tuple((tip // voxel_m).astype(int))
        if tip[2] >= 0.0 and voxel not in reachable and not sampler.collides(q):
            reachable.add(voxel)
    covered = {tuple((sampler.make(world_id).target // voxel_m).astype(int)) for world_id in range(worlds)}
    assert len(covered & reachable) / len(reachable) >= 0.80
