"""The Gymnasium faces of a task environment: one world as an Env, many as a VectorEnv."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from bedplate.core.errors import BedplateError
from bedplate.envs.seeds import MAX_SEED, fold_seed
from bedplate.envs.spaces import action_space, observation_space
from bedplate.envs.step import Episode, Step
from bedplate.envs.vec_env import Split, TaskVecEnv
from bedplate.tasks import make_task
from bedplate.tasks.spec import Task


class TaskEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One world of a task as a Gymnasium environment.

    The info of an episode's last step holds `is_success`, `reason` and the task's metrics. reset(seed=...) starts the
    whole environment anew from that seed; reset() goes on to the next world.

    Args:
        task: what is simulated.
        split: "evaluation" worlds are never those of "train".
        randomisation: apply the task's randomisation events, noise and delays.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - as the base class declares it

    def __init__(self, task: Task, split: Split = "train", randomisation: bool = True) -> None:
        self.task = task
        self.observation_space = observation_space(task)
        self.action_space = action_space(task)
        self._start = partial(TaskVecEnv, task, 1, split=split, randomisation=randomisation, num_threads=1)
        self._env: TaskVecEnv | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode; returns obs (obs_dim,) float32 and an empty info."""
        super().reset(seed=seed)
        if seed is not None or self._env is None:
            self.close()
            self._env = self._start(seed=_seed(seed, self.np_random))
            self._env.autoreset = False
        return self._env.reset()[0].numpy(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Advance one control step under an action (act_dim,) in [-1, 1]."""
        if self._env is None:
            raise BedplateError("step() was called before reset()", "reset() first")
        step = self._env.step(torch.as_tensor(action, dtype=torch.float32)[None])
        info = episode_info(step.episodes[0]) if step.episodes else {}
        obs = (step.final_obs if step.episodes else step.obs)[0].numpy()
        return obs, float(step.reward[0]), bool(step.terminated[0]), bool(step.truncated[0]), info

    def close(self) -> None:
        """Release the engine."""
        if self._env is not None:
            self._env.close()
            self._env = None


class TaskVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many worlds of a task as a Gymnasium vector environment.

    Infos carry entries only for finished episodes: `is_success`, `reason` and the task's metrics, each with its mask.
    With SAME_STEP they are inside `final_info`, beside `final_obs`; with the other modes they are at the top.

    Args:
        task: what is simulated.
        num_envs: number of worlds.
        autoreset_mode: SAME_STEP restarts a finished world in the step that ended it; NEXT_STEP in the step after,
            which ignores its action and pays nothing; DISABLED leaves it to reset(options={"reset_mask": mask}).
        split: "evaluation" worlds are never those of "train".
        randomisation: apply the task's randomisation events, noise and delays.
        num_threads: physics threads; 0 means every usable core.
    """

    def __init__(
        self,
        task: Task,
        num_envs: int,
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
        split: Split = "train",
        randomisation: bool = True,
        num_threads: int = 0,
    ) -> None:
        self.task = task
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_space(task)
        self.single_action_space = action_space(task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._start = partial(
            TaskVecEnv, task, num_envs, split=split, randomisation=randomisation, num_threads=num_threads
        )
        self._env: TaskVecEnv | None = None
        # worlds whose episode has ended and that have not been restarted
        self._ended = np.zeros(num_envs, bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start episodes in all worlds, or in those of `options["reset_mask"]`; returns obs and an empty info.

        Raises:
            BedplateError: a list of seeds, where one seed stands for all worlds; a mask of another shape.
        """
        if isinstance(seed, list):
            raise BedplateError("a list of seeds", "one seed: it gives every world another layout")
        super().reset(seed=seed)
        mask = (options or {}).get("reset_mask")
        if mask is not None and self._env is not None:
            return self._reset_some(mask), {}
        if seed is not None or self._env is None:
            self.close()
            self._env = self._start(seed=_seed(seed, self.np_random))
            self._env.autoreset = self.autoreset_mode == AutoresetMode.SAME_STEP
        self._ended[:] = False
        return self._env.reset().numpy(), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Advance all worlds; returns obs, reward, terminated, truncated and infos, in Gymnasium's layout.

        Raises:
            BedplateError: there was no reset(); with DISABLED, a finished world has not been reset.
        """
        if self._env is None:
            raise BedplateError("step() was called before reset()", "reset() first")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._ended.any():
            ids = np.nonzero(self._ended)[0].tolist()
            raise BedplateError(f"environments {ids} have ended", "reset(options={'reset_mask': mask}) before step()")
        step = self._env.step(torch.as_tensor(actions, dtype=torch.float32))
        if self.autoreset_mode == AutoresetMode.NEXT_STEP and self._ended.any():
            self._begin_ended(step)
        done = step.terminated | step.truncated
        infos = self._infos(step, done.numpy())
        if self.autoreset_mode != AutoresetMode.SAME_STEP:
            self._ended = done.numpy().copy()
        return step.obs.numpy(), step.reward.numpy(), step.terminated.numpy(), step.truncated.numpy(), infos

    def close_extras(self, **kwargs: Any) -> None:
        """Release the engine."""
        if self._env is not None:
            self._env.close()
            self._env = None

    def close(self, **kwargs: Any) -> None:
        """Release the engine; a later reset() makes a new one."""
        self.close_extras(**kwargs)

    def _reset_some(self, mask: np.ndarray) -> np.ndarray:
        mask = np.asarray(mask)
        if mask.shape != (self.num_envs,) or mask.dtype != bool or not mask.any():
            raise BedplateError(
                f"reset_mask has shape {mask.shape}, type {mask.dtype} and {np.count_nonzero(mask)} worlds",
                f"({self.num_envs},) bool with at least one world",
            )
        assert self._env is not None
        self._ended[mask] = False
        return self._env.restart(np.nonzero(mask)[0]).numpy()

    def _begin_ended(self, step: Step) -> None:
        """Turn the step of worlds that had ended before it into the start of their next episode."""
        assert self._env is not None
        step.obs = self._env.restart(np.nonzero(self._ended)[0])
        for tensor in (step.reward, step.terminated, step.truncated):
            tensor[torch.from_numpy(self._ended)] = 0

    def _infos(self, step: Step, done: np.ndarray) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for episode, final_obs in zip(step.episodes, step.final_obs, strict=True):
            # with NEXT_STEP, a world that had ended before this step ends no second time
            if not done[episode.env_id]:
                continue
            info = episode_info(episode)
            if self.autoreset_mode == AutoresetMode.SAME_STEP:
                info = {"final_obs": final_obs.numpy(), "final_info": info}
            infos = self._add_info(infos, info, episode.env_id)
        return infos


def episode_info(episode: Episode) -> dict[str, Any]:
    """What the info of an episode's last step says."""
    return {"is_success": episode.success, "reason": episode.reason, **episode.metrics}


def make_env(task_name: str, split: Split = "train", randomisation: bool = True, **params: Any) -> TaskEnv:
    """Entry point of gymnasium.make(): a task by name, with its factory's parameters."""
    return TaskEnv(make_task(task_name, params), split, randomisation)


def make_vector_env(
    task_name: str,
    num_envs: int = 1,
    autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    split: Split = "train",
    randomisation: bool = True,
    num_threads: int = 0,
    **params: Any,
) -> TaskVectorEnv:
    """Entry point of gymnasium.make_vec(): a task by name, with its factory's parameters."""
    return TaskVectorEnv(make_task(task_name, params), num_envs, autoreset_mode, split, randomisation, num_threads)


def _seed(seed: int | None, rng: np.random.Generator) -> int:
    return int(rng.integers(MAX_SEED)) if seed is None else fold_seed(seed)
