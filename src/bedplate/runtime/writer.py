"""The writer: the loop that owns what reaches the robot.

In each period it takes the newest state, hands it to the policy, waits for the answer until the deadline, asks the
guard and sends. The deadline is absolute; without an answer by then, the guard decides what goes out. Nothing else
sends commands, and no thread keeps an old command alive. This module and what it imports know no inference library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from bedplate.bundle.contract import Contract
from bedplate.core.clock import Clock
from bedplate.runtime.decision import Decision, Fault, Guard
from bedplate.runtime.links import Link
from bedplate.runtime.links.frame import CommandMessage, StateMessage
from bedplate.runtime.loop import FixedRate
from bedplate.runtime.record import Phase, WriterRecord
from bedplate.runtime.signals import SignalLayout

# part of the period that the policy has for its answer, from the arrival of the state
ANSWER_BUDGET_PERIODS = 0.8
# two commands are never closer than this
SHORTEST_SPACING_PERIODS = 0.5
# a policy process that has not answered by then never will
POLICY_START_S = 60.0
# longest time that a ramp to the safe action may take after a stop request
STOP_RAMP_S = 3.0

End = Literal["stopped", "robot_gone", "policy_never_started", "policy_too_slow"]

REST_CAUSES = {"policy_never_started": "the policy did not start", "policy_too_slow": "every answer came too late"}


class Writer:
    """The writer's loop.

    Args:
        contract: of the robot.
        link: to the robot.
        policy: to the policy process: states go out, commands come back.
        guard: has the last word.
        clock: shared with the stamps of the states.
        on_fault: called once for each latched fault; must not block.

    Attributes:
        record: what happened so far.
        rate: the deadlines.
    """

    def __init__(
        self,
        contract: Contract,
        link: Link,
        policy: Link,
        guard: Guard,
        clock: Clock,
        on_fault: Callable[[Fault], None] = lambda fault: None,
    ) -> None:
        self.record = WriterRecord()
        self.rate = FixedRate(contract.control_dt_s, clock)
        self._contract = contract
        self._layout = SignalLayout(contract)
        self._link = link
        self._policy = policy
        self._guard = guard
        self._clock = clock
        self._on_fault = on_fault
        self._answer_budget_ns = round(ANSWER_BUDGET_PERIODS * self.rate.period_ns)
        self._spacing_ns = round(SHORTEST_SPACING_PERIODS * self.rate.period_ns)
        self._state: StateMessage | None = None
        self._first: StateMessage | None = None
        self._asked_sequence = -1
        self._answer: CommandMessage | None = None
        self._answered_once = False
        self._ending = False
        self._sent: np.ndarray | None = None
        self._waiting_counts: dict[str, int] = {}
        self._last_sent_ns = 0

    def run(self, stop: Callable[[], bool]) -> End:
        """Write until `stop()` says so or the robot is gone; ends with the safe action reached.

        Args:
            stop: asked once per period; must not block.
        """
        self._ending = False
        try:
            end = self._drive(stop)
        except BaseException:
            # whatever went wrong, the robot is not left on the policy's last command
            self._ending = True
            self._bring_to_rest("the writer failed")
            raise
        self._ending = True
        waiting = self._waiting_counts
        self.record.interventions = {rule: n - waiting.get(rule, 0) for rule, n in self._guard.counts.items()}
        # a robot that was sent nothing needs no rest
        if self.record.ticks and end != "robot_gone":
            self._bring_to_rest(REST_CAUSES.get(end, "stop was requested"))
        return "robot_gone" if self._link.peer_gone else end

    def _drive(self, stop: Callable[[], bool]) -> End:
        # no command before a state: without one there is nothing to start from
        while self._state is None:
            if stop():
                return "stopped"
            if self._link.peer_gone:
                return "robot_gone"
            self._first_state()
        started_ns = self._clock.now_ns()
        while not stop():
            self.tick()
            if self._link.peer_gone:
                return "robot_gone"
            if not self._answered_once:
                self._waiting_counts = dict(self._guard.counts)
                waited_ns = self._clock.now_ns() - started_ns
                if self._policy.peer_gone or waited_ns > POLICY_START_S * 1e9:
                    alive_and_late = self.record.late_answers and not self._policy.peer_gone
                    return "policy_too_slow" if alive_and_late else "policy_never_started"
        return "stopped"

    def tick(self) -> Decision:
        """One period: state, answer, guard, command."""
        fresh = self._await_state()
        answered = fresh and self._await_answer()
        decision = self._send(answered)
        skipped = self.rate.advance()
        if self._phase == "driven":
            self.record.no_state += not fresh
            self.record.no_answer += fresh and not answered
            self.record.skipped += skipped
        return decision

    @property
    def _phase(self) -> Phase:
        if self._ending:
            return "rest"
        return "driven" if self._answered_once else "waiting"

    def _first_state(self) -> None:
        self._link.wait(self._contract.control_dt_s)
        for message in self._link.drain():
            if isinstance(message, StateMessage) and not self._rejected(message):
                self._take(message)
                self._first = message
                # it may have waited in the queue: the next one comes a period after it was sent, not after it was read
                now_ns = self._clock.now_ns()
                sent_ns = min(max(message.stamp_ns, now_ns - self.rate.period_ns), now_ns)
                self.rate.start(sent_ns + self._answer_budget_ns)

    def _await_state(self) -> bool:
        """Take the newest state and hand it to the policy; False when none came by the deadline."""
        newest, self._first = self._first, None
        while newest is None:
            for message in self._link.drain():
                if isinstance(message, StateMessage):
                    newest = message
            left_ns = self.rate.deadline_ns - self._clock.now_ns()
            if newest is not None or self._link.peer_gone or left_ns <= 0:
                break
            self._link.wait(left_ns * 1e-9)
        if newest is None:
            return False
        self.rate.shift(self._clock.now_ns() + self._answer_budget_ns - self.rate.deadline_ns)
        self._take(newest)
        # what cannot be believed must not get into the policy's memory
        if self._rejected(newest):
            return False
        if self._sent is not None and self._contract.remembers_command:
            self._policy.send(CommandMessage(self.record.ticks, self._last_sent_ns, 0, 0, self._sent))
        self._policy.send(newest)
        self._asked_sequence = newest.sequence
        return True

    def _take(self, state: StateMessage) -> None:
        if self._state is not None and state.episode != self._state.episode:
            self._guard.restart()
            self._answer = self._sent = None
        self._state = state

    def _rejected(self, state: StateMessage) -> bool:
        violation = self._layout.violation(self._layout.unpack(state.values))
        if violation and not self._ending:
            self.record.rejected_states += 1
            self.record.last_rejection = violation
        return bool(violation)

    def _await_answer(self) -> bool:
        """Wait for the answer to the newest state; False when it did not come by the deadline."""
        while True:
            for message in self._policy.drain():
                if not isinstance(message, CommandMessage):
                    continue
                if message.state_sequence == self._asked_sequence:
                    self._answer = message
                    self._answered_once = True
                    return True
                if not self._ending:
                    self.record.late_answers += 1
                    self.record.late_latency.add((message.stamp_ns - message.state_stamp_ns) * 1e-9)
            # a policy process that has ended has no command any more
            if self._policy.peer_gone:
                self._answer = None
                return False
            left_ns = self.rate.deadline_ns - self._clock.now_ns()
            if left_ns <= 0:
                return False
            self._policy.wait(left_ns * 1e-9)

    def _send(self, answered: bool) -> Decision:
        self._clock.sleep_until((self._last_sent_ns + self._spacing_ns) * 1e-9)
        state, answer = self._state, self._answer
        assert state is not None, "a tick before the first state"
        now_ns = self._clock.now_ns()
        now_s = now_ns * 1e-9
        had_fault = self._guard.fault
        decision = self._guard.filter(
            now_s,
            [state.stamp_ns * 1e-9 - age_s for age_s in state.ages_s.tolist()],
            self._layout.unpack(state.values),
            answer.state_stamp_ns * 1e-9 if answer else math.nan,
            answer.values if answer else None,
        )
        if decision.hold_back:
            self.record.held_back += not self._ending
        else:
            self._send_command(decision.command, state, answer, answered)
        if decision.fault is not None and decision.fault is not had_fault:
            self.record.faults.append(decision.fault)
            self._on_fault(decision.fault)
        return decision

    def _send_command(
        self, command: np.ndarray, state: StateMessage, answer: CommandMessage | None, answered: bool
    ) -> None:
        stamp_ns = self._clock.now_ns()
        answered_state = (answer.state_sequence, answer.state_stamp_ns) if answer else (0, 0)
        self._link.send(CommandMessage(self.record.ticks, stamp_ns, *answered_state, command))
        # statistics come after the command is out
        if answered and not self._ending:
            self.record.latency.add((stamp_ns - state.stamp_ns) * 1e-9)
        since_last_s = (stamp_ns - self._last_sent_ns) * 1e-9 if self.record.ticks else None
        self.record.add_command(self._phase, self.rate.deadline_ns, since_last_s)
        self._last_sent_ns, self._sent = stamp_ns, command

    def _bring_to_rest(self, why: str) -> None:
        """Take the authority from the policy and send until the safe action is reached; bounded in time."""
        self._guard.trip(self._clock.now_ns() * 1e-9, "stop", why)
        safe = self._contract.limits.safe_action
        until_ns = self._clock.now_ns() + round(STOP_RAMP_S * 1e9)
        before: np.ndarray | None = None
        while not self._link.peer_gone and self._clock.now_ns() < until_ns:
            decision = self.tick()
            if decision.hold_back:
                continue
            command = decision.command
            # "hold" has no value to reach: it is at rest when the command stands still
            target = before if safe.mode == "hold" else np.array(safe.value)
            if target is not None and np.abs(command - target).max() <= 1e-9:
                return
            before = command
