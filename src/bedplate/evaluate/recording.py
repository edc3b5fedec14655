"""What a plot and a video need of the first worlds: the tracked point, the poses, the goal, each world's own model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import mujoco
import numpy as np

from bedplate.core.errors import BedplateError
from bedplate.envs.vec_env import Episode, TaskVecEnv
from bedplate.evaluate.results import collision_reasons

MAX_WORLDS = 24
"""Worlds that are recorded; the plot and the video choose among them."""

GOAL_NAMES = ("goal", "target")
"""Names under which a task's per-world numbers hold where it wants to be."""


@dataclass
class WorldRecord:
    """One recorded episode.

    Attributes:
        model: the world's own model, with its masses and sizes.
        control_dt_s: time between two recorded steps.
        goal: (2,) or (3,) in metres, world frame; empty when the task has none.
        qpos: one (nq,) per control step.
        mocap: one (nmocap, 7) per control step: position and quaternion wxyz.
        path: one (3,) per control step: the tracked point, in metres, world frame.
        episode: how it ended; None while it runs.
        collision_reasons: endings of the task that are a collision.
    """

    model: mujoco.MjModel
    control_dt_s: float
    goal: np.ndarray
    qpos: list[np.ndarray] = field(default_factory=list)
    mocap: list[np.ndarray] = field(default_factory=list)
    path: list[np.ndarray] = field(default_factory=list)
    episode: Episode | None = None
    collision_reasons: tuple[str, ...] = ()

    @property
    def ending(self) -> str:
        """How it ended: "success", or the reason, such as "collision"."""
        if self.episode is None:
            return "not finished"
        return "success" if self.episode.success else self.episode.reason.replace("_", "-")

    @property
    def collided(self) -> bool:
        """Whether it ended by a collision."""
        return self.episode is not None and not self.episode.success and self.episode.reason in self.collision_reasons

    @property
    def duration_s(self) -> float:
        """Simulated time that was recorded."""
        return len(self.path) * self.control_dt_s


class Recorder:
    """An observer that records the first worlds of a rollout.

    Args:
        num_worlds: how many.

    Attributes:
        worlds: the records, in world order.
    """

    def __init__(self, num_worlds: int = MAX_WORLDS) -> None:
        self._num_worlds = num_worlds
        self.worlds: list[WorldRecord] = []

    def attach(self, env: TaskVecEnv) -> None:
        """Ask the engine for the tracked point."""
        name, self._index = tracked_point(env.engine.model, env.task.tracked)
        self._view = env.engine.field(name)

    def see(self, env: TaskVecEnv, running: np.ndarray) -> None:
        """Append the poses of the recorded worlds that still run their first episode."""
        if not self.worlds:
            self._begin(env)
        for i, world in enumerate(self.worlds):
            if running[i]:
                world.qpos.append(env.state.qpos[i].numpy().copy())
                world.path.append(self._view[i, self._index].numpy().copy())
                if env.engine.model.nmocap:
                    poses = (env.state.mocap_pos[i].numpy(), env.state.mocap_quat[i].numpy())
                    world.mocap.append(np.concatenate(poses, axis=1))

    def close(self, env: TaskVecEnv, episodes: Sequence[Episode]) -> None:
        """Note how each episode ended."""
        for world, episode in zip(self.worlds, episodes, strict=False):
            world.episode = episode

    def _begin(self, env: TaskVecEnv) -> None:
        goals = next((env.state.world[name] for name in GOAL_NAMES if name in env.state.world), None)
        for i in range(min(self._num_worlds, env.num_envs)):
            goal = goals[i].numpy().copy() if goals is not None and goals.shape[1] in (2, 3) else np.zeros(0)
            record = WorldRecord(env.engine.world_model(i), env.task.control_dt_s, goal)
            record.collision_reasons = collision_reasons(env.task)
            self.worlds.append(record)


def tracked_point(model: mujoco.MjModel, name: str) -> tuple[str, int]:
    """The field and row that hold the position of a body or site.

    Args:
        model: of the task.
        name: of a body or a site; empty means the first body that can move. Where that one can only turn, as on a
            robot that is bolted down, it is the centre of mass of the last body, for what turns in place has no path.

    Raises:
        BedplateError: the model has neither a body nor a site of that name.
    """
    if not name:
        movable = [i for i in range(1, model.nbody) if model.body_weldid[i] != 0 and model.body_mocapid[i] < 0]
        if not movable:
            return "xpos", model.nbody - 1
        joint = model.body_jntadr[movable[0]]
        turning = (mujoco.mjtJoint.mjJNT_HINGE.value, mujoco.mjtJoint.mjJNT_BALL.value)
        turns = joint >= 0 and model.jnt_type[joint] in turning
        return ("xipos", movable[-1]) if turns and model.body_jntnum[movable[0]] == 1 else ("xpos", movable[0])
    for field_name, kind in (("site_xpos", mujoco.mjtObj.mjOBJ_SITE), ("xpos", mujoco.mjtObj.mjOBJ_BODY)):
        index = mujoco.mj_name2id(model, kind.value, name)
        if index >= 0:
            return field_name, index
    raise BedplateError(f"the task tracks {name!r}", "the name of a body or a site of its model")


def choose_worlds(worlds: Sequence[WorldRecord], count: int) -> list[int]:
    """The first `count` worlds; where all of those succeed, the last one makes room for the first failure, if any."""
    chosen = list(range(min(count, len(worlds))))
    failures = [i for i, world in enumerate(worlds) if world.episode is not None and not world.episode.success]
    if failures and failures[0] not in chosen:
        chosen[-1] = failures[0]
    return chosen
