"""What a TaskVecEnv promises: exact ends, same-step restarts, equal runs from equal seeds, nothing non-finite."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
import pytest
import torch

from bedplate.core.errors import BedplateError
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.tasks.spec import Event, Feature, RewardTerm

NUM_ENVS = 5
STEPS = 20


def endless(task):
    """The same task without any end."""
    return dataclasses.replace(task, terminations=(), episode_length_s=1e3)


def test_truncation_keeps_the_exact_last_observation(make_cart, actions):
    """An environment without an end shows what the last observation was, and the restart shows another."""
    env, reference = (TaskVecEnv(task, NUM_ENVS, seed=3) for task in (make_cart(), endless(make_cart())))
    assert torch.equal(env.reset(), reference.reset())
    for t, action in enumerate(actions(STEPS, NUM_ENVS)):
        step, expected = env.step(action * 0.2), reference.step(action * 0.2)
        assert torch.equal(step.reward, expected.reward)
        if t < STEPS - 1:
            assert torch.equal(step.obs, expected.obs)
            assert not len(step.done_ids) and not step.episodes and step.final_obs.shape == (0, 4)
    np.testing.assert_array_equal(step.done_ids, np.arange(NUM_ENVS))
    assert step.truncated.all() and not step.terminated.any()
    assert torch.equal(step.final_obs, expected.obs)
    assert (step.obs != expected.obs).any(dim=1).all()
    assert {(e.reason, e.length, e.success) for e in step.episodes} == {("time_out", STEPS, False)}


def test_termination_keeps_the_exact_last_observation(make_cart):
    env, reference = (TaskVecEnv(task, NUM_ENVS, seed=3) for task in (make_cart(), endless(make_cart())))
    env.reset()
    reference.reset()
    # one world drives to the decided end, one to the cut end, the others stand
    action = torch.zeros(NUM_ENVS, 1)
    action[1], action[3] = 1.0, -1.0
    seen = {}
    while len(seen) < 2:
        step, expected = env.step(action), reference.step(action)
        for i, episode in enumerate(step.episodes):
            if episode.env_id not in seen:
                seen[episode.env_id] = episode
                assert torch.equal(step.final_obs[i], expected.obs[episode.env_id])
                assert step.terminated[episode.env_id] == (episode.reason == "arrived")
                assert step.truncated[episode.env_id] == (episode.reason == "left")
                assert not torch.equal(step.obs[episode.env_id], expected.obs[episode.env_id])
    assert seen[1].reason == "arrived" and seen[1].success and seen[1].metrics["position_m"] > 1.0
    assert seen[3].reason == "left" and not seen[3].success and seen[3].metrics["position_m"] < -1.0


def test_a_decided_episode_is_never_also_cut(make_cart):
    """Arriving in the very step of the time-out is an arrival."""
    env = TaskVecEnv(make_cart(episode_length_s=0.05), NUM_ENVS)
    env.reset()
    env.state.qpos[2] = 0.99
    step = env.step(torch.ones(NUM_ENVS, 1))
    assert step.terminated.tolist() == [False, False, True, False, False]
    assert step.truncated.tolist() == [True, True, False, True, True]


def test_a_restart_in_the_same_step_shows_the_new_world_and_a_fresh_memory(make_cart, actions):
    env = TaskVecEnv(make_cart(), NUM_ENVS, seed=1)
    env.reset()
    env.state.step_count[2] = STEPS - 1
    step = env.step(torch.full((NUM_ENVS, 1), 0.5))
    assert step.done_ids.tolist() == [2]
    position = env.state.qpos[:, 0].to(torch.float32)
    torch.testing.assert_close(step.obs[:, 0], position, rtol=0, atol=0)
    # previous action: zero in the new world, 0.5 elsewhere; first position: the new world's own
    assert step.obs[:, 2].tolist() == [0.5, 0.5, 0.0, 0.5, 0.5]
    assert step.obs[2, 3] == position[2] and step.obs[2, 1] == 0.0
    assert step.final_obs[0, 2] == 0.5
    assert env.state.step_count.tolist() == [1, 1, 0, 1, 1]
    assert env.state.action[2] == 0.0 and env.state.action[1] == 0.5


def test_episodes_sum_their_own_rewards(make_cart, actions):
    env = TaskVecEnv(make_cart(), NUM_ENVS, seed=5)
    env.reset()
    returns = torch.zeros(NUM_ENVS, dtype=torch.float64)
    lengths = torch.zeros(NUM_ENVS, dtype=torch.int64)
    episodes = 0
    for action in actions(3 * STEPS, NUM_ENVS):
        step = env.step(action + 0.3)
        returns += step.reward.double()
        lengths += 1
        for episode in step.episodes:
            i = episode.env_id
            assert episode.ret == pytest.approx(returns[i].item(), abs=1e-5)
            assert episode.ret == pytest.approx(sum(episode.reward_terms.values()))
            assert set(episode.reward_terms) == {"forward", "arrival"}
            assert episode.length == lengths[i]
            assert episode.reward_terms["arrival"] == (10.0 if episode.reason == "arrived" else 0.0)
            returns[i] = lengths[i] = 0
            episodes += 1
    assert episodes >= 2 * NUM_ENVS


def test_weights_are_per_second_and_events_per_occurrence(make_cart):
    env = TaskVecEnv(make_cart(), 1)
    env.reset()
    env.state.qpos[0] = 0.99
    step = env.step(torch.ones(1, 1))
    speed = step.final_obs[0, 1].item()
    assert step.reward[0].item() == pytest.approx(2.0 * 0.05 * speed + 10.0, rel=1e-5)


def test_the_command_filter_stands_between_policy_and_physics(make_cart):
    env = TaskVecEnv(make_cart(), NUM_ENVS)
    env.reset()
    seen = []
    env.command_filter = lambda command: seen.append(command.clone()) or command * 0.0
    env.step(torch.full((NUM_ENVS, 1), 3.0))
    # commands are clipped before they get there
    assert (seen[0] == 2.0).all()
    assert (env.state.ctrl == 0.0).all() and (env.state.command == 0.0).all()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_non_finite_action_is_refused_and_nothing_moves(make_cart, bad):
    env = TaskVecEnv(make_cart(), NUM_ENVS)
    env.reset()
    before = env.state.qpos.clone()
    action = torch.zeros(NUM_ENVS, 1)
    action[3] = bad
    with pytest.raises(BedplateError, match="environment 3") as error:
        env.step(action)
    assert "finite" in error.value.expected
    assert torch.equal(env.state.qpos, before)


def test_infinities_that_cancel_are_refused_too(make_cart):
    env = TaskVecEnv(make_cart(), 2)
    env.reset()
    with pytest.raises(BedplateError, match="environment 0"):
        env.step(torch.tensor([[float("inf")], [-float("inf")]]))


def test_an_action_of_another_shape_is_refused(make_cart):
    env = TaskVecEnv(make_cart(), NUM_ENVS)
    env.reset()
    with pytest.raises(BedplateError, match=r"\(5, 2\)"):
        env.step(torch.zeros(NUM_ENVS, 2))


@pytest.mark.parametrize("poison", [float("nan"), 1e20])
def test_a_diverged_world_is_decided_counted_and_restarted(make_cart, poison):
    env, clean = (TaskVecEnv(make_cart(), NUM_ENVS, seed=4) for _ in range(2))
    env.reset()
    clean.reset()
    env.state.qvel[2] = poison
    step, expected = (e.step(torch.full((NUM_ENVS, 1), 0.1)) for e in (env, clean))
    # decided, so that no learner bootstraps; worth nothing; finite in every array
    assert step.terminated.tolist() == [False, False, True, False, False]
    assert not step.truncated.any() and step.reward[2] == 0.0
    (episode,) = step.episodes
    assert (episode.reason, episode.success, env.num_diverged) == ("diverged", False, 1)
    assert torch.isfinite(step.obs).all() and torch.isfinite(step.final_obs).all()
    # the new episode runs, the neighbours noticed nothing
    others = [0, 1, 3, 4]
    assert torch.equal(step.obs[others], expected.obs[others])
    assert torch.equal(step.reward[others], expected.reward[others])
    step = env.step(torch.full((NUM_ENVS, 1), 0.1))
    assert torch.isfinite(step.obs).all() and not step.terminated.any() and env.num_diverged == 1


def test_a_non_finite_reward_is_refused_by_name(make_cart):
    broken = RewardTerm("broken", lambda state: torch.where(state.qpos[:, 0] > 0.9, torch.nan, 0.0), 1.0)
    task = make_cart()
    env = TaskVecEnv(dataclasses.replace(task, rewards=(*task.rewards, broken)), NUM_ENVS)
    env.reset()
    env.step(torch.zeros(NUM_ENVS, 1))
    env.state.qpos[1] = 0.95
    with pytest.raises(BedplateError, match="reward 'broken' of environment 1 is nan"):
        env.step(torch.zeros(NUM_ENVS, 1))


def test_a_non_finite_feature_is_refused_by_name(make_cart):
    broken = Feature("broken", 1, lambda signals, memory: torch.log(0.9 - signals["position"]))
    task = make_cart()
    env = TaskVecEnv(dataclasses.replace(task, features=(*task.features, broken)), NUM_ENVS)
    env.reset()
    env.state.qpos[3] = 0.95
    with pytest.raises(BedplateError, match="feature 'broken' of environment 3 is nan"):
        env.step(torch.zeros(NUM_ENVS, 1))


def test_startup_and_interval_events_run_when_they_should(make_cart):
    calls = {"startup": [], "interval": []}
    events = (
        Event("once", lambda state, ids, rng: calls["startup"].append(len(ids)), mode="startup"),
        Event("push", lambda state, ids, rng: calls["interval"].append(ids.tolist()), "interval", (0.15, 0.15)),
    )
    env = TaskVecEnv(make_cart(events=events, terminations=()), NUM_ENVS)
    env.reset()
    assert calls["startup"] == [NUM_ENVS]
    for _ in range(STEPS - 1):
        env.step(torch.zeros(NUM_ENVS, 1))
    assert calls["startup"] == [NUM_ENVS]
    assert calls["interval"] == [list(range(NUM_ENVS))] * 6
    # with randomisation off, none of them
    calls["startup"].clear()
    TaskVecEnv(make_cart(events=events), NUM_ENVS, randomisation=False).reset()
    assert calls["startup"] == []


def test_without_autoreset_the_caller_restarts(make_cart):
    env = TaskVecEnv(make_cart(episode_length_s=0.1), NUM_ENVS)
    env.autoreset = False
    env.reset()
    env.step(torch.ones(NUM_ENVS, 1))
    step = env.step(torch.ones(NUM_ENVS, 1))
    assert step.truncated.all() and torch.equal(step.obs, step.final_obs)
    obs = env.restart(np.array([1, 3]))
    assert torch.equal(obs[[0, 2, 4]], step.obs[[0, 2, 4]])
    assert (obs[[1, 3], 1] == 0.0).all() and env.state.step_count.tolist() == [2, 0, 2, 0, 2]


def test_zero_environments_are_refused(make_cart):
    with pytest.raises(BedplateError, match="num_envs is 0"):
        TaskVecEnv(make_cart(), 0)


def test_the_physics_is_single_world_mujoco(make_cart, actions):
    """The whole environment, command included, against a bare mj_step loop."""
    task = make_cart()
    env = TaskVecEnv(task, NUM_ENVS, randomisation=False)
    env.reset()
    spec = task.model()
    spec.option.timestep = task.sim_dt_s
    model = spec.compile()
    worlds = [mujoco.MjData(model) for _ in range(NUM_ENVS)]
    for data, qpos in zip(worlds, env.state.qpos.numpy(), strict=True):
        data.qpos[:] = qpos
        mujoco.mj_forward(model, data)
    for action in actions(STEPS - 1, NUM_ENVS):
        env.step(action * 0.3)
        for data, u in zip(worlds, action * 0.3, strict=True):
            data.ctrl[:] = (2.0 * u).numpy()
            mujoco.mj_step(model, data, nstep=task.decimation)
    np.testing.assert_array_equal(env.state.qpos.numpy(), np.stack([data.qpos for data in worlds]))
