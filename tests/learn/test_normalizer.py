"""The normaliser equals VecNormalize and converts to and from it without loss."""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from bedplate.core.errors import BedplateError
from bedplate.learn.normalizer import Moments, Normalizer


class _Noise(gymnasium.Env):
    """Observations and rewards from a fixed distribution; episodes of seven steps."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def _obs(self) -> np.ndarray:
        return (self.rng.normal(size=3) * (1.0, 20.0, 0.01) + (0.0, 5.0, -3.0)).astype(np.float32)

    def reset(self, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        self.step_count = 0
        return self._obs(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.step_count += 1
        return self._obs(), float(self.rng.normal() * 30), self.step_count == 7, False, {}


def _venv(seed: int) -> DummyVecEnv:
    return DummyVecEnv([lambda i=i: _Noise(seed + i) for i in range(4)])


def test_moments_equal_those_of_all_samples_together():
    data = torch.randn(1000, 5, dtype=torch.float64) * 7 + 3
    moments = Moments(5)
    for part in data.split([1, 99, 400, 500]):
        moments.update(part)
    torch.testing.assert_close(moments.mean, data.mean(dim=0), rtol=0, atol=1e-4)
    torch.testing.assert_close(moments.var, data.var(dim=0, unbiased=False), rtol=0, atol=1e-4)


def test_observations_and_rewards_are_normalised_as_by_vec_normalize():
    reference = VecNormalize(_venv(0), gamma=0.97)
    raw = _venv(0)
    ours = Normalizer(3, num_envs=4, gamma=0.97)
    expected = reference.reset()
    obs = torch.from_numpy(raw.reset().copy())
    ours.update(obs)
    np.testing.assert_allclose(ours.normalize(obs).numpy(), expected, atol=1e-4)
    action = np.zeros((4, 1), np.float32)
    for _ in range(60):
        expected, expected_reward, _, _ = reference.step(action)
        value, reward, done, _ = raw.step(action)
        obs = torch.from_numpy(value.copy())
        ours.update(obs)
        np.testing.assert_allclose(ours.normalize(obs).numpy(), expected, atol=1e-4)
        scaled = ours.normalize_reward(torch.from_numpy(reward.copy()), torch.from_numpy(done))
        np.testing.assert_allclose(scaled.numpy(), expected_reward, rtol=1e-5)


def test_conversion_to_vec_normalize_and_back_loses_nothing():
    ours = Normalizer(3, num_envs=4, gamma=0.9, clip=5.0)
    ours.update(torch.randn(64, 3) * 4 + 1)
    ours.normalize_reward(torch.randn(4, dtype=torch.float64), torch.zeros(4, dtype=torch.bool))
    back = Normalizer.from_vec_normalize(ours.to_vec_normalize(_venv(0)))
    assert back.state() == ours.state()


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"mean": [0.0, float("nan")]}, "mean is"),
        ({"mean": "01"}, "mean is 01"),
        ({"mean": [0.0, "1"]}, "mean is"),
        ({"mean": [], "var": []}, "mean is"),
        ({"var": [1.0, -1.0]}, "var is -1.0"),
        ({"var": [1.0, float("inf")]}, "var is"),
        ({"var": [1.0]}, "var is 1 numbers"),
        ({"count": 0.0}, "count is 0.0"),
        ({"count": None}, "count is None"),
        ({"epsilon": 0.0}, "epsilon is 0.0"),
        ({"clip": -1.0}, "clip is -1.0"),
        ({"return_mean": float("nan")}, "return_mean is nan"),
        ({"return_var": -0.5}, "return_var is -0.5"),
        ({"return_count": True}, "return_count is True"),
        ({"gamma": 1.5}, "gamma is 1.5"),
    ],
)
def test_impossible_numbers_are_refused_by_name(broken, words):
    state = replace(Normalizer(2).state(), **broken)
    with pytest.raises(BedplateError, match="the normaliser's") as error:
        Normalizer.from_state(state)
    assert words in error.value.found


def test_a_vec_normalize_over_several_observations_is_refused():
    class Parts(_Noise):
        observation_space = gymnasium.spaces.Dict({"a": _Noise.observation_space})

    wrapped = VecNormalize(DummyVecEnv([lambda: Parts(0)]))
    with pytest.raises(BedplateError, match="statistics of Dict"):
        Normalizer.from_vec_normalize(wrapped)
