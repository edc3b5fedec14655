"""The navigation task: its robot drives as commanded, its worlds are as hard as stated, its judgement is exact."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import torch

from bedplate.envs.vec_env import Episode, TaskVecEnv
from bedplate.tasks.nav_lidar import nav_lidar
from bedplate.tasks.nav_lidar.arcs import WORLDS_AT_ONCE, arcs, gaps
from bedplate.tasks.nav_lidar.arena import RADIUS_M
from bedplate.tasks.nav_lidar.dynamic_window import DynamicWindow
from bedplate.tasks.nav_lidar.terms import LIDAR_M, SPEED_M_S, TURN_RAD_S
from bedplate.tasks.spec import Signals
from bedplate.tasks.terms import randomise


def _first_episodes(env: TaskVecEnv, policy) -> list[Episode]:
    """Run `policy` (signals -> command) until the first episode of every environment has ended."""
    first: dict[int, Episode] = {}
    while len(first) < env.num_envs:
        command = policy(env.signals)
        action = torch.stack([command[:, 0] / SPEED_M_S * 2 - 1, command[:, 1] / TURN_RAD_S], dim=1)
        for episode in env.step(action).episodes:
            first.setdefault(episode.env_id, episode)
    return list(first.values())


def _straight(signals: Signals) -> torch.Tensor:
    """Turn to the goal, then drive at it, blind to obstacles."""
    offset = signals["goal"] - signals["position"]
    bearing = torch.atan2(offset[:, 1], offset[:, 0]) - signals["heading"][:, 0]
    bearing = torch.atan2(bearing.sin(), bearing.cos())
    forward = torch.where(bearing.abs() < 0.2, SPEED_M_S, 0.0)
    return torch.stack([forward, (3.0 * bearing).clamp(-TURN_RAD_S, TURN_RAD_S)], dim=1)


@pytest.fixture
def quiet_env():
    env = TaskVecEnv(nav_lidar(), 8, seed=1, randomisation=False)
    env.reset()
    yield env
    env.close()


@pytest.mark.parametrize("action", [(1.0, 0.0), (-1.0, 0.6), (0.0, -0.4)])
def test_wheels_drive_the_base_as_commanded(quiet_env, action):
    # in the open: no obstacle within reach of a second's drive
    quiet_env.state.qpos[:, :2] = 0.0
    quiet_env.state.mocap_pos[:, :, 0] = 40.0
    for _ in range(20):
        quiet_env.step(torch.tensor([action] * 8))
    expected = torch.tensor([(action[0] + 1) / 2 * SPEED_M_S, action[1] * TURN_RAD_S])
    measured = torch.cat([quiet_env.signals["speed"], quiet_env.signals["yaw_rate"]], dim=1)
    torch.testing.assert_close(measured.median(dim=0).values, expected, rtol=0.06, atol=0.02)


def test_the_lidar_sees_a_wall_where_it_is(quiet_env):
    state = quiet_env.state
    state.mocap_pos[:, :, 0] = 40.0
    state.qpos[:, 0], state.qpos[:, 1] = 3.0, 0.0
    state.qpos[:, 3], state.qpos[:, 6] = 1.0, 0.0
    quiet_env.engine.forward(np.arange(8))
    scan = quiet_env.engine.rays["scan"]
    # ray 0 looks back, the middle one ahead, where the wall stands at x = 5
    assert scan[:, 24].tolist() == pytest.approx([2.0] * 8, abs=0.01)
    assert scan[:, 0].tolist() == pytest.approx([3.5] * 8)


def test_touching_an_obstacle_ends_the_episode_as_a_collision(quiet_env):
    state = quiet_env.state
    state.mocap_pos[0, 0, :2] = state.qpos[0, :2]
    step = quiet_env.step(torch.zeros(8, 2))
    assert step.terminated[0]
    assert not step.truncated[0]
    episode = step.episodes[0]
    assert (episode.reason, episode.success) == ("collision", False)
    assert episode.reward_terms["collision"] == -20.0


def test_reaching_the_goal_ends_the_episode_as_a_success(quiet_env):
    quiet_env.state.world["goal"][2] = quiet_env.state.qpos[2, :2] + 0.1
    step = quiet_env.step(torch.zeros(8, 2))
    assert [(e.env_id, e.reason, e.success) for e in step.episodes] == [(2, "success", True)]


def test_reaching_the_goal_in_contact_is_a_collision(quiet_env):
    state = quiet_env.state
    state.world["goal"][0] = state.qpos[0, :2]
    state.mocap_pos[0, 0, :2] = state.qpos[0, :2]
    step = quiet_env.step(torch.zeros(8, 2))
    assert [(e.reason, e.success) for e in step.episodes] == [("collision", False)]
    assert step.episodes[0].reward_terms["success"] == 0.0


@pytest.mark.parametrize("factor", [0.7, 1.1])
def test_randomised_friction_is_the_friction_of_the_contact(factor):
    env = TaskVecEnv(nav_lidar(), 1, seed=1, randomisation=False)
    env.reset()
    randomise.scale_friction(("tyre_left", "tyre_right"), factor, factor).func(
        env.state, np.arange(1), np.random.default_rng(0)
    )
    model, data = env.engine.world_model(0), env.engine.world_data(0)
    mujoco.mj_forward(model, data)
    tyres = {model.geom("tyre_left").id, model.geom("tyre_right").id}
    found = [c.friction[0] for c in data.contact if tyres & {c.geom1, c.geom2}]
    assert found == pytest.approx([factor] * 2)
    env.close()


def test_a_time_out_is_truncated_and_a_failure():
    env = TaskVecEnv(nav_lidar(episode_length_s=0.5), 4, seed=2, randomisation=False)
    env.reset()
    episodes = _first_episodes(env, lambda signals: torch.zeros(4, 2))
    assert {(e.reason, e.success, e.length) for e in episodes} == {("time_out", False, 10)}
    env.close()


def test_driving_straight_at_the_goal_succeeds_in_at_most_30_percent(full):
    worlds = 500 if full else 200
    env = TaskVecEnv(nav_lidar(), worlds, seed=3, split="evaluation")
    env.reset()
    rate = np.mean([e.success for e in _first_episodes(env, _straight)])
    env.close()
    assert rate <= 0.30
    assert rate > 0.05


def test_the_baseline_avoids_what_straight_driving_hits():
    env = TaskVecEnv(nav_lidar(), 24, seed=4, split="evaluation")
    env.reset()
    planned = np.mean([e.success for e in _first_episodes(env, DynamicWindow())])
    env.close()
    assert planned >= 0.6


def test_episode_metrics_tell_how_direct_the_path_was(quiet_env):
    state = quiet_env.state
    state.mocap_pos[:, :, 0] = 40.0
    episodes = _first_episodes(quiet_env, _straight)
    efficiency = [e.metrics["path_efficiency"] for e in episodes if e.success]
    assert efficiency
    assert all(0.9 <= value <= 1.0 for value in efficiency)


def _brute_gap(scan: np.ndarray, x: float, y: float) -> float:
    """Gap from the hull at (x, y) to the nearest return, one ray after another."""
    angles = np.linspace(-np.pi, np.pi, len(scan), endpoint=False)
    hits = [(d * np.cos(a), d * np.sin(a)) for d, a in zip(scan, angles, strict=True) if d < LIDAR_M - 0.02]
    return min(np.hypot(x - hx, y - hy) for hx, hy in hits) - RADIUS_M


def test_room_along_an_arc_is_the_distance_to_the_nearest_return():
    generator = torch.Generator().manual_seed(0)
    # more worlds than are held at once, so that the parts are joined in order
    scan = 0.3 + 4.0 * torch.rand(WORLDS_AT_ONCE + 3, 48, generator=generator, dtype=torch.float64)
    x, y, _ = arcs(torch.tensor([0.65, 0.3]), torch.tensor([1.0, 0.0]), 1.5)
    found = gaps(scan, x.double(), y.double())
    assert found.shape == (WORLDS_AT_ONCE + 3, 2, 8)
    for world in (0, WORLDS_AT_ONCE, WORLDS_AT_ONCE + 2):
        for arc, point in ((0, 0), (0, 7), (1, 3)):
            expected = _brute_gap(scan[world].numpy(), float(x[arc, point]), float(y[arc, point]))
            assert float(found[world, arc, point]) == pytest.approx(expected, abs=1e-6)


def test_an_arc_ends_where_the_robot_would_drive():
    x, y, yaw = arcs(torch.tensor([0.5, 0.5]), torch.tensor([0.0, 1.0]), 2.0)
    # straight on, and on a circle of 0.5 m radius
    torch.testing.assert_close(x[:, -1], torch.tensor([1.0, 0.5 * np.sin(2.0)]), check_dtype=False)
    torch.testing.assert_close(y[:, -1], torch.tensor([0.0, 0.5 * (1 - np.cos(2.0))]), check_dtype=False)
    torch.testing.assert_close(yaw[:, -1], torch.tensor([0.0, 2.0]))


def test_of_two_equal_ways_the_planner_takes_the_same_one_every_time():
    signals = {
        "scan": torch.full((4, 48), 4.0),
        "position": torch.zeros(4, 2),
        "heading": torch.zeros(4, 1),
        # straight behind: left and right are worth the same
        "goal": torch.tensor([[-3.0, 0.0]]).repeat(4, 1),
    }
    # noise far below what a sensor has, of both signs
    signals["goal"][:, 1] = torch.tensor([0.0, 1e-12, -1e-12, 1e-13])
    command = DynamicWindow()(signals)
    assert (command == command[0]).all()
    assert command[0, 1] != 0
