"""One training: recipe in, run folder out."""

from __future__ import annotations

import contextlib
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from stable_baselines3.common.utils import LinearSchedule

from bedplate.core.errors import BedplateError, StorageError
from bedplate.envs.sb3 import SB3VecEnv
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.learn.config import LearnConfig, RunConfig, save_config
from bedplate.learn.imitation import Imitation
from bedplate.learn.metrics import JsonLines
from bedplate.learn.normalizer import Normalizer
from bedplate.learn.ppo import PPO
from bedplate.learn.trained import save_trained
from bedplate.runs.layout import CONFIG, MANIFEST, METRICS, TENSORBOARD, Run
from bedplate.runs.manifest import finish_manifest, write_manifest
from bedplate.tasks import make_task

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


@dataclass(frozen=True)
class TrainResult:
    """How a training ended.

    Attributes:
        steps: environment steps done.
        seconds: wall time of sampling and learning.
        interrupted: it was stopped on request; what was learned until then is saved.
        num_diverged: worlds whose physics failed; each was terminated and never bootstrapped.
    """

    steps: int
    seconds: float
    interrupted: bool
    num_diverged: int

    @property
    def steps_per_s(self) -> float:
        """Environment steps per second, learning included."""
        return self.steps / self.seconds


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
        raise BedplateError(
            f"run {run.folder} exists", "a new run name", "choose another --name, or move the old run away"
        )
    task = make_task(config.task.name, config.task.params)
    task_env = TaskVecEnv(
        task, config.env.num_envs, config.seed, "train", config.env.randomisation, config.env.num_threads
    )
    env = SB3VecEnv(task_env)
    try:
        model = make_model(config, env)
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
    except BaseException:
        # what was learned is kept, but failing to keep it must not hide why training failed
        with contextlib.suppress(Exception):
            _finish(run, model, env, "failed", start_s)
        raise
    return _finish(run, model, env, "interrupted" if stop.requested else "finished", start_s)


def _finish(run: Run, model: PPO, env: SB3VecEnv, status: str, start_s: float) -> TrainResult:
    """Save the policy and close the manifest."""
    seconds = time.perf_counter() - start_s
    result = TrainResult(model.num_timesteps, seconds, status == "interrupted", env.env.num_diverged)
    _save(run, model, env)
    finish_manifest(
        run.path(MANIFEST),
        status,
        steps=result.steps,
        train_seconds=round(result.seconds, 3),
        steps_per_s=round(result.steps_per_s, 1),
        num_diverged=result.num_diverged,
    )
    return result


def _save(run: Run, model: PPO, env: SB3VecEnv) -> None:
    """Save into the run folder; when that is full or gone, into the temporary folder, and say so."""
    try:
        save_trained(run, model, env)
    except StorageError as error:
        rescue = Run(Path(tempfile.mkdtemp(prefix=f"bedplate-{run.id}-")))
        save_trained(rescue, model, env)
        raise StorageError(
            error.found,
            error.expected,
            f"the trained policy is safe in {rescue.folder}: make room, then copy its files into {run.folder}",
        ) from error


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
