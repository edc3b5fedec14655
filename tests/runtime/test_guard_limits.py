"""The guard on limits: position, rate, effort, deadline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bedplate.bundle.contract import Contract
from bedplate.core.limits import SafeAction

T = 0.02


def test_position_bounds_the_command(world: Any) -> None:
    decision = world.run_in([7.0, -7.0])
    assert decision.command.tolist() == [1.0, -1.0]
    assert decision.rules == ("position",)


def test_position_counts_no_rounding_of_float32(make_world: Any, contract_with: Callable[..., Contract]) -> None:
    world = make_world(contract_with())
    world.run_in([1.0, 1.0])
    decision = world.tick([float(np.nextafter(np.float32(1.0), np.float32(2.0))), 1.0])
    assert decision.rules == () and decision.command.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_position_stops_a_velocity_before_its_bound(world: Any, side: float) -> None:
    # a robot that follows its command exactly, told to go on for ever
    for _ in range(400):
        velocity = world.tick([side, 0.0]).command[0]
        world.signals["position"][0] += velocity * T
        assert abs(world.signals["position"][0]) <= 2.0 + 1e-9
    assert abs(world.signals["position"][0]) > 1.9
    assert "position" in world.tick([side, 0.0]).rules


def test_position_lets_a_velocity_come_back_from_beyond_its_bound(world: Any) -> None:
    world.signals["position"] = np.array([2.5, -2.5])
    assert world.run_in([1.0, -1.0]).command.tolist() == [0.0, 0.0]
    assert world.run_in([-1.0, 1.0]).command.tolist() == [-1.0, 1.0]


def test_position_bounds_a_position_command(make_world: Any, contract_with: Callable[..., Contract]) -> None:
    contract = contract_with("position", SafeAction("hold", (0.0, 0.0)))
    narrow = contract.limits.channels[0]
    assert narrow.position is not None and narrow.position.high == 2.0 and narrow.high == 1.0
    decision = make_world(contract).run_in([1.5, 0.0])
    assert decision.command.tolist() == [1.0, 0.0] and decision.rules == ("position",)


@pytest.mark.parametrize("period_s", [0.02, 0.01, 0.002, 0.001])
def test_rate_is_per_second_at_every_rate(
    make_world: Any, contract_with: Callable[..., Contract], period_s: float
) -> None:
    world = make_world(contract_with(period_s=period_s))
    start = world.tick([0.0, 0.0]).command
    ticks = round(0.1 / period_s)
    for _ in range(ticks):
        decision = world.tick([1.0, 1.0], dt_s=period_s)
    assert (decision.command - start).tolist() == pytest.approx([0.5, 0.5])
    assert decision.rules == ("rate",)


def test_rate_after_a_stall_grants_two_periods(world: Any) -> None:
    before = world.run_in([0.0, 0.0]).command
    after = world.tick([1.0, 1.0], dt_s=0.5).command
    assert (after - before).tolist() == pytest.approx([5.0 * 2 * T] * 2)


def test_rate_holds_however_often_the_guard_is_called(world: Any) -> None:
    before = world.run_in([0.0, 0.0]).command
    # a caller of 1 kHz on a 50 Hz contract gets no more way in a second than any other
    for _ in range(20):
        decision = world.tick([1.0, 1.0], dt_s=0.001)
    assert (decision.command - before).tolist() == pytest.approx([5.0 * 0.02] * 2)
    assert decision.rules == ("rate",)


def test_a_clock_that_stands_still_gives_no_way_but_the_safe_action_is_reached(world: Any) -> None:
    before = world.run_in([0.5, 0.5]).command
    assert world.tick([1.0, 1.0], dt_s=0.0).command.tolist() == before.tolist()
    world.guard.trip(world.now_s, "stop", "asked for")
    for _ in range(20):
        decision = world.tick([1.0, 1.0], dt_s=0.0)
    assert decision.command.tolist() == [0.0, 0.0]


def test_effort_takes_a_velocity_that_pushes_to_zero_at_its_rate(world: Any) -> None:
    world.run_in([0.5, -0.5])
    world.signals["effort"] = np.array([10.5, 10.5])
    decision = world.tick([0.5, -0.5])
    # x pushes along its effort and yields; y moves away from it and may go on
    assert decision.command.tolist() == pytest.approx([0.4, -0.5])
    assert decision.rules == ("effort",)
    assert world.run_in([0.5, -0.5]).command.tolist() == [0.0, -0.5]
    world.signals["effort"] = np.array([9.5, 9.5])
    assert world.run_in([0.5, -0.5]).command.tolist() == [0.5, -0.5]


def test_effort_stops_a_position_command(make_world: Any, contract_with: Callable[..., Contract]) -> None:
    world = make_world(contract_with("position", SafeAction("hold", (0.0, 0.0))))
    world.run_in([0.5, 0.5])
    world.signals["effort"] = np.array([11.0, -11.0])
    decision = world.tick([0.6, 0.6])
    assert decision.command.tolist() == pytest.approx([0.5, 0.6]) and decision.rules == ("effort",)


def test_deadline_counts_late_ticks_and_latches_after_three(world: Any) -> None:
    world.run_in([0.5, 0.5])
    for expected in (False, False, True):
        decision = world.tick([0.5, 0.5], dt_s=1.6 * T)
        assert decision.rules == ("deadline",) or expected
        assert (decision.fault is not None) == expected
    assert decision.fault is not None and decision.fault.rule == "deadline"


def test_deadline_forgets_a_single_late_tick(world: Any) -> None:
    world.run_in([0.5, 0.5])
    for _ in range(10):
        world.tick([0.5, 0.5], dt_s=1.6 * T)
        decision = world.tick([0.5, 0.5])
    assert decision.fault is None


def test_deadline_counts_a_policy_that_does_not_answer(world: Any) -> None:
    world.run_in([0.5, 0.5])
    answered_s = world.now_s
    for _ in range(3):
        world.now_s += 0.9 * T
        decision = world.guard.filter(world.now_s, world.now_s, world.signals, answered_s, np.array([0.5, 0.5]))
    assert decision.fault is not None and decision.fault.rule == "deadline"
    assert "did not answer" in decision.fault.detail


def test_an_old_answer_is_no_overrun_while_no_newer_state_has_come(world: Any) -> None:
    world.run_in([0.5, 0.5])
    answered_s = world.now_s
    for _ in range(2):
        world.now_s += T
        decision = world.guard.filter(world.now_s, answered_s, world.signals, answered_s, np.array([0.5, 0.5]))
    assert decision.rules == ()
