"""Exactly N episodes, each world once, none favoured; and what the guards in the loop did."""

from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch

from bedplate.bundle.contract import GuardSettings
from bedplate.core.errors import BedplateError
from bedplate.core.limits import ChannelLimits, Limits, SafeAction
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.evaluate import rollouts
from bedplate.evaluate.controllers import BatchPolicy
from bedplate.evaluate.results import episode_arrays, figures_of, npz_bytes, outcome_of
from bedplate.evaluate.rollouts import Worlds, run_worlds
from bedplate.tasks.spec import Termination


def _endings(rollout):
    return [(episode.reason, episode.length) for episode in rollout.episodes]


def test_every_world_is_counted_once_and_as_worked_out_by_hand(task, full_speed, ending_at_full_speed):
    rollout = run_worlds(task, full_speed, Worlds(300), None)
    ids = [episode.world_id for episode in rollout.episodes]
    assert len(ids) == len(set(ids)) == 300
    assert _endings(rollout) == [ending_at_full_speed(world_id) for world_id in ids]
    # the task has all three endings, so that a bias would show
    assert set(Counter(episode.reason for episode in rollout.episodes)) == {"success", "collision", "time_out"}


def test_the_first_n_to_end_would_have_been_biased(task, full_speed, ending_at_full_speed):
    # what the fixed shares are for: the same environments, counting whatever ends first
    env = TaskVecEnv(task, 32, 0, "evaluation")
    env.reset()
    naive = []
    while len(naive) < 96:
        naive += env.step(torch.ones(32, 1)).episodes
    counted = run_worlds(task, full_speed, Worlds(96), None).episodes
    time_outs = [sum(episode.reason == "time_out" for episode in found) for found in (naive[:96], counted)]
    assert time_outs[0] < time_outs[1]


@pytest.mark.parametrize("num_envs", [1, 7, 23, 64])
def test_the_number_of_environments_changes_nothing(task, full_speed, monkeypatch, num_envs):
    expected = run_worlds(task, full_speed, Worlds(23), None)
    monkeypatch.setattr(rollouts, "MAX_ENVS", num_envs)
    found = run_worlds(task, full_speed, Worlds(23), None)
    assert [e.world_id for e in found.episodes] == [e.world_id for e in expected.episodes]
    assert _endings(found) == _endings(expected)


def test_worlds_are_unseen_and_follow_the_seed(task, full_speed):
    ids = {seed: {e.world_id for e in run_worlds(task, full_speed, Worlds(20, seed), None).episodes} for seed in (0, 1)}
    assert not ids[0] & ids[1]
    for seed in (0, 1):
        train = TaskVecEnv(task, 64, seed, "train")
        train.reset()
        assert not ids[seed] & set(train.state.world_id.tolist())


def test_equal_seeds_give_equal_results(task, full_speed):
    first, second = (run_worlds(task, full_speed, Worlds(40, 5), GuardSettings()) for _ in range(2))
    assert first == second


def test_progress_reaches_the_number_of_episodes(task, full_speed):
    seen = []
    run_worlds(task, full_speed, Worlds(9), None, progress=lambda finished, total: seen.append((finished, total)))
    assert seen[-1] == (9, 9)
    assert all(total == 9 and before <= after for (before, total), (after, _) in pairwise(seen))


@pytest.mark.parametrize(("episodes", "seed"), [(0, 0), (-3, 0), (5, -1)])
def test_impossible_worlds_are_refused(episodes, seed):
    with pytest.raises(BedplateError):
        Worlds(episodes, seed)


def test_the_guard_limits_the_rate_and_is_counted(task, full_speed):
    rollout = run_worlds(task, full_speed, Worlds(50), GuardSettings())
    use = rollout.guard
    assert use is not None
    # 5 m/s2 over 0.1 s: the first command is halved, the second reaches full speed
    assert use.ticks == sum(episode.length for episode in rollout.episodes)
    assert use.changed == use.by_channel["speed"] == use.by_rule["rate"] == 50
    assert use.faults == use.safe_ticks == 0
    assert use.clamp_rate == pytest.approx(50 / use.ticks)


def test_a_gentle_policy_is_left_alone(task):
    rollout = run_worlds(task, BatchPolicy(lambda obs: torch.full((len(obs), 1), 0.4)), Worlds(20), GuardSettings())
    assert rollout.guard is not None
    assert rollout.guard.changed == 0
    assert rollout.guard.by_rule == {}


def test_rounding_at_the_bound_is_no_change(task, full_speed):
    # as a float32, 1.1 is larger than the double 1.1: the guard cuts the last bits of every command at the bound
    assert np.float64(np.float32(1.1)) > 1.1
    limits = Limits((ChannelLimits("speed", "m/s", -1.1, 1.1, rate_per_s=100.0),), SafeAction("ramp", (0.0,)))
    fast = dataclasses.replace(task, action=dataclasses.replace(task.action, low=(-1.1,), high=(1.1,)), limits=limits)
    use = run_worlds(fast, full_speed, Worlds(20), GuardSettings()).guard
    assert use is not None
    assert (use.changed, use.by_channel, use.by_rule) == (0, {"speed": 0}, {})


def _broken_beyond_one_metre(obs):
    return torch.where(obs > 1.0, torch.nan, torch.ones_like(obs))


def test_a_fault_stays_until_its_episode_ends_and_counts_as_it_ends(task):
    rollout = run_worlds(task, BatchPolicy(_broken_beyond_one_metre), Worlds(60), GuardSettings())
    use = rollout.guard
    assert use is not None
    # the first NaN is given at 1.05 m; the safe action brakes within 0.05 m, and the cart stands at 1.1 m
    faulted = [episode for episode in rollout.episodes if episode.metrics["way"] > 1.07]
    assert 0 < len(faulted) < 60
    assert use.faults == len(faulted)
    assert use.faults_by_rule == {"finite": len(faulted)}
    assert all(episode.metrics["way"] == pytest.approx(1.1) for episode in faulted)
    # standing still until the clock ends it is a failure, whatever the reason; braking over the goal is a success
    assert sum(episode.reason == "time_out" for episode in faulted) > 0.8 * len(faulted)
    assert use.safe_ticks > 30 * len(faulted)


def test_without_a_guard_a_policy_that_gives_nan_is_an_error(task):
    with pytest.raises(BedplateError, match="nan"):
        run_worlds(task, BatchPolicy(_broken_beyond_one_metre), Worlds(5), None)


def test_an_outcome_says_what_happened(task, full_speed, ending_at_full_speed):
    rollout = run_worlds(task, full_speed, Worlds(200), GuardSettings())
    outcome = outcome_of(rollout, task)
    reasons = Counter(episode.reason for episode in rollout.episodes)
    assert outcome.success.count == reasons["success"]
    assert outcome.collisions.count == reasons["collision"]
    assert outcome.time_outs.count == reasons["time_out"]
    assert sum(rate.count for rate in outcome.by_reason.values()) == 200
    lengths = [episode.length * 0.1 for episode in rollout.episodes]
    assert outcome.length_s is not None
    assert outcome.length_s.median == pytest.approx(np.median(lengths))
    figures = figures_of(outcome)
    ways = [episode.metrics["way"] for episode in rollout.episodes if episode.success]
    assert figures["way"] == pytest.approx(np.median(ways))
    assert figures["success"] == reasons["success"] / 200


def test_every_termination_that_is_a_collision_counts_as_one(task, full_speed):
    # a wall at 4 m, under another name than "collision"
    wall = Termination("wall", lambda state: state.qpos[:, 0] > 4.0, collision=True)
    walled = dataclasses.replace(task, terminations=(*task.terminations, wall))
    outcome = outcome_of(run_worlds(walled, full_speed, Worlds(100), None), walled)
    assert outcome.collision_reasons == ("collision", "wall")
    hits = {name: outcome.by_reason[name].count for name in outcome.collision_reasons}
    assert min(hits.values()) > 0
    assert outcome.collisions.count == sum(hits.values())
    assert figures_of(outcome)["collisions"] == outcome.collisions.rate


def test_a_termination_that_is_not_a_collision_does_not_count_as_one(task, full_speed):
    wall = Termination("wall", lambda state: state.qpos[:, 0] > 4.0)
    walled = dataclasses.replace(task, terminations=(*task.terminations, wall))
    outcome = outcome_of(run_worlds(walled, full_speed, Worlds(100), None), walled)
    assert outcome.by_reason["wall"].count > 0
    assert outcome.collisions.count == outcome.by_reason["collision"].count


def test_episode_arrays_hold_one_row_per_episode_and_no_pickles(task, full_speed, tmp_path):
    rollout = run_worlds(task, full_speed, Worlds(12), None)
    path = tmp_path / "episodes.npz"
    path.write_bytes(npz_bytes(episode_arrays(rollout.episodes)))
    with np.load(path, allow_pickle=False) as arrays:
        assert {len(values) for values in arrays.values()} == {12}
        assert arrays["reason"].tolist() == [episode.reason for episode in rollout.episodes]
        assert arrays["metric.way"].tolist() == [episode.metrics["way"] for episode in rollout.episodes]
        assert "reward.speed" in arrays
