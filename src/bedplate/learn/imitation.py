"""A head start: the policy first learns what the task's classical controller would command (DAgger, Ross et al., 2011).

The policy drives and the controller is only asked, so that it answers for the states in which the policy really gets;
the critic learns the returns of the same rollouts. PPO then goes on from both.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor
from torch.nn.functional import mse_loss

from bedplate.core.errors import BedplateError
from bedplate.envs.vec_env import TaskVecEnv

# supervised learning bears more and smaller steps than PPO
LEARNING_RATE, BATCH_SIZE, EPOCHS = 1e-3, 512, 4

# errors count relative to the action, so that small ones near a goal are learned as well as large ones on the way
FLOOR = 0.05


class Imitation:
    """The task's classical controller as a teacher.

    Its weight is 1 at first: the policy only imitates. It then falls to 0 while PPO takes over (kickstarting, Schmitt
    et al., 2018).

    Args:
        env: the environment that is asked about; its task needs a baseline.
        steps: environment steps of imitation alone, over all environments.
        fade_steps: environment steps after these in which the weight falls to 0.

    Raises:
        BedplateError: the task has no classical controller.
    """

    def __init__(self, env: TaskVecEnv, steps: int, fade_steps: int = 0) -> None:
        if env.task.baseline is None:
            raise BedplateError(
                f"task {env.task.id!r} has no classical controller to imitate",
                "a task with a `baseline`",
                "set learn.imitate_steps=0 and learn.imitate_fade_steps=0",
            )
        self.env = env
        self.steps = steps
        self.fade_steps = fade_steps
        self._baseline = env.task.baseline
        # an optimiser of its own: what Adam knows of these gradients is wrong for PPO's
        self._optimizer: torch.optim.Optimizer | None = None

    def weight(self, num_timesteps: int) -> float:
        """The teacher's weight after so many environment steps: 1, falling, 0."""
        if num_timesteps < self.steps:
            return 1.0
        if not self.fade_steps:
            return 0.0
        return max(0.0, 1.0 - (num_timesteps - self.steps) / self.fade_steps)

    def wanted(self) -> Tensor:
        """(num_envs, act_dim) float32: the action that the controller would take now in every environment."""
        env = self.env
        return env.task.action.to_action(self._baseline(env.signals), env.signals, env.memory)

    def update(
        self,
        policy: ActorCriticPolicy,
        rollout: RolloutBuffer,
        wanted: Tensor,
        vf_coef: float,
        max_grad_norm: float,
    ) -> tuple[float, float]:
        """Fit a Gaussian policy's mean to `wanted`, and its critic to the rollout's returns.

        Args:
            policy: with a Gaussian over continuous actions; its deviation is left as it is.
            rollout: full, with returns computed.
            wanted: (n_steps, num_envs, act_dim) float32 actions of the controller.
            vf_coef, max_grad_norm: as in PPO.

        Returns:
            Means over the update: squared error of the mean action relative to its size, squared error of the value.
        """
        optimizer = self._optimizer = self._optimizer or torch.optim.Adam(policy.parameters(), lr=LEARNING_RATE)
        obs = torch.as_tensor(rollout.observations).flatten(0, 1)
        returns = torch.as_tensor(rollout.returns).flatten(0, 1)
        wanted = wanted.flatten(0, 1)
        losses = []
        for rows in minibatches(len(obs), BATCH_SIZE, EPOCHS):
            mean, value = mean_and_value(policy, obs[rows])
            apart = (mean - wanted[rows]) / (wanted[rows].abs().amax(dim=1, keepdim=True) + FLOOR)
            action_loss, value_loss = apart.square().mean(), mse_loss(value, returns[rows])
            optimizer.zero_grad()
            (action_loss + vf_coef * value_loss).backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), max_grad_norm)
            optimizer.step()
            losses.append(torch.stack([action_loss.detach(), value_loss.detach()]))
        action_loss, value_loss = torch.stack(losses).mean(dim=0).tolist()
        return action_loss, value_loss


def mean_and_value(policy: ActorCriticPolicy, obs: Tensor) -> tuple[Tensor, Tensor]:
    """(n, act_dim) mean action and (n,) value of a Gaussian policy."""
    features = policy.extract_features(obs)
    pi_features, vf_features = (features, features) if policy.share_features_extractor else features
    mean = policy.action_net(policy.mlp_extractor.forward_actor(pi_features))
    return mean, policy.value_net(policy.mlp_extractor.forward_critic(vf_features))[:, 0]


def minibatches(size: int, batch_size: int, n_epochs: int) -> Iterator[Tensor]:
    """Rows of shuffled minibatches, epoch after epoch."""
    for _ in range(n_epochs):
        yield from torch.randperm(size).split(batch_size)
