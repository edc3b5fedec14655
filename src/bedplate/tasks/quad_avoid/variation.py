"""What differs from flight to flight: motors, drag, wind, and the state a flight starts in."""

from __future__ import annotations

import numpy as np
import torch

from bedplate.tasks.spec import Event
from bedplate.tasks.state import State

# actuators in quad.xml: thrust, three rate loops, three drag elements
MOTORS = slice(0, 4)
DRAG = slice(4, 7)


def motor_gain(low: float, high: float) -> Event:
    """Scale the thrust per command and the rate loops' gain and torque limit, each by its own factor."""
    return _scale_actuators("motor_gain", MOTORS, low, high)


def drag(low: float, high: float) -> Event:
    """Scale the drag of the three axes, each by its own factor."""
    return _scale_actuators("drag", DRAG, low, high)


def rotor_lag(low: float, high: float) -> Event:
    """Scale the time constant of the rotors by one factor per flight."""

    def func(state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
        factor = torch.from_numpy(rng.uniform(low, high, (len(ids), 1)))
        nominal = torch.as_tensor(state.engine.model.actuator_dynprm)[MOTORS, 0]
        state.engine.expand("actuator_dynprm")[torch.from_numpy(ids), MOTORS, 0] = nominal * factor

    return Event("rotor_lag", func, ranges={"factor": (low, high)})


def gusts(speed_m_s: float, vertical_m_s: float, interval_s: tuple[float, float]) -> Event:
    """Draw a new wind, in the world frame, at intervals."""

    def func(state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
        scale = np.array([speed_m_s, speed_m_s, vertical_m_s])
        state.world["wind"][torch.from_numpy(ids)] = torch.from_numpy(rng.uniform(-1.0, 1.0, (len(ids), 3)) * scale)

    ranges = {"horizontal_m_s": (-speed_m_s, speed_m_s), "vertical_m_s": (-vertical_m_s, vertical_m_s)}
    return Event("gusts", func, mode="interval", interval_s=interval_s, ranges=ranges)


def initial_motion(tilt_rad: float, speed_m_s: float, rate_rad_s: float) -> Event:
    """Start tilted and moving instead of in a clean hover."""

    def func(state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
        count = len(ids)
        qpos, qvel = state.qpos.numpy(), state.qvel.numpy()
        # a small rotation about a level body axis, multiplied onto the start heading (cos, 0, 0, sin)
        half = rng.uniform(0.0, tilt_rad, count) / 2
        axis = rng.uniform(-np.pi, np.pi, count)
        c, x, y = np.cos(half), np.sin(half) * np.cos(axis), np.sin(half) * np.sin(axis)
        w, z = qpos[ids, 3].copy(), qpos[ids, 6].copy()
        qpos[ids, 3:7] = np.stack([w * c, w * x - z * y, w * y + z * x, z * c], axis=1)
        qvel[ids, :3] = rng.uniform(-speed_m_s, speed_m_s, (count, 3))
        qvel[ids, 3:6] = rng.uniform(-rate_rad_s, rate_rad_s, (count, 3))

    ranges = {
        "tilt_rad": (0.0, tilt_rad),
        "speed_m_s": (-speed_m_s, speed_m_s),
        "rate_rad_s": (-rate_rad_s, rate_rad_s),
    }
    return Event("initial_motion", func, ranges=ranges)


def _scale_actuators(name: str, which: slice, low: float, high: float) -> Event:
    def func(state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
        model = state.engine.model
        rows = torch.from_numpy(ids)
        factor = torch.from_numpy(rng.uniform(low, high, (len(ids), which.stop - which.start, 1)))
        # gain and feedback alike; of a dcmotor the motor constant over resistance stays, gain and limit scale
        for field in ("actuator_gainprm", "actuator_biasprm"):
            state.engine.expand(field)[rows, which] = torch.as_tensor(getattr(model, field))[which] * factor

    return Event(name, func, ranges={"factor": (low, high)})
