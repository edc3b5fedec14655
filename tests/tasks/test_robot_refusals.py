"""Robot files that cannot become an arm are refused in one message that names the part."""

from __future__ import annotations

from pathlib import Path

import pytest

from bedplate.core.errors import BedplateError
from bedplate.tasks.robots.load import load_arm

ARM = """
<mujoco>
  <worldbody>
    <body name="upper" pos="0 0 0.3">
      <joint name="shoulder" axis="0 1 0" range="-90 90" limited="true"/>
      <geom type="capsule" fromto="0 0 0.1 0 0 0.3" size="0.04"/>
      <site name="hand" pos="0 0 0.35"/>
    </body>
  </worldbody>
  <actuator>
    <velocity joint="shoulder" kv="10" ctrlrange="-2 2" ctrllimited="true" forcerange="-40 40" forcelimited="true"/>
  </actuator>
</mujoco>
"""
MASSLESS = """
<robot name="stick">
  <link name="base"/><link name="arm"/><link name="flange"/>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="arm"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" effort="30" velocity="2.5"/>
  </joint>
  <joint name="fix" type="fixed"><parent link="arm"/><child link="flange"/><origin xyz="0 0 0.4"/></joint>
</robot>
"""


def _write(folder: Path, text: str, name: str = "arm.xml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.mark.parametrize("kind", ["free", "ball"])
def test_a_free_or_ball_joint_on_the_way_to_the_tip_is_refused(tmp_path: Path, kind: str) -> None:
    text = f"""<mujoco><worldbody><body name="b"><joint name="odd" type="{kind}"/><geom size="0.1" mass="1"/>
    <site name="hand"/></body></worldbody></mujoco>"""
    with pytest.raises(BedplateError, match="joint 'odd' on the way to the end effector is free or a ball"):
        load_arm(_write(tmp_path, text), "hand", velocity_limits=[1.0], effort_limits=[1.0])


def test_a_joint_that_cannot_move_is_refused_by_name(tmp_path: Path) -> None:
    file = _write(tmp_path, ARM.replace('range="-90 90"', 'range="0 0"'))
    with pytest.raises(BedplateError, match=r"(?s)does not compile.*range.*'shoulder'"):
        load_arm(file, "hand")


@pytest.mark.parametrize("mass", [0.0, -1.0, float("nan"), float("inf")])
def test_a_mass_that_no_link_has_is_refused(tmp_path: Path, mass: float) -> None:
    file = _write(tmp_path, MASSLESS, "massless.urdf")
    with pytest.raises(BedplateError, match="mass of link 'arm'"):
        load_arm(file, "flange", link_masses=[mass])


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ('<include file="absent.xml"/>', "absent.xml"),
        (
            '<asset><mesh name="m" file="absent.obj"/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody>',
            "absent",
        ),
    ],
)
def test_a_file_that_lacks_a_part_is_refused_in_one_message(tmp_path: Path, inside: str, message: str) -> None:
    text = ARM.replace("<mujoco>", f"<mujoco>{inside}")
    with pytest.raises(BedplateError, match=message):
        load_arm(_write(tmp_path, text), "hand")


def test_the_file_as_it_should_be_is_taken(tmp_path: Path) -> None:
    assert load_arm(_write(tmp_path, ARM), "hand").joints == ("shoulder",)
    assert load_arm(_write(tmp_path, MASSLESS, "arm.urdf"), "flange", link_masses=[2.0]).joints == ("turn",)
