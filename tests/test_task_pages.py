"""The pages of the tasks give the tasks' own names and numbers."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path

import pytest

from bedplate.tasks import TASKS
from bedplate.tasks.spec import Task

PAGES = Path(__file__).parents[1] / "docs" / "tasks"
GYMNASIUM = [name for name, target in TASKS.table.items() if ".gymnasium_v5." in target]
OWN_PAGE = [name for name in TASKS.table if name not in GYMNASIUM]


def page(name: str) -> str:
    path = PAGES / f"{name}.md"
    assert path.exists(), f"begin with: python scripts/task_page.py {name} > docs/tasks/{name}.md"
    return path.read_text(encoding="utf-8")


def rows(text: str, name: str) -> list[str]:
    """Table rows whose first cell names `name`."""
    return [line for line in text.splitlines() if line.startswith("| `") and f"`{name}`" in line.split(" | ")[0]]


def missing(text: str, task: Task, parameters: list[str]) -> list[str]:
    """What a page does not say about its task."""
    sizes = f"{task.obs_dim} observations, {task.act_dim} actions, "
    times = f"{1 / task.control_dt_s:g} Hz, {task.episode_length_s:g} s per episode"
    found = [] if sizes + times in re.sub(r"\s+", " ", text) else [sizes + times]
    found += [name for name in [*parameters, *(s.name for s in task.signals)] if not rows(text, name)]
    found += [f"`{name}`" for name in [*task.metrics, *(t.name for t in task.terminations)] if f"`{name}`" not in text]
    # each signal's age and noise
    for signal in task.signals:
        for row in rows(text, signal.name):
            found += [f"{signal.name}: {signal.max_age_s:g} s"] * (f"{signal.max_age_s:g} s" not in row)
            found += [f"{signal.name}: noise {signal.noise_std:g}"] * (
                bool(signal.noise_std) and f"{signal.noise_std:g}" not in row
            )
    return found


@pytest.mark.parametrize("name", OWN_PAGE)
def test_a_page_names_signals_parameters_and_numbers_of_its_task(name: str) -> None:
    factory = TASKS.load(name)
    assert missing(page(name), factory(), list(inspect.signature(factory).parameters)) == []


def test_a_page_with_another_number_is_found() -> None:
    factory = TASKS.load("nav_lidar")
    text = page("nav_lidar").replace("136 observations", "103 observations").replace("`num_rays`", "`rays`")
    found = missing(text, factory(), list(inspect.signature(factory).parameters))
    assert len(found) == 2 and "num_rays" in found


@pytest.mark.parametrize("name", OWN_PAGE)
def test_a_page_that_is_generated_lacks_nothing(name: str) -> None:
    factory = TASKS.load(name)
    page_of = runpy.run_path(str(PAGES.parents[1] / "scripts" / "task_page.py"))["page"]
    assert missing(page_of(name), factory(), list(inspect.signature(factory).parameters)) == []


def test_a_task_without_a_page_is_told_how_to_begin_one() -> None:
    with pytest.raises(AssertionError, match=r"scripts/task_page.py rail > docs/tasks/rail\.md"):
        page("rail")


@pytest.mark.parametrize("name", GYMNASIUM)
def test_the_gymnasium_tasks_are_listed_with_their_numbers(name: str) -> None:
    task = TASKS.load(name)()
    (row,) = rows(page("gymnasium_v5"), name)
    assert f"| {task.obs_dim}, {task.act_dim} | {1 / task.control_dt_s:g} Hz |" in row


def test_every_command_channel_is_named() -> None:
    for name in ("nav_lidar", "quad_avoid"):
        text = page(name)
        for limit in TASKS.load(name)().limits.channels:
            (row,) = rows(text, limit.channel)
            assert all(f"{number:g}" in row for number in (limit.low, limit.high, limit.rate_per_s)), row
