"""Ray sensors measure what mj_ray measures in each single world."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from bedplate.sim.batch import BatchEngine
from bedplate.sim.engine import RaySensor

NUM_ENVS = 5
RANGE_M = 4.0
ANGLES = np.linspace(-math.pi, math.pi, 24, endpoint=False)


def fan(yaw_only, tilt=0.1):
    directions = [(math.cos(a) * math.cos(tilt), math.sin(a) * math.cos(tilt), -math.sin(tilt)) for a in ANGLES]
    return RaySensor("scan", "rover", (0.05, 0.0, 0.12), tuple(directions), RANGE_M, (0,), yaw_only)


def scattered(model, sensor, num_envs=NUM_ENVS):
    """Worlds with tilted rovers, moved posts, and posts of other sizes."""
    rng = np.random.default_rng(7)
    engine = BatchEngine(model, num_envs, decimation=2, rays=(sensor,))
    engine.reset(np.arange(num_envs))
    engine.expand("geom_size").numpy()[:, model.geom("post").id, 0] = rng.uniform(0.1, 0.8, num_envs)
    engine.field("mocap_pos").numpy()[:, 0, :2] = rng.uniform(-2, 2, (num_envs, 2))
    qpos = engine.field("qpos").numpy()
    qpos[:, :2] = rng.uniform(-1, 1, (num_envs, 2))
    qpos[:, 2] = 0.6
    qpos[:, 3:7] = np.array([1, 0, 0, 0]) + rng.uniform(-0.2, 0.2, (num_envs, 4))
    qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True)
    engine.forward(np.arange(num_envs))
    return engine


def expected(engine, sensor, world):
    """The same rays by mj_ray on one world."""
    model, data = engine.world_model(world), engine.world_data(world)
    mujoco.mj_kinematics(model, data)
    body = model.body(sensor.body).id
    rotation = data.xmat[body].reshape(3, 3)
    origin = data.xpos[body] + rotation @ sensor.origin
    if sensor.yaw_only:
        yaw = math.atan2(rotation[1, 0], rotation[0, 0])
        rotation = np.array([[math.cos(yaw), -math.sin(yaw), 0], [math.sin(yaw), math.cos(yaw), 0], [0, 0, 1]])
    groups = np.array([1, 0, 0, 0, 0, 0], np.uint8)
    hit = np.zeros(1, np.int32)
    found = [mujoco.mj_ray(model, data, origin, rotation @ d, groups, 1, body, hit) for d in sensor.directions]
    return np.array([RANGE_M if d < 0 else min(d, RANGE_M) for d in found])


@pytest.mark.parametrize("yaw_only", [False, True])
def test_rays_equal_mj_ray_with_sizes_of_each_world(rover, yaw_only):
    sensor = fan(yaw_only)
    engine = scattered(rover(), sensor)
    for moment in ("after forward", "after step"):
        scans = engine.rays["scan"].numpy()
        for world in range(NUM_ENVS):
            np.testing.assert_allclose(scans[world], expected(engine, sensor, world), atol=1e-9, err_msg=moment)
        engine.step()
    # something is seen, something is missed, and worlds differ
    assert (scans < RANGE_M).any() and (scans == RANGE_M).any()
    assert len(np.unique(scans.sum(axis=1))) == NUM_ENVS


def test_yaw_only_matters_when_the_body_is_tilted(rover):
    tilted, level = (scattered(rover(), fan(yaw_only)).rays["scan"].numpy() for yaw_only in (False, True))
    assert abs(tilted - level).max() > 0.05


def test_forward_of_some_worlds_measures_only_those(rover):
    sensor = fan(False)
    engine = scattered(rover(), sensor)
    before = engine.rays["scan"].numpy().copy()
    engine.field("mocap_pos").numpy()[:, 0, :2] = engine.field("qpos").numpy()[:, :2] + [0.9, 0.0]
    engine.forward(np.array([1, 3]))
    scans = engine.rays["scan"].numpy()
    np.testing.assert_array_equal(scans[[0, 2, 4]], before[[0, 2, 4]])
    for world in (1, 3):
        np.testing.assert_allclose(scans[world], expected(engine, sensor, world), atol=1e-9)
        assert (scans[world] != before[world]).any()


def test_casting_rays_does_not_change_the_motion(rover):
    def run(rays):
        engine = BatchEngine(rover(), NUM_ENVS, decimation=3, rays=rays)
        engine.reset(np.arange(NUM_ENVS))
        engine.field("qvel").numpy()[:, 3] = np.arange(NUM_ENVS)
        engine.forward(np.arange(NUM_ENVS))
        for _ in range(30):
            engine.step()
        return engine.field("qpos").numpy().copy()

    np.testing.assert_array_equal(run(()), run((fan(False),)))
