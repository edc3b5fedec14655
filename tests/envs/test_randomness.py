"""Seeds, splits, noise and delays: equal seeds give equal runs, and the policy sees what a robot would."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from bedplate.core.errors import BedplateError
from bedplate.envs.vec_env import TaskVecEnv

NUM_ENVS = 5
STEPS = 20


@pytest.mark.parametrize("randomisation", [True, False])
def test_equal_seeds_give_equal_runs_and_other_seeds_do_not(make_cart, make_signal, actions, randomisation):
    task = make_cart(
        signals=(
            make_signal("position", lambda s: s.qpos, noise_std=0.05, delay_s=(0.0, 0.1)),
            make_signal("speed", lambda s: s.qvel),
        ),
        action=dataclasses.replace(make_cart().action, noise_std=0.1, delay_s=(0.0, 0.15)),
    )

    def run(seed, split="train", num_threads=2):
        env = TaskVecEnv(task, NUM_ENVS, seed, split, randomisation, num_threads)
        seen = [env.reset()]
        for action in actions(2 * STEPS, NUM_ENVS):
            step = env.step(action)
            seen += [step.obs, step.reward[:, None].expand(-1, 4)]
        return torch.stack(seen)

    assert torch.equal(run(7), run(7, num_threads=1))
    assert not torch.equal(run(7), run(8))
    assert not torch.equal(run(7), run(7, "evaluation"))


def test_no_world_of_the_evaluation_is_a_world_of_the_training(make_cart):
    worlds = {}
    for split in ("train", "evaluation"):
        worlds[split] = set()
        for seed in (0, 1, 2**29 - 1):
            env = TaskVecEnv(make_cart(episode_length_s=0.05), NUM_ENVS, seed, split)
            env.reset()
            for _ in range(20):
                worlds[split].update(env.state.world_id.tolist())
                env.step(torch.zeros(NUM_ENVS, 1))
        # every episode of every seed is a world of its own
        assert len(worlds[split]) == 3 * 20 * NUM_ENVS
    assert not worlds["train"] & worlds["evaluation"]


def test_signal_noise_and_delay_are_what_the_policy_sees_and_the_state_is_exact(make_cart, make_signal):
    signals = (
        make_signal("position", lambda s: s.qpos, delay_s=(0.1, 0.1)),
        make_signal("speed", lambda s: s.qvel, noise_std=0.5),
    )
    env = TaskVecEnv(make_cart(signals=signals), 400, seed=2)
    positions = [env.reset()[:, 0].clone()]
    for t in range(6):
        step = env.step(torch.full((400, 1), 0.2))
        positions.append(env.state.qpos[:, 0].to(torch.float32))
        # two control steps of delay; before that, the start
        assert torch.equal(step.obs[:, 0], positions[max(0, t + 1 - 2)])
        error = step.obs[:, 1] - env.state.qvel[:, 0]
        assert 0.4 < error.std() < 0.6 and abs(error.mean()) < 0.1
    # without randomisation, neither
    exact = TaskVecEnv(make_cart(signals=signals), NUM_ENVS, randomisation=False)
    exact.reset()
    step = exact.step(torch.full((NUM_ENVS, 1), 0.2))
    assert torch.equal(step.obs[:, :2], torch.cat([exact.state.qpos, exact.state.qvel], 1).to(torch.float32))


def test_action_delay_and_noise_reach_the_actuators_only(make_cart):
    late = dataclasses.replace(make_cart().action, delay_s=(0.1, 0.1))
    env = TaskVecEnv(make_cart(action=late), NUM_ENVS)
    env.reset()
    commands = [env.step(torch.full((NUM_ENVS, 1), a)) and env.state.command[0, 0].item() for a in (0.1, 0.2, 0.3, 0.4)]
    assert commands == pytest.approx([0.0, 0.0, 0.2, 0.4])
    # the policy remembers what it asked for
    assert env.memory["previous_action"][0] == pytest.approx(0.4)

    noisy = dataclasses.replace(make_cart().action, noise_std=0.1)
    env = TaskVecEnv(make_cart(action=noisy), 400)
    env.reset()
    env.step(torch.full((400, 1), 0.5))
    assert 0.15 < env.state.command.std() < 0.25
    assert (env.memory["previous_action"] == 0.5).all()


@pytest.mark.parametrize("seed", [-1, 2**29])
def test_a_seed_that_would_reach_into_other_worlds_is_refused(make_cart, seed):
    with pytest.raises(BedplateError, match=f"seed is {seed}"):
        TaskVecEnv(make_cart(), 2, seed)


def test_no_environments_are_refused(make_cart):
    with pytest.raises(BedplateError, match="num_envs is 0"):
        TaskVecEnv(make_cart(), 0)
