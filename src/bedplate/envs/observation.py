"""Observations and rewards that a learner may trust: finite, or refused by name."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bedplate.core.errors import BedplateError
from bedplate.tasks.spec import Task


def finite_observation(task: Task, obs: Tensor, diverged: Tensor) -> Tensor:
    """The observation with zeros in place of what failed physics left behind.

    Args:
        task: whose features it holds.
        obs: (num_envs, obs_dim) float32.
        diverged: (num_envs,) bool: worlds whose physics failed.

    Raises:
        BedplateError: a feature is not finite although the physics is fine; names it.
    """
    # one sum finds what is not finite in the usual case of nothing
    if math.isfinite(float(obs.sum())):
        return obs
    obs = torch.where(diverged[:, None], torch.nan_to_num(obs, 0.0, 0.0, 0.0), obs)
    broken = (~torch.isfinite(obs)).nonzero()
    if len(broken):
        env, column = broken[0].tolist()
        raise BedplateError(
            f"feature {task.feature_at(column)!r} of environment {env} is {float(obs[env, column])}",
            "finite features of finite signals",
            "guard its formula where it divides, takes a root or a logarithm",
        )
    return obs


def require_finite_rewards(task: Task, terms: Tensor) -> None:
    """Refuse a reward that a learner would learn nonsense from.

    Args:
        task: whose reward terms these are.
        terms: (num_envs, terms) float64, zero where the physics failed.

    Raises:
        BedplateError: a term is not finite; names it.
    """
    broken = (~torch.isfinite(terms)).nonzero()
    if len(broken):
        env, column = broken[0].tolist()
        raise BedplateError(
            f"reward {task.rewards[column].name!r} of environment {env} is {float(terms[env, column])}",
            "finite rewards of finite states",
            "guard its formula where it divides, takes a root or a logarithm",
        )
