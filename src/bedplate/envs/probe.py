"""One control step of two worlds before anybody trains: each part of a task is called and its answer looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import torch
from torch import Tensor

from bedplate.core.errors import BedplateError
from bedplate.core.registry import raised_at
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.tasks.contract import contract_of
from bedplate.tasks.spec import Task

NUM_ENVS = 2


def probe_task(task: Task) -> None:
    """Prove that `task` has a contract, that it can be simulated, and that its parts give what they should.

    Raises:
        BedplateError: names the part that raises, or whose answer has another shape or type.
    """
    contract_of(task)
    spec = _call(task, "model", task.model)
    if not isinstance(spec, mujoco.MjSpec):
        raise BedplateError(f"task {task.id!r}: model gives a {type(spec).__name__}", "a function that gives an MjSpec")
    env = _call(task, "set-up", lambda: TaskVecEnv(task, NUM_ENVS, num_threads=1), task.model)
    try:
        _call(task, "reset", env.reset, task.model)
        for reward in task.rewards:
            _column(task, f"reward {reward.name!r}", reward.func, env)
        for termination in task.terminations:
            _mask(task, f"termination {termination.name!r}", termination.func, env)
        _mask(task, "success", task.success, env)
        for name, metric in task.metrics.items():
            _column(task, f"metric {name!r}", metric, env)
        # what is left: update, apply, interval events, a baseline
        _call(task, "a control step", lambda: env.step(torch.zeros(NUM_ENVS, task.act_dim)), task.model)
    finally:
        env.close()


def _call(task: Task, part: str, func: Callable[[], Any], owner: Callable[..., Any] | None = None) -> Any:
    """Call a part of a task; what raises in a site's own code is the site's to mend, and the line says where."""
    try:
        return func()
    except BedplateError:
        raise
    except Exception as error:
        if str(getattr(owner or func, "__module__", "")).startswith("bedplate."):
            raise
        raise BedplateError(
            f"task {task.id!r}: {part} raised {type(error).__name__}: {error}", "a task that runs", raised_at(error)
        ) from error


def _column(task: Task, part: str, func: Callable[..., Any], env: TaskVecEnv) -> Tensor:
    value = _call(task, part, lambda: func(env.state), func)
    shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
    if shape != (NUM_ENVS,):
        raise BedplateError(
            f"task {task.id!r}: {part} gives {shape} for {NUM_ENVS} worlds", "a tensor (num_envs,)", f"correct {part}"
        )
    assert isinstance(value, Tensor)
    return value


def _mask(task: Task, part: str, func: Callable[..., Any], env: TaskVecEnv) -> None:
    value = _column(task, part, func, env)
    if value.dtype != torch.bool:
        raise BedplateError(f"task {task.id!r}: {part} gives {value.dtype}", "a tensor of bool", f"correct {part}")
