"""A task as data: signals, features, actions, rewards, terminations, events, limits.

A *signal* is what the robot measures or is told; noise and delay act on signals. A *feature* is a pure torch function
of signals (and of explicit memory), and goes into the exported graph, so that the robot side feeds signals in
physical units and nobody writes the observation twice. Rewards, terminations and events may read everything the
simulator knows; the policy may not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import mujoco
import numpy as np
import torch
from torch import Tensor

from bedplate.core.errors import BedplateError
from bedplate.core.limits import Limits
from bedplate.sim.engine import RaySensor
from bedplate.tasks.state import State

Signals = Mapping[str, Tensor]
"""Signal name -> (num_envs, size) float32, in physical units."""

Memory = Mapping[str, Tensor]
"""Memory name -> (num_envs, size) float32: what the policy itself remembers from the previous control step."""


@dataclass(frozen=True, kw_only=True)
class Signal:
    """What the robot measures or is told.

    Attributes:
        name: the signal's name, the same in simulation, in the bundle and on the link.
        components: one name per element, such as joint names; its length is the signal's size.
        unit: unit of every element, such as "rad"; "1" for pure numbers.
        frame: frame the numbers are expressed in: "world", "body", "joint", "" when it has none.
        read: simulation side: State -> (num_envs, size).
        low, high: bounds outside which the guard refuses a measurement.
        max_age_s: age above which the guard treats the signal as stale.
        rate_hz: rate the robot must deliver it at; 0 means the control rate.
        noise_std: standard deviation of the noise added in training, in the signal's unit.
        delay_s: smallest and largest delay; drawn per episode, rounded to control steps.
    """

    name: str
    components: tuple[str, ...]
    unit: str
    frame: str
    read: Callable[[State], Tensor]
    low: float
    high: float
    max_age_s: float
    rate_hz: float = 0.0
    noise_std: float = 0.0
    delay_s: tuple[float, float] = (0.0, 0.0)

    @property
    def size(self) -> int:
        """Number of elements."""
        return len(self.components)


@dataclass(frozen=True)
class Feature:
    """One slice of the observation: a pure torch function of signals and memory, exported inside the graph.

    Attributes:
        name: the slice's name.
        size: its width.
        func: (signals, memory) -> (num_envs, size) float32; only operations that ONNX has.
    """

    name: str
    size: int
    func: Callable[[Signals, Memory], Tensor]


@dataclass(frozen=True)
class MemoryTerm:
    """State that the policy carries from one control step to the next, explicit in the exported graph.

    Attributes:
        name: such as "previous_action".
        size: its width.
        initial: value of every element after a reset, unless `initial_signal` is given.
        initial_signal: measured signal whose first value after a reset this starts from, such as joint positions for
            a last command; its size is the term's size.
        update: (signals, memory, action, command) -> (num_envs, size); `action` is the clipped policy output in
            [-1, 1], `command` the physical command.
    """

    name: str
    size: int
    initial: float
    update: Callable[[Signals, Memory, Tensor, Tensor], Tensor]
    initial_signal: str = ""


def previous_action(size: int) -> MemoryTerm:
    """Memory of the last policy output, clipped to [-1, 1]."""
    return MemoryTerm("previous_action", size, 0.0, lambda signals, memory, action, command: action)


@dataclass(frozen=True, kw_only=True)
class Action:
    """How a policy output in [-1, 1] becomes a physical command.

    The command is `base + centre + half_range * clip(action, -1, 1)`, kept inside the limits' [low, high]. The base
    is zero, or for a delta the measured signal or the last command.

    Attributes:
        channels: one name per command channel, in command order; equal to the limits' channels.
        kind: "velocity", "position", "delta_position", "twist", "thrust_and_body_rate" or "effort".
        unit: unit per channel.
        low, high: physical value at policy output -1 and +1, per channel.
        relative_to: "" for absolute commands, "measured" or "commanded" for deltas.
        signal: the measured signal a delta is added to; one element per channel.
        apply: simulation side: writes `command` (num_envs, act_dim) into the engine's ctrl.
        noise_std: standard deviation of the noise added to the policy output in training.
        delay_s: smallest and largest delay of the command; drawn per episode, rounded to control steps.
    """

    channels: tuple[str, ...]
    kind: str
    unit: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    apply: Callable[[State, Tensor], None]
    relative_to: Literal["", "measured", "commanded"] = ""
    signal: str = ""
    noise_std: float = 0.0
    delay_s: tuple[float, float] = (0.0, 0.0)

    @property
    def size(self) -> int:
        """Number of command channels."""
        return len(self.channels)

    def to_command(self, action: Tensor, signals: Signals, memory: Memory, limits: Limits) -> Tensor:
        """Turn a policy output into a physical command; a pure torch function, exported inside the graph.

        Args:
            action: (num_envs, act_dim) float32, any range; it is clipped to [-1, 1].
            signals: the measured signals of this step.
            memory: must hold "commanded" when `relative_to` is "commanded".
            limits: bounds of the command.

        Returns:
            (num_envs, act_dim) float32 in the channels' units.
        """
        low, high = torch.tensor(self.low), torch.tensor(self.high)
        command = (low + high) / 2 + (high - low) / 2 * action.clamp(-1.0, 1.0)
        if self.relative_to == "measured":
            command = command + signals[self.signal]
        elif self.relative_to == "commanded":
            command = command + memory["commanded"]
        bounds = limits.channels
        lowest, highest = torch.tensor([b.low for b in bounds]), torch.tensor([b.high for b in bounds])
        return torch.minimum(torch.maximum(command, lowest), highest)


@dataclass(frozen=True)
class RewardTerm:
    """One additive part of the reward, logged under its name.

    Attributes:
        name: such as "progress".
        func: State -> (num_envs,).
        weight: reward per second, or per occurrence when `event` is set.
        event: the term pays once when it happens (success, collision) and is not multiplied by the control period.
    """

    name: str
    func: Callable[[State], Tensor]
    weight: float
    event: bool = False


@dataclass(frozen=True)
class Termination:
    """A reason for an episode to end.

    Attributes:
        name: such as "collision".
        func: State -> (num_envs,) bool.
        truncated: the episode was cut, not decided: the learner bootstraps its value.
    """

    name: str
    func: Callable[[State], Tensor]
    truncated: bool = False


@dataclass(frozen=True)
class Event:
    """Something that sets or changes worlds: initial state, obstacles, masses, pushes.

    Attributes:
        name: such as "friction".
        func: (state, ids, rng): changes the worlds `ids` (n,) int64 of `state`.
        mode: "startup" once for all worlds, "reset" at the start of each episode, "interval" during episodes.
        interval_s: smallest and largest time between two occurrences in one world, for "interval".
        ranges: what is drawn from where, for the manifest and the report; randomisation is switched off by name.
        randomisation: the event varies physics or sensing and is left out with randomisation off; events that set
            the world up (obstacles, goal, start pose) say False.
    """

    name: str
    func: Callable[[State, np.ndarray, np.random.Generator], None]
    mode: Literal["startup", "reset", "interval"] = "reset"
    interval_s: tuple[float, float] = (0.0, 0.0)
    ranges: Mapping[str, Any] = field(default_factory=dict)
    randomisation: bool = True


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
        tracked: body or site whose path is plotted and followed; empty means the first body that can move.
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

    def validate(self) -> None:
        """Check what can be checked without a simulation.

        Raises:
            BedplateError: names the part that is wrong.
        """
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
            ("reward", [r.name for r in self.rewards]),
            ("termination", [t.name for t in self.terminations]),
            ("event", [e.name for e in self.events]),
        ):
            twice = {n for n in names if names.count(n) > 1}
            if twice:
                raise BedplateError(f"task {self.id!r}: {name} {sorted(twice)} is named twice", "unique names")
        sizes = {signal.name: signal.size for signal in self.signals}
        for term in self.memory:
            if term.initial_signal and sizes.get(term.initial_signal) != term.size:
                raise BedplateError(
                    f"task {self.id!r}: memory {term.name!r} starts from signal {term.initial_signal!r}",
                    f"one of the task's signals, of size {term.size}",
                )
        if self.action.relative_to == "measured" and self.action.signal not in {s.name for s in self.signals}:
            raise BedplateError(
                f"task {self.id!r}: the action is relative to signal {self.action.signal!r}", "one of the task's signals"
            )
        if self.action.relative_to == "commanded" and "commanded" not in {m.name for m in self.memory}:
            raise BedplateError(
                f"task {self.id!r}: the action is relative to the last command",
                'a memory term named "commanded"',
            )
