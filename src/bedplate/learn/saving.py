"""How a training ends: the policy saved, the manifest closed, and neither lost when the run folder takes no more."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bedplate.core.errors import BedplateError, StorageError
from bedplate.core.files import write_json
from bedplate.envs.sb3 import SB3VecEnv
from bedplate.learn.config import RunConfig, save_config
from bedplate.learn.ppo import PPO
from bedplate.learn.trained import save_trained
from bedplate.runs.layout import CONFIG, MANIFEST, Run
from bedplate.runs.manifest import finish_manifest, mark_ended, read_manifest


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


def finish(config: RunConfig, run: Run, model: PPO, env: SB3VecEnv, status: str, seconds: float) -> TrainResult:
    """Save the policy and close the manifest.

    Raises:
        StorageError: the run folder takes no more; says in which folder the whole run was saved instead.
    """
    result = TrainResult(model.num_timesteps, seconds, status == "interrupted", env.env.num_diverged)
    try:
        _write(run, model, env, status, result)
    except StorageError as error:
        rescue = _rescue(config, run, model, env, status, result)
        raise StorageError(
            error.found,
            error.expected,
            f"the trained policy is safe in {rescue.folder}: make room, then copy its files into {run.folder}",
        ) from error
    return result


def finish_failed(
    config: RunConfig, run: Run, model: PPO, env: SB3VecEnv, error: BaseException, seconds: float
) -> BaseException:
    """Keep what was learned before `error` ended the training.

    Returns:
        The error to raise: `error` itself, or, when the run folder takes no more, one that says where the policy is.
    """
    try:
        finish(config, run, model, env, "failed", seconds)
    except StorageError as full:
        # a full disk ends the training and stops the saving: one message
        if isinstance(error, OSError | StorageError):
            return full
        if isinstance(error, BedplateError):
            error.next_step = "; ".join(filter(None, (error.next_step, full.next_step)))
        else:
            error.add_note(str(full))
    except Exception as second:
        # failing to keep it must not hide why the training failed
        error.add_note(f"what was learned could not be saved: {second}")
    return error


def _write(run: Run, model: PPO, env: SB3VecEnv, status: str, result: TrainResult) -> None:
    save_trained(run, model, env)
    finish_manifest(
        run.path(MANIFEST),
        status,
        steps=result.steps,
        train_seconds=round(result.seconds, 3),
        steps_per_s=round(result.steps_per_s, 1),
        num_diverged=result.num_diverged,
    )


def _rescue(config: RunConfig, run: Run, model: PPO, env: SB3VecEnv, status: str, result: TrainResult) -> Run:
    """Save the run's files into the temporary folder; the run's own manifest tells its end if it still can."""
    rescue = Run(Path(tempfile.mkdtemp(prefix=f"bedplate-{run.id}-")))
    save_config(config, rescue.path(CONFIG))
    with contextlib.suppress(BedplateError):
        write_json(rescue.path(MANIFEST), read_manifest(run.path(MANIFEST)))
        mark_ended(run.path(MANIFEST), status)
    if not rescue.path(MANIFEST).exists():
        write_json(rescue.path(MANIFEST), {})
    _write(rescue, model, env, status, result)
    return rescue
