"""Gymnasium ids of our tasks: `nav_lidar` is `bedplate/NavLidar-v0`, `walker2d` is `bedplate/Walker2d-v0`.

Gymnasium has had no plugin mechanism since 1.0: an id exists once its package has been imported. Either of

    import bedplate.envs; gymnasium.make("bedplate/NavLidar-v0")
    gymnasium.make("bedplate.envs:bedplate/NavLidar-v0")

imports it. Task parameters are keyword arguments of make().
"""

from __future__ import annotations

import gymnasium

from bedplate.tasks import TASKS

NAMESPACE = "bedplate"


def register_all() -> None:
    """Register every task of the table, and of other packages' entry points; those already there are left alone."""
    for name in TASKS:
        env_id = gymnasium_id(name)
        if env_id not in gymnasium.registry:
            gymnasium.register(
                env_id,
                entry_point="bedplate.envs.gymnasium:make_env",
                vector_entry_point="bedplate.envs.gymnasium:make_vector_env",
                kwargs={"task_name": name},
            )


def gymnasium_id(task_name: str) -> str:
    """The Gymnasium id of a task: "bedplate/<Name>-v0"."""
    return f"{NAMESPACE}/{''.join(part.capitalize() for part in task_name.split('_'))}-v0"
