"""A simulated robot: one world of a task, in real time, behind a link.

The command that answers the state of a period is applied over that period, as in training; a period without a command
repeats the last one. The physics of a period is computed as soon as its command is there, so that states leave on time.
Before the first command of an episode it does its safe action: "hold" stays where it is measured. Being safe is the
guard's business: this robot does what it is told.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from bedplate.core.clock import Clock
from bedplate.envs.vec_env import Episode, TaskVecEnv
from bedplate.robot.record import RobotRecord
from bedplate.runtime.links import Link, Listener
from bedplate.runtime.links.frame import CommandMessage, StateMessage
from bedplate.runtime.loop import FixedRate
from bedplate.runtime.signals import SignalLayout
from bedplate.tasks.contract import contract_of
from bedplate.tasks.spec import Task

KNOCK_WAIT_S = 0.1


class SimulatedRobot:
    """One world of a task.

    Args:
        task: what is simulated.
        clock: real time, for the deadlines and the stamps.
        seed: of the worlds.
        randomisation: noise, delays and varied physics, as in training.
        on_event: told in words what happened; must not block.

    Attributes:
        contract: what a writer must agree on.
        record: what happened so far.
    """

    def __init__(
        self,
        task: Task,
        clock: Clock,
        seed: int = 0,
        randomisation: bool = True,
        on_event: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.contract = contract_of(task)
        self.record = RobotRecord(self.contract)
        self._clock = clock
        self._on_event = on_event
        self._layout = SignalLayout(self.contract)
        # one small world: more threads would only take cores from the policy
        torch.set_num_threads(1)
        self._env = TaskVecEnv(task, 1, seed, "evaluation", randomisation, num_threads=1)
        self._env.command_filter = lambda command: torch.from_numpy(self._command[None].astype(np.float32))
        self._no_action = torch.zeros(1, task.act_dim)
        self._env.reset()
        self._command: np.ndarray = self._resting_command()
        self._ages_s = np.zeros(len(self.contract.signals))
        self._episode = 0
        self._sequence = 0
        self._step_ns = 0

    def run(self, listener: Listener, stop: Callable[[], bool]) -> None:
        """Be a robot until `stop()` says so. The world stands still until the first writer has come.

        Args:
            listener: where writers knock.
            stop: asked once per period; must not block.
        """
        while (link := self._accept(listener)) is None:
            if stop():
                return
            listener.wait(KNOCK_WAIT_S)
        started_ns = self._clock.now_ns()
        rate = FixedRate(self.contract.control_dt_s, self._clock)
        rate.start(started_ns)
        left = False
        while not stop():
            # a second writer is told so, and a new one may follow one that left
            newer = self._accept(listener)
            if newer is not None:
                link.close()
                link = newer
            self._send_state(link)
            rate.advance()
            self._receive(link, rate)
            if link.peer_gone and not left:
                self._on_event("the writer has gone; repeating its last command")
            left = link.peer_gone
            self._step()
            self.record.ticks += 1
            rate.sleep()
        link.close()
        self.record.missed_ticks = rate.missed
        self.record.seconds = (self._clock.now_ns() - started_ns) * 1e-9

    def close(self) -> None:
        """Release the physics."""
        self._env.close()

    def _accept(self, listener: Listener) -> Link | None:
        turned_away = len(listener.refusals)
        link = listener.accept()
        for why in listener.refusals[turned_away:]:
            self._on_event(f"turned a writer away: {why}")
        if link is not None:
            self.record.writers += 1
            self.record.links.append(link)
            self._on_event("a writer has come")
        return link

    def _resting_command(self) -> np.ndarray:
        """What the world stands still under since its reset."""
        return self._env.sent[0].numpy().astype(np.float64)

    def _send_state(self, link: Link) -> None:
        values = self._layout.pack({name: value[0].numpy() for name, value in self._env.signals.items()})
        self._sequence += 1
        link.send(StateMessage(self._sequence, self._clock.now_ns(), self._episode, values, self._ages_s))

    def _receive(self, link: Link, rate: FixedRate) -> None:
        """Take commands until one answers to the state just sent, or only the time of the physics is left."""
        until_ns = rate.deadline_ns - min(self._step_ns, rate.period_ns // 2)
        answered = False
        while not answered and (left_ns := until_ns - self._clock.now_ns()) > 0 and not link.peer_gone:
            link.wait(left_ns * 1e-9)
            arrival_ns = self._clock.now_ns()
            for message in link.drain():
                if not isinstance(message, CommandMessage):
                    continue
                self.record.add_command(message, arrival_ns, self._episode)
                answered |= message.state_sequence == self._sequence
                # a robot's drive would trip on it; the guard must never let it out
                if np.isfinite(message.values).all():
                    self._command = message.values

    def _step(self) -> None:
        started_ns = self._clock.now_ns()
        step = self._env.step(self._no_action)
        # the slowest of late, slowly forgotten
        self._step_ns = max(self._clock.now_ns() - started_ns, self._step_ns * 99 // 100)
        for episode in step.episodes:
            self.record.episodes.append(episode)
            self._episode += 1
            self._command = self._resting_command()
            self._on_event(_sentence(episode, self.contract.control_dt_s))


def _sentence(episode: Episode, control_dt_s: float) -> str:
    verdict = "success" if episode.success else "failure"
    metrics = ", ".join(f"{name} {value:.3g}" for name, value in episode.metrics.items() if math.isfinite(value))
    return f"{verdict} ({episode.reason}) after {episode.length * control_dt_s:.1f} s; {metrics}".rstrip("; ")
