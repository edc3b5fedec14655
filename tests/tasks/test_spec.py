"""A task whose parts don't fit together is refused, and the part is named."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from bedplate.core.errors import BedplateError
from bedplate.core.limits import Limits, SafeAction
from bedplate.tasks.nav_lidar import nav_lidar
from bedplate.tasks.spec import Feature, MemoryTerm, Task


def _twice(task: Task, name: str) -> Task:
    parts = getattr(task, name)
    return dataclasses.replace(task, **{name: (*parts, parts[0])})


def _action(task: Task, **changes: object) -> Task:
    return replace(task, action=replace(task.action, **changes))  # type: ignore[arg-type]


def _memory(task: Task, signal: str, size: int) -> Task:
    term = MemoryTerm("first", size, 0.0, lambda signals, memory, action, command: memory["first"], signal)
    return replace(task, memory=(*task.memory, term))


BROKEN: list[tuple[Callable[[Task], Task], str]] = [
    (lambda t: replace(t, limits=Limits(t.limits.channels[::-1], t.limits.safe_action)), "limits name the channels"),
    (
        lambda t: replace(t, limits=replace(t.limits, safe_action=SafeAction("hold", (0.0,)))),
        "safe_action has 1 values",
    ),
    *[
        (lambda t, n=n: _twice(t, n), "is named twice")
        for n in ("signals", "features", "rewards", "terminations", "events")
    ],
    (lambda t: replace(t, memory=(t.memory[0], t.memory[0])), "is named twice"),
    *[
        (lambda t, n=n: _action(t, **{n: getattr(t.action, n)[:1]}), f"action.{n} has 1 values")
        for n in ("low", "high", "unit")
    ],
    (lambda t: _memory(t, "absent", 1), "starts from signal 'absent'"),
    (lambda t: _memory(t, "scan", 1), "starts from signal 'scan'"),
    (lambda t: _action(t, relative_to="measured", signal="absent"), "relative to signal 'absent'"),
    (lambda t: _action(t, relative_to="measured", signal="scan"), "relative to signal 'scan'"),
    (lambda t: _action(t, relative_to="commanded"), "relative to the last command"),
    *[(lambda t, v=v: replace(t, sim_dt_s=v), "sim_dt_s is") for v in (0.0, -0.01, float("nan"), float("inf"))],
    (lambda t: replace(t, decimation=0), "decimation is 0"),
    *[
        (lambda t, v=v: replace(t, episode_length_s=v), "episode_length_s is")
        for v in (0.0, float("nan"), float("inf"))
    ],
    (lambda t: replace(t, signals=()), "has no signals"),
    (lambda t: replace(t, features=()), "has no features"),
]


@pytest.mark.parametrize(("change", "words"), BROKEN)
def test_parts_that_do_not_fit_are_refused_by_name(change: Callable[[Task], Task], words: str) -> None:
    task = nav_lidar()
    task.validate()
    with pytest.raises(BedplateError) as error:
        change(task).validate()
    assert words in error.value.found


def _measured(task: Task) -> dict[str, torch.Tensor]:
    return {signal.name: torch.zeros(3, signal.size) for signal in task.signals}


@pytest.mark.parametrize("kind", ["signal", "feature", "memory"])
def test_a_width_that_is_not_the_declared_one_is_refused(kind: str) -> None:
    task = nav_lidar()
    signals = _measured(task)
    task.check_widths(signals)
    if kind == "signal":
        signals["scan"] = torch.zeros(3, 5)
        words = "signal 'scan' gives (3, 5)"
    elif kind == "feature":
        flat = Feature("flat", 1, lambda signals, memory: signals["scan"][:, 0])
        task = replace(task, features=(flat,))
        words = "feature 'flat' gives (3,)"
    else:
        wide = MemoryTerm("wide", 2, 0.0, lambda signals, memory, action, command: signals["scan"])
        task = replace(task, memory=(*task.memory, wide))
        words = "memory 'wide' gives (3, 48)"
    with pytest.raises(BedplateError) as error:
        task.check_widths(signals)
    assert error.value.found.endswith(words)
