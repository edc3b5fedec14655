"""One training: recipe in, run folder out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from stable_baselines3.common.utils import LinearSchedule

from bedplate.core.errors import BedplateError
from bedplate.core.files import storage_error
from bedplate.envs.probe import probe_task
from bedplate.envs.sb3 import SB3VecEnv
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.learn.config import LearnConfig, RunConfig, save_config
from bedplate.learn.imitation import Imitation
from bedplate.learn.metrics import JsonLines
from bedplate.learn.normalizer import Normalizer
from bedplate.learn.ppo import PPO
from bedplate.learn.saving import TrainResult, finish, finish_failed
from bedplate.runs.layout import CONFIG, MANIFEST, METRICS, TENSORBOARD, Run
from bedplate.runs.manifest import write_manifest
from bedplate.sim.memory import require_memory
from bedplate.tasks import make_task
from bedplate.tasks.spec import Task

ACTIVATIONS = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU, "elu": torch.nn.ELU, "silu": torch.nn.SiLU}


class Stop(Protocol):
    """Whether somebody asked to stop."""

    requested: bool


@dataclass(frozen=True)
class Progress:
    """Where a training stands.

    Attributes:
        steps: environment steps done.
        total_steps: environment steps wanted.
        steps_per_s: since the start, learning included.
        success: success rate of recent episodes; NaN before the first one ends.
        ep_rew: mean return of recent episodes; NaN before the first one ends.
    """

    steps: int
    total_steps: int
    steps_per_s: float
    success: float
    ep_rew: float


def train(config: RunConfig, run: Run, stop: Stop, on_progress: Callable[[Progress], None]) -> TrainResult:
    """Train a policy into a new run folder.

    Args:
        config: the resolved recipe.
        run: its folder must not exist yet.
        stop: looked at after every control step.
        on_progress: called after every rollout.

    Raises:
        BedplateError: the run exists, or the recipe or task is wrong; nothing was written.
        StorageError: the folder cannot be written.
    """
    if run.folder.exists():
        raise _taken(run)
    task = make_task(config.task.name, config.task.params)
    # a policy for a task that cannot be exported, or whose parts don't fit together, would be learned for nothing
    probe_task(task)
    if not task.rewards:
        raise BedplateError(f"task {task.id!r} has no rewards", "at least one reward: there is nothing to learn")
    _require_memory(config, task)
    task_env = TaskVecEnv(
        task, config.env.num_envs, config.seed, "train", config.env.randomisation, config.env.num_threads
    )
    env = SB3VecEnv(task_env)
    try:
        model = make_model(config, env)
        _claim(run)
        # the manifest comes before the first step
        write_manifest(
            run.path(MANIFEST),
            seed=config.seed,
            recipe_hash=config.hash,
            task=task.id,
            world_version=task.world_version,
        )
        save_config(config, run.path(CONFIG))
        model.set_logger(
            Logger(str(run.folder), [JsonLines(run.path(METRICS)), TensorBoardOutputFormat(str(run.path(TENSORBOARD)))])
        )
        return _learn(config, run, model, env, stop, on_progress)
    finally:
        env.close()


def _require_memory(config: RunConfig, task: Task) -> None:
    # a rollout holds float32 observations, actions and six numbers more for each step
    steps = config.env.num_envs * config.learn.n_steps
    needed_bytes = 4 * steps * (task.obs_dim + task.act_dim + 6)
    require_memory(f"rollouts of {steps:,} steps", needed_bytes, "lower env.num_envs or learn.n_steps")


def _claim(run: Run) -> None:
    """Make the run's folder; of two trainings that start with one name, one gets it.

    Raises:
        BedplateError: the other one has it.
        StorageError: the folder cannot be written.
    """
    try:
        run.folder.mkdir(parents=True)
    except FileExistsError:
        raise _taken(run) from None
    except OSError as error:
        raise storage_error(run.folder, error) from error


def _taken(run: Run) -> BedplateError:
    return BedplateError(
        f"run {run.folder} exists", "a new run name", "choose another --name, or move the old run away"
    )


def make_model(config: RunConfig, env: SB3VecEnv) -> PPO:
    """The recipe's learner, untrained."""
    learn = config.learn
    return PPO(
        "MlpPolicy",
        env,
        normalizer=Normalizer(env.env.task.obs_dim, env.num_envs, learn.gamma, clip=learn.clip_obs),
        normalize_reward=learn.normalize_reward,
        update_threads=learn.update_threads,
        imitation=_teacher(learn, env.env),
        learning_rate=LinearSchedule(learn.learning_rate, learn.learning_rate_final, 1.0),
        n_steps=learn.n_steps,
        batch_size=learn.batch_size,
        n_epochs=learn.n_epochs,
        gamma=learn.gamma,
        gae_lambda=learn.gae_lambda,
        clip_range=learn.clip_range,
        ent_coef=learn.ent_coef,
        vf_coef=learn.vf_coef,
        max_grad_norm=learn.max_grad_norm,
        target_kl=learn.target_kl,
        policy_kwargs={
            "net_arch": list(learn.net_arch),
            "activation_fn": ACTIVATIONS[learn.activation],
            "log_std_init": learn.log_std_init,
        },
        seed=config.seed,
        device="cpu",
    )


def _teacher(learn: LearnConfig, env: TaskVecEnv) -> Imitation | None:
    if not learn.imitate_steps:
        return None
    return Imitation(env, learn.imitate_steps, learn.imitate_fade_steps)


def _learn(
    config: RunConfig, run: Run, model: PPO, env: SB3VecEnv, stop: Stop, on_progress: Callable[[Progress], None]
) -> TrainResult:
    start_s = time.perf_counter()
    try:
        model.learn(config.learn.total_steps, callback=_Watch(config.learn, stop, on_progress))
    except BaseException as error:
        raised = finish_failed(config, run, model, env, error, time.perf_counter() - start_s)
        if raised is error:
            raise
        raise raised from error
    status = "interrupted" if stop.requested else "finished"
    return finish(config, run, model, env, status, time.perf_counter() - start_s)


class _Watch(BaseCallback):
    """Reports progress after each rollout; ends the training when asked, or when its time is over."""

    def __init__(self, learn: LearnConfig, stop: Stop, on_progress: Callable[[Progress], None]) -> None:
        super().__init__()
        self.total_steps = learn.total_steps
        self.max_s = math.inf if learn.max_minutes is None else learn.max_minutes * 60
        self.stop = stop
        self.on_progress = on_progress
        self.start_s = 0.0

    def _on_training_start(self) -> None:
        self.start_s = time.perf_counter()

    def _on_step(self) -> bool:
        return not self.stop.requested and time.perf_counter() - self.start_s < self.max_s

    def _on_rollout_end(self) -> None:
        assert isinstance(self.model, PPO)
        steps = self.model.num_timesteps
        episodes = self.model.episodes
        self.on_progress(
            Progress(
                steps=steps,
                total_steps=self.total_steps,
                steps_per_s=steps / (time.perf_counter() - self.start_s),
                success=float(np.mean([e.success for e in episodes])) if episodes else float("nan"),
                ep_rew=float(np.mean([e.ret for e in episodes])) if episodes else float("nan"),
            )
        )
