"""A robot, a policy and a link that are lists, in simulated time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from bedplate.bundle.contract import Contract, GuardSettings
from bedplate.core.clock import FakeClock
from bedplate.runtime.guard import ReferenceGuard
from bedplate.runtime.links.frame import CommandMessage, StateMessage
from bedplate.runtime.writer import Writer

T = 0.02
T_NS = 20_000_000
ContractWith = Callable[..., Contract]


class Timeline:
    """One direction of a link in simulated time: what was sent is there after a delay.

    Waiting moves the clock to the next arrival, or by the timeout.
    """

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.coming: list[tuple[int, StateMessage | CommandMessage]] = []
        self.sent: list[StateMessage | CommandMessage] = []
        self.refused: Counter[str] = Counter()
        self.dropped = 0
        self.gone_ns: int | None = None
        self.peer_reason = ""

    @property
    def peer_gone(self) -> bool:
        return self.gone_ns is not None and self.clock.now_ns() >= self.gone_ns

    def send(self, message: StateMessage | CommandMessage) -> bool:
        self.sent.append(message)
        return True

    def drain(self) -> list[StateMessage | CommandMessage]:
        now_ns = self.clock.now_ns()
        arrived = [message for at_ns, message in self.coming if at_ns <= now_ns]
        self.coming = [entry for entry in self.coming if entry[0] > now_ns]
        return arrived

    def wait(self, timeout_s: float | None) -> bool:
        until_ns = self.clock.now_ns() + round((timeout_s or 0.0) * 1e9)
        arrivals = [at_ns for at_ns, _ in self.coming] + ([self.gone_ns] if self.gone_ns else [])
        self.clock.sleep_until(min([until_ns, *arrivals]) * 1e-9 + 1e-9)
        return bool(arrivals) and min(arrivals) <= until_ns

    def close(self) -> None:
        pass


class Answering(Timeline):
    """A policy that answers each state after a delay, or not at all."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.delay_s: Callable[[int], float | None] = lambda sequence: 0.001
        self.command = [0.5, -0.5]

    def send(self, message: StateMessage | CommandMessage) -> bool:
        super().send(message)
        if isinstance(message, CommandMessage):
            return True
        delay_s = self.delay_s(message.sequence)
        if delay_s is not None:
            at_ns = self.clock.now_ns() + round(delay_s * 1e9)
            values = np.array(self.command)
            answer = CommandMessage(len(self.sent), at_ns, message.sequence, message.stamp_ns, values)
            self.coming.append((at_ns, answer))
        return True


class Rig:
    """A writer with a robot that sends `states` states, one per period."""

    def __init__(self, contract: Contract, states: int, settings: GuardSettings | None = None) -> None:
        self.clock = FakeClock(50.0)
        self.robot, self.policy = Timeline(self.clock), Answering(self.clock)
        self.guard = ReferenceGuard(contract, settings or GuardSettings())
        self.writer = Writer(contract, self.robot, self.policy, self.guard, self.clock)
        self.start_ns = self.clock.now_ns()
        for sequence in range(states):
            self.add_state(sequence, sequence * T)

    def add_state(
        self,
        sequence: int,
        at_s: float,
        position: float = 0.0,
        episode: int = 0,
        goal: float = 0.0,
        age_s: float = 0.0,
    ) -> None:
        stamp_ns = self.start_ns + round(at_s * 1e9)
        values = np.array([position, position, goal, goal, 0.0, 0.0])
        self.robot.coming.append((stamp_ns, StateMessage(sequence, stamp_ns, episode, values, np.full(3, age_s))))

    def run(self, seconds: float) -> str:
        until_ns = self.start_ns + round(seconds * 1e9)
        return self.writer.run(lambda: self.clock.now_ns() >= until_ns)

    @property
    def commands(self) -> list[CommandMessage]:
        return [message for message in self.robot.sent if isinstance(message, CommandMessage)]

    @property
    def spacing_s(self) -> np.ndarray:
        return np.diff([command.stamp_ns for command in self.commands]) * 1e-9


@pytest.fixture(scope="session")
def make_rig() -> type[Rig]:
    return Rig


@pytest.fixture
def rig(contract_with: ContractWith) -> Rig:
    return Rig(contract_with(), states=200)
