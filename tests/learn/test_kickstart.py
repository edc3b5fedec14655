"""The update under a teacher: alone it is Stable-Baselines3's, and with all weight it goes to the teacher."""

from __future__ import annotations

import copy

import pytest
import torch

from bedplate.envs.sb3 import SB3VecEnv
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.learn.config import parse_config
from bedplate.learn.imitation import Imitation, mean_action
from bedplate.learn.kickstart import kickstart
from bedplate.learn.ppo import PPO
from bedplate.learn.training import make_model
from bedplate.tasks import make_task

NUM_ENVS, N_STEPS = 16, 16
OBS_DIM = make_task("nav_lidar", {}).obs_dim


@pytest.fixture
def model() -> PPO:
    """A model with a full rollout of 256 steps, and a teacher that has answered for one of them."""
    config = parse_config(
        {
            "task": {"name": "nav_lidar"},
            "env": {"num_envs": NUM_ENVS},
            "learn": {"total_steps": 512, "n_steps": N_STEPS, "batch_size": 256, "n_epochs": 1, "net_arch": [32]},
        }
    )
    env = SB3VecEnv(TaskVecEnv(make_task("nav_lidar", {}), NUM_ENVS))
    made = make_model(config, env)
    # the first rollout is learned from, the second is only taken
    made.learn(256)
    made.collect_rollouts(env, made._init_callback(None), made.rollout_buffer, N_STEPS)
    made.imitation = Imitation(env.env, 512)
    made.imitation.ask(torch.as_tensor(made._last_obs))
    return made


def update(model: PPO, weight: float, times: int = 1, **settings: float) -> dict[str, float]:
    for _ in range(times):
        seen = kickstart(
            model.policy,
            model.rollout_buffer,
            model.imitation,
            model.normalizer.normalize,
            weight,
            batch_size=256,
            n_epochs=1,
            clip_range=0.2,
            vf_coef=model.vf_coef,
            max_grad_norm=model.max_grad_norm,
            **settings,
        )
    return seen


def test_without_weight_it_is_the_update_of_stable_baselines3(model):
    before = copy.deepcopy(model.policy.state_dict())
    optimizer = copy.deepcopy(model.policy.optimizer.state_dict())
    model._update_learning_rate(model.policy.optimizer)
    seen = update(model, 0.0)
    ours = copy.deepcopy(model.policy.state_dict())

    model.policy.load_state_dict(before)
    model.policy.optimizer.load_state_dict(optimizer)
    model.train()
    for name, theirs in model.policy.state_dict().items():
        assert torch.allclose(ours[name], theirs, atol=1e-6), name
        assert not torch.equal(before[name], theirs), name
    logged = model.logger.name_to_value
    for name in ("policy_gradient_loss", "value_loss", "approx_kl", "clip_fraction", "entropy_loss"):
        assert seen[name] == pytest.approx(logged[f"train/{name}"], abs=1e-5), name


def test_the_entropy_bonus_counts_while_the_teacher_has_weight(model):
    before = model.policy.log_std.detach().clone()
    weights = copy.deepcopy(model.policy.state_dict())
    # plain steps along the gradient: Adam's have nearly the same length whatever the weight of the bonus
    model.policy.optimizer = torch.optim.SGD(model.policy.parameters(), lr=0.01)
    grown = {}
    for ent_coef in (0.0, 10.0):
        model.policy.load_state_dict(weights)
        torch.manual_seed(0)
        update(model, 0.5, times=5, ent_coef=ent_coef)
        grown[ent_coef] = model.policy.log_std.detach() - before
    assert (grown[10.0] > grown[0.0]).all()


def test_target_kl_ends_an_update_under_a_teacher(model):
    update(model, 0.5, times=20)
    before = copy.deepcopy(model.policy.state_dict())
    seen = update(model, 0.5, target_kl=1e-9)
    assert seen["approx_kl"] > 1e-9
    for name, value in model.policy.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_with_all_weight_the_policy_goes_to_the_teacher(model):
    def apart() -> float:
        obs, wanted = model.imitation.sample(256, model.normalizer.normalize)
        return float((mean_action(model.policy, obs) - wanted).detach().square().mean())

    first = apart()
    update(model, 1.0, times=500)
    assert apart() < 0.5 * first


def test_answers_beyond_the_capacity_replace_the_oldest(model):
    teacher = Imitation(model.env.env, steps=NUM_ENVS)
    for value in (1.0, 2.0, 3.0):
        teacher.ask(torch.full((NUM_ENVS, OBS_DIM), value))
    obs, _ = teacher.sample(500, lambda raw: raw)
    # room for two rounds of answers: the first one is gone
    assert set(obs[:, 0].tolist()) == {2.0, 3.0}
