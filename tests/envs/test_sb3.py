"""The Stable-Baselines3 face: its layout of ends, and infos only for finished episodes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bedplate.core.errors import BedplateError
from bedplate.envs.sb3 import SB3VecEnv
from bedplate.envs.vec_env import TaskVecEnv

NUM_ENVS = 4


@pytest.mark.parametrize(("value", "length_s", "decided"), [(0.1, 0.15, False), (1.0, 60.0, True)])
def test_infos_carry_the_exact_last_observation_of_ended_episodes_only(make_cart, value, length_s, decided):
    task = make_cart(episode_length_s=length_s)
    env, reference = SB3VecEnv(TaskVecEnv(task, NUM_ENVS, 6)), TaskVecEnv(task, NUM_ENVS, 6)
    np.testing.assert_array_equal(env.reset(), reference.reset().numpy())
    actions = np.full((NUM_ENVS, 1), value, np.float32)
    ends = 0
    while not ends:
        obs, reward, done, infos = env.step(actions)
        step = reference.step(torch.from_numpy(actions))
        np.testing.assert_array_equal(obs, step.obs.numpy())
        np.testing.assert_array_equal(reward, step.reward.numpy())
        for i in range(NUM_ENVS):
            if not done[i]:
                assert infos[i] == {}
                continue
            row = step.done_ids.tolist().index(i)
            np.testing.assert_array_equal(infos[i]["terminal_observation"], step.final_obs[row].numpy())
            assert (infos[i]["terminal_observation"] != obs[i]).any()
            assert infos[i]["TimeLimit.truncated"] is not decided and infos[i]["is_success"] is decided
            assert infos[i]["episode"]["l"] == step.episodes[row].length
            ends += 1
    env.close()


def test_worlds_cannot_be_changed_one_by_one(make_cart):
    env = SB3VecEnv(TaskVecEnv(make_cart(), NUM_ENVS))
    assert env.get_attr("num_envs", [0, 2]) == [NUM_ENVS, NUM_ENVS]
    with pytest.raises(AttributeError, match="share one"):
        env.set_attr("num_envs", 3)
    with pytest.raises(AttributeError, match="share one"):
        env.env_method("reset")


def test_a_seed_starts_the_worlds_of_that_seed(make_cart):
    env, other = SB3VecEnv(TaskVecEnv(make_cart(), NUM_ENVS, 6)), SB3VecEnv(TaskVecEnv(make_cart(), NUM_ENVS, 7))
    first, wanted = env.reset(), other.reset()
    assert (first != wanted).any()
    assert env.seed(None) == [6] * NUM_ENVS
    assert env.seed(7) == [7] * NUM_ENVS
    np.testing.assert_array_equal(env.reset(), wanted)
    with pytest.raises(BedplateError, match="seed is -1"):
        env.seed(-1)
    # Stable-Baselines3 draws seeds of 32 bits
    assert 0 <= env.seed(2**32 - 1)[0] < 2**29
    env.reset()
    env.close()
