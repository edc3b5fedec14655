"""Running normalisation of observations and rewards. The learner owns it; environments never normalise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecEnv, VecNormalize
from torch import Tensor

from bedplate.core.errors import BedplateError


class Moments:
    """Running mean and variance in float64, merged batch by batch (Chan et al., 1979).

    Args:
        size: width of the values; 0 for scalars.
    """

    def __init__(self, size: int = 0) -> None:
        shape = (size,) if size else ()
        self.mean = torch.zeros(shape, dtype=torch.float64)
        self.var = torch.ones(shape, dtype=torch.float64)
        # the small count that VecNormalize starts with
        self.count = 1e-4

    def update(self, batch: Tensor) -> None:
        """Merge a batch (n, size), or (n,) for scalars."""
        batch = batch.to(torch.float64)
        n = len(batch)
        mean, var = batch.mean(dim=0), batch.var(dim=0, unbiased=False)
        delta = mean - self.mean
        total = self.count + n
        self.mean = self.mean + delta * (n / total)
        m2 = self.var * self.count + var * n + delta.square() * (self.count * n / total)
        self.var = m2 / total
        self.count = total


@dataclass(frozen=True)
class NormalizerState:
    """What a normaliser is made of, as plain numbers that go into JSON."""

    mean: list[float]
    var: list[float]
    count: float
    epsilon: float
    clip: float
    return_mean: float
    return_var: float
    return_count: float
    gamma: float

    def validate(self) -> None:
        """Check every number.

        Raises:
            BedplateError: names the first one that no training can have left.
        """
        for name in ("mean", "var"):
            values = getattr(self, name)
            if not isinstance(values, list) or not values or not all(map(_is_finite, values)):
                raise _refused(name, values, "a list of finite numbers")
        if len(self.mean) != len(self.var):
            raise _refused("var", f"{len(self.var)} numbers", f"{len(self.mean)}, as many as mean")
        if min(self.var) < 0:
            raise _refused("var", min(self.var), "numbers >= 0")
        for name in ("count", "epsilon", "clip", "return_mean", "return_var", "return_count", "gamma"):
            if not _is_finite(getattr(self, name)):
                raise _refused(name, getattr(self, name), "a finite number")
        for name in ("count", "epsilon", "clip", "return_count"):
            if getattr(self, name) <= 0:
                raise _refused(name, getattr(self, name), "a number > 0")
        if self.return_var < 0:
            raise _refused("return_var", self.return_var, "a number >= 0")
        if not 0 <= self.gamma <= 1:
            raise _refused("gamma", self.gamma, "a number from 0 to 1")


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _refused(name: str, found: object, expected: str) -> BedplateError:
    return BedplateError(f"the normaliser's {name} is {found}", expected, "take normalizer.json from the run itself")


class Normalizer:
    """clip((obs - mean) / sqrt(var + epsilon), -clip, clip), and rewards divided by the deviation of their return.

    Args:
        obs_dim: width of the observation.
        num_envs: environments whose discounted returns are followed.
        gamma: discount of those returns.
        epsilon, clip: as in VecNormalize.
    """

    def __init__(
        self, obs_dim: int, num_envs: int = 1, gamma: float = 0.99, epsilon: float = 1e-8, clip: float = 10.0
    ) -> None:
        self.obs = Moments(obs_dim)
        self.ret = Moments()
        self.returns = torch.zeros(num_envs, dtype=torch.float64)
        self.gamma = gamma
        self.epsilon = epsilon
        self.clip = clip
        self._refresh()

    @property
    def mean(self) -> Tensor:
        """(obs_dim,) float64."""
        return self.obs.mean

    @property
    def var(self) -> Tensor:
        """(obs_dim,) float64."""
        return self.obs.var

    @property
    def count(self) -> float:
        """Observations seen."""
        return self.obs.count

    def update(self, obs: Tensor) -> None:
        """Merge raw observations (n, obs_dim)."""
        self.obs.update(obs)
        self._refresh()

    def normalize(self, obs: Tensor) -> Tensor:
        """Normalised observations, same shape, float32."""
        return ((obs - self._mean) * self._scale).clamp(-self.clip, self.clip)

    def normalize_reward(self, reward: Tensor, done: Tensor) -> Tensor:
        """Follow the discounted returns and scale rewards (num_envs,) by their deviation; the mean is kept."""
        self.returns = self.returns * self.gamma + reward
        self.ret.update(self.returns)
        self.returns[done] = 0.0
        scaled = reward / float(torch.sqrt(self.ret.var + self.epsilon))
        return scaled.clamp(-self.clip, self.clip).to(torch.float32)

    def state(self) -> NormalizerState:
        """Everything but the running returns, as plain numbers."""
        return NormalizerState(
            mean=self.obs.mean.tolist(),
            var=self.obs.var.tolist(),
            count=self.obs.count,
            epsilon=self.epsilon,
            clip=self.clip,
            return_mean=float(self.ret.mean),
            return_var=float(self.ret.var),
            return_count=self.ret.count,
            gamma=self.gamma,
        )

    @classmethod
    def from_state(cls, state: NormalizerState) -> Normalizer:
        """Rebuild a normaliser.

        Raises:
            BedplateError: a number is not finite, of another type, or impossible; names it.
        """
        state.validate()
        normalizer = cls(len(state.mean), gamma=state.gamma, epsilon=state.epsilon, clip=state.clip)
        normalizer.obs.mean = torch.tensor(state.mean, dtype=torch.float64)
        normalizer.obs.var = torch.tensor(state.var, dtype=torch.float64)
        normalizer.obs.count = state.count
        normalizer.ret.mean = torch.tensor(state.return_mean, dtype=torch.float64)
        normalizer.ret.var = torch.tensor(state.return_var, dtype=torch.float64)
        normalizer.ret.count = state.return_count
        normalizer._refresh()
        return normalizer

    def to_vec_normalize(self, venv: VecEnv) -> VecNormalize:
        """The same statistics as Stable-Baselines3's VecNormalize around `venv`; its pickle needs no Bedplate."""
        wrapped = VecNormalize(venv, clip_obs=self.clip, clip_reward=self.clip, gamma=self.gamma, epsilon=self.epsilon)
        wrapped.obs_rms.mean = self.obs.mean.numpy().copy()
        wrapped.obs_rms.var = self.obs.var.numpy().copy()
        wrapped.obs_rms.count = self.obs.count
        wrapped.ret_rms.mean = np.float64(self.ret.mean)
        wrapped.ret_rms.var = np.float64(self.ret.var)
        wrapped.ret_rms.count = self.ret.count
        wrapped.training = False
        return wrapped

    @classmethod
    def from_vec_normalize(cls, wrapped: VecNormalize) -> Normalizer:
        """The statistics of a VecNormalize over a Box observation.

        Raises:
            BedplateError: its observations are not one row of numbers, or a number is impossible.
        """
        rms, ret = wrapped.obs_rms, wrapped.ret_rms
        if not isinstance(rms, RunningMeanStd) or np.ndim(rms.mean) != 1:
            raise BedplateError(
                f"VecNormalize holds the statistics of {wrapped.observation_space}", "those of a Box with one axis"
            )
        return cls.from_state(
            NormalizerState(
                mean=rms.mean.tolist(),
                var=rms.var.tolist(),
                count=float(rms.count),
                epsilon=wrapped.epsilon,
                clip=wrapped.clip_obs,
                return_mean=float(ret.mean),
                return_var=float(ret.var),
                return_count=float(ret.count),
                gamma=wrapped.gamma,
            )
        )

    def _refresh(self) -> None:
        # float32 constants of the hot path and of the exported graph
        self._mean = self.obs.mean.to(torch.float32)
        self._scale = (1.0 / torch.sqrt(self.obs.var + self.epsilon)).to(torch.float32)
