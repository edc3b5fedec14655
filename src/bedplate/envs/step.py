"""What one control step of a TaskVecEnv returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from torch import Tensor


@dataclass(frozen=True)
class Episode:
    """One finished episode.

    Attributes:
        env_id: the environment it ran in.
        world_id: seed of its world layout.
        length: control steps.
        ret: undiscounted return.
        success: the task's own judgement at the last step.
        reason: name of the termination that ended it, "time_out" or "diverged".
        metrics: the task's metrics at the last step.
        reward_terms: name -> sum over the episode, weights included.
    """

    env_id: int
    world_id: int
    length: int
    ret: float
    success: bool
    reason: str
    metrics: dict[str, float]
    reward_terms: dict[str, float]


@dataclass
class Step:
    """What one control step returns.

    Attributes:
        obs: (num_envs, obs_dim) float32; of the new episode where one ended.
        reward: (num_envs,) float32.
        terminated: (num_envs,) bool: decided; value after it is zero.
        truncated: (num_envs,) bool: cut; bootstrap from final_obs.
        done_ids: (n,) int64: environments whose episode ended.
        final_obs: (n, obs_dim) float32: last observation of each ended episode.
        episodes: one entry per ended episode, in the order of done_ids.
    """

    obs: Tensor
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    done_ids: np.ndarray
    final_obs: Tensor
    episodes: list[Episode] = field(default_factory=list)
