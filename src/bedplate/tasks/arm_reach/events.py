"""What is set and varied: the world itself, and masses, friction, motor gains and gravity compensation."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import torch

from bedplate.tasks.arm_reach.judge import Judge
from bedplate.tasks.arm_reach.worlds import SHAPES, WorldSampler, geom_size
from bedplate.tasks.spec import Event
from bedplate.tasks.state import State

MASS_FACTOR, DAMPING_FACTOR, GAIN_FACTOR = (0.8, 1.2), (0.5, 2.0), (0.8, 1.2)
FRICTION_NM, GRAVCOMP_FACTOR = (0.0, 0.01), (0.95, 1.05)
START_VELOCITY_RAD_S = 0.02


@dataclass(frozen=True)
class Events:
    """Events of one arm.

    Attributes:
        sampler: makes worlds.
        judge: starts tracking after a reset.
        model: the compiled scene, for its default values.
        effort: torque limit per joint; friction is a share of it.
    """

    sampler: WorldSampler
    judge: Judge
    model: mujoco.MjModel
    effort: tuple[float, ...]

    def all(self) -> tuple[Event, ...]:
        """Layout first, then randomisation."""
        return (
            Event("world", self.world, randomisation=False),
            Event("initial_state", self.initial_state, ranges={"velocity_rad_s": START_VELOCITY_RAD_S}),
            Event(
                "dynamics",
                self.dynamics,
                ranges={
                    "mass_factor": MASS_FACTOR,
                    "joint_damping_factor": DAMPING_FACTOR,
                    "joint_friction_share_of_effort": FRICTION_NM,
                    "motor_gain_factor": GAIN_FACTOR,
                    "gravity_compensation_factor": GRAVCOMP_FACTOR,
                },
            ),
        )

    def world(self, state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
        """Lay out the worlds `ids` from their world ids."""
        engine, base = state.engine, self.sampler.chain.base
        qpos, act, mocap = engine.field("qpos"), engine.field("act"), engine.field("mocap_pos")
        quat = engine.field("mocap_quat")
        types, sizes = engine.expand("geom_type"), engine.expand("geom_size")
        geom = self.model.geom("obstacle").id
        obstacle, target = (self.model.body(name).mocapid[0] for name in ("obstacle", "target"))
        for i in ids.tolist():
            made = self.sampler.make(int(state.world_id[i]))
            qpos[i] = act[i] = torch.from_numpy(made.start)
            types[i, geom] = made.shape
            sizes[i, geom] = torch.from_numpy(geom_size(made.shape, made.half))
            mocap[i, obstacle] = torch.from_numpy(base + made.obstacle)
            mocap[i, target] = torch.from_numpy(base + made.target)
            quat[i, target] = torch.from_numpy(quat_to(made.axis))
            state.world["target"][i] = torch.from_numpy(made.target)
            state.world["target_axis"][i] = torch.from_numpy(made.axis)
            state.world["obstacle"][i] = torch.from_numpy(made.obstacle)
            state.world["obstacle_half"][i] = torch.from_numpy(made.half)
            state.world["obstacle_shape"][i] = torch.tensor([float(made.shape == shape) for shape in SHAPES])
            state.world["across"][i] = float(made.across)
        engine.forward(ids)
        self.judge.begin(state, torch.from_numpy(ids))

    def initial_state(self, state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
        """A small joint velocity at the start; positions vary with the world itself."""
        qvel = state.engine.field("qvel")
        shape = (len(ids), qvel.shape[1])
        qvel[ids] = torch.from_numpy(rng.uniform(-START_VELOCITY_RAD_S, START_VELOCITY_RAD_S, shape))

    def dynamics(self, state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
        """Vary masses with their inertias, joint damping and friction, servo gains, gravity compensation."""
        engine, model, n = state.engine, self.model, len(ids)

        def factor(low_high: tuple[float, float], *shape: int) -> np.ndarray:
            return rng.uniform(*low_high, (n, *shape))

        mass = factor(MASS_FACTOR, model.nbody)
        write(engine.expand("body_mass"), ids, model.body_mass * mass)
        write(engine.expand("body_inertia"), ids, model.body_inertia * mass[:, :, None])
        write(engine.expand("dof_damping"), ids, model.dof_damping * factor(DAMPING_FACTOR, model.nv))
        friction = model.dof_frictionloss + factor(FRICTION_NM, model.nv) * np.array(self.effort)
        write(engine.expand("dof_frictionloss"), ids, friction)
        write(engine.expand("body_gravcomp"), ids, model.body_gravcomp * factor(GRAVCOMP_FACTOR, 1))

        # one factor for gain and bias: a servo that is softer or stiffer, not one with another set point
        gain = factor(GAIN_FACTOR, model.nu, 1)
        write(engine.expand("actuator_gainprm"), ids, model.actuator_gainprm * gain)
        write(engine.expand("actuator_biasprm"), ids, model.actuator_biasprm * gain)
        engine.set_const(ids)


def write(view: torch.Tensor, ids: np.ndarray, values: np.ndarray) -> None:
    """Write per-world model values (n, ...)."""
    view[ids] = torch.from_numpy(np.ascontiguousarray(values)).to(view.dtype)


def quat_to(axis: np.ndarray) -> np.ndarray:
    """Quaternion wxyz (4,) that turns the z axis to `axis` (3,)."""
    quat = np.zeros(4)
    mujoco.mju_quatZ2Vec(quat, axis)
    return quat
