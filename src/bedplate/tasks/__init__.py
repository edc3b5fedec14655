"""Robot jobs as data. Names resolve through TASKS; a member is a factory that returns a Task."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError, validate_call

from bedplate.core.errors import BedplateError, UnknownName
from bedplate.core.registry import Registry, raised_at
from bedplate.core.settings import expectation

if TYPE_CHECKING:
    from bedplate.tasks.spec import Task

TASKS = Registry(
    "task",
    {
        "nav_lidar": "bedplate.tasks.nav_lidar:nav_lidar",
        "arm_reach": "bedplate.tasks.arm_reach:arm_reach",
        "quad_avoid": "bedplate.tasks.quad_avoid:quad_avoid",
        "half_cheetah": "bedplate.tasks.gymnasium_v5.half_cheetah:half_cheetah",
        "ant": "bedplate.tasks.gymnasium_v5.ant:ant",
        "hopper": "bedplate.tasks.gymnasium_v5.hopper:hopper",
        "walker2d": "bedplate.tasks.gymnasium_v5.walker2d:walker2d",
        "reacher": "bedplate.tasks.gymnasium_v5.reacher:reacher",
        "pusher": "bedplate.tasks.gymnasium_v5.pusher:pusher",
    },
    entry_points="bedplate.tasks",
)


def make_task(name: str, params: Mapping[str, Any]) -> Task:
    """Build the task called `name` with its factory's keyword arguments.

    Raises:
        UnknownName: no such task, or the factory has no such parameter; names the nearest one.
        BedplateError: a parameter has the wrong type or a value that the factory refuses.
    """
    from bedplate.tasks.spec import Task

    factory = TASKS.load(name)
    known = _parameters(name, factory)
    for key in params:
        if key not in known:
            raise UnknownName(f"parameter of task {name}", key, known)
    try:
        task = validate_call(factory)(**params)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"].startswith("missing"):
            raise BedplateError(f"task {name} has no {key}", f"a value for {key}", f"--set task.{key}=VALUE") from error
        raise BedplateError(
            f"task.{key} of task {name} is {first.get('input')!r}", expectation(first["msg"])
        ) from error
    except BedplateError:
        raise
    except Exception as error:
        # our own factories work; a site's factory that raises is the site's to mend, and the line says where
        if str(factory.__module__).startswith("bedplate."):
            raise
        raise BedplateError(
            f"the factory of task {name} raised {type(error).__name__}: {error}", "a Task", raised_at(error)
        ) from error
    if not isinstance(task, Task):
        raise BedplateError(f"{name!r} returned a {type(task).__name__}", "a factory that returns a bedplate Task")
    return task


def _parameters(name: str, factory: Any) -> Mapping[str, inspect.Parameter]:
    """Parameters of a factory by name.

    Raises:
        BedplateError: the object at that name cannot be called, or does not tell its parameters.
    """
    advice = "name the function: package.module:function"
    if not callable(factory):
        raise BedplateError(f"task {name!r} is a {type(factory).__name__}", "a function that returns a Task", advice)
    try:
        return inspect.signature(factory).parameters
    except ValueError as error:
        raise BedplateError(f"task {name!r}: {error}", "a function that returns a Task", advice) from error
