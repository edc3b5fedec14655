"""The Gymnasium faces: both checkers pass, and ends are exact in every autoreset mode."""

from __future__ import annotations

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env as gymnasium_check
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.env_checker import check_env as sb3_check

from bedplate.core.errors import BedplateError, UnknownName
from bedplate.envs.gymnasium import TaskEnv, TaskVectorEnv
from bedplate.envs.registration import gymnasium_id
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.tasks import TASKS

NUM_ENVS = 4
MODES = [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP]


@pytest.fixture
def short(make_cart):
    """Episodes of three steps."""
    return make_cart(episode_length_s=0.15)


def drive(value=0.1):
    return np.full((NUM_ENVS, 1), value, np.float32)


def last_observation(task, seed, steps):
    """What the observation is after `steps` steps from the seed's first worlds, before any restart."""
    env = TaskVecEnv(task, NUM_ENVS, seed)
    env.autoreset = False
    env.reset()
    for _ in range(steps):
        step = env.step(torch.from_numpy(drive()))
    return step.obs.numpy()


def run_both_checkers(env):
    """Gymnasium's and Stable-Baselines3's checkers; a warning counts as a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # remarks that apply to any unbounded, unrendered environment
        for remark in (".*infinity.*", ".*render.*"):
            warnings.filterwarnings("ignore", remark)
        gymnasium_check(env, skip_render_check=True)
        sb3_check(env)


@pytest.mark.parametrize("name", list(TASKS))
def test_both_checkers_pass_on_every_task(name):
    env = gymnasium.make(gymnasium_id(name)).unwrapped
    assert isinstance(env, TaskEnv)
    run_both_checkers(env)
    env.close()


def test_the_checkers_can_fail(make_cart):
    class Broken(TaskEnv):
        def step(self, action):
            obs, *rest = super().step(action)
            return obs.astype(np.float64), *rest

    with pytest.raises((AssertionError, UserWarning)):
        run_both_checkers(Broken(make_cart()))


def test_a_single_environment_ends_exactly(short):
    env = TaskEnv(short)
    env.reset(seed=5)
    ends = [env.step(drive()[0]) for _ in range(3)]
    assert [(end[2], end[3]) for end in ends] == [(False, False), (False, False), (False, True)]
    reference = TaskVecEnv(short, 1, 5)
    reference.autoreset = False
    reference.reset()
    for _ in range(3):
        step = reference.step(torch.full((1, 1), 0.1))
    np.testing.assert_array_equal(ends[-1][0], step.obs[0].numpy())
    assert ends[-1][4]["reason"] == "time_out" and ends[-1][4]["is_success"] is False
    assert ends[0][4] == {}


def test_seeds_of_any_size_are_taken_and_differ(make_cart):
    env = TaskEnv(make_cart())
    starts = [env.reset(seed=seed)[0] for seed in (2**29, 2**29 + 1, 2**32 - 1, 2**64)]
    again = [env.reset(seed=seed)[0] for seed in (2**29, 2**29 + 1, 2**32 - 1, 2**64)]
    np.testing.assert_array_equal(starts, again)
    assert len({start[0] for start in starts}) == 4
    env.close()


def test_resets_of_a_single_environment_follow_its_seed(make_cart):
    env = TaskEnv(make_cart())
    first, _ = env.reset(seed=1)
    second, _ = env.reset()
    assert (first != second).any()
    again, _ = env.reset(seed=1)
    np.testing.assert_array_equal(first, again)
    assert (env.reset(seed=2)[0] != first).any()
    # without any seed, two environments differ
    assert (TaskEnv(make_cart()).reset()[0] != TaskEnv(make_cart()).reset()[0]).any()


@pytest.mark.parametrize("mode", MODES)
def test_truncation_is_exact_in_both_autoreset_modes(short, mode):
    env = TaskVectorEnv(short, NUM_ENVS, mode)
    assert env.metadata["autoreset_mode"] == mode
    env.reset(seed=9)
    for _ in range(2):
        *_, truncated, infos = env.step(drive())
        assert not truncated.any() and infos == {}
    expected = last_observation(short, 9, 3)
    obs, _, terminated, truncated, infos = env.step(drive())
    assert truncated.all() and not terminated.any()

    if mode == AutoresetMode.SAME_STEP:
        # the last observation is in the infos, the new world in obs
        np.testing.assert_array_equal(np.stack(infos["final_obs"]), expected)
        assert infos["_final_obs"].all() and infos["final_info"]["reason"].tolist() == ["time_out"] * NUM_ENVS
        assert (obs != expected).any(axis=1).all()
    else:
        # the last observation is obs; the next step restarts, ignores its action and pays nothing
        np.testing.assert_array_equal(obs, expected)
        assert infos["reason"].tolist() == ["time_out"] * NUM_ENVS
        obs, reward, terminated, truncated, infos = env.step(drive(1.0))
        assert (obs != expected).any(axis=1).all()
        assert (reward == 0).all() and not (terminated | truncated).any() and infos == {}
    # a fresh world: at rest, without a previous action
    assert (obs[:, 1:3] == 0.0).all()
    # and its episode has its full length
    for t in range(3):
        *_, truncated, _ = env.step(drive())
        assert truncated.all() == (t == 2)


@pytest.mark.parametrize("mode", MODES)
def test_worlds_that_end_at_different_times_do_not_disturb_each_other(make_cart, mode):
    """Only world 1 arrives: the others' observations are those of an environment in which nobody does."""
    task = make_cart(episode_length_s=1e3)
    env, reference = TaskVectorEnv(task, NUM_ENVS, mode), TaskVecEnv(task, NUM_ENVS, 3)
    env.reset(seed=3)
    reference.reset()
    action = drive(0.0)
    action[1] = 1.0
    others = [0, 2, 3]
    ends = 0
    for _ in range(40):
        obs, _, terminated, truncated, _ = env.step(action)
        expected = reference.step(torch.zeros(NUM_ENVS, 1)).obs.numpy()
        np.testing.assert_array_equal(obs[others][:, :2], expected[others][:, :2])
        assert not terminated[others].any() and not truncated.any()
        ends += terminated[1]
    assert ends >= 2


def test_the_two_modes_see_the_same_episodes(short):
    """NEXT_STEP is SAME_STEP with one more row per episode."""
    same, following = (TaskVectorEnv(short, NUM_ENVS, mode) for mode in MODES)
    first = [env.reset(seed=2)[0] for env in (same, following)]
    np.testing.assert_array_equal(*first)
    rows = {mode: [] for mode in MODES}
    for _ in range(9):
        obs, *_, infos = same.step(drive())
        rows[MODES[0]] += [np.stack(infos["final_obs"]), obs] if infos else [obs]
    for _ in range(12):
        rows[MODES[1]].append(following.step(drive())[0])
    np.testing.assert_array_equal(np.stack(rows[MODES[0]]), np.stack(rows[MODES[1]]))


def test_disabled_autoreset_waits_for_the_caller(short):
    env = TaskVectorEnv(short, NUM_ENVS, AutoresetMode.DISABLED)
    env.reset(seed=0)
    for _ in range(3):
        obs, *_ = env.step(drive())
    with pytest.raises(BedplateError, match="have ended"):
        env.step(drive())
    with pytest.raises(BedplateError, match="reset_mask"):
        env.reset(options={"reset_mask": np.zeros(NUM_ENVS, bool)})
    restarted, _ = env.reset(options={"reset_mask": np.array([True, False, True, False])})
    np.testing.assert_array_equal(restarted[[1, 3]], obs[[1, 3]])
    assert (restarted[[0, 2]] != obs[[0, 2]]).any()
    env.reset(options={"reset_mask": np.array([False, True, False, True])})
    env.step(drive())


def test_misuse_is_refused_in_words(short):
    env = TaskVectorEnv(short, NUM_ENVS)
    with pytest.raises(BedplateError, match=r"before reset\(\)"):
        env.step(drive())
    with pytest.raises(BedplateError, match="list of seeds"):
        env.reset(seed=[1, 2, 3, 4])
    with pytest.raises(BedplateError, match=r"before reset\(\)"):
        TaskEnv(short).step(drive()[0])


def test_make_and_make_vec_take_the_tasks_own_parameters():
    env = gymnasium.make("bedplate/HalfCheetah-v0", control_weight=0.3, randomisation=False)
    assert env.unwrapped.task.rewards[1].weight == 0.3
    vec = gymnasium.make_vec("bedplate/HalfCheetah-v0", num_envs=3)
    assert isinstance(vec, TaskVectorEnv) and vec.observation_space.shape == (3, 17)
    with pytest.raises(UnknownName, match="control_wieght"):
        gymnasium.make("bedplate/HalfCheetah-v0", control_wieght=0.3)


def test_a_bare_gymnasium_finds_the_ids_by_module_name():
    """In a fresh process that has imported nothing of ours."""
    code = "import gymnasium; print(gymnasium.make('bedplate.envs:bedplate/NavLidar-v0').reset(seed=0)[0].shape)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (size,) = eval(done.stdout)
    assert size == TASKS.load("nav_lidar")().obs_dim
