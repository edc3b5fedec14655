"""Golden samples: signals recorded in rollouts, with the commands that `model.predict` gives.

The commands never go through the exported module, so that replaying them judges it independently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from torch import Tensor

from bedplate.bundle.contract import Contract
from bedplate.bundle.golden import Golden
from bedplate.core.errors import BedplateError
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.export.actor import Normalizes
from bedplate.tasks.spec import Signal, Task

NUM_ENVS = 8
KEPT_STEPS = 64
# longest rollout: beyond it, later parts of very long episodes are not recorded
MOST_STEPS = 1500


@dataclass(frozen=True)
class Samples:
    """Inputs of the policy.

    Attributes:
        signals: signal name -> (samples, size) float32.
        memory: memory name -> (samples, size) float32.
    """

    signals: dict[str, Tensor]
    memory: dict[str, Tensor]


class Reference:
    """The trained policy as training used it: features, normaliser, `model.predict`, command.

    Args:
        task: the task.
        model: a Stable-Baselines3 model.
        normalizer: of observations, or None.
    """

    def __init__(self, task: Task, model: BaseAlgorithm, normalizer: Normalizes | None) -> None:
        self.task = task
        self.model = model
        self.normalizer = normalizer

    def action(self, signals: Mapping[str, Tensor], memory: Mapping[str, Tensor]) -> Tensor:
        """(n, act_dim) float32 in [-1, 1]: what `model.predict(deterministic=True)` gives.

        Raises:
            BedplateError: names the feature that is not finite, and the signals it was given.
        """
        obs = self.task.observe(signals, memory)
        self._require_finite(obs, signals)
        if self.normalizer is not None:
            obs = self.normalizer.normalize(obs)
        action, _ = self.model.predict(obs.numpy(), deterministic=True)
        return torch.as_tensor(action, dtype=torch.float32)

    def step(self, samples: Samples) -> tuple[Tensor, dict[str, Tensor]]:
        """Commands (n, act_dim) in physical units, and the next memory."""
        action = self.action(samples.signals, samples.memory)
        command = self.task.action.to_command(action, samples.signals, samples.memory, self.task.limits)
        return command, self.task.remember(samples.signals, samples.memory, action, command)

    def _require_finite(self, obs: Tensor, signals: Mapping[str, Tensor]) -> None:
        start = 0
        for feature in self.task.features:
            _check_finite(f"feature {feature.name!r}", obs[:, start : start + feature.size], signals)
            start += feature.size


def make_golden(reference: Reference, contract: Contract, seed: int) -> Golden:
    """Record rollouts, add corner cases, and compute what the trained policy commands.

    Raises:
        BedplateError: a feature or an output is not finite on signals within their bounds.
    """
    recorded = record(reference, seed)
    samples = concatenate([recorded, corners(reference.task, recorded, seed)])
    command, memory_next = reference.step(samples)
    for name, value in {"command": command, **memory_next}.items():
        _check_finite(f"{name!r}", value, samples.signals)
    return Golden(
        signals={name: value.numpy() for name, value in samples.signals.items()},
        memory={name: value.numpy() for name, value in samples.memory.items()},
        command=command.numpy(),
        memory_next={name: value.numpy() for name, value in memory_next.items()},
        contract=contract,
    )


def record(reference: Reference, seed: int) -> Samples:
    """Signals and memory as rollouts measured them, half of them with actions pushed off the policy's own path.

    KEPT_STEPS steps of NUM_ENVS worlds, evenly spread over a whole episode, so that its end is recorded like its start.
    """
    num_steps = max(min(reference.task.episode_steps, MOST_STEPS), KEPT_STEPS)
    keep = set(np.linspace(0, num_steps - 1, KEPT_STEPS).round().astype(int).tolist())
    env = TaskVecEnv(reference.task, NUM_ENVS, seed=seed, split="evaluation")
    generator = torch.Generator().manual_seed(seed)
    kept = []
    try:
        env.reset()
        for index in range(num_steps):
            samples = Samples(
                {n: v.clone() for n, v in env.signals.items()}, {n: v.clone() for n, v in env.memory.items()}
            )
            if index in keep:
                kept.append(samples)
            action = reference.action(samples.signals, samples.memory)
            # every other world wanders, so that the samples cover more than the policy's habits
            action[::2] += torch.randn(action[::2].shape, generator=generator)
            env.step(action)
    finally:
        env.close()
    return concatenate(kept)


def corners(task: Task, recorded: Samples, seed: int) -> Samples:
    """Samples at the edges of what the guard lets through: each signal alone on recorded company, then all at once.

    Signals take their low bounds, their high bounds, a random mix of both, and zero, where many formulas break.
    """
    rng = np.random.default_rng(seed)
    num_samples = len(next(iter(recorded.signals.values())))
    rows = []
    for names in [*[{signal.name} for signal in task.signals], {signal.name for signal in task.signals}]:
        for kind in ("low", "high", "mixed", "mixed", "zero"):
            row = int(rng.integers(num_samples))
            signals = {name: value[row : row + 1].clone() for name, value in recorded.signals.items()}
            for signal in task.signals:
                if signal.name in names:
                    signals[signal.name] = _edge(signal, kind, rng)
            rows.append(
                Samples(signals, {name: value[row : row + 1].clone() for name, value in recorded.memory.items()})
            )
    return concatenate(rows)


def _edge(signal: Signal, kind: str, rng: np.random.Generator) -> Tensor:
    high = {"low": np.zeros(signal.size), "high": np.ones(signal.size), "mixed": rng.integers(0, 2, signal.size)}
    value = np.clip(0.0, signal.low, signal.high) if kind == "zero" else np.where(high[kind], signal.high, signal.low)
    return torch.tensor(np.broadcast_to(value, (1, signal.size)), dtype=torch.float32)


def concatenate(parts: list[Samples]) -> Samples:
    """All samples below each other."""
    first = parts[0]
    return Samples(
        {name: torch.cat([part.signals[name] for part in parts]) for name in first.signals},
        {name: torch.cat([part.memory[name] for part in parts]) for name in first.memory},
    )


def _check_finite(name: str, values: Tensor, signals: Mapping[str, Tensor]) -> None:
    bad = (~torch.isfinite(values)).any(dim=1)
    if bad.any():
        row = int(bad.nonzero()[0, 0])
        given = {signal: value[row].tolist() for signal, value in signals.items()}
        raise BedplateError(
            f"{name} is {values[row].tolist()} for the signals {given}",
            "finite numbers for every signal within its bounds",
            "make the task's features finite there, such as a division guarded by clamp",
        )
