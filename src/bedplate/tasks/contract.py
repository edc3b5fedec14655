"""The contract of a task: what robot and policy must agree on, computed from the task alone.

The robot side and the exporter both call this, so that a bundle fits a robot exactly when their tasks are equal.
"""

from __future__ import annotations

import math
from typing import get_args

from bedplate.bundle.contract import Contract, MemoryContract, SignalContract
from bedplate.core.errors import BedplateError, UnknownName
from bedplate.core.limits import ActionKind
from bedplate.tasks.spec import Signal, Task


def contract_of(task: Task) -> Contract:
    """The contract that `task` implies.

    Raises:
        UnknownName: the action is of a kind that the guard does not know.
        BedplateError: the task is not consistent, or a signal's bounds or max age are not usable by a guard.
    """
    task.validate()
    # a mistyped "position" would be guarded like an effort
    if task.action.kind not in get_args(ActionKind):
        raise UnknownName(f"kind of action in task {task.id!r}:", task.action.kind, get_args(ActionKind))
    return Contract(
        task=task.id,
        control_dt_s=task.control_dt_s,
        signals=tuple(_signal_contract(task, signal) for signal in task.signals),
        memory=tuple(
            MemoryContract(name=term.name, size=term.size, initial=term.initial, initial_signal=term.initial_signal)
            for term in task.memory
        ),
        action_kind=task.action.kind,
        limits=task.limits,
    )


def _signal_contract(task: Task, signal: Signal) -> SignalContract:
    # a bound that is NaN or infinite would switch the guard's range rule off
    if not (math.isfinite(signal.low) and math.isfinite(signal.high) and signal.low < signal.high):
        raise BedplateError(
            f"task {task.id!r}: signal {signal.name!r} has the bounds [{signal.low}, {signal.high}]",
            "two finite numbers, low < high",
        )
    if not (math.isfinite(signal.max_age_s) and signal.max_age_s > 0):
        raise BedplateError(
            f"task {task.id!r}: signal {signal.name!r} has max_age_s {signal.max_age_s}", "a finite time above zero"
        )
    return SignalContract(
        name=signal.name,
        components=signal.components,
        unit=signal.unit,
        frame=signal.frame,
        low=signal.low,
        high=signal.high,
        max_age_s=signal.max_age_s,
        rate_hz=signal.rate_hz or 1.0 / task.control_dt_s,
    )
