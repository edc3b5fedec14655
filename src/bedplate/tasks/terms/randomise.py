"""Events that vary the physics from episode to episode: mass, friction, motor strength, pushes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bedplate.tasks.spec import Event
from bedplate.tasks.state import State


def scale_body_mass(body: str, low: float, high: float) -> Event:
    """Scale a body's mass and inertia by one factor per episode."""

    def func(state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
        body_id = state.engine.model.body(body).id
        factor = _draw(rng, low, high, len(ids))
        rows = torch.from_numpy(ids)
        for name in ("body_mass", "body_inertia"):
            nominal = getattr(state.engine.model, name)[body_id]
            values = state.engine.expand(name)
            values[rows, body_id] = torch.as_tensor(nominal) * factor.reshape(-1, *[1] * (values.dim() - 2))
        state.engine.set_const(ids)

    return Event(f"mass_{body}", func, ranges={"factor": (low, high)})


def scale_friction(geoms: tuple[str, ...], low: float, high: float) -> Event:
    """Scale the sliding friction of some geoms by one common factor per episode.

    A contact takes the larger friction of its two geoms, or that of the geom with the higher priority: vary the geom
    that decides.
    """

    def func(state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
        model = state.engine.model
        geom_ids = [model.geom(name).id for name in geoms]
        nominal = torch.as_tensor(model.geom_friction[geom_ids, 0])
        factor = _draw(rng, low, high, len(ids))
        friction = state.engine.expand("geom_friction")
        for geom_id, value in zip(geom_ids, nominal, strict=True):
            friction[torch.from_numpy(ids), geom_id, 0] = value * factor

    return Event("friction", func, ranges={"factor": (low, high)})


def scale_servo_gain(low: float, high: float) -> Event:
    """Scale the gain of every actuator by one factor each per episode; feedback terms are scaled alike."""

    def func(state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
        model = state.engine.model
        factor = _draw(rng, low, high, len(ids) * model.nu).reshape(len(ids), model.nu, 1)
        rows = torch.from_numpy(ids)
        for name in ("actuator_gainprm", "actuator_biasprm"):
            state.engine.expand(name)[rows] = torch.as_tensor(getattr(model, name)) * factor

    return Event("servo_gain", func, ranges={"factor": (low, high)})


def _draw(rng: np.random.Generator, low: float, high: float, size: int) -> Tensor:
    return torch.from_numpy(rng.uniform(low, high, size))
