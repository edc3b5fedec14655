"""The deterministic actor equals model.predict, and what it does not know is refused by name."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import A2C, DDPG, PPO, SAC, TD3
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from bedplate.core.errors import BedplateError
from bedplate.export.actor import PolicyGraph, deterministic_actor
from bedplate.export.golden import Reference

VARIANTS = {
    "ppo": (PPO, {}),
    "ppo, extractors of their own": (PPO, {"policy_kwargs": {"share_features_extractor": False}}),
    "ppo, relu, three layers": (PPO, {"policy_kwargs": {"activation_fn": nn.ReLU, "net_arch": [16, 16, 16]}}),
    "ppo, no hidden layer": (PPO, {"policy_kwargs": {"net_arch": []}}),
    "ppo, gsde": (PPO, {"use_sde": True}),
    "ppo, gsde, squashed": (PPO, {"use_sde": True, "policy_kwargs": {"squash_output": True}}),
    "a2c": (A2C, {}),
    "sac": (SAC, {"buffer_size": 10}),
    "sac, gsde": (SAC, {"buffer_size": 10, "use_sde": True}),
    "td3": (TD3, {"buffer_size": 10}),
    "ddpg": (DDPG, {"buffer_size": 10}),
}


def clipped(actor, obs):
    return actor(obs).clamp(-1.0, 1.0)


@pytest.mark.parametrize("name", VARIANTS)
def test_equals_predict(name, tasks, models):
    algorithm, kwargs = VARIANTS[name]
    task = tasks()
    model = models(task, algorithm, **kwargs)
    actor = deterministic_actor(model, task)
    obs = 2.0 * torch.randn(200, task.obs_dim)
    expected, _ = model.predict(obs.numpy(), deterministic=True)
    np.testing.assert_allclose(clipped(actor, obs).numpy(), expected, atol=2e-6)
    # the test would not notice a missing clip or a constant actor otherwise
    assert np.ptp(expected) > 0.5


def test_is_a_copy(tasks, models):
    task = tasks()
    model = models(task)
    actor = deterministic_actor(model, task)
    obs = torch.randn(5, task.obs_dim)
    before = actor(obs)
    with torch.no_grad():
        model.policy.action_net.bias.add_(1.0)
    assert torch.equal(actor(obs), before)
    assert all(parameter.requires_grad for parameter in model.policy.action_net.parameters())


@pytest.mark.parametrize("relative_to", ["", "measured", "commanded"])
def test_graph_equals_the_steps_of_training(relative_to, tasks, models, normalizers):
    task = tasks(relative_to)
    model, normalizer = models(task), normalizers(task)
    graph = PolicyGraph(task, normalizer, deterministic_actor(model, task))
    samples = SimpleNamespace(
        signals={signal.name: torch.randn(50, signal.size) for signal in task.signals},
        memory={term.name: torch.randn(50, term.size) for term in task.memory},
    )
    command, memory = Reference(task, model, normalizer).step(samples)
    outputs = dict(zip(graph.output_names, graph(*samples.signals.values(), *samples.memory.values()), strict=True))
    torch.testing.assert_close(outputs["command"], command, atol=2e-6, rtol=0)
    for name, value in memory.items():
        torch.testing.assert_close(outputs[f"memory.{name}.next"], value, atol=2e-6, rtol=0)


class Squares(BaseFeaturesExtractor):
    def __init__(self, observation_space):
        super().__init__(observation_space, observation_space.shape[0])

    def forward(self, obs):
        return obs.square()


class OwnMean(ActorCriticPolicy):
    def _predict(self, observation, deterministic=False):
        return super()._predict(observation, deterministic) * 0.5


class OwnExtractor(ActorCriticPolicy):
    def _build_mlp_extractor(self):
        super()._build_mlp_extractor()
        self.mlp_extractor = type("Recurrent", (type(self.mlp_extractor),), {})(
            self.features_dim, self.net_arch, self.activation_fn
        )


def test_refuses_an_unknown_features_extractor(tasks, models):
    task = tasks()
    model = models(task, policy_kwargs={"features_extractor_class": Squares})
    with pytest.raises(BedplateError, match="Squares"):
        deterministic_actor(model, task)


@pytest.mark.parametrize(("policy", "part"), [(OwnMean, "_predict"), (OwnExtractor, "Recurrent")])
def test_refuses_an_unknown_policy(policy, part, tasks, models):
    task = tasks()
    model = models(task)
    model.policy = policy(model.observation_space, model.action_space, lambda _: 1e-3)
    with pytest.raises(BedplateError, match=part):
        deterministic_actor(model, task)


def test_refuses_a_policy_without_actor(tasks, models):
    model = SimpleNamespace(policy=SimpleNamespace(**vars(models(tasks()).policy) | spaces_of(tasks())))
    with pytest.raises(BedplateError, match="SimpleNamespace"):
        deterministic_actor(model, tasks())


def spaces_of(task):
    return {
        "observation_space": spaces.Box(-np.inf, np.inf, (task.obs_dim,), np.float32),
        "action_space": spaces.Box(-1.0, 1.0, (task.act_dim,), np.float32),
    }


@pytest.mark.parametrize(
    ("name", "space", "message"),
    [
        ("observation_space", spaces.Box(-1, 1, (3,)), r"\(3,\)"),
        ("observation_space", spaces.Dict({}), "Dict"),
        ("action_space", spaces.Discrete(2), "Discrete"),
        ("action_space", spaces.Box(-1, 1, (5,)), r"\(5,\)"),
        ("action_space", spaces.Box(-2, 2, (2,)), "span"),
    ],
)
def test_refuses_spaces_that_do_not_fit(name, space, message, tasks, models):
    task = tasks()
    model = models(task)
    setattr(model.policy, name, space)
    with pytest.raises(BedplateError, match=message):
        deterministic_actor(model, task)
