"""The CPU engine: many worlds on mujoco.batch.Batch, bit-equal to single-world C MuJoCo.

The batch is persistent (one MjData per world) where fields are current or rarer fields are read, so that a bound field
is always that world's own: a shared MjData shows another world's value in every field that a call does not compute.
Where only the state and its kinematics are read, worlds share one MjData per thread, which stays in the cache: up to
15 % faster.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch, SimulationError
from torch import Tensor

from bedplate.core.errors import BedplateError
from bedplate.sim.contact_forces import FILLED, has_contact_forces
from bedplate.sim.engine import RaySensor
from bedplate.sim.library import keep_mujoco_quiet
from bedplate.sim.memory import require_memory
from bedplate.sim.threads import usable_cores

# fields that are a world's state: always its own, whatever the kind of batch
STATE_FIELDS = (
    *("time", "qpos", "qvel", "act", "history", "qacc_warmstart", "ctrl", "qfrc_applied", "xfrc_applied", "eq_active"),
    *("mocap_pos", "mocap_quat", "userdata", "plugin_state"),
)
# derived fields that every call computes, so that they too are always the world's own
KINEMATIC_FIELDS = (
    *("xpos", "xquat", "xmat", "xipos", "ximat", "site_xpos", "site_xmat", "geom_xpos", "geom_xmat", "subtree_com"),
    *("cvel",),
)
# warnings after which MuJoCo went on without raising: it reset the world, or put zeros in place of its controls
DIVERGENCE = slice(mujoco.mjtWarning.mjWARN_BADQPOS.value, mujoco.mjtWarning.mjWARN_BADCTRL.value + 1)


class BatchEngine:
    """Many worlds of one model, stepped on a C++ thread pool.

    Args:
        model: the compiled model; the engine owns a copy.
        num_envs: number of worlds.
        decimation: physics substeps per step().
        rays: ray sensors, computed once per step().
        fields: derived data fields that will be read, such as "actuator_force".
        current: make derived fields current after step(); otherwise they are one substep behind, as mj_step leaves
            them (Gymnasium's observations want that).
        num_threads: threads of the pool; 0 means every usable core.

    Raises:
        BedplateError: the worlds do not fit into the machine's memory.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        num_envs: int,
        decimation: int = 1,
        rays: Sequence[RaySensor] = (),
        fields: Sequence[str] = (),
        current: bool = True,
        num_threads: int = 0,
    ) -> None:
        keep_mujoco_quiet()
        # a world's own numbers alone; what a solver takes for a while comes on top
        require_memory(f"{num_envs} worlds", num_envs * mujoco.MjData(model).nbuffer, "take fewer environments")
        self.model = model
        self.num_envs = num_envs
        self.decimation = decimation
        self.num_threads = num_threads or usable_cores()
        sleep = bool(model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_SLEEP.value)
        # fields that step() computes and forward() does not
        self._step_fields = FILLED if has_contact_forces(model) else ()
        self._shareable = {*STATE_FIELDS, *KINEMATIC_FIELDS, *self._step_fields}
        self.persistent = current or sleep or bool(rays) or not self._shareable.issuperset(fields)
        self.batch = Batch(model, num_envs, min(self.num_threads, num_envs), self.persistent)
        self._stage = (mujoco.mjtStage.mjSTAGE_VEL if current else mujoco.mjtStage.mjSTAGE_NONE).value
        self._fields: dict[str, Tensor] = {}
        # time, positions, velocities and activations stand first in a state row: what may not become non-finite
        state = mujoco.mjtState
        moving = state.mjSTATE_TIME | state.mjSTATE_QPOS | state.mjSTATE_QVEL | state.mjSTATE_ACT
        self._moving = self.batch.state[:, : mujoco.mj_stateSize(model, moving)]
        # MuJoCo's warnings (num_envs, kinds, 2): last detail and count; a count stays until it is zeroed
        self._warnings = self.batch.warning
        self._warned = np.zeros(self._warnings.shape[1], np.int64)
        self._not_forwarded = np.zeros(num_envs, bool)
        self.diverged = torch.zeros(num_envs, dtype=torch.bool)
        self.rays: dict[str, Tensor] = {}
        self._fans = [_Fan(sensor, self) for sensor in rays]
        for name in fields:
            self.field(name)

    def field(self, name: str) -> Tensor:
        """Live view of a MuJoCo data field; see Engine.field.

        Raises:
            BedplateError: a field that was not declared and that worlds which share their MjData would mix up.
        """
        view = self._fields.get(name)
        if view is None:
            if not self.persistent and name not in self._shareable:
                raise BedplateError(
                    f"field {name!r} was not declared", "derived fields named up front", f"add {name!r} to Task.fields"
                )
            view = self._fields[name] = _as_tensor(self.batch.bind(name))
        return view

    def reset(self, ids: np.ndarray) -> None:
        """Put worlds at the model's defaults; see Engine.reset."""
        self.batch.reset(ids, stage=mujoco.mjtStage.mjSTAGE_NONE.value)

    def forward(self, ids: np.ndarray) -> None:
        """Compute derived fields and rays of some worlds from their state; see Engine.forward.

        A world in which MuJoCo raises counts as diverged after the next step(). Contact forces are zero until then, as
        after mj_resetData.
        """
        self._not_forwarded[ids] = False
        try:
            self.batch.forward(ids)
        except SimulationError as error:
            self._not_forwarded[error.ids] = True
        for name in self._step_fields:
            if name in self._fields:
                self._fields[name][torch.from_numpy(ids)] = 0.0
        for fan in self._fans:
            fan.cast(self.batch, ids)

    def step(self) -> None:
        """Advance every world by one control step; see Engine.step."""
        broken = self.diverged.numpy()
        broken[:] = self._not_forwarded
        self._not_forwarded[:] = False
        try:
            self.batch.step(nstep=self.decimation, stage=self._stage)
        except SimulationError as error:
            # these worlds kept the state they had before the call
            broken[error.ids] = True

        # worlds that MuJoCo reset silently, and those that became non-finite in the last substep
        if self._warnings.any():
            counts = self._warnings[:, :, 1]
            self._warned += np.count_nonzero(counts, axis=0)
            broken |= counts[:, DIVERGENCE].any(axis=1)
            self._warnings[:] = 0
        with np.errstate(invalid="ignore"):
            broken |= ~np.isfinite(self._moving.sum(axis=1))
        for fan in self._fans:
            fan.cast(self.batch, None)

    def warnings(self) -> dict[str, int]:
        """MuJoCo warning, such as "BADQVEL" or "CONTACTFULL" -> steps of worlds in which it rose since the start."""
        names = [mujoco.mjtWarning(kind).name.removeprefix("mjWARN_") for kind in range(len(self._warned))]
        return {name: int(count) for name, count in zip(names, self._warned, strict=True) if count}

    def expand(self, name: str) -> Tensor:
        """Per-world values of a model field; see Engine.expand."""
        return _as_tensor(self.batch.expand(name))

    def set_const(self, ids: np.ndarray) -> None:
        """Recompute model constants of some worlds; see Engine.set_const."""
        try:
            self.batch.set_const(ids)
        except SimulationError as error:
            raise BedplateError(
                f"MuJoCo refused the model constants of world {error.ids[0]}: {self.batch.error(int(error.ids[0]))}",
                "masses, inertias and sizes above zero",
                "narrow the ranges of the event that changes the model",
            ) from error

    def world_model(self, world: int) -> mujoco.MjModel:
        """One world's model with its own fields."""
        return self.batch.get_model(world)

    def world_data(self, world: int) -> mujoco.MjData:
        """One world's data, forwarded."""
        data = self.batch.get_data(world)
        if not self.persistent:
            mujoco.mj_forward(self.batch.get_model(world), data)
        return data

    def close(self) -> None:
        """Drop the batch; its threads end with it."""
        self._fields.clear()
        self._fans.clear()
        self.__dict__.pop("batch", None)


class _Fan:
    """One ray sensor on every world."""

    def __init__(self, sensor: RaySensor, engine: BatchEngine) -> None:
        self.sensor = sensor
        self.body = engine.model.body(sensor.body).id
        self.xpos = engine.batch.bind("xpos")
        self.xmat = engine.batch.bind("xmat")
        self.origin = np.asarray(sensor.origin)
        self.directions = np.asarray(sensor.directions)
        self.groups = np.zeros(mujoco.mjNGROUP, np.uint8)
        self.groups[list(sensor.geomgroups)] = 1
        self.distance = torch.full((engine.num_envs, len(sensor.directions)), sensor.range_m, dtype=torch.float64)
        engine.rays[sensor.name] = self.distance

    def cast(self, batch: Batch, ids: np.ndarray | None) -> None:
        """Measure the worlds `ids`, or all of them."""
        rows = slice(None) if ids is None else ids
        rotation = self.xmat[rows, self.body].reshape(-1, 3, 3)
        origin = self.xpos[rows, self.body] + rotation @ self.origin
        if self.sensor.yaw_only:
            rotation = _heading(rotation)
        # (n, num_rays, 3): directions in the world frame
        vec = self.directions @ rotation.transpose(0, 2, 1)
        pnt = np.broadcast_to(origin[:, None], vec.shape)
        hit, _ = batch.ray(pnt, vec, geomgroup=self.groups, bodyexclude=self.body, ids=ids)
        range_m = self.sensor.range_m
        self.distance.numpy()[rows] = np.where((hit < 0) | (hit > range_m), range_m, hit)


def _heading(rotation: np.ndarray) -> np.ndarray:
    """(n, 3, 3) rotations about the vertical axis with the heading of the body's x axis."""
    yaw = np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0])
    level = np.zeros_like(rotation)
    level[:, 0, 0] = level[:, 1, 1] = np.cos(yaw)
    level[:, 1, 0] = np.sin(yaw)
    level[:, 0, 1] = -level[:, 1, 0]
    level[:, 2, 2] = 1.0
    return level


def _as_tensor(array: np.ndarray) -> Tensor:
    with warnings.catch_warnings():
        # derived fields are read-only arrays; terms only read them
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(array)
