"""One PPO update while a teacher still has weight: PPO's loss, and the distance to what the teacher wanted."""

from __future__ import annotations

import torch
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor
from torch.nn.functional import mse_loss

from bedplate.learn.imitation import mean_and_value, minibatches


def kickstart(
    policy: ActorCriticPolicy,
    rollout: RolloutBuffer,
    wanted: Tensor,
    weight: float,
    *,
    batch_size: int,
    n_epochs: int,
    clip_range: float,
    vf_coef: float,
    max_grad_norm: float,
) -> dict[str, float]:
    """Step on (1 - weight) * clipped surrogate + vf_coef * value loss + weight * KL(teacher || policy).

    The teacher counts as a Gaussian around `wanted` with the policy's own deviation, so that its KL divergence is half
    the squared distance in deviations.

    Args:
        policy: a Gaussian over continuous actions.
        rollout: full, with advantages and returns computed.
        wanted: (n_steps, num_envs, act_dim) float32 actions of the teacher.
        weight: of the teacher, from 0 to 1.
        batch_size, n_epochs, clip_range, vf_coef, max_grad_norm: as in PPO.

    Returns:
        Means over the update, by Stable-Baselines3's names.
    """
    obs, actions, old_log_prob, advantages, returns = (
        torch.as_tensor(values).flatten(0, 1)
        for values in (rollout.observations, rollout.actions, rollout.log_probs, rollout.advantages, rollout.returns)
    )
    wanted = wanted.flatten(0, 1)
    names = ("policy_gradient_loss", "value_loss", "imitation_loss", "approx_kl", "clip_fraction")
    seen = []
    for rows in minibatches(len(obs), batch_size, n_epochs):
        mean, value = mean_and_value(policy, obs[rows])
        std = policy.log_std.exp()
        log_prob = torch.distributions.Normal(mean, std, validate_args=False).log_prob(actions[rows]).sum(dim=1)
        advantage = advantages[rows]
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        log_ratio = log_prob - old_log_prob[rows]
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
        policy_loss = -torch.minimum(advantage * ratio, advantage * clipped).mean()
        value_loss = mse_loss(value, returns[rows])
        apart = mean - wanted[rows]
        divergence = (apart / std.detach()).square().sum(dim=1).mean() / 2

        policy.optimizer.zero_grad()
        ((1 - weight) * policy_loss + vf_coef * value_loss + weight * divergence).backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), max_grad_norm)
        policy.optimizer.step()
        with torch.no_grad():
            approx_kl = (ratio - 1 - log_ratio).mean()
            clip_fraction = ((ratio - 1).abs() > clip_range).float().mean()
            seen.append(torch.stack([policy_loss, value_loss, apart.square().mean(), approx_kl, clip_fraction]))
    return dict(zip(names, torch.stack(seen).mean(dim=0).tolist(), strict=True))
