"""Contact forces equal mj_rnePostConstraint after a step, world by world, and are zero in a world that starts."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from bedplate.sim.batch import BatchEngine
from bedplate.sim.contact_forces import add_contact_forces, has_contact_forces

NUM_ENVS = 4
DECIMATION = 3
BOX = """
<mujoco>
  <option integrator="{integrator}"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="box" pos="0 0 .2"><freejoint/><geom type="box" size=".1 .2 .1"/></body>
  </worldbody>
</mujoco>
"""


def build(integrator, forces=True):
    spec = mujoco.MjSpec.from_string(BOX.format(integrator=integrator))
    if forces:
        add_contact_forces(spec, "box")
    return spec.compile()


@pytest.mark.parametrize("current", [True, False])
@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_forces_equal_the_call_after_the_step_in_every_world(integrator, current):
    engine = BatchEngine(build(integrator), NUM_ENVS, DECIMATION, fields=("cfrc_ext",), current=current, num_threads=2)
    plain = build(integrator, forces=False)
    worlds = [mujoco.MjData(plain) for _ in range(NUM_ENVS)]

    def drop(i, height):
        mujoco.mj_resetData(plain, worlds[i])
        engine.reset(np.array([i]))
        worlds[i].qpos[2] = engine.field("qpos").numpy()[i, 2] = height
        mujoco.mj_forward(plain, worlds[i])
        engine.forward(np.array([i]))

    for i in range(NUM_ENVS):
        drop(i, 0.11 + 0.03 * i)
    touched = 0
    for step in range(50):
        engine.step()
        for i, data in enumerate(worlds):
            mujoco.mj_step(plain, data, nstep=DECIMATION)
            mujoco.mj_rnePostConstraint(plain, data)
            np.testing.assert_array_equal(engine.field("cfrc_ext").numpy()[i], data.cfrc_ext, err_msg=f"{step}, {i}")
            touched += data.cfrc_ext.any()
        if step == 30:
            # a world that starts has no forces; its neighbours keep theirs
            drop(2, 0.5)
            forces = engine.field("cfrc_ext").numpy()
            assert not forces[2].any() and forces[0].any() and forces[1].any()
    assert touched > 50


def test_a_model_knows_whether_it_has_them():
    assert has_contact_forces(build("Euler"))
    assert not has_contact_forces(build("Euler", forces=False))
    # without them the field would be mixed up between worlds, so each gets data of its own
    assert BatchEngine(build("Euler", forces=False), 2, fields=("cfrc_ext",), current=False).persistent
    assert not BatchEngine(build("Euler"), 2, fields=("cfrc_ext",), current=False).persistent
