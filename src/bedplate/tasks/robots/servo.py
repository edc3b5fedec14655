"""Joint velocity servos in the model, and the limits that a file's own actuators tell."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

# bandwidth of an added servo, its damping ratio, and the smallest joint inertia it is laid out for
BANDWIDTH_RAD_S, DAMPING_RATIO, LEAST_INERTIA = 45.0, 1.0, 0.02
POSTURES = 64


def known_limits(spec: mujoco.MjSpec, joints: tuple[str, ...]) -> tuple[dict[str, float], dict[str, float]]:
    """Velocity and effort limits that the actuators and joints of a file tell: joint name -> limit."""
    velocity: dict[str, float] = {}
    effort: dict[str, float] = {}
    for joint in spec.joints:
        if joint.name in joints and joint.actfrcrange[1] > 0:
            effort[joint.name] = float(joint.actfrcrange[1])
    for actuator in spec.actuators:
        if actuator.trntype != mujoco.mjtTrn.mjTRN_JOINT or actuator.target not in joints:
            continue
        gear = abs(actuator.gear[0]) or 1.0
        if actuator.forcerange[1] > 0:
            effort[actuator.target] = float(actuator.forcerange[1]) * gear
        elif is_motor(actuator) and actuator.ctrlrange[1] > 0:
            effort[actuator.target] = float(actuator.ctrlrange[1]) * gear * actuator.gainprm[0]
        if is_velocity_servo(actuator) and actuator.ctrlrange[1] > 0:
            velocity[actuator.target] = float(actuator.ctrlrange[1]) / gear
    return velocity, effort


def is_motor(actuator: mujoco.MjsActuator) -> bool:
    """Whether the control is a torque."""
    return bool(actuator.biastype == mujoco.mjtBias.mjBIAS_NONE and actuator.dyntype == mujoco.mjtDyn.mjDYN_NONE)


def is_velocity_servo(actuator: mujoco.MjsActuator) -> bool:
    """Whether the control is a velocity: an integrated position, or a pure velocity feedback."""
    if actuator.dyntype == mujoco.mjtDyn.mjDYN_INTEGRATOR:
        return True
    return bool(actuator.biastype == mujoco.mjtBias.mjBIAS_AFFINE and not actuator.biasprm[1] and actuator.biasprm[2])


def add_servos(
    spec: mujoco.MjSpec,
    joints: tuple[str, ...],
    low: np.ndarray,
    high: np.ndarray,
    velocity: Sequence[float],
    effort: Sequence[float],
) -> bool:
    """Give every joint an integrated-velocity servo, in joint order; returns whether the file's own were replaced.

    The commanded velocity is integrated to a position that a PD servo holds. Gains follow from the largest diagonal
    inertia over random postures: kp = M w^2, kv = 2 z M w.
    """
    servos = [a for a in spec.actuators if a.dyntype == mujoco.mjtDyn.mjDYN_INTEGRATOR]
    if [a.target for a in servos] == list(joints) and len(spec.actuators) == len(joints):
        for actuator, speed, torque in zip(servos, velocity, effort, strict=True):
            actuator.ctrlrange, actuator.forcerange = [-speed, speed], [-torque, torque]
        return False
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    inertia = _largest_inertia(spec, low, high)
    for k, name in enumerate(joints):
        kp = inertia[k] * BANDWIDTH_RAD_S**2
        servo = spec.add_actuator(name=f"servo_{name}", target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_intvelocity(kp=kp, kv=2 * DAMPING_RATIO * inertia[k] * BANDWIDTH_RAD_S)
        servo.actlimited, servo.actrange = True, [low[k], high[k]]
        servo.ctrllimited, servo.ctrlrange = True, [-velocity[k], velocity[k]]
        servo.forcelimited, servo.forcerange = True, [-effort[k], effort[k]]
    return True


def _largest_inertia(spec: mujoco.MjSpec, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    model = spec.copy().compile()
    data = mujoco.MjData(model)
    full = np.zeros((model.nv, model.nv))
    largest = np.full(model.nv, LEAST_INERTIA)
    rng = np.random.default_rng(0)
    for _ in range(POSTURES):
        data.qpos[:] = rng.uniform(low, high)
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fullM(model, data, full)
        largest = np.maximum(largest, full.diagonal())
    return largest
