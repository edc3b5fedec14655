"""A robot that is bolted down has a path to plot and is in the picture."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from bedplate.evaluate.recording import tracked_point
from bedplate.evaluate.renderer import _camera

PENDULUM = """
<mujoco><worldbody>
  <geom type="box" size="0.1 0.1 0.1" pos="0 0 1.2"/>
  <body pos="0 0 1"><joint type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -0.8" size="0.03"/></body>
</worldbody></mujoco>
"""
ARM = """
<mujoco><worldbody><body><joint type="hinge" axis="0 0 1"/><geom size="0.1"/>
  <body pos="0 0 0.5"><joint type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03"/></body>
</body></worldbody></mujoco>
"""
CART = """
<mujoco><worldbody><body><joint type="slide"/><geom size="0.1"/>
  <body><joint type="hinge"/><geom size="0.1"/></body>
</body></worldbody></mujoco>
"""
FREE = """
<mujoco><worldbody><body><freejoint/><geom size="0.1"/><body pos="0 0 1"><joint/><geom size="0.1"/></body></body>
</worldbody></mujoco>
"""


@pytest.mark.parametrize(
    ("xml", "expected"), [(PENDULUM, ("xipos", 1)), (ARM, ("xipos", 2)), (CART, ("xpos", 1)), (FREE, ("xpos", 1))]
)
def test_the_tracked_point_moves_with_the_robot(xml, expected):
    model = mujoco.MjModel.from_xml_string(xml)
    field, row = tracked_point(model, "")
    assert (field, row) == expected
    data = mujoco.MjData(model)
    places = []
    for turn in (0.1, 1.1):
        data.qpos[:] = turn if model.nq < 7 else [turn, 0, 0, 1, 0, 0, 0, turn]
        mujoco.mj_kinematics(model, data)
        places.append(getattr(data, field)[row].copy())
    assert np.linalg.norm(places[1] - places[0]) > 0.1


def test_a_pendulum_is_seen_whole():
    model = mujoco.MjModel.from_xml_string(PENDULUM)
    record = {"qpos": np.linspace(-0.5, 0.5, 50)[:, None], "mocap": np.zeros((50, 0, 7)), "goal": np.zeros(0)}
    camera, mark_m = _camera(model, [(model, record)])
    # far enough for 0.8 m of pendulum in a field of view of 45 degrees, and aimed at it
    assert 0.8 < camera.distance < 5.0
    assert camera.lookat == pytest.approx((0.0, 0.0, 0.6), abs=0.15)
    assert mark_m > 0.005
