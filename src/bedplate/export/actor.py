"""The deterministic policy as one torch module: physical signals in, physical command out.

signals, memory -> features -> normaliser -> actor's mean -> clip -> command, and the memory of the next step. The same
functions run in training, so that nobody writes an observation or a scale twice.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Protocol

import gymnasium
import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.torch_layers import FlattenExtractor, MlpExtractor
from stable_baselines3.sac.policies import Actor as SACActor
from stable_baselines3.td3.policies import Actor as TD3Actor
from torch import Tensor, nn

from bedplate.core.errors import BedplateError
from bedplate.tasks.spec import Task


class Normalizes(Protocol):
    """What the graph needs of a normaliser."""

    def normalize(self, obs: Tensor) -> Tensor:
        """(n, obs_dim) float32 -> the same shape, by operations that ONNX has."""
        ...


class PolicyGraph(nn.Module):
    """What policy.onnx holds.

    Args:
        task: features, action and memory.
        normalizer: of observations; None when the policy was trained on raw ones.
        actor: normalised observation (n, obs_dim) -> action (n, act_dim).
    """

    def __init__(self, task: Task, normalizer: Normalizes | None, actor: nn.Module) -> None:
        super().__init__()
        self.task = task
        self.normalizer = normalizer
        self.actor = actor

    @property
    def input_names(self) -> tuple[str, ...]:
        """Signals, then memory."""
        memory = tuple(f"memory.{term.name}" for term in self.task.memory)
        return tuple(signal.name for signal in self.task.signals) + memory

    @property
    def output_names(self) -> tuple[str, ...]:
        """The command, then the next memory."""
        return ("command", *(f"memory.{term.name}.next" for term in self.task.memory))

    @property
    def input_sizes(self) -> tuple[int, ...]:
        """Elements of each input."""
        return tuple(signal.size for signal in self.task.signals) + tuple(term.size for term in self.task.memory)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """One control step.

        Args:
            inputs: (n, size) float32 each, in the order of `input_names`.

        Returns:
            (n, size) float32 each, in the order of `output_names`.
        """
        task = self.task
        signals = {signal.name: value for signal, value in zip(task.signals, inputs, strict=False)}
        memory = {term.name: value for term, value in zip(task.memory, inputs[len(task.signals) :], strict=True)}
        obs = task.observe(signals, memory)
        if self.normalizer is not None:
            obs = self.normalizer.normalize(obs)
        action = self.actor(obs)
        command = task.action.to_command(action, signals, memory, task.limits)
        following = task.remember(signals, memory, action, command)
        return (command, *(following[term.name] for term in task.memory))


def deterministic_actor(model: BaseAlgorithm, task: Task) -> nn.Module:
    """The mean action of a Stable-Baselines3 model, as a module of its own on the CPU.

    Covers ActorCriticPolicy (PPO, A2C, with or without gSDE) and the actors of SAC, TD3 and DDPG, on a Box observation
    with a FlattenExtractor.

    Raises:
        BedplateError: names the part of the policy that cannot be exported, or the size that does not fit the task.
    """
    policy = model.policy
    _check_spaces(policy, task)
    build = _on_policy_actor if isinstance(policy, ActorCriticPolicy) else _off_policy_actor
    actor = build(policy)
    # a copy: exporting must not touch the model that is being trained
    return copy.deepcopy(actor).cpu().float().eval().requires_grad_(False)


def _on_policy_actor(policy: BasePolicy) -> nn.Module:
    assert isinstance(policy, ActorCriticPolicy)
    cls = type(policy)
    for name in ("_predict", "get_distribution", "_get_action_dist_from_latent", "extract_features"):
        _require_original(cls, name, getattr(ActorCriticPolicy, name))
    # shared or not, this is the extractor in front of the actor
    _require_type(policy.pi_features_extractor, FlattenExtractor, "features extractor")
    _require_type(policy.mlp_extractor, MlpExtractor, "MLP extractor")
    layers = [policy.pi_features_extractor, policy.mlp_extractor.policy_net, policy.action_net]
    return nn.Sequential(*layers, nn.Tanh()) if policy.squash_output else nn.Sequential(*layers)


def _off_policy_actor(policy: BasePolicy) -> nn.Module:
    actor: Any = getattr(policy, "actor", None)
    if type(actor) is SACActor:
        # the mean of a squashed Gaussian; with gSDE `mu` may clip the mean itself
        layers = [actor.features_extractor, actor.latent_pi, actor.mu, nn.Tanh()]
    elif type(actor) is TD3Actor:
        layers = [actor.features_extractor, actor.mu]
    else:
        raise BedplateError(
            f"the policy is a {type(policy).__name__}",
            "an ActorCriticPolicy (PPO, A2C), or a policy of SAC, TD3 or DDPG",
            "train with MlpPolicy",
        )
    _require_type(actor.features_extractor, FlattenExtractor, "features extractor")
    return nn.Sequential(*layers)


def _require_original(cls: type, name: str, original: Callable[..., object]) -> None:
    if getattr(cls, name) is not original:
        raise BedplateError(
            f"{cls.__name__} overrides {name}, so its mean action is not known to the exporter",
            "a policy that keeps Stable-Baselines3's own",
            "train with MlpPolicy",
        )


def _require_type(part: object, wanted: type, what: str) -> None:
    if type(part) is not wanted:
        raise BedplateError(
            f"the policy's {what} is a {type(part).__name__}",
            wanted.__name__,
            "train with MlpPolicy; put what it computes into the task's features",
        )


def _check_spaces(policy: BasePolicy, task: Task) -> None:
    obs, action = policy.observation_space, policy.action_space
    # an observation of another width or kind
    if not isinstance(obs, gymnasium.spaces.Box) or obs.shape != (task.obs_dim,):
        raise BedplateError(
            f"the model observes {_space(obs)}",
            f"a Box of shape ({task.obs_dim},), the features of task {task.id!r}",
            "export the model with the task it was trained on",
        )
    # an action of another width or scale
    if not isinstance(action, gymnasium.spaces.Box) or action.shape != (task.act_dim,):
        raise BedplateError(
            f"the model acts in {_space(action)}",
            f"a Box of shape ({task.act_dim},), the channels of task {task.id!r}",
            "export the model with the task it was trained on",
        )
    if not (np.all(action.low == -1.0) and np.all(action.high == 1.0)):
        raise BedplateError(f"the model's actions span [{action.low}, {action.high}]", "[-1, 1] in every channel")


def _space(space: gymnasium.Space[Any]) -> str:
    return f"a {type(space).__name__} of shape {space.shape}"
