"""The CPU engine does what single-world C MuJoCo does, world by world, to the last bit."""

from __future__ import annotations

import copy

import mujoco
import numpy as np
import pytest

from bedplate.core.errors import BedplateError
from bedplate.sim.batch import KINEMATIC_FIELDS, BatchEngine

NUM_ENVS = 6
DECIMATION = 5

# every derived field that our tasks and rays bind, and some that a site's task will
POSITION_FIELDS = ("xpos", "xquat", "xmat", "xipos", "site_xpos", "site_xmat", "geom_xpos", "subtree_com")
VELOCITY_FIELDS = ("cvel", "qfrc_bias", "actuator_velocity", "actuator_length")
SUBSTEP_FIELDS = ("sensordata", "actuator_force", "qacc", "qfrc_actuator", "qfrc_constraint", "cacc", "ncon")
FIELDS = POSITION_FIELDS + VELOCITY_FIELDS + SUBSTEP_FIELDS


class Singles:
    """One MjModel and MjData per world, stepped one after the other: the reference."""

    def __init__(self, model, current=True):
        self.current = current
        self.models = [copy.copy(model) for _ in range(NUM_ENVS)]
        self.worlds = [mujoco.MjData(m) for m in self.models]

    def step(self, ctrl):
        for model, data, u in zip(self.models, self.worlds, ctrl, strict=True):
            data.ctrl[:] = u
            mujoco.mj_step(model, data, nstep=DECIMATION)
            if self.current:
                mujoco.mj_step1(model, data)

    def restart(self, i, qpos, qvel):
        mujoco.mj_resetData(self.models[i], self.worlds[i])
        self.worlds[i].qpos[:], self.worlds[i].qvel[:] = qpos, qvel
        mujoco.mj_forward(self.models[i], self.worlds[i])

    def field(self, name):
        return np.stack([np.asarray(getattr(data, name)) for data in self.worlds])


def drop(rng, model):
    """A random pose above the floor, tumbling."""
    data = mujoco.MjData(model)
    data.qpos[2] = rng.uniform(0.2, 0.8)
    data.qpos[3:7] = rng.normal(size=4)
    data.qpos[3:7] /= np.linalg.norm(data.qpos[3:7])
    data.qpos[7] = rng.uniform(-0.5, 0.5)
    return data.qpos.copy(), rng.normal(size=model.nv)


def restart(engine, singles, ids, rng):
    """Start the worlds `ids` of both from the same random states."""
    engine.reset(np.asarray(ids))
    for i in ids:
        qpos, qvel = drop(rng, engine.model)
        engine.field("qpos").numpy()[i], engine.field("qvel").numpy()[i] = qpos, qvel
        singles.restart(i, qpos, qvel)
    engine.forward(np.asarray(ids))


@pytest.mark.parametrize("current", [True, False])
@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicitfast"])
def test_trajectories_and_fields_are_bit_equal_to_single_worlds(rover, integrator, current):
    rng = np.random.default_rng(0)
    model = rover(integrator)
    engine = BatchEngine(model, NUM_ENVS, DECIMATION, fields=FIELDS, current=current, num_threads=3)
    singles = Singles(model, current)
    restart(engine, singles, range(NUM_ENVS), rng)

    for step in range(60):
        ctrl = rng.uniform(-1, 1, (NUM_ENVS, model.nu))
        engine.field("ctrl").numpy()[:] = ctrl
        engine.step()
        singles.step(ctrl)
        for name in ("qpos", "qvel", "act", *FIELDS):
            np.testing.assert_array_equal(engine.field(name).numpy(), singles.field(name), err_msg=f"{name}, {step}")
        # single worlds start anew while their neighbours go on
        if step % 7 == 3:
            restart(engine, singles, np.sort(rng.choice(NUM_ENVS, 2, replace=False)), rng)
    assert not engine.diverged.any()


def test_this_comparison_notices_stale_fields(rover):
    """The reference with current fields differs from an engine that leaves them a substep behind."""
    rng = np.random.default_rng(0)
    engine = BatchEngine(rover(), NUM_ENVS, DECIMATION, fields=FIELDS, current=False)
    singles = Singles(engine.model, current=True)
    restart(engine, singles, range(NUM_ENVS), rng)
    engine.step()
    singles.step(np.zeros((NUM_ENVS, 1)))
    for name in (*POSITION_FIELDS, "cvel"):
        assert (engine.field(name).numpy() != singles.field(name)).any(), name


# the last two are computed by no call here: a shared MjData would hold whatever a neighbour left
@pytest.mark.parametrize("name", [*FIELDS, "subtree_linvel", "qfrc_inverse"])
def test_a_field_shows_its_own_world_whatever_its_neighbours_do(rover, name):
    """World 2 alone, and among neighbours in other states on one shared thread, gives the same values."""
    rng = np.random.default_rng(1)
    model = rover()
    starts = [drop(rng, model) for _ in range(NUM_ENVS)]

    def run(ids):
        engine = BatchEngine(model, len(ids), DECIMATION, fields=(name,), num_threads=1)
        engine.reset(np.arange(len(ids)))
        for row, i in enumerate(ids):
            engine.field("qpos").numpy()[row], engine.field("qvel").numpy()[row] = starts[i]
            engine.field("ctrl").numpy()[row] = 0.1 * i
        engine.forward(np.arange(len(ids)))
        after_forward = engine.field(name).numpy().copy()
        for _ in range(25):
            engine.step()
        return after_forward, engine.field(name).numpy().copy()

    crowd, alone = run(range(NUM_ENVS)), run([2])
    for among, single in zip(crowd, alone, strict=True):
        np.testing.assert_array_equal(among[2], single[0])
    # the neighbours do differ, so a mixed-up field would show
    if name not in ("ncon", "subtree_linvel", "qfrc_inverse"):
        assert (crowd[1] != crowd[1][2]).any()


def test_forward_of_one_world_leaves_the_fields_of_the_others(rover):
    rng = np.random.default_rng(2)
    engine = BatchEngine(rover(), NUM_ENVS, DECIMATION, fields=FIELDS)
    restart(engine, Singles(engine.model), range(NUM_ENVS), rng)
    engine.step()
    before = {name: engine.field(name).numpy().copy() for name in FIELDS}
    others = [0, 1, 2, 4, 5]
    restart(engine, Singles(engine.model), [3], rng)
    for name in FIELDS:
        np.testing.assert_array_equal(engine.field(name).numpy()[others], before[name][others], err_msg=name)
    assert (engine.field("xpos").numpy()[3] != before["xpos"][3]).any()


def test_expanded_model_fields_act_per_world(rover):
    rng = np.random.default_rng(3)
    model = rover()
    engine = BatchEngine(model, NUM_ENVS, DECIMATION)
    singles = Singles(model)
    mass, friction = engine.expand("body_mass").numpy(), engine.expand("geom_friction").numpy()
    hull, body = model.geom("hull").id, model.body("rover").id
    for i, single in enumerate(singles.models):
        mass[i, body] = single.body_mass[body] = 1.0 + i
        friction[i, hull, 0] = single.geom_friction[hull, 0] = 0.2 * (1 + i)
        mujoco.mj_setConst(single, singles.worlds[i])
    engine.set_const(np.arange(NUM_ENVS))
    restart(engine, singles, range(NUM_ENVS), rng)
    for _ in range(40):
        ctrl = rng.uniform(-1, 1, (NUM_ENVS, 1))
        engine.field("ctrl").numpy()[:] = ctrl
        engine.step()
        singles.step(ctrl)
    np.testing.assert_array_equal(engine.field("qpos").numpy(), singles.field("qpos"))
    np.testing.assert_array_equal(engine.world_model(4).body_mass, singles.models[4].body_mass)
    assert len(np.unique(engine.field("qpos").numpy()[:, 2])) == NUM_ENVS


def test_equal_results_at_any_thread_count(rover):
    def run(num_threads):
        engine = BatchEngine(rover(), NUM_ENVS, DECIMATION, num_threads=num_threads)
        restart(engine, Singles(engine.model), range(NUM_ENVS), np.random.default_rng(4))
        for _ in range(20):
            engine.step()
        return engine.field("qpos").numpy().copy()

    np.testing.assert_array_equal(run(1), run(4))


def test_worlds_that_share_data_give_equal_trajectories_and_refuse_what_they_would_mix_up(rover):
    fields = sorted(KINEMATIC_FIELDS)
    engine = BatchEngine(rover(), NUM_ENVS, DECIMATION, fields=fields, current=False, num_threads=2)
    assert not engine.persistent
    singles, rng = Singles(engine.model, current=False), np.random.default_rng(6)
    restart(engine, singles, range(NUM_ENVS), rng)
    for step in range(40):
        ctrl = rng.uniform(-1, 1, (NUM_ENVS, 1))
        engine.field("ctrl").numpy()[:] = ctrl
        engine.step()
        singles.step(ctrl)
        for name in ("qpos", "qvel", "act", *fields):
            np.testing.assert_array_equal(engine.field(name).numpy(), singles.field(name), err_msg=name)
        if step % 7 == 3:
            restart(engine, singles, [1, 4], rng)
            for name in fields:
                np.testing.assert_array_equal(engine.field(name).numpy(), singles.field(name), err_msg=name)
    with pytest.raises(BedplateError, match="qfrc_inverse"):
        engine.field("qfrc_inverse")
    assert BatchEngine(rover(), NUM_ENVS, fields=("qfrc_inverse",), current=False).persistent


@pytest.mark.parametrize("current", [True, False])
def test_world_data_is_that_world(rover, current):
    engine = BatchEngine(rover(), NUM_ENVS, DECIMATION, current=current)
    restart(engine, Singles(engine.model), range(NUM_ENVS), np.random.default_rng(5))
    engine.step()
    data = engine.world_data(3)
    np.testing.assert_array_equal(data.qpos, engine.field("qpos").numpy()[3])
    # forwarded: its bodies are where its positions put them
    np.testing.assert_array_equal(data.xpos[engine.model.body("rover").id], data.qpos[:3])


def test_worlds_that_do_not_fit_into_memory_are_refused(monkeypatch):
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
    )
    monkeypatch.setattr("bedplate.sim.memory.machine_memory_bytes", lambda: 10 * mujoco.MjData(model).nbuffer)
    with pytest.raises(BedplateError, match="11 worlds need"):
        BatchEngine(model, 11)
    BatchEngine(model, 10).close()
