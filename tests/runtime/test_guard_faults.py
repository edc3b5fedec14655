"""Safe actions, latched faults, re-arming, and what the guard refuses to be built with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bedplate.bundle.contract import Contract, GuardSettings
from bedplate.core.errors import BedplateError
from bedplate.core.limits import SafeAction
from bedplate.runtime.decision import RULES
from bedplate.runtime.guard import ReferenceGuard

T = 0.02


def test_the_first_cause_in_the_order_of_the_rules_is_latched(world: Any) -> None:
    world.run_in([0.5, 0.5])
    decision = world.tick([math.nan, 0.5], state_age_s=9.0, action_age_s=9.0)
    assert decision.fault is not None and decision.fault.rule == "finite"
    assert decision.rules[:3] == ("finite", "stale_state", "stale_action")
    assert [RULES.index(rule) for rule in decision.rules] == sorted(RULES.index(rule) for rule in decision.rules)


# safe actions


def test_hold_repeats_the_last_command(make_world: Any, contract_with: Callable[..., Contract]) -> None:
    world = make_world(contract_with("position", SafeAction("hold", (0.0, 0.0))))
    world.run_in([0.5, -0.5])
    world.tick([math.nan, math.nan])
    assert world.run_in([1.0, 1.0]).command.tolist() == [0.5, -0.5]


def test_constant_goes_there_at_once(make_world: Any, contract_with: Callable[..., Contract]) -> None:
    world = make_world(contract_with("effort", SafeAction("constant", (0.1, -0.1)), position=False))
    world.run_in([0.9, 0.9])
    assert world.tick([math.nan, 0.0]).command.tolist() == [0.1, -0.1]


# latching and re-arming


def test_a_fault_keeps_its_cause_and_inputs(world: Any) -> None:
    world.run_in([0.5, 0.25])
    world.signals["goal"] = np.array([1.5, 2.5])
    fault = world.tick([math.nan, 0.25], state_age_s=0.01, action_age_s=0.03).fault
    world.tick([0.5, 0.5], state_age_s=9.0)
    assert fault is world.guard.fault and fault is not None
    assert fault.snapshot.signals["goal"] == (1.5, 2.5)
    assert fault.snapshot.last_command == (0.5, 0.25)
    assert math.isnan(fault.snapshot.command[0]) and fault.snapshot.command[1] == 0.25
    assert fault.snapshot.state_age_s == pytest.approx(0.01)
    assert fault.snapshot.action_age_s == pytest.approx(0.03)


def test_rearm_needs_the_token_of_the_fault(world: Any) -> None:
    with pytest.raises(BedplateError, match="no latched fault"):
        world.guard.rearm("")
    world.run_in([0.5, 0.5])
    fault = world.tick([math.nan, 0.5]).fault
    assert fault is not None
    with pytest.raises(BedplateError, match="token"):
        world.guard.rearm("finite-9")
    assert world.guard.fault is fault
    world.guard.rearm(fault.token)
    assert world.guard.fault is None
    again = world.tick([math.nan, 0.5]).fault
    assert again is not None and again.token != fault.token


def test_rearm_is_bumpless(world: Any) -> None:
    world.run_in([0.5, 0.5])
    fault = world.tick([math.nan, 0.5]).fault
    assert fault is not None
    # on its way to the safe action, which is zero
    assert world.tick([0.9, 0.9]).command.tolist() == pytest.approx([0.3, 0.3])
    world.guard.rearm(fault.token)
    # one step of the rate limit from where it was: not from zero, and not at once
    assert world.tick([0.9, 0.9]).command.tolist() == pytest.approx([0.3 + 5.0 * T] * 2)
    assert world.run_in([0.9, 0.9]).command.tolist() == [0.9, 0.9]


def test_rearm_goes_on_from_the_command_and_not_from_the_measurement(
    make_world: Any, contract_with: Callable[..., Contract]
) -> None:
    world = make_world(contract_with("position", SafeAction("hold", (0.0, 0.0)), effort=False))
    world.run_in([0.8, 0.8])
    fault = world.tick([math.nan, 0.5]).fault
    assert fault is not None
    # the robot sags while it holds
    world.signals["position"] = np.array([0.2, 0.2])
    assert world.run_in([0.0, 0.0]).command.tolist() == [0.8, 0.8]
    world.guard.rearm(fault.token)
    assert world.tick([-1.0, -1.0]).command.tolist() == pytest.approx([0.8 - 5.0 * T] * 2)


def test_rearm_does_not_outlive_its_cause(world: Any) -> None:
    world.run_in([0.5, 0.5])
    fault = world.tick([0.5, 0.5], action_age_s=9.0).fault
    assert fault is not None
    world.guard.rearm(fault.token)
    assert world.tick([0.5, 0.5], action_age_s=9.0).fault is not None


def test_restart_starts_anew_but_keeps_a_fault(make_world: Any, contract_with: Callable[..., Contract]) -> None:
    world = make_world(contract_with("position", SafeAction("hold", (0.0, 0.0))))
    world.run_in([0.5, 0.5])
    world.signals["position"] = np.array([-0.5, -0.5])
    world.guard.restart()
    assert world.tick([-0.5, -0.5]).command.tolist() == [-0.5, -0.5]
    world.tick([math.nan, 0.0])
    world.guard.restart()
    assert world.tick([0.0, 0.0]).fault is not None


def test_trip_takes_the_authority_at_once(world: Any) -> None:
    world.run_in([0.5, 0.5])
    world.guard.trip(world.now_s, "stop", "the operator asked")
    decision = world.tick([0.5, 0.5])
    assert decision.fault is not None and decision.fault.rule == "stop"
    assert decision.command.tolist() == pytest.approx([0.4, 0.4])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "velocity", "safe": SafeAction("hold", (0.0, 0.0))}, "hold"),
        ({"kind": "effort", "safe": SafeAction("constant", (0.0, 0.0))}, "position limit"),
        ({"kind": "thrust_and_body_rate", "position": False}, "effort limit"),
        ({"rate_per_s": math.nan}, "rate_per_s"),
        ({"rate_per_s": -1.0}, "rate_per_s"),
        ({"safe": SafeAction("ramp", (0.0, 2.0))}, "safe_action"),
        ({"safe": SafeAction("ramp", (math.nan, 0.0))}, "safe_action"),
        ({"period_s": 0.0}, "control_dt_s"),
        ({"period_s": math.nan}, "control_dt_s"),
    ],
)
def test_a_limit_that_cannot_be_enforced_is_refused(
    contract_with: Callable[..., Contract], changes: dict[str, object], words: str
) -> None:
    with pytest.raises(BedplateError, match=words):
        ReferenceGuard(contract_with(**changes), GuardSettings())


@pytest.mark.parametrize(
    "bad",
    [
        {"action_max_age_periods": math.nan},
        {"action_max_age_periods": math.inf},
        {"action_max_age_periods": 0.0},
        {"action_max_age_periods": 1e12},
        {"overrun_limit": 101},
        {"range_fault_ticks": 10**9},
        {"overrun_limit": 0},
        {"range_fault_ticks": -1},
    ],
)
def test_a_setting_that_switches_a_rule_off_is_refused(
    contract_with: Callable[..., Contract], bad: dict[str, float]
) -> None:
    with pytest.raises(BedplateError, match=next(iter(bad))):
        ReferenceGuard(contract_with(), GuardSettings(**bad))  # type: ignore[arg-type]
