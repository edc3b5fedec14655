"""Our v5 tasks give Gymnasium's own observations, rewards and ends, from equal states under equal actions.

The tolerance is 1e-6, absolute for numbers up to 1 and relative above: our observations are float32, whose own
resolution is 6e-8 of the number.
"""

from __future__ import annotations

import dataclasses

import gymnasium
import mujoco
import numpy as np
import pytest
import torch

from bedplate.envs.vec_env import TaskVecEnv
from bedplate.sim.library import keep_mujoco_quiet
from bedplate.tasks import TASKS
from bedplate.tasks.spec import Event

IDS = {
    "half_cheetah": "HalfCheetah-v5",
    "ant": "Ant-v5",
    "hopper": "Hopper-v5",
    "walker2d": "Walker2d-v5",
    "reacher": "Reacher-v5",
    "pusher": "Pusher-v5",
}
# Gymnasium's own environments load files that MuJoCo remarks on, in a log file in this folder
keep_mujoco_quiet()
TOLERANCE = 1e-6
NUM_ENVS = 3


class Twins:
    """One of our environments beside `NUM_ENVS` of Gymnasium's, which decide every start."""

    def __init__(self, name):
        self.theirs = [gymnasium.make(IDS[name]) for _ in range(NUM_ENVS)]
        self.starts = 0
        task = TASKS.load(name)()
        # our own start event runs first, for what the terms remember; then the state is replaced
        copy = Event("copy", self._copy, randomisation=False)
        self.ours = TaskVecEnv(dataclasses.replace(task, events=(*task.events, copy)), NUM_ENVS)
        self.scale = np.asarray(task.action.high, np.float32)
        self.their_obs = np.zeros((NUM_ENVS, task.obs_dim))

    def _copy(self, state, ids, rng):
        for i in ids:
            self.their_obs[i], _ = self.theirs[i].reset(seed=self.starts)
            self.starts += 1
            data = self.theirs[i].unwrapped.data
            state.qpos.numpy()[i], state.qvel.numpy()[i] = data.qpos, data.qvel
            if "x_m" in state.world:
                state.world["x_m"].numpy()[i] = data.qpos[0]

    def step(self, action):
        """Step both; returns theirs and ours as (obs before any reset, reward, terminated, truncated)."""
        theirs = [e.step(a * self.scale) for e, a in zip(self.theirs, action.numpy(), strict=True)]
        obs, reward, terminated, truncated = (np.array([r[k] for r in theirs]) for k in range(4))
        step = self.ours.step(action)
        last = step.obs.clone()
        last[step.done_ids] = step.final_obs
        ours = (last, step.reward, step.terminated, step.truncated)
        return (obs, reward, terminated, truncated), tuple(x.numpy() for x in ours), step


def assert_close(ours, theirs, what):
    error = abs(ours - theirs) / np.maximum(1.0, abs(theirs))
    assert error.max() <= TOLERANCE, f"{what}: {error.max():.3g} at {np.unravel_index(error.argmax(), error.shape)}"


@pytest.mark.parametrize("name", IDS)
def test_a_thousand_steps_equal_gymnasiums(name):
    twins = Twins(name)
    generator = torch.Generator().manual_seed(1)
    assert_close(twins.ours.reset().numpy(), twins.their_obs, "first observation")
    ends = 0
    for t in range(1000):
        # a slowly varying policy keeps the runners up for longer than noise does
        noise = torch.rand(NUM_ENVS, len(twins.scale), generator=generator) * 2 - 1
        action = torch.sin(torch.tensor(0.05 * t)) * 0.3 + 0.7 * noise
        theirs, ours, step = twins.step(action)
        assert_close(ours[0], theirs[0], f"observation at step {t}")
        assert_close(ours[1], theirs[1], f"reward at step {t}")
        np.testing.assert_array_equal(ours[2], theirs[2], err_msg=f"terminated at step {t}")
        np.testing.assert_array_equal(ours[3] | ours[2], theirs[3] | theirs[2], err_msg=f"end at step {t}")
        # Gymnasium may call one step both; ours is decided or cut, never both
        assert not (ours[2] & ours[3]).any()
        ends += len(step.done_ids)
        if len(step.done_ids):
            assert_close(step.obs.numpy()[step.done_ids], twins.their_obs[step.done_ids], f"new episode at step {t}")
    assert ends >= NUM_ENVS, "no episode ended"
    # and the physics is the same to the last bit
    for i, env in enumerate(twins.theirs):
        np.testing.assert_array_equal(twins.ours.state.qpos[i].numpy(), env.unwrapped.data.qpos)


@pytest.mark.parametrize("name", IDS)
def test_sizes_and_action_range_are_gymnasiums(name):
    env, task = gymnasium.make(IDS[name]), TASKS.load(name)()
    task.validate()
    assert (task.obs_dim,) == env.observation_space.shape
    np.testing.assert_array_equal(np.float32(task.action.low), env.action_space.low)
    np.testing.assert_array_equal(np.float32(task.action.high), env.action_space.high)
    assert task.episode_steps == env.spec.max_episode_steps
    assert task.control_dt_s == pytest.approx(env.unwrapped.dt)
    # channels carry the names of the driven joints, in motor order
    model = env.unwrapped.model
    driven = [model.joint(model.actuator_trnid[k, 0]).name for k in range(model.nu)]
    assert list(task.action.channels) == driven


@pytest.mark.parametrize("name", IDS)
def test_starts_are_drawn_from_gymnasiums_distributions(name):
    """Range and spread of every coordinate over many starts, against Gymnasium's."""
    count = 400
    ours = TaskVecEnv(TASKS.load(name)(), count, seed=3)
    ours.reset()
    mine = torch.cat([ours.state.qpos, ours.state.qvel], dim=1).numpy()
    env = gymnasium.make(IDS[name])
    theirs = []
    for seed in range(count):
        env.reset(seed=seed)
        theirs.append(np.concatenate([env.unwrapped.data.qpos, env.unwrapped.data.qvel]))
    theirs = np.array(theirs)
    spread = theirs.std(axis=0)
    # a fixed coordinate is fixed in both; the mean of 400 draws has an error of spread / 20
    np.testing.assert_array_equal(mine.std(axis=0) == 0, spread == 0)
    assert (abs(mine.mean(axis=0) - theirs.mean(axis=0)) <= 0.35 * spread + 1e-12).all()
    assert (abs(mine.std(axis=0) - spread) <= 0.25 * spread + 1e-12).all()


def test_the_comparison_notices_another_reward():
    """A control weight that is off by a tenth of a per cent is found."""
    twins = Twins("half_cheetah")
    task = TASKS.load("half_cheetah")(control_weight=0.1001)
    twins.ours = TaskVecEnv(dataclasses.replace(task, events=twins.ours.task.events), NUM_ENVS)
    twins.ours.reset()
    theirs, ours, _ = twins.step(torch.ones(NUM_ENVS, 6))
    with pytest.raises(AssertionError, match="reward"):
        assert_close(ours[1], theirs[1], "reward")


def test_a_force_sensor_would_not_give_gymnasiums_contact_forces():
    """Why Ant has its own plugin: with RK4 a sensor reads the contacts of the substep's first stage."""
    worst = {}
    for way in ("plugin", "sensor"):
        env = gymnasium.make("Ant-v5")
        spec = TASKS.load("ant")().model() if way == "plugin" else _with_sensor()
        model = spec.compile()
        data = mujoco.MjData(model)
        env.reset(seed=0)
        data.qpos[:], data.qvel[:] = env.unwrapped.data.qpos, env.unwrapped.data.qvel
        mujoco.mj_forward(model, data)
        worst[way] = 0.0
        for _ in range(40):
            env.step(np.zeros(8, np.float32))
            mujoco.mj_step(model, data, nstep=5)
            worst[way] = max(worst[way], abs(data.cfrc_ext - env.unwrapped.data.cfrc_ext).max())
    assert worst["plugin"] == 0.0
    assert worst["sensor"] > 1e-3


def _with_sensor():
    from bedplate.tasks.gymnasium_v5.models import load

    spec = load("ant.xml")
    spec.body("torso").add_site(name="imu")
    kind, site = mujoco.mjtSensor.mjSENS_FORCE, mujoco.mjtObj.mjOBJ_SITE
    spec.add_sensor(name="force", type=kind, objtype=site, objname="imu")
    return spec
