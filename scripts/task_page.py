"""Print the first version of a task's page, with the names and numbers that its tests look for.

Usage: python scripts/task_page.py NAME > docs/tasks/NAME.md

What nobody can read off the task is left to its author: worlds, success, rewards and the meaning of parameters.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator

from bedplate.tasks import TASKS
from bedplate.tasks.spec import Task


def page(name: str) -> str:
    """The page of the task called `name`."""
    factory = TASKS.load(name)
    return "\n".join([*head(name, factory()), *parameters(factory), *closing(name)])


def head(name: str, task: Task) -> Iterator[str]:
    """Sizes, signals, command, and how episodes end."""
    yield f"# {name}\n"
    yield f"{task.description}. {task.obs_dim} observations, {task.act_dim} actions,"
    yield f"{1 / task.control_dt_s:g} Hz, {task.episode_length_s:g} s per episode.\n"
    yield "| signal | components | unit, frame | bounds | max age | noise |\n|---|---|---|---|---|---|"
    for s in task.signals:
        noise = f"{s.noise_std:g}" if s.noise_std else "-"
        names = ", ".join(s.components)
        yield f"| `{s.name}` | {names} | {s.unit}, {s.frame} | {s.low} to {s.high} | {s.max_age_s:g} s | {noise} |"
    yield "\n| command | bounds | rate | safe action |\n|---|---|---|---|"
    for c in task.limits.channels:
        rate = f"{c.rate_per_s:g} {c.unit} per s"
        yield f"| `{c.channel}` | {c.low:g} to {c.high:g} {c.unit} | {rate} | {task.limits.safe_action.mode} |"
    yield "\n**Worlds.** " + "; ".join(f"{key}: {value}" for key, value in task.difficulty.items()) + "."
    ends = ", ".join(f"`{termination.name}`" for termination in task.terminations)
    yield f"\n**Success** ... Episodes end as {ends or 'nothing'}, or by time, which is a failure."
    yield "Metrics: " + (", ".join(f"`{metric}`" for metric in task.metrics) or "none") + "."
    yield "\n**Rewards**: " + ", ".join(f"{term.name} {term.weight:g}" for term in task.rewards) + ".\n"


def parameters(factory: object) -> Iterator[str]:
    """A table of the factory's arguments."""
    found = inspect.signature(factory).parameters if callable(factory) else {}
    if found:
        yield "| parameter | default | meaning |\n|---|---|---|"
    for parameter in found.values():
        default = list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default
        yield f"| `{parameter.name}` | {default} | ... |"


def closing(name: str) -> Iterator[str]:
    """The command that trains it."""
    yield f"\n```sh\nbedplate train {name} --name {name}\n```"


if __name__ == "__main__":
    print(page(sys.argv[1]))
