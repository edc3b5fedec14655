"""A head start: the policy first learns what the task's classical controller would command (DAgger, Ross et al., 2011).

The policy drives and the controller is only asked, so that it answers for the states in which the policy really gets;
all answers are kept and learned together, because a policy that follows the newest ones only looks good as long as it
is being taught. The critic learns the returns of the newest rollout.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor
from torch.nn.functional import mse_loss

from bedplate.core.errors import BedplateError
from bedplate.envs.vec_env import TaskVecEnv

LEARNING_RATE, LEARNING_RATE_FINAL, BATCH_SIZE = 1e-3, 1e-4, 512
# how often each new answer is learned, on average, before the next rollout
PASSES = 8
# answers kept; the oldest go first
CAPACITY = 400_000
# errors count relative to the action, so that small ones near a goal are learned as well as large ones on the way
FLOOR = 0.05

Normalize = Callable[[Tensor], Tensor]


class Imitation:
    """The task's classical controller as a teacher.

    Its weight is 1 at first: the policy only imitates. It then falls to 0 as PPO's grows (kickstarting, Schmitt et al.,
    2018): the answers that are kept go on being learned, and no more are asked for.

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
                "set learn.imitate_steps=0",
            )
        self.env = env
        self.steps = steps
        self.fade_steps = fade_steps
        self._baseline = env.task.baseline
        capacity = min(CAPACITY, steps + env.num_envs)
        self._obs = torch.empty(capacity, env.task.obs_dim)
        self._wanted = torch.empty(capacity, env.task.act_dim)
        self._count = 0
        # an optimiser of its own: what Adam knows of these gradients is wrong for PPO's
        self._optimizer: torch.optim.Optimizer | None = None

    def weight(self, num_timesteps: int) -> float:
        """The teacher's weight after so many environment steps: 1, falling, 0."""
        if num_timesteps < self.steps:
            return 1.0
        if not self.fade_steps:
            return 0.0
        return max(0.0, 1.0 - (num_timesteps - self.steps) / self.fade_steps)

    def ask(self, obs: Tensor) -> None:
        """Keep what the controller would do now in every environment, with obs (num_envs, obs_dim) float32."""
        env = self.env
        wanted = env.task.action.to_action(self._baseline(env.signals), env.signals, env.memory)
        rows = (self._count + torch.arange(env.num_envs)) % len(self._obs)
        self._obs[rows], self._wanted[rows] = obs, wanted
        self._count += env.num_envs

    def sample(self, n: int, normalize: Normalize) -> tuple[Tensor, Tensor]:
        """`n` answers at random: normalised obs (n, obs_dim) and wanted actions (n, act_dim), float32."""
        rows = torch.randint(min(self._count, len(self._obs)), (n,))
        return normalize(self._obs[rows]), self._wanted[rows]

    def update(
        self,
        policy: ActorCriticPolicy,
        rollout: RolloutBuffer,
        normalize: Normalize,
        num_timesteps: int,
        vf_coef: float,
        max_grad_norm: float,
    ) -> dict[str, float]:
        """Fit a Gaussian policy's mean to the answers, and its critic to the rollout's returns.

        Args:
            policy: with a Gaussian over continuous actions; its deviation is left as it is.
            rollout: full, with returns computed.
            normalize: of observations.
            num_timesteps: environment steps done; the learning rate falls with them.
            vf_coef, max_grad_norm: as in PPO.

        Returns:
            Means over the update: "imitation_loss", squared error relative to the action's size, and "value_loss".
        """
        optimizer = self._optimizer = self._optimizer or torch.optim.Adam(policy.parameters(), lr=LEARNING_RATE)
        done = min(num_timesteps / self.steps, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE + done * (LEARNING_RATE_FINAL - LEARNING_RATE)
        seen_obs, returns = (torch.as_tensor(v).flatten(0, 1) for v in (rollout.observations, rollout.returns))
        losses = []
        for _ in range(max(1, PASSES * len(returns) // BATCH_SIZE)):
            obs, wanted = self.sample(BATCH_SIZE, normalize)
            rows = torch.randint(len(returns), (BATCH_SIZE,))
            apart = (mean_action(policy, obs) - wanted) / (wanted.abs().amax(dim=1, keepdim=True) + FLOOR)
            action_loss = apart.square().mean()
            value_loss = mse_loss(policy.predict_values(seen_obs[rows])[:, 0], returns[rows])
            optimizer.zero_grad()
            (action_loss + vf_coef * value_loss).backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), max_grad_norm)
            optimizer.step()
            losses.append(torch.stack([action_loss.detach(), value_loss.detach()]))
        action_mean, value_mean = torch.stack(losses).mean(dim=0).tolist()
        return {"imitation_loss": action_mean, "value_loss": value_mean}


def mean_action(policy: ActorCriticPolicy, obs: Tensor) -> Tensor:
    """(n, act_dim) mean of a Gaussian policy, with gradients."""
    mean: Tensor = policy.get_distribution(obs).distribution.mean
    return mean
