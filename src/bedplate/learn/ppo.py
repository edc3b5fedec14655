"""Stable-Baselines3's PPO, sampling task environments as tensors.

Only the sampling differs: no Python per environment, the learner's own normaliser, and truncated episodes bootstrapped
in one batch. The update, the policies, the callbacks and the zip are Stable-Baselines3's.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO as SB3PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import explained_variance
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from bedplate.core.errors import BedplateError
from bedplate.envs.sb3 import SB3VecEnv, episode_info
from bedplate.envs.vec_env import Episode
from bedplate.learn.imitation import Imitation
from bedplate.learn.kickstart import kickstart
from bedplate.learn.normalizer import Normalizer
from bedplate.sim.threads import limit_torch_threads

EPISODE_WINDOW = 500
"""Finished episodes that the logged means run over."""


class PPO(SB3PPO):
    """PPO on an SB3VecEnv; takes every argument of Stable-Baselines3's PPO.

    Args:
        policy: as in Stable-Baselines3.
        env: a task environment behind its Stable-Baselines3 face.
        normalizer: the learner's normaliser; None stores raw observations.
        normalize_reward: scale rewards by the deviation of their discounted return.
        update_threads: torch threads during the update; sampling leaves the cores to the physics.
        imitation: the teacher of the first steps; None starts with PPO at once.
    """

    # tensors here, where Stable-Baselines3 keeps arrays
    _last_obs: Tensor
    _last_episode_starts: np.ndarray

    def __init__(
        self,
        policy: str,
        env: SB3VecEnv,
        *,
        normalizer: Normalizer | None = None,
        normalize_reward: bool = False,
        update_threads: int = 1,
        imitation: Imitation | None = None,
        **kwargs: Any,
    ) -> None:
        self.normalizer = normalizer
        self.normalize_reward = normalize_reward
        self.update_threads = update_threads
        self.imitation = imitation
        self.episodes: deque[Episode] = deque(maxlen=EPISODE_WINDOW)
        # the teacher's weight in this rollout; 0 once PPO has taken over
        self._teaching = 0.0
        super().__init__(policy, env, **kwargs)

    def _excluded_save_params(self) -> list[str]:
        # what plain Stable-Baselines3 could not read back
        return [
            *super()._excluded_save_params(),
            "normalizer",
            "normalize_reward",
            "update_threads",
            "imitation",
            "episodes",
            "_teaching",
            "_last_obs",
            "_last_episode_starts",
        ]

    def _setup_learn(self, *args: Any, **kwargs: Any) -> tuple[int, BaseCallback]:
        result = super()._setup_learn(*args, **kwargs)
        self._last_obs = torch.as_tensor(self._last_obs)
        self._observe_new(self._last_obs)
        return result

    def collect_rollouts(
        self, env: VecEnv, callback: BaseCallback, rollout_buffer: RolloutBuffer, n_rollout_steps: int
    ) -> bool:
        """Fill the rollout buffer; returns False when the callback asked to stop."""
        assert isinstance(env, SB3VecEnv)
        task_env = env.env
        limit_torch_threads(1)
        self.policy.set_training_mode(False)
        rollout_buffer.reset()
        callback.on_rollout_start()
        obs = self._last_obs
        starts = self._last_episode_starts
        self._teaching = self.imitation.weight(self.num_timesteps) if self.imitation is not None else 0.0

        for _ in range(n_rollout_steps):
            normalized = self._normalize(obs)
            with torch.no_grad():
                action, value, log_prob = self.policy(normalized)
                if self._teaching == 1.0:
                    # half of the worlds without exploration: where only the mean action gets stuck, it is taught too
                    action[::2] = self.policy.get_distribution(normalized[::2]).mode()
            self._require_finite(action)
            if self.imitation is not None and self._teaching == 1.0:
                self.imitation.ask(obs)
            step = task_env.step(action)
            self.num_timesteps += env.num_envs
            done = step.terminated | step.truncated

            # under the names that Stable-Baselines3's callbacks read
            infos: list[dict[str, Any]] = [{} for _ in range(env.num_envs)]
            for i, env_id in enumerate(step.done_ids.tolist()):
                infos[env_id] = episode_info(step, i)
            new_obs, rewards, dones = step.obs, step.reward.numpy(), done.numpy()
            callback.update_locals(locals())
            if not callback.on_step():
                return False

            # a cut episode goes on in the value of its last observation
            reward = step.reward
            if self.normalize_reward and self.normalizer is not None:
                reward = self.normalizer.normalize_reward(reward.to(torch.float64), done)
            if len(step.done_ids):
                reward = self._bootstrap(reward, step.truncated, step.done_ids, step.final_obs)
                self._record(step.episodes)

            rollout_buffer.add(normalized.numpy(), action.numpy(), reward.numpy(), starts, value, log_prob)
            starts = dones
            obs = new_obs
            self._observe_new(obs)

        with torch.no_grad():
            last_value = self.policy.predict_values(self._normalize(obs))
        rollout_buffer.compute_returns_and_advantage(last_values=last_value, dones=starts)
        self._last_obs, self._last_episode_starts = obs, starts
        callback.update_locals(locals())
        callback.on_rollout_end()
        return True

    def train(self) -> None:
        """One PPO update by Stable-Baselines3; while there is a teacher, one of imitation or of both."""
        limit_torch_threads(self.update_threads)
        try:
            if self.imitation is not None and self._teaching:
                self._learn_from(self.imitation)
            else:
                super().train()
        except ValueError as error:
            # torch's distributions refuse NaN parameters and a deviation that has underflowed to zero
            if "to satisfy the constraint" not in str(error):
                raise
            raise self._diverged() from error

    def _learn_from(self, teacher: Imitation) -> None:
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        if self._teaching == 1.0:
            losses = teacher.update(
                self.policy,
                self.rollout_buffer,
                self._normalize,
                self.num_timesteps,
                self.vf_coef,
                self.max_grad_norm,
            )
        else:
            losses = kickstart(
                self.policy,
                self.rollout_buffer,
                teacher,
                self._normalize,
                self._teaching,
                batch_size=self.batch_size,
                n_epochs=self.n_epochs,
                clip_range=self.clip_range(self._current_progress_remaining),
                vf_coef=self.vf_coef,
                max_grad_norm=self.max_grad_norm,
                ent_coef=self.ent_coef,
                target_kl=self.target_kl,
            )
        # what Stable-Baselines3's own update logs
        rollout = self.rollout_buffer
        losses["explained_variance"] = float(explained_variance(rollout.values.flatten(), rollout.returns.flatten()))
        losses["std"] = float(self.policy.log_std.detach().exp().mean())
        self._n_updates += self.n_epochs
        for name, value in losses.items():
            self.logger.record(f"train/{name}", value)
        self.logger.record("train/teacher_weight", self._teaching)

    def dump_logs(self, iteration: int = 0) -> None:
        """Log means over the last finished episodes beside Stable-Baselines3's own."""
        if self.episodes:
            for reason, share in _shares(self.episodes).items():
                self.logger.record(f"episodes/{reason}", share)
            for name, mean in _term_means(self.episodes).items():
                self.logger.record(f"reward/{name}", mean)
        super().dump_logs(iteration)

    def _bootstrap(self, reward: Tensor, truncated: Tensor, done_ids: np.ndarray, final_obs: Tensor) -> Tensor:
        cut = truncated[done_ids]
        if not cut.any():
            return reward
        with torch.no_grad():
            value = self.policy.predict_values(self._normalize(final_obs[cut]))[:, 0]
        reward = reward.clone()
        reward[torch.from_numpy(done_ids)[cut]] += self.gamma * value
        return reward

    def _record(self, episodes: list[Episode]) -> None:
        self.episodes.extend(episodes)
        for episode in episodes:
            self.ep_info_buffer.append({"r": episode.ret, "l": episode.length})
            self.ep_success_buffer.append(episode.success)

    def _observe_new(self, obs: Tensor) -> None:
        if self.normalizer is not None:
            self.normalizer.update(obs)

    def _normalize(self, obs: Tensor) -> Tensor:
        return obs if self.normalizer is None else self.normalizer.normalize(obs)

    def _require_finite(self, action: Tensor) -> None:
        if not torch.isfinite(action).all():
            raise self._diverged()

    def _diverged(self) -> BedplateError:
        return BedplateError(
            f"training diverged after {self.num_timesteps} steps: the policy is no longer finite",
            "finite parameters and actions",
            "lower learn.learning_rate, or set learn.target_kl=0.03",
        )


def _shares(episodes: deque[Episode]) -> dict[str, float]:
    counts: dict[str, int] = defaultdict(int)
    for episode in episodes:
        counts[episode.reason] += 1
    return {reason: count / len(episodes) for reason, count in counts.items()}


def _term_means(episodes: deque[Episode]) -> dict[str, float]:
    names = episodes[0].reward_terms
    return {name: float(np.mean([episode.reward_terms[name] for episode in episodes])) for name in names}
