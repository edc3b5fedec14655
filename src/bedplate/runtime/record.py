"""What the writer counts, for the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bedplate.runtime.decision import Fault
from bedplate.runtime.latency import LatencyHistogram

Phase = Literal["waiting", "driven", "rest"]
"""Before the policy's first answer; from then until the end; while the robot is brought to rest."""


@dataclass
class WriterRecord:
    """What happened. Bringing the robot to rest only adds `rest_ticks`, `spacing` and `faults`.

    Attributes:
        waiting_ticks: commands sent before the policy's first answer.
        driven_ticks: commands sent from then until the end was asked for or came.
        rest_ticks: commands sent after it, until the safe action was reached.
        driven_s: time from the deadline of the first driven command to that of the last. When within its period a
            command goes out says how soon its answer came; the deadlines say how fast the loop is.
        no_state: driven ticks without a new state by the deadline.
        no_answer: driven ticks with a new state and without an answer to it by the deadline.
        skipped: deadlines that the writer itself missed while it drove.
        late_answers: answers that came after their deadline and were discarded.
        late_latency: of these, from the stamp of the state to the policy's answer.
        held_back: ticks in which nothing was sent, for want of a measured position to start from.
        rejected_states: states that could not be believed; the policy never saw them.
        last_rejection: what was wrong with the last of them.
        interventions: guard rule -> driven ticks in which it acted.
        latency: from the stamp of a state to the sending of the command computed from it.
        spacing: between two commands.
        faults: every fault that was latched, in order.
    """

    waiting_ticks: int = 0
    driven_ticks: int = 0
    rest_ticks: int = 0
    driven_s: float = 0.0
    no_state: int = 0
    no_answer: int = 0
    skipped: int = 0
    late_answers: int = 0
    late_latency: LatencyHistogram = field(default_factory=LatencyHistogram)
    held_back: int = 0
    rejected_states: int = 0
    last_rejection: str = ""
    interventions: dict[str, int] = field(default_factory=dict)
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)
    spacing: LatencyHistogram = field(default_factory=LatencyHistogram)
    faults: list[Fault] = field(default_factory=list)
    _first_driven_ns: int = 0

    @property
    def ticks(self) -> int:
        """All commands sent."""
        return self.waiting_ticks + self.driven_ticks + self.rest_ticks

    @property
    def rate_hz(self) -> float:
        """Driven commands per second, by their deadlines; 0 for fewer than two of them."""
        return (self.driven_ticks - 1) / self.driven_s if self.driven_s > 0.0 else 0.0

    def add_command(self, phase: Phase, deadline_ns: int, since_last_s: float | None) -> None:
        """Count one command.

        Args:
            phase: in which it was sent.
            deadline_ns: of its tick.
            since_last_s: time since the command before; None for the first one.
        """
        if since_last_s is not None:
            self.spacing.add(since_last_s)
        if phase == "waiting":
            self.waiting_ticks += 1
        elif phase == "rest":
            self.rest_ticks += 1
        else:
            self._first_driven_ns = self._first_driven_ns or deadline_ns
            self.driven_s = (deadline_ns - self._first_driven_ns) * 1e-9
            self.driven_ticks += 1
