"""Controllers: physical commands become the policy outputs that give them; the runtime's policy equals the batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bedplate.bundle.contract import GuardSettings
from bedplate.evaluate.controllers import BaselinePolicy, BatchPolicy, PerWorldPolicies
from bedplate.evaluate.rollouts import Worlds, run_worlds
from bedplate.tasks.spec import Action


@pytest.mark.parametrize("relative_to", ["", "measured", "commanded"])
def test_to_action_is_to_command_backwards(task, relative_to):
    action = replace(task.action, low=(-0.3,), high=(0.7,), relative_to=relative_to, signal="x")
    assert isinstance(action, Action)
    moved = replace(task, action=action)
    wanted = torch.linspace(-1, 1, 21)[:, None]
    signals, memory = {"x": torch.full((21, 1), 0.1)}, {"commanded": torch.full((21, 1), -0.2)}
    command = action.to_command(wanted, signals, memory, task.limits)
    assert torch.allclose(moved.action.to_action(command, signals, memory), wanted, atol=1e-6)


def test_commands_beyond_the_range_become_its_ends(task):
    signals, memory = {"x": torch.zeros(2, 1)}, {}
    assert task.action.to_action(torch.tensor([[9.0], [-9.0]]), signals, memory).tolist() == [[1.0], [-1.0]]


def test_a_baseline_drives_at_its_own_speed(task):
    rollout = run_worlds(task, BaselinePolicy(task.baseline), Worlds(30), None)
    # half a metre per second for at most 5 s
    assert max(episode.metrics["way"] for episode in rollout.episodes) == pytest.approx(2.5, abs=1e-6)


class _Ramp:
    """A runtime policy with memory: faster by 0.1 m/s in every step of an episode."""

    def __init__(self):
        self.calls = 0

    def reset(self):
        self.calls = 0

    def act(self, signals, sent=None):
        assert signals["x"].shape == (1,)
        self.calls += 1
        return np.array([min(1.0, 0.1 * self.calls)])


def test_each_world_has_its_own_runtime_policy_that_forgets_between_episodes(task, monkeypatch):
    # the same twelve worlds, three after one another in each of four environments, and all at once
    lengths = []
    for num_envs in (4, 12):
        monkeypatch.setattr("bedplate.evaluate.rollouts.MAX_ENVS", num_envs)
        rollout = run_worlds(task, PerWorldPolicies(_Ramp), Worlds(12), GuardSettings())
        lengths.append([episode.length for episode in rollout.episodes])
    assert lengths[0] == lengths[1]


def test_a_batch_and_runtime_policies_of_the_same_law_agree(task):
    class Proportional:
        def reset(self):
            pass

        def act(self, signals, sent=None):
            return 1.0 - 0.1 * signals["x"].astype(np.float64)

    batch = run_worlds(task, BatchPolicy(lambda obs: 1.0 - 0.1 * obs), Worlds(40), GuardSettings())
    single = run_worlds(task, PerWorldPolicies(Proportional), Worlds(40), GuardSettings())
    assert [(e.reason, e.length) for e in batch.episodes] == [(e.reason, e.length) for e in single.episodes]
