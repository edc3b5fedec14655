"""The MuJoCo model of a task, compiled."""

from __future__ import annotations

import mujoco

from bedplate.core.errors import BedplateError
from bedplate.tasks.spec import Task


def compiled_model(task: Task) -> mujoco.MjModel:
    """The task's model with its time step.

    Raises:
        BedplateError: MuJoCo refuses the model; its words name the element.
    """
    spec = task.model()
    spec.option.timestep = task.sim_dt_s
    try:
        return spec.compile()
    except ValueError as error:
        text = " ".join(str(error).removeprefix("Error: ").split())
        raise BedplateError(
            f"the model of task {task.id} does not compile: {text}",
            "a model that MuJoCo compiles",
            "mend the model's XML, or the argument of the task that it is built from",
        ) from error
