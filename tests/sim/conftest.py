"""Small models for the engine's tests."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import pytest

# contacts, a motor with state, sensors of every stage, a mocap body and a limited joint
ROVER = """
<mujoco>
  <option timestep="0.004" integrator="{integrator}"/>
  <worldbody>
    <geom name="floor" type="plane" size="20 20 .1"/>
    <geom name="wall" type="box" size=".1 3 1" pos="2.5 0 1"/>
    <body name="post" mocap="true" pos="-2 1 .3"><geom name="post" type="cylinder" size=".3 .3"/></body>
    <body name="rover" pos="0 0 .25">
      <freejoint/>
      <geom name="hull" type="box" size=".2 .15 .1" mass="3"/>
      <site name="head" pos=".1 0 .1"/>
      <body name="arm" pos=".2 0 .1">
        <joint name="elbow" axis="0 1 0" range="-60 60" damping=".1"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".4"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <general name="elbow" joint="elbow" dyntype="filter" dynprm=".05" gainprm="4" ctrlrange="-1 1"/>
  </actuator>
  <sensor>
    <gyro site="head"/>
    <accelerometer site="head"/>
    <subtreecom body="rover"/>
    <jointactuatorfrc joint="elbow"/>
  </sensor>
</mujoco>
"""

# an unknown eq_type in one world makes MuJoCo raise there
WELD = """
<mujoco>
  <worldbody>
    <body name="anchor" mocap="true"/>
    <body name="ball" pos="0 0 1"><joint name="up" type="slide" axis="0 0 1"/><geom size=".1"/></body>
  </worldbody>
  <equality><weld body1="anchor" body2="ball"/></equality>
</mujoco>
"""


@pytest.fixture
def rover() -> Callable[..., mujoco.MjModel]:
    """Builds a box with a driven arm on a floor, for an integrator."""
    return lambda integrator="Euler": mujoco.MjModel.from_xml_string(ROVER.format(integrator=integrator))


@pytest.fixture
def weld() -> mujoco.MjModel:
    """A ball welded to a mocap body."""
    return mujoco.MjModel.from_xml_string(WELD)
