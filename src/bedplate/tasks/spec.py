"""A task as data: signals, features, actions, rewards, terminations, events, limits.

A *signal* is what the robot measures or is told; noise and delay act on signals. A *feature* is a pure torch function
of signals (and of explicit memory), and goes into the exported graph, so that the robot side feeds signals in
physical units and nobody writes the observation twice. Rewards, terminations and events may read everything the
simulator knows; the policy may not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mujoco
import torch
from torch import Tensor

from bedplate.core.errors import BedplateError
from bedplate.core.limits import Limits
from bedplate.sim.engine import RaySensor
from bedplate.tasks.interface import Action, Feature, Memory, MemoryTerm, Signal, Signals, previous_action
from bedplate.tasks.judgement import Event, RewardTerm, Termination
from bedplate.tasks.state import State

__all__ = [
    "Action",
    "Event",
    "Feature",
    "Memory",
    "MemoryTerm",
    "RaySensor",
    "RewardTerm",
    "Signal",
    "Signals",
    "State",
    "Task",
    "Termination",
    "previous_action",
]


@dataclass(frozen=True, kw_only=True)
class Task:
    """One robot job, complete: what is simulated, seen, commanded, rewarded, and what must never be exceeded.

    Attributes:
        id: such as "nav_lidar".
        model: builds the MuJoCo model.
        sim_dt_s: physics substep; written into the model.
        decimation: physics substeps per control step.
        episode_length_s: a time-out; counts as truncated.
        signals, features, memory, action: what the policy reads and writes; see the classes.
        rewards, terminations, events: what the simulator judges and varies.
        update: called after each control step, before any term is read; keeps per-world numbers such as a distance
            travelled or a time held. It may write state.world.
        success: State -> (num_envs,) bool, read when an episode ends.
        limits: of the command; the same object the guard gets.
        fields: engine fields that terms read beyond qpos, qvel, act and ctrl, such as "site_xpos".
        current_fields: derived fields are current after a step; False leaves them one substep behind, as mj_step and
            Gymnasium's environments do.
        rays: ray sensors, computed at the control rate only.
        world: name -> width of per-world numbers the events write and the terms read, such as {"goal": 2}.
        world_version: version of the world generator; change it when the distribution of worlds changes.
        metrics: name -> (State -> (num_envs,)), read when an episode ends, such as path efficiency.
        baseline: a classical controller to compare with: measured signals -> physical command (num_envs, act_dim).
        tracked: body or site whose path is plotted and followed; empty means the first body that can move,
            or the last one of a robot that is bolted down.
        description: one line for tables and reports.
        difficulty: facts about the worlds that belong to any result, such as {"obstacles": "12 to 20"}.
    """

    id: str
    model: Callable[[], mujoco.MjSpec]
    sim_dt_s: float
    decimation: int
    episode_length_s: float
    signals: tuple[Signal, ...]
    features: tuple[Feature, ...]
    action: Action
    rewards: tuple[RewardTerm, ...]
    terminations: tuple[Termination, ...]
    events: tuple[Event, ...]
    success: Callable[[State], Tensor]
    limits: Limits
    memory: tuple[MemoryTerm, ...] = ()
    update: Callable[[State], None] | None = None
    fields: tuple[str, ...] = ()
    current_fields: bool = True
    rays: tuple[RaySensor, ...] = ()
    world: Mapping[str, int] = field(default_factory=dict)
    world_version: int = 1
    metrics: Mapping[str, Callable[[State], Tensor]] = field(default_factory=dict)
    baseline: Callable[[Signals], Tensor] | None = None
    tracked: str = ""
    description: str = ""
    difficulty: Mapping[str, Any] = field(default_factory=dict)

    @property
    def control_dt_s(self) -> float:
        """Time between two commands."""
        return self.sim_dt_s * self.decimation

    @property
    def episode_steps(self) -> int:
        """Control steps until the time-out."""
        return round(self.episode_length_s / self.control_dt_s)

    @property
    def obs_dim(self) -> int:
        """Width of the observation."""
        return sum(feature.size for feature in self.features)

    @property
    def act_dim(self) -> int:
        """Width of the action."""
        return self.action.size

    def observe(self, signals: Signals, memory: Memory) -> Tensor:
        """The observation: all features side by side; a pure torch function, exported inside the graph.

        Returns:
            (num_envs, obs_dim) float32.
        """
        return torch.cat([feature.func(signals, memory) for feature in self.features], dim=-1)

    def remember(self, signals: Signals, memory: Memory, action: Tensor, command: Tensor) -> dict[str, Tensor]:
        """Memory for the next control step."""
        clipped = action.clamp(-1.0, 1.0)
        return {term.name: term.update(signals, memory, clipped, command) for term in self.memory}

    def initial_memory(self, signals: Signals) -> dict[str, Tensor]:
        """Memory right after a reset that measured `signals`: name -> (num_envs, size) float32."""
        num_envs = len(next(iter(signals.values())))
        return {
            term.name: signals[term.initial_signal].clone()
            if term.initial_signal
            else torch.full((num_envs, term.size), term.initial)
            for term in self.memory
        }

    def feature_at(self, column: int) -> str:
        """Name of the feature that the observation's `column` belongs to."""
        for feature in self.features:
            if column < feature.size:
                return feature.name
            column -= feature.size
        raise IndexError(column)

    def check_widths(self, signals: Signals) -> None:
        """Compare what signals, features and memory give with the sizes they declare.

        Args:
            signals: as measured on any worlds.

        Raises:
            BedplateError: names the part, its declared and its real width.
        """
        memory = self.initial_memory(signals)
        action = torch.zeros(len(next(iter(signals.values()))), self.act_dim)
        command = self.action.to_command(action, signals, memory, self.limits)
        remembered = self.remember(signals, memory, action, command)
        parts = [("signal", s.name, s.size, signals[s.name]) for s in self.signals]
        parts += [("feature", f.name, f.size, f.func(signals, memory)) for f in self.features]
        parts += [("memory", m.name, m.size, remembered[m.name]) for m in self.memory]
        for kind, name, size, value in parts:
            if value.dim() != 2 or value.shape[1] != size:
                raise BedplateError(
                    f"task {self.id!r}: {kind} {name!r} gives {tuple(value.shape)}",
                    f"(num_envs, {size}), as its size says",
                    f"correct the size or the function of {kind} {name!r}",
                )

    def validate(self) -> None:
        """Check what can be checked without a simulation.

        Raises:
            BedplateError: names the part that is wrong.
        """
        for name in ("sim_dt_s", "episode_length_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise BedplateError(f"task {self.id!r}: {name} is {value}", "a finite time above zero")
        if self.decimation < 1:
            raise BedplateError(f"task {self.id!r}: decimation is {self.decimation}", "1 or more substeps per command")
        for name in ("signals", "features"):
            if not getattr(self, name):
                raise BedplateError(f"task {self.id!r} has no {name}", "at least one: a policy must see something")
        self.limits.validate()
        channels = tuple(limit.channel for limit in self.limits.channels)
        if channels != self.action.channels:
            raise BedplateError(
                f"task {self.id!r}: limits name the channels {channels}",
                f"the action's channels in the same order: {self.action.channels}",
            )
        for name, names in (
            ("signal", [s.name for s in self.signals]),
            ("feature", [f.name for f in self.features]),
            ("memory", [m.name for m in self.memory]),
            ("reward", [r.name for r in self.rewards]),
            ("termination", [t.name for t in self.terminations]),
            ("event", [e.name for e in self.events]),
        ):
            twice = {n for n in names if names.count(n) > 1}
            if twice:
                raise BedplateError(f"task {self.id!r}: {name} {sorted(twice)} is named twice", "unique names")
        for name in ("low", "high", "unit"):
            if len(getattr(self.action, name)) != self.action.size:
                raise BedplateError(
                    f"task {self.id!r}: action.{name} has {len(getattr(self.action, name))} values",
                    f"{self.action.size}, one per channel",
                )
        sizes = {signal.name: signal.size for signal in self.signals}
        for term in self.memory:
            if term.initial_signal and sizes.get(term.initial_signal) != term.size:
                raise BedplateError(
                    f"task {self.id!r}: memory {term.name!r} starts from signal {term.initial_signal!r}",
                    f"one of the task's signals, of size {term.size}",
                )
        if self.action.relative_to == "measured" and sizes.get(self.action.signal) != self.action.size:
            raise BedplateError(
                f"task {self.id!r}: the action is relative to signal {self.action.signal!r}",
                f"one of the task's signals, of size {self.action.size}",
            )
        if self.action.relative_to == "commanded" and "commanded" not in {m.name for m in self.memory}:
            raise BedplateError(
                f"task {self.id!r}: the action is relative to the last command",
                'a memory term named "commanded"',
            )
