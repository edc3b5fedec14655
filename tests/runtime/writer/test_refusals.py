"""The writer when states or answers are no good: under which name it ends, what is counted, what the policy is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bedplate.bundle.contract import Contract, MemoryContract
from bedplate.core.limits import SafeAction
from bedplate.runtime.links.frame import CommandMessage, StateMessage

T = 0.02
T_NS = 20_000_000
ContractWith = Callable[..., Contract]


@pytest.mark.parametrize(("rejected", "faults"), [(4, []), (5, ["observation_range"])])
def test_states_that_cannot_be_believed_latch_under_their_own_name(
    contract_with: ContractWith, make_rig: Any, rejected: int, faults: list[str]
) -> None:
    rig = make_rig(contract_with(), states=0)
    for sequence in range(100):
        rig.add_state(sequence, sequence * T, goal=99.0 if 40 <= sequence < 40 + rejected else 0.0)
    rig.run(1.5)
    assert [fault.rule for fault in rig.writer.record.faults] == faults
    # the safe action goes out all the while
    during = [c for c in rig.commands if rig.start_ns + 40 * T_NS <= c.stamp_ns < rig.start_ns + 44 * T_NS]
    assert [c.values[0] for c in during] == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=0.01)
    moving_again = rig.commands[60].values.tolist() == [0.5, -0.5]
    assert moving_again == (not faults)


def test_a_position_robot_is_sent_nothing_before_a_fresh_state(contract_with: ContractWith, make_rig: Any) -> None:
    rig = make_rig(contract_with("position", SafeAction("ramp", (0.0, 0.0))), states=0)
    for sequence in range(30):
        rig.add_state(sequence, sequence * T, position=0.9, age_s=1.0 if sequence < 10 else 0.0)
    rig.run(0.5)
    assert rig.writer.record.held_back == 10
    # from where it stands, at the rate limit
    assert rig.commands[0].stamp_ns >= rig.start_ns + 10 * T_NS
    assert rig.commands[0].values[0] == pytest.approx(0.8)


def test_a_position_robot_put_elsewhere_is_sent_nothing_before_a_fresh_state(
    contract_with: ContractWith, make_rig: Any
) -> None:
    rig = make_rig(contract_with("position", SafeAction("hold", (0.0, 0.0))), states=20)
    for sequence in range(20, 40):
        rig.add_state(sequence, sequence * T, position=-0.9, episode=1, age_s=1.0 if sequence < 25 else 0.0)
    rig.run(0.7)
    after = [command for command in rig.commands if command.stamp_ns > rig.start_ns + 20 * T_NS]
    assert after[0].stamp_ns >= rig.start_ns + 25 * T_NS
    assert after[0].values.tolist() == pytest.approx([-0.8, -0.8])


def test_a_robot_whose_states_are_never_fresh_is_left_alone(contract_with: ContractWith, make_rig: Any) -> None:
    rig = make_rig(contract_with("position", SafeAction("hold", (0.0, 0.0))), states=0)
    for sequence in range(100):
        rig.add_state(sequence, sequence * T, age_s=1.0)
    assert rig.run(1.0) == "stopped"
    record = rig.writer.record
    assert rig.commands == [] and record.ticks == 0 and record.held_back > 40 and record.latency.n == 0


@pytest.mark.parametrize("periods", [0.85, 1.4])
def test_a_policy_that_is_late_from_the_start_is_called_too_slow(
    contract_with: ContractWith, make_rig: Any, periods: float
) -> None:
    rig = make_rig(contract_with(), states=3200)
    rig.policy.delay_s = lambda sequence: periods * T
    assert rig.run(64.0) == "policy_too_slow"
    record = rig.writer.record
    assert record.late_answers > 1000 and record.late_latency.n == record.late_answers
    assert record.late_latency.percentile_us(50) == pytest.approx(periods * T * 1e6, rel=0.02)
    assert all(command.values.tolist() == [0.0, 0.0] for command in rig.commands)


def test_a_silent_policy_is_not_called_slow(contract_with: ContractWith, make_rig: Any) -> None:
    rig = make_rig(contract_with(), states=3200)
    rig.policy.delay_s = lambda sequence: None
    assert rig.run(64.0) == "policy_never_started"


def test_bringing_the_robot_to_rest_counts_no_misses(contract_with: ContractWith, make_rig: Any) -> None:
    # the states end just when the stop is asked for
    rig = make_rig(contract_with(), states=50)
    rig.run(48.5 * T)
    record = rig.writer.record
    assert len(rig.commands) > 52
    assert record.no_state == record.no_answer == record.late_answers == record.skipped == 0


def test_the_policy_is_told_what_was_really_sent(contract_with: ContractWith, make_rig: Any) -> None:
    term = MemoryContract(name="commanded", size=2, initial=0.0)
    rig = make_rig(contract_with(memory=(term,)), states=50)
    rig.policy.command = [1.0, -1.0]
    rig.run(0.5)
    told = [message for message in rig.policy.sent if isinstance(message, CommandMessage)]
    states = [message for message in rig.policy.sent if isinstance(message, StateMessage)]
    assert rig.policy.sent.index(told[0]) == 1 and rig.policy.sent[2] is states[1]
    # the guard's ramp, not the policy's wish
    assert [message.values[0] for message in told[:4]] == pytest.approx([0.1, 0.2, 0.3, 0.4])
