"""The guard on its inputs: finite commands, fresh and plausible measurements, fresh actions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bedplate.bundle.contract import Contract
from bedplate.core.limits import SafeAction

T = 0.02


def test_a_command_within_all_limits_passes_unchanged(world: Any) -> None:
    decision = world.run_in([0.5, -0.5])
    assert decision.command.tolist() == [0.5, -0.5]
    assert decision.rules == () and decision.fault is None


def test_the_first_command_starts_from_the_safe_action_and_ramps(world: Any) -> None:
    first = world.tick([1.0, -1.0])
    assert first.command.tolist() == pytest.approx([5.0 * T, -5.0 * T])
    assert first.rules == ("rate",)


def test_a_position_command_starts_from_the_measured_position(
    make_world: Any, contract_with: Callable[..., Contract]
) -> None:
    world = make_world(contract_with("position", SafeAction("hold", (0.0, 0.0))))
    world.signals["position"] = np.array([0.7, -0.3])
    waiting = world.tick(None)
    assert waiting.command.tolist() == [0.7, -0.3]
    assert world.tick([1.0, 1.0]).command.tolist() == pytest.approx([0.8, -0.2])


# each rule, and that it is the one that acts


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_finite(world: Any, index: int, bad: float) -> None:
    before = world.run_in([0.5, 0.5]).command
    command = [0.5, 0.5]
    command[index] = bad
    decision = world.tick(command)
    assert decision.fault is not None and decision.fault.rule == "finite"
    assert ("axis_x", "axis_y")[index] in decision.fault.detail
    # the safe action in the same tick, from the last command, at the rate limit
    assert decision.command.tolist() == pytest.approx((before - 5.0 * T).tolist())
    # one bad tick is enough: a good command does not come back
    assert world.tick([0.5, 0.5]).fault is decision.fault
    assert world.run_in([0.5, 0.5]).command.tolist() == [0.0, 0.0]


def test_finite_covers_the_length_of_the_command(world: Any) -> None:
    world.run_in([0.5, 0.5])
    fault = world.tick([0.5]).fault
    assert fault is not None and fault.rule == "finite" and "1 elements" in fault.detail


def test_stale_state(world: Any) -> None:
    world.run_in([0.5, 0.5])
    # the tightest signal is allowed 60 ms
    assert world.tick([0.5, 0.5], state_age_s=0.059).fault is None
    decision = world.tick([0.5, 0.5], state_age_s=0.061)
    assert decision.fault is not None and decision.fault.rule == "stale_state"
    assert "'effort'" in decision.fault.detail
    assert decision.command[0] < 0.5


@pytest.mark.parametrize("rate_hz", [0.1, 1000.0])
def test_the_age_of_a_signal_is_enforced_and_its_rate_is_information(
    make_world: Any, contract_with: Callable[..., Contract], rate_hz: float
) -> None:
    contract = contract_with()
    signals = tuple(signal.model_copy(update={"rate_hz": rate_hz}) for signal in contract.signals)
    stated = contract.model_copy(update={"signals": signals})
    # the two sides must state the same rate, and no rule looks at it
    assert stated.hash != contract.hash
    world = make_world(stated)
    world.run_in([0.5, 0.5])
    assert world.tick([0.5, 0.5], state_age_s=0.059).rules == ()
    assert "stale_state" in world.tick([0.5, 0.5], state_age_s=0.061).rules


def test_stale_state_of_one_signal_alone(world: Any) -> None:
    world.run_in([0.5, 0.5])
    assert world.tick([0.5, 0.5], state_age_s=[0.09, 0.09, 0.05]).fault is None
    fault = world.tick([0.5, 0.5], state_age_s=[0.0, 0.11, 0.0]).fault
    assert fault is not None and fault.rule == "stale_state" and "'goal'" in fault.detail


@pytest.mark.parametrize("age_s", [-3600.0, 3600.0, math.nan])
def test_a_broken_clock_is_a_stale_state(world: Any, age_s: float) -> None:
    world.run_in([0.5, 0.5])
    fault = world.tick([0.5, 0.5], state_age_s=age_s).fault
    assert fault is not None and fault.rule == "stale_state"


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
def test_a_clock_jump_does_not_jump_the_command(world: Any, jump_s: float) -> None:
    before = world.run_in([0.0, 0.0]).command
    after = world.tick([1.0, 1.0], dt_s=jump_s).command
    # at most two periods' worth
    assert np.abs(after - before).max() <= 5.0 * 2 * T + 1e-12


@pytest.mark.parametrize("bad", [math.nan, math.inf, 5.1, -5.1])
def test_observation_range(world: Any, bad: float) -> None:
    world.run_in([0.5, 0.5])
    world.signals["goal"] = np.array([0.0, bad])
    for _ in range(4):
        decision = world.tick([0.5, 0.5])
        assert decision.fault is None and decision.rules[0] == "observation_range"
    # the command of such a tick is not trusted
    assert decision.command.tolist() == pytest.approx([0.1, 0.1])
    fault = world.tick([0.5, 0.5]).fault
    assert fault is not None and fault.rule == "observation_range"
    assert "'goal', y" in fault.detail
    assert fault.snapshot.signals["goal"][0] == 0.0


def test_observation_range_forgets_a_short_spell(world: Any) -> None:
    world.run_in([0.5, 0.5])
    for _ in range(3):
        world.signals["goal"] = np.array([0.0, 9.0])
        world.run_in([0.5, 0.5], 4)
        world.signals["goal"] = np.zeros(2)
        decision = world.tick([0.5, 0.5])
    assert decision.fault is None


def test_observation_range_refuses_an_absent_or_short_signal(world: Any) -> None:
    world.run_in([0.5, 0.5])
    world.signals["goal"] = np.zeros(3)
    assert "observation_range" in world.tick([0.5, 0.5]).rules
    del world.signals["goal"]
    assert "observation_range" in world.tick([0.5, 0.5]).rules


def test_a_float32_value_at_its_bound_is_in_range(world: Any) -> None:
    world.run_in([0.5, 0.5])
    world.signals["goal"] = np.array([np.nextafter(np.float32(5.0), np.float32(9.0)), 0.0])
    assert world.tick([0.5, 0.5]).rules == ()


def test_stale_action(world: Any) -> None:
    world.run_in([0.5, 0.5])
    assert world.tick([0.5, 0.5], action_age_s=3 * T - 1e-6).fault is None
    decision = world.tick([0.5, 0.5], action_age_s=3 * T + 1e-6)
    assert decision.fault is not None and decision.fault.rule == "stale_action"
    assert decision.command[0] < 0.5


def test_no_action_any_more_is_a_stale_action_in_the_same_tick(world: Any) -> None:
    world.run_in([0.5, 0.5])
    fault = world.tick(None).fault
    assert fault is not None and fault.rule == "stale_action"


def test_waiting_for_the_first_state_and_action_is_no_fault(world: Any) -> None:
    for _ in range(100):
        world.now_s += T
        decision = world.guard.filter(world.now_s, math.nan, None, math.nan, None)
    assert decision.fault is None and decision.rules == ("stale_state", "stale_action")
    assert world.run_in([0.5, 0.5]).command.tolist() == [0.5, 0.5]
