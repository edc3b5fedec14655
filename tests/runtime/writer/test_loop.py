"""The writer's loop: rate, latency, stalls, episodes and ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bedplate.bundle.contract import Contract, GuardSettings
from bedplate.core.limits import SafeAction
from bedplate.runtime.decision import Decision
from bedplate.runtime.writer import Writer

T = 0.02
T_NS = 20_000_000
ContractWith = Callable[..., Contract]


def test_a_fresh_state_is_answered_at_once(rig: Any) -> None:
    assert rig.run(2.0) == "stopped"
    record = rig.writer.record
    assert record.latency.percentile_us(99.9) == pytest.approx(1000.0, rel=0.02)
    assert record.no_answer == record.no_state == record.late_answers == 0
    assert rig.spacing_s[1:90] == pytest.approx(T, abs=1e-6)


def test_commands_carry_the_state_they_answer(rig: Any) -> None:
    rig.run(1.0)
    for command in rig.commands[2:40]:
        assert command.state_stamp_ns == rig.start_ns + command.state_sequence * T_NS
        assert command.stamp_ns - command.state_stamp_ns < 2_000_000


def test_nothing_is_sent_before_a_state_that_can_be_believed(contract_with: ContractWith, make_rig: Any) -> None:
    rig = make_rig(contract_with(), states=0)
    assert rig.run(1.0) == "stopped" and rig.commands == []
    rig.add_state(0, 1.1, position=99.0)
    rig.start_ns = rig.clock.now_ns()
    assert rig.run(1.0) == "stopped" and rig.commands == []
    assert rig.writer.record.rejected_states == 1 and "99.0" in rig.writer.record.last_rejection


def test_the_last_commands_bring_the_robot_to_its_safe_action(rig: Any) -> None:
    rig.run(1.0)
    moving = [command for command in rig.commands if command.values[0] == 0.5]
    after = rig.commands[rig.commands.index(moving[-1]) + 1 :]
    assert [command.values[0] for command in after] == pytest.approx([0.4, 0.3, 0.2, 0.1, 0.0, 0.0][: len(after)])
    assert rig.commands[-1].values.tolist() == pytest.approx([0.0, 0.0], abs=1e-9)
    # a stop that was asked for is no fault
    assert rig.writer.record.faults == []


@pytest.mark.parametrize("robot_period_s", [T, 0.995 * T])
def test_the_loop_rate_is_that_of_the_driven_part_alone(
    contract_with: ContractWith, make_rig: Any, robot_period_s: float
) -> None:
    rig = make_rig(contract_with(), states=0)
    for sequence in range(600):
        rig.add_state(sequence, sequence * robot_period_s)
    # the policy starts late, and the ramp to the safe action takes five ticks
    rig.policy.delay_s = lambda sequence: 0.001 if sequence >= 20 else None
    rig.run(10.0)
    record = rig.writer.record
    assert record.waiting_ticks == 20 and record.rest_ticks >= 5
    assert record.ticks == record.waiting_ticks + record.driven_ticks + record.rest_ticks == len(rig.commands)
    # n commands are n - 1 periods apart; the first answer comes earlier in its period than the commands before it
    sent_s = [command.stamp_ns * 1e-9 for command in rig.commands][record.waiting_ticks : -record.rest_ticks]
    assert sent_s[-1] - rig.start_ns * 1e-9 <= 10.0 + T
    assert (len(sent_s) - 1) / (sent_s[-1] - sent_s[0]) == pytest.approx(record.rate_hz, rel=2e-3)
    assert record.rate_hz == pytest.approx(1 / robot_period_s, rel=1e-4)


@pytest.mark.parametrize(("stalled_at", "counted"), [(5, False), (40, True)])
def test_deadlines_that_the_writer_misses_count_while_it_drives(rig: Any, stalled_at: int, counted: bool) -> None:
    def answer_s(sequence: int) -> float | None:
        if sequence == stalled_at:
            # the writer's process does not run for four periods
            rig.clock.sleep_until((rig.clock.now_ns() + 4 * T_NS) * 1e-9)
        return 0.001 if sequence >= 20 else None

    rig.policy.delay_s = answer_s
    rig.run(2.0)
    assert rig.writer.rate.missed >= 3
    assert rig.writer.record.skipped == (rig.writer.rate.missed if counted else 0)
    assert (rig.writer.record.rate_hz < 0.98 / T) == counted


def test_no_rate_is_claimed_for_a_policy_that_never_drove(rig: Any) -> None:
    rig.policy.delay_s = lambda sequence: None
    rig.run(1.0)
    assert rig.writer.record.ticks > 40
    assert rig.writer.record.driven_ticks == 0 and rig.writer.record.rate_hz == 0.0


def test_hold_comes_to_rest_with_the_last_command(contract_with: ContractWith, make_rig: Any) -> None:
    rig = make_rig(contract_with("position", SafeAction("hold", (0.0, 0.0))), states=200)
    rig.run(1.0)
    assert rig.commands[-1].values.tolist() == [0.5, -0.5]


@pytest.mark.parametrize("from_sequence", [30, 31, 32, 33])
def test_a_policy_that_stalls_is_replaced_by_the_safe_action_within_its_bound(rig: Any, from_sequence: int) -> None:
    rig.policy.delay_s = lambda sequence: 0.001 if sequence < from_sequence else None
    rig.run(2.0)
    (fault,) = rig.writer.record.faults
    assert fault.rule in {"stale_action", "deadline"}
    # the last answered state is one before; its action may be three periods old, and one more passes unnoticed
    answered_s = (rig.start_ns + (from_sequence - 1) * T_NS) * 1e-9
    assert fault.time_s - answered_s <= (3 + 1.8) * T
    first_safe = next(c for c in rig.commands if c.stamp_ns * 1e-9 >= fault.time_s)
    assert first_safe.values.tolist() == pytest.approx([0.4, -0.4])
    assert rig.commands[-1].values.tolist() == pytest.approx([0.0, 0.0], abs=1e-9)
    # commands go on at the fixed rate all the while
    assert rig.spacing_s.max() <= 2 * T


def test_a_policy_process_that_dies_is_replaced_in_the_same_period(rig: Any) -> None:
    rig.policy.gone_ns = rig.start_ns + round(30.5 * T_NS)
    rig.run(2.0)
    (fault,) = rig.writer.record.faults
    assert fault.rule == "stale_action" and "no command" in fault.detail
    assert fault.time_s * 1e9 - rig.policy.gone_ns <= T_NS


@pytest.mark.parametrize("periods", [0.5, 0.9, 2.0, 20.0])
def test_one_slow_answer_is_discarded_when_it_is_late(rig: Any, periods: float) -> None:
    rig.policy.delay_s = lambda sequence: periods * T if sequence == 40 else 0.001
    rig.run(2.0)
    record = rig.writer.record
    late = periods > 0.8
    assert record.no_answer == late and record.late_answers == late
    assert record.faults == []
    # a late answer never delays or speeds up the others
    assert rig.spacing_s.min() >= 0.5 * T - 1e-9
    used = [command.state_sequence for command in rig.commands if command.state_sequence]
    assert used == sorted(used) and (40 in used) == (not late)


def test_a_policy_that_is_always_late_loses_its_authority(rig: Any) -> None:
    rig.policy.delay_s = lambda sequence: 0.001 if sequence < 30 else 0.9 * T
    rig.run(2.0)
    assert rig.writer.record.faults[0].rule in {"deadline", "stale_action"}
    assert rig.commands[-1].values.tolist() == pytest.approx([0.0, 0.0], abs=1e-9)


def test_states_that_stop_lead_to_the_safe_action(contract_with: ContractWith, make_rig: Any) -> None:
    rig = make_rig(contract_with(), states=30)
    rig.run(2.0)
    (fault,) = rig.writer.record.faults
    assert fault.rule in {"stale_state", "stale_action"}
    # the tightest signal may be 60 ms old, which is three periods
    last_s = (rig.start_ns + 29 * T_NS) * 1e-9
    assert 0.06 - T <= fault.time_s - last_s <= 0.06 + T
    assert rig.commands[-1].values.tolist() == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_missing_state_is_counted_and_survived(contract_with: ContractWith, make_rig: Any) -> None:
    rig = make_rig(contract_with(), states=0)
    for sequence in [*range(40), *range(41, 120)]:
        rig.add_state(sequence, sequence * T)
    rig.run(2.0)
    assert rig.writer.record.no_state == 1 and rig.writer.record.faults == []


def test_a_burst_of_states_makes_no_burst_of_commands(contract_with: ContractWith, make_rig: Any) -> None:
    rig = make_rig(contract_with(), states=0)
    for sequence in range(60):
        rig.add_state(sequence, sequence * T)
    # a network that held ten states back lets them go at once
    for sequence in range(60, 70):
        rig.add_state(sequence, 70 * T + 1e-4 * (sequence - 60))
    for sequence in range(70, 150):
        rig.add_state(sequence, (sequence + 1) * T)
    rig.run(2.5)
    assert rig.spacing_s.min() >= 0.5 * T - 1e-9


def test_a_state_that_cannot_be_believed_never_reaches_the_policy(contract_with: ContractWith, make_rig: Any) -> None:
    rig = make_rig(contract_with(), states=0)
    for sequence in range(100):
        rig.add_state(sequence, sequence * T, goal=float("nan") if sequence in (40, 41) else 0.0)
    rig.run(1.5)
    assert {message.sequence for message in rig.policy.sent}.isdisjoint({40, 41})
    assert rig.writer.record.rejected_states == 2
    assert rig.guard.counts["observation_range"] == 2


def test_a_robot_that_leaves_ends_the_loop(rig: Any) -> None:
    rig.robot.gone_ns = rig.start_ns + 30 * T_NS
    assert rig.run(2.0) == "robot_gone"


def test_a_policy_that_never_starts_ends_the_loop(rig: Any) -> None:
    rig.policy.delay_s = lambda sequence: None
    rig.policy.gone_ns = rig.start_ns + 10 * T_NS
    assert rig.run(2.0) == "policy_never_started"
    assert all(command.values.tolist() == [0.0, 0.0] for command in rig.commands)
    assert rig.writer.record.waiting_ticks >= 10 and rig.writer.record.driven_ticks == 0


def test_the_robot_gets_the_safe_action_while_the_policy_starts(rig: Any) -> None:
    rig.policy.delay_s = lambda sequence: 0.001 if sequence >= 50 else None
    rig.run(2.0)
    assert rig.writer.record.waiting_ticks == 50 and rig.writer.record.faults == []
    # neither waiting nor the stop counts as an intervention; the ramp to the first command does
    assert {rule: n for rule, n in rig.writer.record.interventions.items() if n} == {"rate": 5}
    assert rig.commands[49].values.tolist() == [0.0, 0.0] and rig.commands[70].values.tolist() == [0.5, -0.5]


def test_a_new_episode_starts_from_the_measured_state(contract_with: ContractWith, make_rig: Any) -> None:
    rig = make_rig(contract_with("position", SafeAction("hold", (0.0, 0.0))), states=50)
    for sequence in range(50, 100):
        rig.add_state(sequence, sequence * T, position=-0.9, episode=1)
    rig.run(1.9)
    first = next(command for command in rig.commands if command.state_sequence == 50)
    assert first.values.tolist() == pytest.approx([-0.8, -0.8])


@pytest.mark.parametrize(("waited", "expected"), [(0.0, 0.8), (0.6, 0.8), (5.0, 4.8)])
def test_the_deadlines_count_from_when_the_first_state_was_sent(rig: Any, waited: float, expected: float) -> None:
    # it lay in the queue while this process started; one that is older than a period says nothing of the next
    rig.clock.sleep_until((rig.start_ns + waited * T_NS) * 1e-9)
    rig.robot.coming = rig.robot.coming[:1]
    rig.policy.delay_s = lambda sequence: None
    rig.run(1.0)
    first_sent = (rig.commands[0].stamp_ns - rig.start_ns) / T_NS
    assert first_sent == pytest.approx(max(expected, waited), abs=0.03)
    grid = [(command.stamp_ns - rig.start_ns) / T_NS for command in rig.commands[1:10]]
    assert [at % 1.0 for at in grid] == pytest.approx([0.8] * 9, abs=0.05)


def test_the_deadlines_follow_a_robot_whose_clock_runs_fast(contract_with: ContractWith, make_rig: Any) -> None:
    rig = make_rig(contract_with(), states=0)
    for sequence in range(1100):
        rig.add_state(sequence, sequence * T * 0.999)
    rig.run(20.0)
    assert rig.writer.record.no_answer == rig.writer.record.no_state == 0
    assert rig.writer.rate.missed == 0


def test_a_fault_is_reported_once(contract_with: ContractWith, make_rig: Any) -> None:
    rig = make_rig(contract_with(), states=60)
    seen: list[str] = []
    rig.writer = Writer(
        contract_with(), rig.robot, rig.policy, rig.guard, rig.clock, lambda fault: seen.append(fault.rule)
    )
    rig.policy.delay_s = lambda sequence: 0.001 if sequence < 20 else None
    rig.run(1.0)
    assert seen == [rig.writer.record.faults[0].rule]


@pytest.mark.parametrize("age_s", [0.0, 0.04])
def test_missed_deadlines_count_however_old_the_signals_of_a_state_are(
    contract_with: ContractWith, make_rig: Any, age_s: float
) -> None:
    # the command may be old, so that the deadline rule alone can notice
    rig = make_rig(contract_with(), states=0, settings=GuardSettings(action_max_age_periods=50.0, overrun_limit=3))
    for sequence in range(100):
        rig.add_state(sequence, sequence * T, age_s=age_s)
    rig.policy.delay_s = lambda sequence: 0.001 if sequence < 40 else None
    rig.run(1.5)
    (fault,) = rig.writer.record.faults
    assert fault.rule == "deadline"
    # three in a row, from the first state without an answer
    assert fault.time_s - rig.start_ns * 1e-9 == pytest.approx((42 + 0.8) * T, abs=0.1 * T)


def test_a_writer_that_fails_brings_the_robot_to_rest_first(make_rig: Any, contract_with: ContractWith) -> None:
    rig = make_rig(contract_with(position=False), states=200)
    decide, calls = rig.guard.filter, 0

    def failing(*given: Any) -> Decision:
        nonlocal calls
        calls += 1
        if calls == 50:
            raise MemoryError("no memory")
        return decide(*given)

    rig.guard.filter = failing
    with pytest.raises(MemoryError):
        rig.run(3.0)
    assert rig.commands[48].values.tolist() == [0.5, -0.5]
    assert rig.commands[-1].values.tolist() == pytest.approx([0.0, 0.0], abs=1e-9)
