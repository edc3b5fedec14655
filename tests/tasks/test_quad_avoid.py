"""The quadrotor's numbers and dynamics against their sources, and the difficulty of its worlds."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
import torch

from bedplate.core.errors import BedplateError
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.tasks.quad_avoid import flight, quad_avoid
from bedplate.tasks.quad_avoid.arena import ROBOT

# Foerster 2015, Bitcraze data sheets and firmware defaults; see robots/quad/quad.xml
ARM_M = 0.046 / math.sqrt(2)
THRUST_C2, THRUST_C1, THRUST_C0 = 2.130295e-11, 1.032633e-6, 5.48456e-4
TORQUE_M = 0.005964552
LAG_S = 1 / 15.4666
COUNTS = 65535
BODY_KG, DECKS = 0.028, ((0.0023, 0.035, 0.035, 0.010), (0.0016, 0.021, 0.028, 0.008))
BODY_INERTIA = (16.571710e-6, 16.655602e-6, 29.261652e-6)
RATE_KP, RATE_KD = (250, 250, 120), (2.5, 2.5, 0)
ROTOR_MAX_N = THRUST_C2 * COUNTS**2 + THRUST_C1 * COUNTS + THRUST_C0
MIXER = np.array(
    [
        [1, 1, 1, 1],
        [-ARM_M, -ARM_M, ARM_M, ARM_M],
        [-ARM_M, ARM_M, ARM_M, -ARM_M],
        [-TORQUE_M, TORQUE_M, -TORQUE_M, TORQUE_M],
    ]
)
"""Rotor thrusts in N, front right first and clockwise, to thrust in N and torques in N m."""


@pytest.fixture(scope="module")
def drone() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_path(str(ROBOT))


def _published() -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Mass in kg, inertia in kg m^2, and the rate loop's kp in N m s/rad and kd in N m s^2/rad."""
    mass = BODY_KG + sum(deck[0] for deck in DECKS)
    inertia = np.array(BODY_INERTIA)
    for deck_kg, x, y, z in DECKS:
        inertia += deck_kg * np.array([y * y / 12 + z * z, x * x / 12 + z * z, (x * x + y * y) / 12])
    # newtons per command count at hover, and torque per count in the firmware's mixer (half a count per rotor)
    slope = math.sqrt(THRUST_C1**2 + 4 * THRUST_C2 * (mass * 9.81 / 4 - THRUST_C0))
    torque = slope * np.array([4 * ARM_M / 2, 4 * ARM_M / 2, 4 * TORQUE_M]) * math.degrees(1)
    return mass, inertia, torque * RATE_KP, torque * RATE_KD


def test_model_equals_its_sources(drone: mujoco.MjModel) -> None:
    mass, inertia, kp, kd = _published()
    body = drone.body("quad")
    assert body.mass[0] == pytest.approx(mass, rel=1e-3) == pytest.approx(flight.MASS_KG, rel=1e-3)
    np.testing.assert_allclose(body.inertia, inertia, rtol=1e-3)
    # the derivative part, folded into gain and lag
    fold = 1 + kd / inertia
    loops = [drone.actuator(f"{axis}_rate") for axis in ("roll", "pitch", "yaw")]
    np.testing.assert_allclose([loop.gainprm[6] for loop in loops], kp / fold, rtol=1e-3)
    np.testing.assert_allclose([loop.dynprm[0] for loop in loops], LAG_S / fold, rtol=1e-3)
    assert drone.actuator("thrust").dynprm[0] == pytest.approx(LAG_S, rel=1e-3)
    # drag of four rotors at hover speed
    count = (-THRUST_C1 + math.sqrt(THRUST_C1**2 + 4 * THRUST_C2 * (mass * 9.81 / 4 - THRUST_C0))) / (2 * THRUST_C2)
    speed = 4 * (0.04076521 * count + 380.8359)
    drags = [drone.actuator(f"drag_{axis}").gainprm[0] for axis in "xyz"]
    np.testing.assert_allclose(drags, speed * np.array([9.1785e-7, 9.1785e-7, 10.311e-7]), rtol=2e-3)


def test_no_command_saturates_a_rotor(drone: mujoco.MjModel) -> None:
    thrust = drone.actuator("thrust").ctrlrange
    torque = np.array([drone.actuator(f"{axis}_rate").gainprm[7] for axis in ("roll", "pitch", "yaw")])
    corners = np.array(
        [[t, *(s * torque)] for t in thrust for s in np.array(np.meshgrid(*[[-1, 1]] * 3)).T.reshape(-1, 3)]
    )
    rotors = corners @ np.linalg.inv(MIXER).T
    assert rotors.min() >= -1e-9 and rotors.max() <= ROTOR_MAX_N
    # a fifth more torque would saturate, so the limits are no idle choice
    corners[:, 1:] *= 1.2
    assert (corners @ np.linalg.inv(MIXER).T).min() < 0


def _four_rotors(rate_ref: np.ndarray, thrust_n: float, steps: int, dt_s: float) -> np.ndarray:
    """Rates (steps, 3) of a drone with a firmware PD rate loop, a mixer and four lagged rotors, integrated by hand.

    Angular motion only, gyroscopic torque included; twenty small steps for each of the model's, so that this is the
    continuous truth and not a copy of the model's integrator.
    """
    _, inertia, kp, kd = _published()
    limit = np.array([0.001431, 0.001431, 1.909e-4])
    inverse = np.linalg.inv(MIXER)
    rotors = np.full(4, thrust_n / 4)
    rates, history = np.zeros(3), []
    fold = 1 + kd / inertia
    fine_s = dt_s / 20
    for _ in range(steps):
        for _ in range(20):
            torque = (MIXER @ rotors)[1:]
            # the limit is on the torque that the loop would settle at, error times gain over fold
            wanted = np.clip(kp * (rate_ref - rates), -limit * fold, limit * fold)
            # the derivative part sees the acceleration that the rotors cause
            demand = inverse @ np.array([thrust_n, *(wanted - kd * torque / inertia)])
            rates = rates + fine_s * (torque - np.cross(rates, inertia * rates)) / inertia
            rotors = rotors + fine_s * (demand - rotors) / LAG_S
        history.append(rates)
    return np.array(history)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("size_rad_s", [0.5, 3.0])
def test_rate_step_equals_four_rotors_by_hand(drone: mujoco.MjModel, axis: int, size_rad_s: float) -> None:
    data = mujoco.MjData(drone)
    dt_s, steps = drone.opt.timestep, 400
    reference = np.zeros(3)
    reference[axis] = size_rad_s
    data.ctrl[0] = data.act[0] = flight.HOVER_N
    data.ctrl[1:4] = reference
    rates = []
    for _ in range(steps):
        mujoco.mj_step(drone, data)
        rates.append(data.qvel[3:6].copy())
    rates = np.array(rates)
    by_hand = _four_rotors(reference, flight.HOVER_N, steps, dt_s)
    assert np.abs(rates - by_hand).max() < 0.04 * size_rad_s
    # steady state without error, rise to 90 % as fast as the firmware loop allows
    assert rates[-1] == pytest.approx(reference, abs=0.01 * size_rad_s)
    rise_s = dt_s * (1 + np.argmax(rates[:, axis] > 0.9 * size_rad_s))
    assert rise_s == pytest.approx(dt_s * (1 + np.argmax(by_hand[:, axis] > 0.9 * size_rad_s)), abs=2 * dt_s)
    assert rise_s < (0.08 if axis < 2 else 0.7)


def test_thrust_follows_its_lag_and_drag_follows_the_wind(drone: mujoco.MjModel) -> None:
    data = mujoco.MjData(drone)
    data.act[0] = flight.HOVER_N
    data.ctrl[0] = 0.4
    data.ctrl[4] = 2.0
    seconds = 0.1
    for _ in range(round(seconds / drone.opt.timestep)):
        mujoco.mj_step(drone, data)
    expected = 0.4 + (flight.HOVER_N - 0.4) * math.exp(-seconds / LAG_S)
    assert data.act[0] == pytest.approx(expected, rel=1e-3)
    # dv/dt = d (wind - v) / m
    expected = 2.0 * (1 - math.exp(-0.00751 / flight.MASS_KG * seconds))
    assert data.qvel[0] == pytest.approx(expected, rel=0.01)


def test_readings_are_in_the_frames_they_claim() -> None:
    env = TaskVecEnv(quad_avoid(), 3, randomisation=False)
    env.reset()
    rng = np.random.default_rng(0)
    quat = rng.normal(size=(3, 4))
    quat /= np.linalg.norm(quat, axis=1, keepdims=True)
    env.state.qpos.numpy()[:, 3:7] = quat
    env.state.qvel.numpy()[:] = rng.normal(size=(3, 6))
    env.engine.forward(np.arange(3))
    for i in range(3):
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, quat[i])
        rotation = rotation.reshape(3, 3)
        np.testing.assert_allclose(
            flight.velocity(env.state)[i], rotation.T @ env.state.qvel.numpy()[i, :3], atol=1e-12
        )
        np.testing.assert_allclose(flight.gravity(env.state)[i], rotation.T @ [0, 0, -1], atol=1e-12)
        # the goal keeps its length and its height, and lies ahead when the nose points at it
        offset = (env.state.world["goal"] - env.state.qpos[:, :3])[i].numpy()
        measured = flight.goal(env.state)[i].numpy()
        assert measured[2] == pytest.approx(offset[2])
        assert np.linalg.norm(measured) == pytest.approx(np.linalg.norm(offset))
        nose = rotation[:2, 0] / np.linalg.norm(rotation[:2, 0])
        assert measured[0] == pytest.approx(offset[:2] @ nose)
    # the feature that takes pitch and roll out again, from signals alone
    signals = {signal.name: signal.read(env.state).float() for signal in env.task.signals}
    for i, level in enumerate(flight.level_velocity(signals)):
        nose = flight.rotation(env.state)[i, :2, 0].numpy()
        nose = nose / np.linalg.norm(nose)
        east, north = env.state.qvel.numpy()[i, :2]
        np.testing.assert_allclose(
            level, [east * nose[0] + north * nose[1], north * nose[0] - east * nose[1]], atol=1e-3
        )
    env.close()


def test_fan_sees_pillars_and_walls_level_while_tilted() -> None:
    env = TaskVecEnv(quad_avoid(), 8, randomisation=False)
    env.reset()
    level = env.engine.rays["range"].clone()
    # tilt by 20 degrees about the nose: heading and position stay
    c, s = math.cos(math.radians(10)), math.sin(math.radians(10))
    w, z = env.state.qpos[:, 3].clone(), env.state.qpos[:, 6].clone()
    env.state.qpos[:, 3:7] = torch.stack([w * c, w * s, z * s, z * c], dim=1)
    env.engine.forward(np.arange(8))
    torch.testing.assert_close(env.engine.rays["range"], level)
    down = env.engine.rays["down"][:, 0] * math.cos(math.radians(20))
    torch.testing.assert_close(down, env.state.qpos[:, 2])
    # the shortest ray is never shorter than the true gap
    env.task.update(env.state)
    gap = env.state.world["gap"][:, 0] + flight.RADIUS_M
    assert (level.amin(dim=1) >= gap - 1e-6).all()
    env.close()


def test_zero_action_hovers() -> None:
    env = TaskVecEnv(quad_avoid(), 4, randomisation=False)
    env.reset()
    for _ in range(200):
        step = env.step(torch.zeros(4, 4))
        assert not step.terminated.any()
    assert (env.state.qvel.abs() < 0.02).all()
    assert env.task.limits.safe_action.value[0] == pytest.approx(flight.HOVER_N)
    env.close()


def test_worlds_depend_on_their_id_alone() -> None:
    one, many = TaskVecEnv(quad_avoid(), 1, seed=3), TaskVecEnv(quad_avoid(), 5, seed=3)
    one.reset(), many.reset()
    for state in (one.state, many.state):
        state.world_id[:] = 12345
    event = next(event for event in one.task.events if event.name == "world")
    event.func(one.state, np.arange(1), np.random.default_rng(0))
    event.func(many.state, np.arange(5), np.random.default_rng(1))
    for row in range(5):
        torch.testing.assert_close(many.state.mocap_pos[row], one.state.mocap_pos[0])
        torch.testing.assert_close(many.state.world["goal"][row], one.state.world["goal"][0])
        torch.testing.assert_close(many.state.qpos[row], one.state.qpos[0])
    one.close(), many.close()


def test_bad_parameters_are_refused_in_words() -> None:
    with pytest.raises(BedplateError, match="num_rays is 8"):
        quad_avoid(num_rays=8)
    with pytest.raises(BedplateError, match="pillars is"):
        quad_avoid(pillars=(9, 3))
