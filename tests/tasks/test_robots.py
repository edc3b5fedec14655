"""Loading arms: what a file tells, what is asked for by name, and arms that we did not write.

The foreign arms come from two packages that are downloaded for this test only (about 12 MB, cached between runs);
without a network those tests are skipped and say so, and `make test-long` fails.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

from bedplate.core.errors import BedplateError, UnknownName
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.tasks.arm_reach import arm_reach
from bedplate.tasks.contract import contract_of
from bedplate.tasks.robots.load import load_arm
from bedplate.tasks.robots.table import ROBOTS, robot_file
from bedplate.tasks.robots.urdf import find_mesh, read_urdf

PACKAGES = ("robopal==0.4.1", "gym-xarm==0.1.1")
MANIPULATORS = "robopal/assets/models/manipulators"

FOREIGN = {
    "panda.xml": (
        f"{MANIPULATORS}/Panda/panda.xml",
        {"end_effector": "attachment_site", "velocity_limits": [2.0] * 7},
        (80.0,) * 5 + (12.0,) * 2,
    ),
    "DianaMed.xml": (
        f"{MANIPULATORS}/DianaMed/DianaMed.xml",
        {"end_effector": "attachment_site", "velocity_limits": [2.0] * 7},
        (80.0,) * 7,
    ),
    "DianaMed.urdf": (
        f"{MANIPULATORS}/DianaMed/DianaMed.urdf",
        {"end_effector": "link7", "velocity_limits": [2.0] * 7, "effort_limits": [80.0] * 7},
        (80.0,) * 7,
    ),
    "xarm7": (
        "gym_xarm/tasks/assets/reach.xml",
        {"end_effector": "grasp", "velocity_limits": [3.0] * 7, "effort_limits": [50.0] * 3 + [30.0] * 2 + [20.0] * 2},
        (50.0,) * 3 + (30.0,) * 2 + (20.0,) * 2,
    ),
}
"""Name -> file inside the packages, parameters, and the effort limits that must come out."""

PLAIN = """
<mujoco>
  <worldbody>
    <body name="upper" pos="0 0 0.3">
      <joint name="shoulder" axis="0 1 0" range="-90 90" limited="true"/>
      <geom type="capsule" fromto="0 0 0.1 0 0 0.3" size="0.04"/>
      <body name="lower" pos="0 0 0.4">
        <joint name="elbow" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0.1 0 0 0.3" size="0.04"/>
        <site name="hand" pos="0 0 0.35"/>
        <body name="finger" pos="0 0 0.35">
          <joint name="grip" type="slide" axis="1 0 0" range="0 0.02" limited="true"/>
          <geom type="sphere" size="0.01"/>
        </body>
      </body>
    </body>
  </worldbody>
  {actuators}
</mujoco>
"""
MOTORS = """<actuator>
  <motor joint="shoulder" ctrlrange="-1 1" ctrllimited="true" gear="40"/>
  <motor joint="elbow" ctrlrange="-20 20" ctrllimited="true"/>
  <motor joint="grip"/>
</actuator>"""
SERVOS = """<actuator>
  <velocity joint="shoulder" kv="10" ctrlrange="-2 2" ctrllimited="true" forcerange="-40 40" forcelimited="true"/>
  <velocity joint="elbow" kv="10" ctrlrange="-3 3" ctrllimited="true" forcerange="-20 20" forcelimited="true"/>
</actuator>"""

URDF = """
<robot name="stick">
  <link name="base"/>
  <link name="arm">
    {inertial}
    <collision><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.03" length="0.3"/></geometry></collision>
    <visual><geometry><mesh filename="package://nowhere/arm.dae"/></geometry></visual>
  </link>
  <link name="flange"/>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="arm"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" effort="{effort}" velocity="2.5"/>
  </joint>
  <joint name="fix" type="fixed"><parent link="arm"/><child link="flange"/><origin xyz="0 0 0.4"/></joint>
</robot>
"""
INERTIAL = '<inertial><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'


def _write(folder: Path, text: str, name: str = "arm.xml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.fixture(scope="session")
def packages(request: pytest.FixtureRequest, full: bool) -> Path:
    """Folder with the unpacked packages; without them the full test fails, and the short one skips and says so."""
    folder = Path(request.config.cache.mkdir("bedplate-foreign-arms"))
    done = folder / "done"
    if not done.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        run = subprocess.run([*command, "-d", str(folder), *PACKAGES], capture_output=True, text=True, timeout=300)
        if run.returncode:
            refuse = pytest.fail if full else pytest.skip
            refuse(f"FOREIGN ARMS NOT TESTED: cannot download {PACKAGES}: {run.stderr.strip()[-300:]}")
        for wheel in folder.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
        done.touch()
    return folder


@pytest.mark.parametrize("name", FOREIGN)
def test_an_arm_that_we_did_not_write_becomes_a_task(packages: Path, name: str) -> None:
    file, params, effort = FOREIGN[name]
    task = arm_reach(robot=str(packages / file), **params)
    contract = contract_of(task)
    assert len(contract.channels) == 7
    model = task.model().compile()
    np.testing.assert_allclose(model.actuator_forcerange[:, 1], effort)
    np.testing.assert_allclose(model.actuator_ctrlrange[:, 1], params["velocity_limits"])

    # it moves as commanded, nothing diverges, and some worlds are solved by the classical servo alone
    env = TaskVecEnv(task, 16, seed=0)
    env.reset()
    episodes = []
    for _ in range(task.episode_steps):
        step = env.step(task.baseline(env.signals) / torch.tensor(task.action.high))
        assert torch.isfinite(step.obs).all()
        episodes += step.episodes
    assert env.num_diverged == 0
    assert sum(episode.success for episode in episodes) >= 2
    env.close()


def test_a_file_without_its_meshes_is_refused_in_one_message(packages: Path) -> None:
    file = packages / MANIPULATORS / "UR5e" / "ur5e.xml"
    with pytest.raises(BedplateError, match=r"base_0\.obj"):
        load_arm(str(file), "attachment_site", velocity_limits=[3.0] * 6)


def test_limits_come_from_the_files_actuators(tmp_path: Path) -> None:
    arm = load_arm(_write(tmp_path, PLAIN.format(actuators=SERVOS)), "hand")
    assert arm.joints == ("shoulder", "elbow")
    assert arm.velocity == (2.0, 3.0)
    assert arm.effort == (40.0, 20.0)
    assert arm.position_high == pytest.approx((np.pi / 2, 2 * np.pi))
    assert any("elbow" in words for words in arm.assumed)
    # the finger is frozen, and its site is the tip
    model = arm.spec.copy().compile()
    assert (model.nq, model.nu, arm.tip) == (2, 2, "hand")
    np.testing.assert_array_equal(model.body_gravcomp[1:], 1.0)


def test_a_motors_effort_is_its_range_times_its_gear(tmp_path: Path) -> None:
    arm = load_arm(_write(tmp_path, PLAIN.format(actuators=MOTORS)), "hand", velocity_limits=[1.0, 1.0])
    assert arm.effort == (40.0, 20.0)


def test_missing_velocity_limits_are_asked_for_by_name(tmp_path: Path) -> None:
    file = _write(tmp_path, PLAIN.format(actuators=MOTORS))
    with pytest.raises(BedplateError, match="no velocity limit for shoulder, elbow") as caught:
        load_arm(file, "hand")
    assert "--set task.velocity_limits=[N, N]" in caught.value.next_step
    with pytest.raises(BedplateError, match="velocity_limits has 1 numbers"):
        load_arm(file, "hand", velocity_limits=[1.0])
    with pytest.raises(BedplateError, match="no velocity limit for elbow"):
        load_arm(file, "hand", velocity_limits=[1.0, float("nan")])


def test_a_file_without_actuators_asks_for_effort_limits(tmp_path: Path) -> None:
    file = _write(tmp_path, PLAIN.format(actuators=""))
    with pytest.raises(BedplateError, match="no actuators on the joints shoulder, elbow") as caught:
        load_arm(file, "hand", velocity_limits=[1.0, 1.0])
    assert "task.effort_limits" in caught.value.next_step
    assert load_arm(file, "hand", velocity_limits=[1.0, 1.0], effort_limits=[9.0, 8.0]).effort == (9.0, 8.0)


def test_the_end_effector_is_asked_for_and_checked(tmp_path: Path) -> None:
    file = _write(tmp_path, PLAIN.format(actuators=SERVOS))
    with pytest.raises(BedplateError, match="end effector is not given") as caught:
        load_arm(file)
    assert "hand" in caught.value.expected and "finger" in caught.value.expected
    with pytest.raises(UnknownName, match="'hnad'") as unknown:
        load_arm(file, "hnad")
    assert unknown.value.nearest == "hand"
    with pytest.raises(BedplateError, match="0 joints lead to"):
        load_arm(
            _write(tmp_path, "<mujoco><worldbody><body name='b'><geom size='1'/></body></worldbody></mujoco>"), "b"
        )


def test_a_urdfs_own_limits_are_read(tmp_path: Path) -> None:
    file = _write(tmp_path, URDF.format(inertial=INERTIAL, effort=30), "arm.urdf")
    arm = load_arm(file, "flange")
    assert (arm.velocity, arm.effort, arm.position_low) == ((2.5,), (30.0,), (-1.5,))
    data = mujoco.MjData(model := arm.spec.copy().compile())
    data.qpos[:] = 0.0
    mujoco.mj_kinematics(model, data)
    np.testing.assert_allclose(data.site(arm.tip).xpos, [0, 0, 0.7], atol=1e-9)


def test_what_a_urdf_does_not_say_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(BedplateError, match="no effort limit for turn"):
        load_arm(_write(tmp_path, URDF.format(inertial=INERTIAL, effort=0), "arm.urdf"), "flange")
    massless = _write(tmp_path, URDF.format(inertial="", effort=30), "massless.urdf")
    with pytest.raises(BedplateError, match="no mass to the moving links arm") as caught:
        load_arm(massless, "flange")
    assert "task.link_masses" in caught.value.next_step
    model = load_arm(massless, "flange", link_masses=[3.0]).spec.copy().compile()
    assert model.body("arm").mass[0] == pytest.approx(3.0)


def test_lost_collision_meshes_are_named(tmp_path: Path) -> None:
    text = URDF.format(inertial=INERTIAL, effort=30).replace(
        '<cylinder radius="0.03" length="0.3"/>', '<mesh filename="package://nowhere/arm.stl"/>'
    )
    arm = load_arm(_write(tmp_path, text, "arm.urdf"), "flange")
    assert any("1 collision meshes" in words for words in arm.assumed)
    # the link collides all the same
    assert any("capsules" in words and "arm" in words for words in arm.assumed)


def test_mesh_addresses(tmp_path: Path) -> None:
    (tmp_path / "pkg" / "meshes").mkdir(parents=True)
    (tmp_path / "pkg" / "urdf").mkdir()
    mesh = tmp_path / "pkg" / "meshes" / "a.stl"
    mesh.touch()
    folder = tmp_path / "pkg" / "urdf"
    assert find_mesh("package://pkg/meshes/a.stl", folder) == mesh
    assert find_mesh("package://renamed/meshes/a.stl", folder) == mesh
    assert find_mesh("../meshes/a.stl", folder).resolve() == mesh
    assert find_mesh("package://pkg/meshes/b.stl", folder) is None
    assert find_mesh("package://pkg/meshes/a.dae", folder) is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("arm.txt", "", "ends in '.txt'"),
        ("arm.xml", "<mujoco", "does not read"),
        ("arm.urdf", "<robot", "is not XML"),
        ("arm.urdf", "<mujoco/>", "starts with <mujoco>"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(BedplateError, match=message):
        load_arm(_write(tmp_path, text, name), "hand")


def test_absent_files_and_unknown_names_are_refused() -> None:
    with pytest.raises(BedplateError, match="does not exist"):
        load_arm("nowhere.xml")
    with pytest.raises(UnknownName, match="unknown robot 'arm8'"):
        load_arm("arm8")
    assert "arm7" in ROBOTS
    # a package's own robot, by "module:attribute"
    assert robot_file("bedplate.tasks.robots.table:ARM7") == robot_file("arm7")


def test_a_home_outside_the_limits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BedplateError, match="home is"):
        load_arm(_write(tmp_path, PLAIN.format(actuators=SERVOS)), "hand", home=[3.0, 0.0])


def test_urdf_compiler_settings_of_the_file_do_not_hide_links(tmp_path: Path) -> None:
    text = URDF.format(inertial=INERTIAL, effort=30).replace(
        "</robot>", '<mujoco><compiler fusestatic="true"/></mujoco></robot>'
    )
    urdf = read_urdf(Path(_write(tmp_path, text, "arm.urdf")))
    assert "flange" in [body.name for body in urdf.spec.bodies]
