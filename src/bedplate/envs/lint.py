"""Plays a task with simple policies and asks every task check: the entry point of the task lint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor

from bedplate.core.check import Finding, run_checks
from bedplate.envs.probe import probe_task
from bedplate.envs.vec_env import Episode, TaskVecEnv
from bedplate.tasks.lint import CHECKS, AtBounds, Play
from bedplate.tasks.spec import Memory, Signals, Task

FREE_M = 10.0
VELOCITY_BOUND = 100.0

Solution = Callable[[Signals, Memory], Tensor]
"""A policy known to solve the task: (signals, memory) -> (num_envs, act_dim) in [-1, 1]."""


def lint_task(task: Task, worlds: int = 24, seed: int = 0, solution: Solution | None = None) -> list[Finding]:
    """Prove what can be proven about `task`, with one episode of each simple policy in each of `worlds` worlds.

    Args:
        task: any task; its classical controller plays too, if it has one.
        worlds: worlds per policy.
        seed: of the worlds and of the random policies.
        solution: a policy that is known to reach the goal; with neither, reachability may stay untold.

    Raises:
        BedplateError: the task cannot become a bundle, or a feature or reward is not finite in play; names the part.
    """
    probe_task(task)
    return run_checks(CHECKS, collect(task, worlds, seed, solution))


def collect(task: Task, worlds: int, seed: int, solution: Solution | None = None) -> dict[str, Any]:
    """The facts that the task checks read, by their names in `Check.needs`."""
    policies = _policies(task, worlds, np.random.default_rng(seed), solution)
    env = TaskVecEnv(task, worlds * len(policies), seed=seed)
    rows = {name: slice(i * worlds, (i + 1) * worlds) for i, name in enumerate(policies)}
    action = torch.zeros(env.num_envs, task.act_dim)
    first: dict[int, Episode] = {}
    largest = torch.zeros(env.num_envs)
    random_obs = [env.reset()[rows["random"]]]

    # all policies side by side, until every world has finished its first episode
    for step_index in range(task.episode_steps):
        for name, policy in policies.items():
            action[rows[name]] = policy(step_index, env, rows[name])
        step = env.step(action)
        largest = torch.maximum(largest, step.reward.abs())
        random_obs.append(step.obs[rows["random"]])
        for episode in step.episodes:
            first.setdefault(episode.env_id, episode)
        if len(first) == env.num_envs:
            break

    plays = {}
    for name, span in rows.items():
        episodes = [first[i] for i in range(span.start, span.stop)]
        plays[name] = Play(
            policy=name,
            returns=np.array([episode.ret for episode in episodes]),
            term_sums={term.name: np.array([e.reward_terms[term.name] for e in episodes]) for term in task.rewards},
            lengths=np.array([episode.length for episode in episodes]),
            successes=sum(episode.success for episode in episodes),
            largest_reward=float(largest[span].max()),
        )
    facts = {
        "task": task,
        "plays": plays,
        "feature_variance": torch.cat(random_obs).double().var(dim=0).numpy(),
        "signals": {name: value.clone() for name, value in env.signals.items()},
        "memory": {name: value.clone() for name, value in env.memory.items()},
        "at_bounds": _at_bounds(env, np.random.default_rng(seed)),
    }
    env.close()
    return facts


Policy = Callable[[int, TaskVecEnv, slice], Tensor]


def _policies(task: Task, worlds: int, rng: np.random.Generator, solution: Solution | None) -> dict[str, Policy]:
    shape = (worlds, task.act_dim)
    standing = _standing(task).expand(shape)
    constant = torch.from_numpy(rng.uniform(-1, 1, shape)).float()
    phase = torch.from_numpy(rng.uniform(0, 2 * np.pi, shape)).float()
    # from a fast shake to a slow swing: 0.2 to 2 s
    rate_rad = torch.from_numpy(2 * np.pi * task.control_dt_s / rng.uniform(0.2, 2.0, (worlds, 1))).float()
    policies: dict[str, Policy] = {
        "standing": lambda step, env, rows: standing,
        "oscillating": lambda step, env, rows: torch.sin(step * rate_rad + phase),
        "circling": lambda step, env, rows: constant,
        "random": lambda step, env, rows: torch.from_numpy(rng.uniform(-1, 1, shape)).float(),
    }
    if task.baseline is not None:
        policies["baseline"] = _seeing(_classical(task))
    if solution is not None:
        policies["solution"] = _seeing(solution)
    return policies


def _seeing(solution: Solution) -> Policy:
    def policy(step: int, env: TaskVecEnv, rows: slice) -> Tensor:
        signals = {name: value[rows] for name, value in env.signals.items()}
        return solution(signals, {name: value[rows] for name, value in env.memory.items()})

    return policy


def _classical(task: Task) -> Solution:
    """The task's classical controller, which gives physical commands, as a policy."""
    baseline = task.baseline
    assert baseline is not None, "a task without a classical controller"
    return lambda signals, memory: task.action.to_action(baseline(signals), signals, memory)


def _standing(task: Task) -> Tensor:
    """(act_dim,) policy output that keeps the robot still: its safe action, or no change for a delta."""
    action = task.action
    if action.relative_to:
        return torch.zeros(task.act_dim)
    low, high, safe = (torch.tensor(values) for values in (action.low, action.high, task.limits.safe_action.value))
    return (2 * (safe - low) / (high - low) - 1).clamp(-1.0, 1.0)


def _at_bounds(env: TaskVecEnv, rng: np.random.Generator) -> AtBounds:
    """Evaluate every term with joints and velocities at random corners of their bounds."""
    task, state, model = env.task, env.state, env.engine.model
    count = env.num_envs
    env.reset()
    low, high = np.full(model.nq, -FREE_M), np.full(model.nq, FREE_M)
    quaternions = []
    for joint in range(model.njnt):
        start, kind = model.jnt_qposadr[joint], model.jnt_type[joint]
        if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
            quaternions.append(start + (3 if kind == mujoco.mjtJoint.mjJNT_FREE else 0))
        elif model.jnt_limited[joint]:
            low[start], high[start] = model.jnt_range[joint]
    qpos = np.where(rng.random((count, model.nq)) < 0.5, low, high)
    for start in quaternions:
        quat = rng.normal(size=(count, 4))
        qpos[:, start : start + 4] = quat / np.linalg.norm(quat, axis=1, keepdims=True)
    state.qpos.numpy()[:] = qpos
    state.qvel.numpy()[:] = rng.choice([-VELOCITY_BOUND, 0.0, VELOCITY_BOUND], (count, model.nv))
    env.engine.forward(np.arange(count))
    state.step_count += 1
    if task.update is not None:
        task.update(state)

    # every function that reads the state, by kind and name
    values = [("reward", term.name, term.func(state)) for term in task.rewards]
    values += [("termination", term.name, term.func(state)) for term in task.terminations]
    values += [("metric", name, func(state)) for name, func in task.metrics.items()]
    signals = {signal.name: signal.read(state).float() for signal in task.signals}
    values += [("signal", name, value) for name, value in signals.items()]
    values += [("feature", feature.name, feature.func(signals, env.memory)) for feature in task.features]
    broken = tuple((kind, name) for kind, name, value in values if not torch.isfinite(value.double()).all())
    return AtBounds(count, broken)
