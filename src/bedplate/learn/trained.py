"""A trained policy as it lies in a run folder, and how it gets there."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import torch
from stable_baselines3 import PPO as SB3PPO
from torch import Tensor

from bedplate.core.errors import BedplateError
from bedplate.core.files import atomic_open, read_json, write_bytes, write_json
from bedplate.envs.sb3 import SB3VecEnv
from bedplate.learn.config import RunConfig, load_config
from bedplate.learn.normalizer import Normalizer, NormalizerState
from bedplate.learn.ppo import PPO
from bedplate.runs.layout import CONFIG, MANIFEST, MODEL, NORMALIZER, VECNORMALIZE, Run
from bedplate.runs.manifest import read_manifest
from bedplate.tasks import make_task
from bedplate.tasks.spec import Task


@dataclass(frozen=True)
class Trained:
    """A policy with everything it needs.

    Attributes:
        task: what it was trained for.
        model: Stable-Baselines3's PPO.
        normalizer: statistics of its observations.
        config: the resolved recipe.
    """

    task: Task
    model: SB3PPO
    normalizer: Normalizer
    config: RunConfig

    def predict(self, obs: Tensor) -> Tensor:
        """Deterministic action for raw observations (n, obs_dim); returns (n, act_dim) float32, not clipped."""
        action, _ = self.model.predict(self.normalizer.normalize(obs).numpy(), deterministic=True)
        return torch.as_tensor(action)


def save_trained(run: Run, model: PPO, env: SB3VecEnv) -> None:
    """Write model.zip and vecnormalize.pkl, which plain Stable-Baselines3 loads, and normalizer.json.

    Raises:
        StorageError: the disk is full or the folder cannot be written; earlier files are unchanged.
    """
    assert model.normalizer is not None
    with atomic_open(run.path(MODEL), "wb") as file:
        model.save(file)
    write_bytes(run.path(VECNORMALIZE), pickle.dumps(model.normalizer.to_vec_normalize(env)))
    write_json(run.path(NORMALIZER), model.normalizer.state())


def load_trained(run: Run) -> Trained:
    """Read a run's policy.

    Raises:
        BedplateError: the run, its model or its statistics are missing or do not fit together.
    """
    if not run.folder.is_dir():
        raise BedplateError(f"no run at {run.folder}", "a folder that `bedplate train` wrote")
    for name in (CONFIG, MODEL, NORMALIZER):
        if not run.path(name).exists():
            status = read_manifest(run.path(MANIFEST)).get("status", "unknown")
            raise BedplateError(
                f"{run.path(name)} is missing; the run's status is {status!r}",
                "a run whose training ended, and was not killed",
                "bedplate train RECIPE --name ID",
            )
    config = load_config(run.path(CONFIG))
    task = make_task(config.task.name, config.task.params)
    # the zip holds pickled parts: only runs of the user's own are loaded here
    model = SB3PPO.load(run.path(MODEL), device="cpu")
    normalizer = Normalizer.from_state(_read_state(run))
    if len(normalizer.mean) != task.obs_dim or model.observation_space.shape != (task.obs_dim,):
        raise BedplateError(
            f"{run.folder} holds a policy for {model.observation_space.shape} observations",
            f"({task.obs_dim},) of {task.id}",
        )
    return Trained(task, model, normalizer, config)


def _read_state(run: Run) -> NormalizerState:
    raw: Any = read_json(run.path(NORMALIZER))
    try:
        state = NormalizerState(**raw)
        state.validate()
        return state
    except (TypeError, BedplateError) as error:
        raise BedplateError(f"{run.path(NORMALIZER)}: {error}", "a file that `bedplate train` wrote") from error
