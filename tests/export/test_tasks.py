"""For every task: signals recorded in training, replayed through the runtime, give the same commands."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bedplate.bundle.bundle import POLICY_BPW, read_bundle
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.export.export import export
from bedplate.export.golden import Reference
from bedplate.learn.normalizer import Normalizer
from bedplate.runtime.native.library import available
from bedplate.runtime.native.policy import NativePolicy
from bedplate.runtime.policy import OnnxPolicy
from bedplate.runtime.verification import PARITY_LIMIT
from bedplate.tasks import TASKS

NUM_ENVS = 4
NUM_STEPS = 120


def statistics(task):
    """A normaliser that has seen what the task's first rollouts look like, as in training."""
    normalizer = Normalizer(task.obs_dim)
    env = TaskVecEnv(task, 32, seed=1)
    generator = torch.Generator().manual_seed(0)
    normalizer.update(env.reset())
    for _ in range(30):
        step = env.step(torch.randn(32, task.act_dim, generator=generator))
        normalizer.update(step.obs)
    env.close()
    return normalizer


@pytest.mark.parametrize("name", sorted(TASKS.table))
def test_recorded_signals_give_the_same_commands(name, models, tmp_path):
    task = TASKS.load(name)()
    normalizer = statistics(task)
    model = models(task)
    exported = export(tmp_path / "bundle", task, model, normalizer)
    assert exported.parity.max_error <= PARITY_LIMIT
    assert exported.native == "", "every task that is shipped runs on the native core"

    # what training does: features, normaliser, model.predict, command; the runtime sees the signals alone
    reference = Reference(task, model, normalizer)
    bundle = read_bundle(tmp_path / "bundle")
    policies = [[OnnxPolicy(bundle)] for _ in range(NUM_ENVS)]
    for runtimes in policies if not available() else ():
        runtimes.append(NativePolicy(bundle.files[POLICY_BPW], bundle.contract))
    half_range = np.array([(limit.high - limit.low) / 2 for limit in task.limits.channels])
    seen = []
    env = TaskVecEnv(task, NUM_ENVS, seed=2, split="train")
    env.command_filter = lambda command: seen.append(command.clone()) or command
    env.reset()
    for _ in range(NUM_STEPS):
        signals = {key: value.clone() for key, value in env.signals.items()}
        action = reference.action(signals, env.memory)
        expected = task.action.to_command(action, signals, env.memory, task.limits).numpy()
        for env_id, runtimes in enumerate(policies):
            given = {key: value[env_id].numpy() for key, value in signals.items()}
            for policy in runtimes:
                error = np.abs(policy.act(given, env.sent[env_id].numpy()) - expected[env_id]) / half_range
                assert error.max() <= PARITY_LIMIT, (name, env_id, type(policy).__name__, error)
        step = env.step(action)
        # a new episode: the policy on the robot starts anew too
        for env_id in step.done_ids:
            for policy in policies[env_id]:
                policy.reset()
    env.close()
    assert len(seen) == NUM_STEPS
    assert np.ptp(torch.stack(seen).numpy(), axis=(0, 1)).max() > 0
