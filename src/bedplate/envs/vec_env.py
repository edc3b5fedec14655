"""A task on an engine: many environments as tensors, with exact truncation.

The step order is: action -> command -> guard, noise, delay, rate limits -> physics -> reward and terminations ->
signals -> memory -> observation; finished worlds are reset in the same step and their last observation is kept.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from bedplate.bundle.contract import COMMANDED
from bedplate.core.errors import BedplateError
from bedplate.envs.actuation import Actuation, CommandFilter
from bedplate.envs.events import EventSchedule
from bedplate.envs.model import compiled_model
from bedplate.envs.observation import finite_observation, require_finite_rewards
from bedplate.envs.seeds import MAX_SEED
from bedplate.envs.sensing import Sensing
from bedplate.envs.step import Episode, Step
from bedplate.sim.batch import BatchEngine
from bedplate.tasks.spec import Task
from bedplate.tasks.state import State

__all__ = ["SPLITS", "Episode", "Split", "Step", "TaskVecEnv"]

Split = Literal["train", "evaluation"]
SPLITS: tuple[Split, ...] = ("train", "evaluation")
NO_IDS = np.zeros(0, np.int64)


class TaskVecEnv:
    """Many environments of one task.

    Args:
        task: what is simulated.
        num_envs: number of worlds.
        seed: of layouts, noise, delays and randomisation; equal seeds give equal runs on the CPU.
        split: "evaluation" worlds share no layout with "train" worlds, whatever the seeds.
        randomisation: apply the task's randomisation events, noise and delays.
        num_threads: physics threads; 0 means every usable core.

    Attributes:
        autoreset: finished worlds start anew in the same step; without it the caller restarts them.
        num_diverged: worlds whose physics failed since the start; each was terminated and never bootstrapped.
    """

    def __init__(
        self,
        task: Task,
        num_envs: int,
        seed: int = 0,
        split: Split = "train",
        randomisation: bool = True,
        num_threads: int = 0,
    ) -> None:
        task.validate()
        if num_envs < 1:
            raise BedplateError(f"num_envs is {num_envs}", "at least 1")
        if not 0 <= seed < MAX_SEED:
            raise BedplateError(f"seed is {seed}", f"a whole number from 0 to {MAX_SEED - 1}", "choose another seed")
        self.task = task
        self.num_envs = num_envs
        self.seed = seed
        self.split = split
        self.randomisation = randomisation
        self.num_threads = num_threads
        self.autoreset = True
        self.num_diverged = 0

        # physics
        self.engine = BatchEngine(
            compiled_model(task), num_envs, task.decimation, task.rays, task.fields, task.current_fields, num_threads
        )
        zeros = torch.zeros(num_envs, task.act_dim)
        self.state = State(
            engine=self.engine,
            control_dt_s=task.control_dt_s,
            world={name: torch.zeros(num_envs, size, dtype=torch.float64) for name, size in task.world.items()},
            world_id=np.zeros(num_envs, np.int64),
            action=zeros.clone(),
            previous_action=zeros.clone(),
            command=zeros.clone(),
            previous_command=zeros.clone(),
            step_count=torch.zeros(num_envs, dtype=torch.int64),
        )

        # randomness: layouts come from world ids, everything else from these two
        streams = np.random.SeedSequence([seed, SPLITS.index(split)])
        self._generator = torch.Generator().manual_seed(int(streams.generate_state(1)[0]))
        self._rng = np.random.default_rng(streams)
        self._episode_index = np.zeros(num_envs, np.int64)
        self._sensing = Sensing(task.signals, num_envs, task.control_dt_s, randomisation, self._generator)
        self._actuation = Actuation(task, num_envs, randomisation, self._generator)
        self._events = EventSchedule(task.events, randomisation, task.control_dt_s, num_envs, self._rng)

        # per-episode sums
        self._weights = torch.tensor(
            [term.weight * (1.0 if term.event else task.control_dt_s) for term in task.rewards], dtype=torch.float64
        )
        self._term_sums = torch.zeros(num_envs, len(task.rewards), dtype=torch.float64)
        self.memory: dict[str, Tensor] = {}
        self._events.startup(self.state)

    @property
    def command_filter(self) -> CommandFilter | None:
        """Called with each physical command (num_envs, act_dim) before noise and delay; guards go here."""
        return self._actuation.command_filter

    @command_filter.setter
    def command_filter(self, command_filter: CommandFilter | None) -> None:
        """Put a guard, or None, in the way of the commands."""
        self._actuation.command_filter = command_filter

    @property
    def sent(self) -> Tensor:
        """(num_envs, act_dim) float32: the commands that left the guard and the drives' rate limits last."""
        return self._actuation.sent

    @property
    def signals(self) -> dict[str, Tensor]:
        """What the policy measures now: name -> (num_envs, size) float32."""
        return self._sensing.values

    def reset(self) -> Tensor:
        """Start a new episode in every environment; returns obs (num_envs, obs_dim) float32."""
        self.task.check_widths(self._sensing.measure(self.state))
        self.memory = self.task.initial_memory(self.signals)
        return self.restart(np.arange(self.num_envs))

    def step(self, action: Tensor) -> Step:
        """Advance every environment by one control step.

        Args:
            action: (num_envs, act_dim) float32 policy output; clipped to [-1, 1].

        Raises:
            BedplateError: the action has another shape or is not finite.
        """
        self._check(action)
        task, state = self.task, self.state
        signals, memory = self.signals, self.memory

        # policy side: what the policy believes it commanded
        command = task.action.to_command(action, signals, memory, task.limits)
        self.memory = task.remember(signals, memory, action, command)

        # robot side: what reaches the actuators
        state.previous_action, state.action = state.action, action.clamp(-1.0, 1.0)
        state.previous_command, state.command = state.command, self._actuation.send(command)
        if COMMANDED in self.memory:
            # as on the robot: deltas start from what was really sent
            self.memory[COMMANDED] = self._actuation.sent
        task.action.apply(state, state.command)
        self._events.interval(state)
        self.engine.step()
        state.step_count += 1
        if task.update is not None:
            task.update(state)

        # judgement of the new state
        diverged = self.engine.diverged
        reward = self._reward(diverged)
        terminated, truncated, fired = self._terminations(diverged)
        obs = finite_observation(task, task.observe(self._sensing.measure(state), self.memory), diverged)
        done = terminated | truncated
        if not done.any():
            return Step(obs, reward, terminated, truncated, NO_IDS, obs[:0])

        # finished worlds start anew; their last observation is kept
        done_ids = done.nonzero()[:, 0].numpy()
        step = Step(obs, reward, terminated, truncated, done_ids, obs[done_ids])
        step.episodes = self._finish(done_ids, fired, diverged)
        if self.autoreset:
            step.obs = self.restart(done_ids)
        return step

    def restart(self, ids: np.ndarray) -> Tensor:
        """Start a new episode in the environments `ids` (n,) int64, sorted; returns obs (num_envs, obs_dim) float32."""
        self._reset_worlds(ids)
        obs = self.task.observe(self.signals, self.memory)
        # a world that has just failed, and is restarted later, is looked at too
        failed = self.engine.diverged.clone()
        failed[torch.from_numpy(ids)] = False
        return finite_observation(self.task, obs, failed)

    def close(self) -> None:
        """Release the engine's threads."""
        self.engine.close()

    def _check(self, action: Tensor) -> None:
        if tuple(action.shape) != (self.num_envs, self.task.act_dim):
            raise BedplateError(
                f"action has shape {tuple(action.shape)}",
                f"(num_envs, act_dim) = ({self.num_envs}, {self.task.act_dim})",
            )
        # one sum finds what is non-finite in the usual case of nothing
        if not math.isfinite(float(action.sum())) and not torch.isfinite(action).all():
            env = int((~torch.isfinite(action)).any(dim=1).nonzero()[0, 0])
            raise BedplateError(
                f"action of environment {env} is {action[env].tolist()}",
                "finite numbers",
                "a policy that gives NaN has usually diverged: lower learn.learning_rate or set learn.target_kl",
            )

    def _reward(self, diverged: Tensor) -> Tensor:
        """(num_envs,) float32; zero where the physics failed. Adds to the episodes' sums.

        Raises:
            BedplateError: a term is not finite although the physics is fine; names it.
        """
        if not self.task.rewards:
            return torch.zeros(self.num_envs)
        terms = torch.stack([term.func(self.state).to(torch.float64) for term in self.task.rewards], dim=1)
        terms *= self._weights
        reward = terms.sum(dim=1)
        if diverged.any() or not math.isfinite(float(reward.sum())):
            terms[diverged] = 0.0
            require_finite_rewards(self.task, terms)
            reward[diverged] = 0.0
        self._term_sums += terms
        return reward.to(torch.float32)

    def _terminations(self, diverged: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Which episodes end: decided, cut, and one mask per termination of the task."""
        fired = [term.func(self.state) for term in self.task.terminations]
        terminated = diverged.clone()
        truncated = self.state.step_count >= self.task.episode_steps
        for term, mask in zip(self.task.terminations, fired, strict=True):
            if term.truncated:
                truncated = truncated | mask
            else:
                terminated |= mask
        return terminated, truncated & ~terminated, fired

    def _finish(self, done_ids: np.ndarray, fired: list[Tensor], diverged: Tensor) -> list[Episode]:
        state, task = self.state, self.task
        success = task.success(state)[done_ids].tolist()
        lengths = state.step_count[done_ids].tolist()
        sums = self._term_sums[done_ids].tolist()
        metrics = {name: func(state)[done_ids].tolist() for name, func in task.metrics.items()}
        masks = {term.name: mask[done_ids].tolist() for term, mask in zip(task.terminations, fired, strict=True)}
        failed = diverged[done_ids].tolist()
        self.num_diverged += sum(failed)
        episodes = []
        for i, env_id in enumerate(done_ids.tolist()):
            reason = next((name for name, mask in masks.items() if mask[i]), "time_out")
            episodes.append(
                Episode(
                    env_id=env_id,
                    world_id=int(state.world_id[env_id]),
                    length=lengths[i],
                    ret=sum(sums[i]),
                    success=success[i] and not failed[i],
                    reason="diverged" if failed[i] else reason,
                    metrics={name: values[i] for name, values in metrics.items()},
                    reward_terms={term.name: sums[i][k] for k, term in enumerate(task.rewards)},
                )
            )
        return episodes

    def _reset_worlds(self, ids: np.ndarray) -> None:
        state = self.state
        rows = torch.from_numpy(ids)

        # layouts: ids of the two splits differ in their highest bits, seeds in the middle; episode k of environment i
        # is world k * num_envs + i, whatever the order in which episodes end
        count = self._episode_index[ids] * self.num_envs + ids
        state.world_id[ids] = (SPLITS.index(self.split) << 61) | ((self.seed & 0x1FFFFFFF) << 32) | count
        self._episode_index[ids] += 1

        # physics state
        self.engine.reset(ids)
        state.step_count[rows] = 0
        self._term_sums[rows] = 0.0
        for tensor in (state.action, state.previous_action):
            tensor[rows] = 0.0
        self._events.reset(state, ids)
        self.engine.forward(ids)

        # what the policy knows
        self._sensing.restart(state, rows)
        measured = {name: value[rows] for name, value in self.signals.items()}
        remembered = self.task.initial_memory(measured)
        for name, value in self.memory.items():
            # a copy: the update may have handed out a tensor that the state holds too
            self.memory[name] = value.clone()
            self.memory[name][rows] = remembered[name]

        # the robot stands still, or holds its position, until the first command
        still = self._actuation.restart(rows, measured, remembered)
        state.command, state.previous_command = state.command.clone(), state.previous_command.clone()
        state.command[rows], state.previous_command[rows] = still, still
