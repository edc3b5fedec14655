"""One PPO update while a teacher still has weight: PPO's loss, and the distance to the teacher's answers."""

from __future__ import annotations

import torch
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy
from torch.nn.functional import mse_loss

from bedplate.learn.imitation import Imitation, Normalize, mean_action


def kickstart(
    policy: ActorCriticPolicy,
    rollout: RolloutBuffer,
    teacher: Imitation,
    normalize: Normalize,
    weight: float,
    *,
    batch_size: int,
    n_epochs: int,
    clip_range: float,
    vf_coef: float,
    max_grad_norm: float,
    ent_coef: float = 0.0,
    target_kl: float | None = None,
) -> dict[str, float]:
    """Step on (1 - weight) * (surrogate - ent_coef * entropy) + vf_coef * value loss + weight * KL(teacher || policy).

    The teacher counts as a Gaussian with the policy's own deviation, so that its KL divergence is half the squared
    distance in deviations; it is taken over as many of the teacher's kept answers as the minibatch has samples.

    Args:
        policy: a Gaussian over continuous actions.
        rollout: full, with advantages and returns computed.
        teacher: with answers kept.
        normalize: of observations.
        weight: of the teacher, from 0 to 1.
        batch_size, n_epochs, clip_range, vf_coef, max_grad_norm, ent_coef, target_kl: as in PPO.

    Returns:
        Means over the update, by Stable-Baselines3's names.
    """
    obs, actions, old_log_prob, advantages, returns = (
        torch.as_tensor(values).flatten(0, 1)
        for values in (rollout.observations, rollout.actions, rollout.log_probs, rollout.advantages, rollout.returns)
    )
    names = ("policy_gradient_loss", "value_loss", "imitation_loss", "approx_kl", "clip_fraction", "entropy_loss")
    seen = []
    for rows in (part for _ in range(n_epochs) for part in torch.randperm(len(obs)).split(batch_size)):
        value, log_prob, entropy = policy.evaluate_actions(obs[rows], actions[rows])
        advantage = advantages[rows]
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        log_ratio = log_prob - old_log_prob[rows]
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
        policy_loss = -torch.minimum(advantage * ratio, advantage * clipped).mean()
        entropy_loss = -entropy.mean()
        value_loss = mse_loss(value[:, 0], returns[rows])
        taught_obs, wanted = teacher.sample(len(rows), normalize)
        apart = mean_action(policy, taught_obs) - wanted
        divergence = (apart / policy.log_std.detach().exp()).square().sum(dim=1).mean() / 2

        # as in Stable-Baselines3, a step that comes too far is not taken, and none after it
        with torch.no_grad():
            approx_kl = (ratio - 1 - log_ratio).mean()
            clip_fraction = ((ratio - 1).abs() > clip_range).float().mean()
            losses = [policy_loss, value_loss, apart.square().mean(), approx_kl, clip_fraction, entropy_loss]
            seen.append(torch.stack(losses))
        if target_kl is not None and approx_kl > 1.5 * target_kl:
            break

        objective = policy_loss + ent_coef * entropy_loss if ent_coef else policy_loss
        policy.optimizer.zero_grad()
        ((1 - weight) * objective + vf_coef * value_loss + weight * divergence).backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), max_grad_norm)
        policy.optimizer.step()
    return dict(zip(names, torch.stack(seen).mean(dim=0).tolist(), strict=True))
