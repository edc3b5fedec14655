"""The Stable-Baselines3 face of a task environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from bedplate.envs.seeds import fold_seed
from bedplate.envs.spaces import action_space, observation_space
from bedplate.envs.vec_env import Step, TaskVecEnv


class SB3VecEnv(VecEnv):
    """A TaskVecEnv as a Stable-Baselines3 VecEnv; infos carry entries only for finished episodes.

    Args:
        env: the environment; tensors stay reachable as `.env` for learners that can use them.
    """

    def __init__(self, env: TaskVecEnv) -> None:
        self.env = env
        super().__init__(env.num_envs, observation_space(env.task), action_space(env.task))
        self._action: Tensor = torch.zeros(env.num_envs, env.task.act_dim)

    def reset(self) -> np.ndarray:
        """Start new episodes; returns (num_envs, obs_dim) float32."""
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        return self.env.reset().numpy()

    def step_async(self, actions: np.ndarray) -> None:
        """Take (num_envs, act_dim) actions for the next step_wait()."""
        self._action = torch.as_tensor(actions, dtype=torch.float32)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Advance; returns obs, reward, done and infos with `terminal_observation` and `TimeLimit.truncated`."""
        step = self.env.step(self._action)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i, env_id in enumerate(step.done_ids.tolist()):
            infos[env_id] = episode_info(step, i)
        return step.obs.numpy(), step.reward.numpy(), (step.terminated | step.truncated).numpy(), infos

    def close(self) -> None:
        """Release the engine."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of the environment, once per requested index."""
        value = None if attr_name == "render_mode" else getattr(self.env, attr_name)
        return [value] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused: worlds share one environment."""
        raise AttributeError(f"{attr_name!r} cannot be set per environment: all worlds share one TaskVecEnv")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Refused: worlds share one environment."""
        raise AttributeError(f"{method_name!r} cannot be called per environment: all worlds share one TaskVecEnv")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Worlds carry no wrappers."""
        return [False] * len(list(self._get_indices(indices)))

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Start anew from another seed, at the next reset(); returns the seed of the environment for each world.

        Args:
            seed: not negative; None and the present seed change nothing.

        Raises:
            BedplateError: the seed is negative.
        """
        if seed is not None and fold_seed(seed) != self.env.seed:
            old = self.env
            self.env = TaskVecEnv(
                old.task, old.num_envs, fold_seed(seed), old.split, old.randomisation, old.num_threads
            )
            self.env.command_filter = old.command_filter
            old.close()
        return [self.env.seed] * self.num_envs


def episode_info(step: Step, index: int) -> dict[str, Any]:
    """Info of the `index`-th ended episode of a step, in Stable-Baselines3's words."""
    episode = step.episodes[index]
    return {
        "terminal_observation": step.final_obs[index].numpy(),
        "TimeLimit.truncated": bool(step.truncated[episode.env_id]),
        "episode": {"r": episode.ret, "l": episode.length},
        "is_success": episode.success,
        "reason": episode.reason,
        **episode.metrics,
    }
