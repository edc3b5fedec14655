"""arm_reach: numbers of its arm, kinematics, worlds, judgement, and what standing still or swinging earns."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import torch

from bedplate.core.check import Status
from bedplate.core.errors import BedplateError
from bedplate.envs.lint import lint_task
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.tasks.arm_reach import arm_reach
from bedplate.tasks.arm_reach.geometry import Obstacle, detour, solve, turning
from bedplate.tasks.arm_reach.kinematics import Chain
from bedplate.tasks.arm_reach.worlds import WorldSampler
from bedplate.tasks.contract import contract_of
from bedplate.tasks.robots.arm import Arm
from bedplate.tasks.spec import Task


@pytest.fixture(scope="module")
def task() -> Task:
    return arm_reach()


def test_arm_has_the_published_numbers(arm: Arm) -> None:
    assert arm.position_low == pytest.approx((-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973))
    assert arm.position_high == pytest.approx((2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973))
    assert arm.velocity == pytest.approx((2.175,) * 4 + (2.61,) * 3)
    assert arm.acceleration == pytest.approx((15, 7.5, 10, 12.5, 15, 20, 20))
    assert arm.effort == pytest.approx((87,) * 4 + (12,) * 3)
    model = arm.spec.copy().compile()
    masses = [4.970684, 0.646926, 3.228604, 3.587895, 1.225946, 1.666555, 0.735522]
    assert [model.body(f"link{k}").mass[0] for k in range(1, 8)] == pytest.approx(masses)
    assert arm.assumed == ()


def test_servo_tracks_holds_and_keeps_the_torque_limit(arm: Arm) -> None:
    model = arm.spec.copy().compile()
    data = mujoco.MjData(model)
    data.qpos[:] = data.act[:] = arm.home
    data.ctrl[:] = 0.3
    for _ in range(125):
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(data.qvel, 0.3, atol=0.02)
    data.ctrl[:] = 0.0
    for _ in range(250):
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(data.qvel, 0.0, atol=1e-3)
    np.testing.assert_allclose(data.qpos, data.act, atol=1e-3)
    # a jump of the reference asks for more torque than there is
    data.act[:] += 1.0
    mujoco.mj_step(model, data)
    np.testing.assert_allclose(np.abs(data.actuator_force), arm.effort)


def test_kinematics_equal_mujocos(arm: Arm, chain: Chain) -> None:
    model = arm.spec.copy().compile()
    data = mujoco.MjData(model)
    q = np.random.default_rng(0).uniform(arm.position_low, arm.position_high, (20, 7))
    pose = chain.pose(torch.tensor(q, dtype=torch.float32))
    linear = chain.jacobian(pose, pose.tip)
    angular = chain.axis_jacobian(pose)
    jacp, jacr = np.zeros((3, 7)), np.zeros((3, 7))
    for k in range(len(q)):
        data.qpos[:] = q[k]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_jacSite(model, data, jacp, jacr, model.site(arm.tip).id)
        np.testing.assert_allclose(pose.tip[k], data.site(arm.tip).xpos, atol=1e-6)
        np.testing.assert_allclose(pose.axis[k], data.site(arm.tip).xmat.reshape(3, 3)[:, 2], atol=1e-6)
        np.testing.assert_allclose(linear[k], jacp.T, atol=2e-6)
        np.testing.assert_allclose(angular[k], jacr.T, atol=2e-6)


def test_along_is_the_derivative_of_the_points(chain: Chain, arm: Arm) -> None:
    q = torch.tensor([arm.home], dtype=torch.float32)
    pose = chain.pose(q)
    directions = torch.randn(1, chain.num_points, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    along = chain.along(pose, pose.points, directions, chain.moved)[0]
    for joint in range(7):
        step = torch.zeros(1, 7)
        step[0, joint] = 1e-2
        moved = (chain.pose(q + step).points - chain.pose(q - step).points)[0] / 2e-2
        np.testing.assert_allclose(along[:, joint], (moved * directions[0]).sum(dim=1), atol=1e-3)


@pytest.mark.parametrize(
    ("shape", "geom", "half"),
    [(0, "sphere", [0.1, 0.1, 0.1]), (1, "cylinder", [0.1, 0.1, 0.07]), (2, "box", [0.05, 0.1, 0.12])],
)
def test_the_obstacles_gap_is_mujocos_distance(shape: int, geom: str, half: list[float]) -> None:
    # a tiny ball at each point; MuJoCo gives the distance of two geoms
    size = [half[0], half[2], 0] if geom == "cylinder" else half
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><geom type="{geom}" size="{size[0]} {size[1]} {size[2]}"/>
        <body mocap="true"><geom type="sphere" size="0.001"/></body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    points = np.random.default_rng(0).uniform(-0.3, 0.3, (60, 3))
    chosen = torch.zeros(1, 3, dtype=torch.float64)
    chosen[0, shape] = 1.0
    obstacle = Obstacle(torch.zeros(1, 3, dtype=torch.float64), torch.tensor([half], dtype=torch.float64), chosen)
    gap, way = obstacle.gap(torch.from_numpy(points)[None])
    further, _ = obstacle.gap(torch.from_numpy(points)[None] + 1e-3 * way)
    outside = gap[0] > 0.01
    assert outside.sum() > 30
    for k in outside.nonzero()[:, 0].tolist():
        data.mocap_pos[0] = points[k]
        mujoco.mj_forward(model, data)
        found = mujoco.mj_geomDistance(model, data, 0, 1, 1.0, None) + 0.001
        assert float(gap[0, k]) == pytest.approx(found, abs=1e-4)
    # the way out is the direction in which the gap grows
    np.testing.assert_allclose((further - gap)[0, outside], 1e-3, rtol=0.02)


def test_geometry() -> None:
    generator = torch.Generator().manual_seed(0)
    root = torch.randn(16, 6, 6, generator=generator)
    square = root @ root.transpose(1, 2) + 0.5 * torch.eye(6)
    wanted = torch.randn(16, 6, 1, generator=generator)
    np.testing.assert_allclose(square @ solve(square, wanted), wanted, atol=3e-2)

    # a quarter turn about z, and no turn at all
    x, y = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[0.0, 1.0, 0.0]])
    np.testing.assert_allclose(turning(x, y), [[0.0, 0.0, 2**0.5]], atol=1e-3)
    np.testing.assert_allclose(turning(x, x), [[0.0, 0.0, 0.0]], atol=1e-6)

    # a ball in the way is passed, one beside it is not
    tip, target = torch.zeros(1, 3), torch.tensor([[1.0, 0.0, 0.0]])
    radius = torch.full((1, 1), 0.2)
    aim = detour(tip, target, torch.tensor([[0.5, 0.0, 0.0]]), radius, 0.05)
    np.testing.assert_allclose(aim, [[0.5, 0.0, 0.2]], atol=1e-3)
    np.testing.assert_allclose(detour(tip, target, torch.tensor([[0.5, 0.3, 0.0]]), radius, 0.05), target)


def test_resets_lay_out_what_the_sampler_made(task: Task, sampler: WorldSampler) -> None:
    env = TaskVecEnv(task, 4, seed=2, split="evaluation", randomisation=False)
    env.reset()
    for k in range(4):
        world = sampler.make(int(env.state.world_id[k]))
        np.testing.assert_array_equal(env.state.qpos[k], world.start)
        np.testing.assert_array_equal(env.state.act[k], world.start)
        model, data = env.engine.world_model(k), env.engine.world_data(k)
        mujoco.mj_forward(model, data)
        assert data.ncon == 0
        assert model.geom("obstacle").type[0] == world.shape
        np.testing.assert_allclose(data.geom("obstacle").xpos, world.obstacle)
        np.testing.assert_allclose(env.signals["target_position"][k], world.target, atol=1e-6)
    env.close()


def test_touching_ends_the_episode_as_a_collision(task: Task) -> None:
    env = TaskVecEnv(task, 8, randomisation=False)
    env.reset()
    # the obstacle is put onto the tip of the first world
    mocap = env.engine.model.body("obstacle").mocapid[0]
    env.state.mocap_pos[0, mocap] = env.state.site_xpos[0, env.engine.model.site("tip").id]
    step = env.step(torch.zeros(8, 7))
    assert [(e.env_id, e.reason, e.success) for e in step.episodes] == [(0, "collision", False)]
    assert bool(step.terminated[0])
    env.close()


def test_holding_the_target_pose_succeeds_and_leaving_it_starts_over(task: Task, sampler: WorldSampler) -> None:
    env = TaskVecEnv(task, 2, randomisation=False)
    env.reset()
    goals = [sampler.make(int(env.state.world_id[k])).goal for k in range(2)]

    def put(world: int, q: np.ndarray) -> None:
        env.state.qpos[world] = env.state.act[world] = torch.from_numpy(q)
        env.state.qvel[world] = 0.0
        env.memory["commanded"][world] = 0.0

    for k in range(2):
        put(k, goals[k])
    for tick in range(24):
        if tick == 12:
            put(1, goals[1] + 0.1)
        if tick == 13:
            put(1, goals[1])
        assert env.step(torch.zeros(2, 7)).episodes == []
    ended = env.step(torch.zeros(2, 7)).episodes
    assert [(e.env_id, e.reason, e.success, e.length) for e in ended] == [(0, "success", True, 25)]
    env.close()


def test_commands_keep_velocity_and_acceleration_limits(task: Task) -> None:
    env = TaskVecEnv(task, 16, seed=1)
    env.reset()
    generator = torch.Generator().manual_seed(0)
    top = torch.tensor([channel.high for channel in task.limits.channels])
    rate = torch.tensor([channel.rate_per_s for channel in task.limits.channels])
    last = torch.zeros(16, 7)
    for _ in range(50):
        action = 4.0 * torch.randn(16, 7, generator=generator)
        command = task.action.to_command(action, env.signals, env.memory, task.limits)
        assert (command.abs() <= top * (1 + 1e-6)).all()
        step = env.step(action)
        running = torch.ones(16, dtype=torch.bool)
        running[step.done_ids] = False
        assert ((env.sent - last).abs() <= rate * task.control_dt_s * (1 + 1e-6))[running].all()
        # what the policy remembers is what was really sent
        assert torch.equal(env.memory["commanded"], env.sent)
        last = env.sent.clone()
        assert torch.isfinite(step.obs).all() and step.obs.abs().max() < 100
    env.close()


def test_randomisation_changes_worlds_and_can_be_switched_off(task: Task) -> None:
    varied, plain = TaskVecEnv(task, 3, seed=4), TaskVecEnv(task, 3, seed=4, randomisation=False)
    varied.reset()
    plain.reset()
    link = plain.engine.model.body("link3").id
    for name in ("body_mass", "dof_damping", "dof_frictionloss", "actuator_gainprm", "body_gravcomp"):
        values = varied.engine.expand(name).reshape(3, -1)
        assert not torch.equal(values[0], values[1]), name
        assert torch.equal(*plain.engine.expand(name).reshape(3, -1)[:2]), name
    assert varied.engine.expand("body_mass")[0, link] != plain.engine.expand("body_mass")[0, link]
    # layouts are the same all the same
    assert torch.equal(varied.state.world["target"], plain.state.world["target"])
    varied.close()
    plain.close()


def test_doing_nothing_useful_earns_nothing(task: Task) -> None:
    # standing, oscillating and circling as joint commands; the episode's returns must not be positive
    for policy in ("stand", "oscillate", "circle"):
        env = TaskVecEnv(task, 24, seed=3)
        env.reset()
        returns: dict[int, float] = {}
        for tick in range(task.episode_steps):
            wanted = torch.zeros(24, 7)
            if policy == "oscillate":
                wanted[:] = 0.5 * float(np.sin(2 * np.pi * tick / 50))
            if policy == "circle":
                wanted[:, 0] = 0.6
            for episode in env.step(wanted).episodes:
                returns.setdefault(episode.env_id, episode.ret)
        assert len(returns) == 24
        assert np.mean(list(returns.values())) < 0, policy
        env.close()


def test_lint_finds_no_fault(task: Task) -> None:
    failed = [finding for finding in lint_task(task, worlds=16) if finding.status in (Status.FAIL, Status.CRASH)]
    assert failed == []


def test_contract_is_complete_and_follows_the_arm(task: Task) -> None:
    contract = contract_of(task)
    assert contract.channels == tuple(f"joint{k}" for k in range(1, 8))
    assert contract.control_dt_s == pytest.approx(0.02)
    assert contract.hash != contract_of(arm_reach(speed=0.4)).hash


def test_a_wrong_speed_is_refused() -> None:
    with pytest.raises(BedplateError, match=r"speed is 1\.5"):
        arm_reach(speed=1.5)
