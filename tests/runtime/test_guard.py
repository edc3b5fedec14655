from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from bedplate.bundle.contract import Contract, GuardSettings
from bedplate.core.errors import BedplateError
from bedplate.core.limits import SafeAction
from bedplate.runtime.decision import RULES, Decision
from bedplate.runtime.guard import ReferenceGuard

T = 0.02


class World:
    """Calls a guard once per period with inputs that are fine unless a test says otherwise."""

    def __init__(self, contract: Contract, guard_settings: GuardSettings | None = None) -> None:
        self.guard = ReferenceGuard(contract, guard_settings or GuardSettings())
        self.now_s = 100.0
        self.signals = {name: np.zeros(2) for name in ("position", "goal", "effort")}
        self.last = np.zeros(2)

    def tick(
        self,
        command: list[float] | None = None,
        *,
        dt_s: float = T,
        state_age_s: float | list[float] = 0.0,
        action_age_s: float = 0.0,
    ) -> Decision:
        self.now_s += dt_s
        stamps = self.now_s - np.array(state_age_s)
        decision = self.guard.filter(
            self.now_s,
            stamps.tolist(),
            self.signals,
            self.now_s - action_age_s,
            None if command is None else np.array(command),
        )
        self.last = decision.command
        return decision

    def run_in(self, command: list[float], ticks: int = 50) -> Decision:
        for _ in range(ticks):
            decision = self.tick(command)
        return decision


@pytest.fixture
def world(contract_with: Callable[..., Contract]) -> World:
    return World(contract_with())


def test_a_command_within_all_limits_passes_unchanged(world: World) -> None:
    decision = world.run_in([0.5, -0.5])
    assert decision.command.tolist() == [0.5, -0.5]
    assert decision.rules == () and decision.fault is None


def test_the_first_command_starts_from_the_safe_action_and_ramps(world: World) -> None:
    first = world.tick([1.0, -1.0])
    assert first.command.tolist() == pytest.approx([5.0 * T, -5.0 * T])
    assert first.rules == ("rate",)


def test_a_position_command_starts_from_the_measured_position(contract_with: Callable[..., Contract]) -> None:
    world = World(contract_with("position", SafeAction("hold", (0.0, 0.0))))
    world.signals["position"] = np.array([0.7, -0.3])
    waiting = world.tick(None)
    assert waiting.command.tolist() == [0.7, -0.3]
    assert world.tick([1.0, 1.0]).command.tolist() == pytest.approx([0.8, -0.2])


# each rule, and that it is the one that acts


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_finite(world: World, index: int, bad: float) -> None:
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


def test_finite_covers_the_length_of_the_command(world: World) -> None:
    world.run_in([0.5, 0.5])
    fault = world.tick([0.5]).fault
    assert fault is not None and fault.rule == "finite" and "1 elements" in fault.detail


def test_stale_state(world: World) -> None:
    world.run_in([0.5, 0.5])
    # the tightest signal is allowed 60 ms
    assert world.tick([0.5, 0.5], state_age_s=0.059).fault is None
    decision = world.tick([0.5, 0.5], state_age_s=0.061)
    assert decision.fault is not None and decision.fault.rule == "stale_state"
    assert "'effort'" in decision.fault.detail
    assert decision.command[0] < 0.5


def test_stale_state_of_one_signal_alone(world: World) -> None:
    world.run_in([0.5, 0.5])
    assert world.tick([0.5, 0.5], state_age_s=[0.09, 0.09, 0.05]).fault is None
    fault = world.tick([0.5, 0.5], state_age_s=[0.0, 0.11, 0.0]).fault
    assert fault is not None and fault.rule == "stale_state" and "'goal'" in fault.detail


@pytest.mark.parametrize("age_s", [-3600.0, 3600.0, math.nan])
def test_a_broken_clock_is_a_stale_state(world: World, age_s: float) -> None:
    world.run_in([0.5, 0.5])
    fault = world.tick([0.5, 0.5], state_age_s=age_s).fault
    assert fault is not None and fault.rule == "stale_state"


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
def test_a_clock_jump_does_not_jump_the_command(world: World, jump_s: float) -> None:
    before = world.run_in([0.0, 0.0]).command
    after = world.tick([1.0, 1.0], dt_s=jump_s).command
    # at most two periods' worth
    assert np.abs(after - before).max() <= 5.0 * 2 * T + 1e-12


@pytest.mark.parametrize("bad", [math.nan, math.inf, 5.1, -5.1])
def test_observation_range(world: World, bad: float) -> None:
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


def test_observation_range_forgets_a_short_spell(world: World) -> None:
    world.run_in([0.5, 0.5])
    for _ in range(3):
        world.signals["goal"] = np.array([0.0, 9.0])
        world.run_in([0.5, 0.5], 4)
        world.signals["goal"] = np.zeros(2)
        decision = world.tick([0.5, 0.5])
    assert decision.fault is None


def test_observation_range_refuses_an_absent_or_short_signal(world: World) -> None:
    world.run_in([0.5, 0.5])
    world.signals["goal"] = np.zeros(3)
    assert "observation_range" in world.tick([0.5, 0.5]).rules
    del world.signals["goal"]
    assert "observation_range" in world.tick([0.5, 0.5]).rules


def test_a_float32_value_at_its_bound_is_in_range(world: World) -> None:
    world.run_in([0.5, 0.5])
    world.signals["goal"] = np.array([np.nextafter(np.float32(5.0), np.float32(9.0)), 0.0])
    assert world.tick([0.5, 0.5]).rules == ()


def test_stale_action(world: World) -> None:
    world.run_in([0.5, 0.5])
    assert world.tick([0.5, 0.5], action_age_s=3 * T - 1e-6).fault is None
    decision = world.tick([0.5, 0.5], action_age_s=3 * T + 1e-6)
    assert decision.fault is not None and decision.fault.rule == "stale_action"
    assert decision.command[0] < 0.5


def test_no_action_any_more_is_a_stale_action_in_the_same_tick(world: World) -> None:
    world.run_in([0.5, 0.5])
    fault = world.tick(None).fault
    assert fault is not None and fault.rule == "stale_action"


def test_waiting_for_the_first_state_and_action_is_no_fault(world: World) -> None:
    for _ in range(100):
        world.now_s += T
        decision = world.guard.filter(world.now_s, math.nan, None, math.nan, None)
    assert decision.fault is None and decision.rules == ("stale_state", "stale_action")
    assert world.run_in([0.5, 0.5]).command.tolist() == [0.5, 0.5]


def test_position_bounds_the_command(world: World) -> None:
    decision = world.run_in([7.0, -7.0])
    assert decision.command.tolist() == [1.0, -1.0]
    assert decision.rules == ("position",)


def test_position_counts_no_rounding_of_float32(contract_with: Callable[..., Contract]) -> None:
    world = World(contract_with())
    world.run_in([1.0, 1.0])
    decision = world.tick([float(np.nextafter(np.float32(1.0), np.float32(2.0))), 1.0])
    assert decision.rules == () and decision.command.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_position_stops_a_velocity_before_its_bound(world: World, side: float) -> None:
    # a robot that follows its command exactly, told to go on for ever
    for _ in range(400):
        velocity = world.tick([side, 0.0]).command[0]
        world.signals["position"][0] += velocity * T
        assert abs(world.signals["position"][0]) <= 2.0 + 1e-9
    assert abs(world.signals["position"][0]) > 1.9
    assert "position" in world.tick([side, 0.0]).rules


def test_position_lets_a_velocity_come_back_from_beyond_its_bound(world: World) -> None:
    world.signals["position"] = np.array([2.5, -2.5])
    assert world.run_in([1.0, -1.0]).command.tolist() == [0.0, 0.0]
    assert world.run_in([-1.0, 1.0]).command.tolist() == [-1.0, 1.0]


def test_position_bounds_a_position_command(contract_with: Callable[..., Contract]) -> None:
    contract = contract_with("position", SafeAction("hold", (0.0, 0.0)))
    narrow = contract.limits.channels[0]
    assert narrow.position is not None and narrow.position.high == 2.0 and narrow.high == 1.0
    decision = World(contract).run_in([1.5, 0.0])
    assert decision.command.tolist() == [1.0, 0.0] and decision.rules == ("position",)


@pytest.mark.parametrize("period_s", [0.02, 0.01, 0.002, 0.001])
def test_rate_is_per_second_at_every_rate(contract_with: Callable[..., Contract], period_s: float) -> None:
    world = World(contract_with(period_s=period_s))
    start = world.tick([0.0, 0.0]).command
    ticks = round(0.1 / period_s)
    for _ in range(ticks):
        decision = world.tick([1.0, 1.0], dt_s=period_s)
    assert (decision.command - start).tolist() == pytest.approx([0.5, 0.5])
    assert decision.rules == ("rate",)


def test_rate_after_a_stall_grants_two_periods(world: World) -> None:
    before = world.run_in([0.0, 0.0]).command
    after = world.tick([1.0, 1.0], dt_s=0.5).command
    assert (after - before).tolist() == pytest.approx([5.0 * 2 * T] * 2)


def test_rate_grants_a_call_that_comes_early_half_a_period(world: World) -> None:
    before = world.run_in([0.0, 0.0]).command
    after = world.tick([1.0, 1.0], dt_s=1e-6).command
    assert (after - before).tolist() == pytest.approx([5.0 * 0.5 * T] * 2)


def test_effort_takes_a_velocity_that_pushes_to_zero_at_its_rate(world: World) -> None:
    world.run_in([0.5, -0.5])
    world.signals["effort"] = np.array([10.5, 10.5])
    decision = world.tick([0.5, -0.5])
    # x pushes along its effort and yields; y moves away from it and may go on
    assert decision.command.tolist() == pytest.approx([0.4, -0.5])
    assert decision.rules == ("effort",)
    assert world.run_in([0.5, -0.5]).command.tolist() == [0.0, -0.5]
    world.signals["effort"] = np.array([9.5, 9.5])
    assert world.run_in([0.5, -0.5]).command.tolist() == [0.5, -0.5]


def test_effort_stops_a_position_command(contract_with: Callable[..., Contract]) -> None:
    world = World(contract_with("position", SafeAction("hold", (0.0, 0.0))))
    world.run_in([0.5, 0.5])
    world.signals["effort"] = np.array([11.0, -11.0])
    decision = world.tick([0.6, 0.6])
    assert decision.command.tolist() == pytest.approx([0.5, 0.6]) and decision.rules == ("effort",)


def test_deadline_counts_late_ticks_and_latches_after_three(world: World) -> None:
    world.run_in([0.5, 0.5])
    for expected in (False, False, True):
        decision = world.tick([0.5, 0.5], dt_s=1.6 * T)
        assert decision.rules == ("deadline",) or expected
        assert (decision.fault is not None) == expected
    assert decision.fault is not None and decision.fault.rule == "deadline"


def test_deadline_forgets_a_single_late_tick(world: World) -> None:
    world.run_in([0.5, 0.5])
    for _ in range(10):
        world.tick([0.5, 0.5], dt_s=1.6 * T)
        decision = world.tick([0.5, 0.5])
    assert decision.fault is None


def test_deadline_counts_a_policy_that_does_not_answer(world: World) -> None:
    world.run_in([0.5, 0.5])
    answered_s = world.now_s
    for _ in range(3):
        world.now_s += 0.9 * T
        decision = world.guard.filter(world.now_s, world.now_s, world.signals, answered_s, np.array([0.5, 0.5]))
    assert decision.fault is not None and decision.fault.rule == "deadline"
    assert "did not answer" in decision.fault.detail


def test_an_old_answer_is_no_overrun_while_no_newer_state_has_come(world: World) -> None:
    world.run_in([0.5, 0.5])
    answered_s = world.now_s
    for _ in range(2):
        world.now_s += T
        decision = world.guard.filter(world.now_s, answered_s, world.signals, answered_s, np.array([0.5, 0.5]))
    assert decision.rules == ()


def test_the_first_cause_in_the_order_of_the_rules_is_latched(world: World) -> None:
    world.run_in([0.5, 0.5])
    decision = world.tick([math.nan, 0.5], state_age_s=9.0, action_age_s=9.0)
    assert decision.fault is not None and decision.fault.rule == "finite"
    assert decision.rules[:3] == ("finite", "stale_state", "stale_action")
    assert [RULES.index(rule) for rule in decision.rules] == sorted(RULES.index(rule) for rule in decision.rules)


# safe actions


def test_hold_repeats_the_last_command(contract_with: Callable[..., Contract]) -> None:
    world = World(contract_with("position", SafeAction("hold", (0.0, 0.0))))
    world.run_in([0.5, -0.5])
    world.tick([math.nan, math.nan])
    assert world.run_in([1.0, 1.0]).command.tolist() == [0.5, -0.5]


def test_constant_goes_there_at_once(contract_with: Callable[..., Contract]) -> None:
    world = World(contract_with("effort", SafeAction("constant", (0.1, -0.1)), position=False))
    world.run_in([0.9, 0.9])
    assert world.tick([math.nan, 0.0]).command.tolist() == [0.1, -0.1]


# latching and re-arming


def test_a_fault_keeps_its_cause_and_inputs(world: World) -> None:
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


def test_rearm_needs_the_token_of_the_fault(world: World) -> None:
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


def test_rearm_is_bumpless(world: World) -> None:
    world.run_in([0.5, 0.5])
    fault = world.tick([math.nan, 0.5]).fault
    assert fault is not None
    resting = world.run_in([0.9, 0.9]).command
    world.guard.rearm(fault.token)
    first = world.tick([0.9, 0.9]).command
    assert np.abs(first - resting).max() <= 5.0 * T + 1e-12
    assert world.run_in([0.9, 0.9]).command.tolist() == [0.9, 0.9]


def test_rearm_does_not_outlive_its_cause(world: World) -> None:
    world.run_in([0.5, 0.5])
    fault = world.tick([0.5, 0.5], action_age_s=9.0).fault
    assert fault is not None
    world.guard.rearm(fault.token)
    assert world.tick([0.5, 0.5], action_age_s=9.0).fault is not None


def test_restart_starts_anew_but_keeps_a_fault(contract_with: Callable[..., Contract]) -> None:
    world = World(contract_with("position", SafeAction("hold", (0.0, 0.0))))
    world.run_in([0.5, 0.5])
    world.signals["position"] = np.array([-0.5, -0.5])
    world.guard.restart()
    assert world.tick([-0.5, -0.5]).command.tolist() == [-0.5, -0.5]
    world.tick([math.nan, 0.0])
    world.guard.restart()
    assert world.tick([0.0, 0.0]).fault is not None


def test_trip_takes_the_authority_at_once(world: World) -> None:
    world.run_in([0.5, 0.5])
    world.guard.trip(world.now_s, "stop", "the operator asked")
    decision = world.tick([0.5, 0.5])
    assert decision.fault is not None and decision.fault.rule == "stop"
    assert decision.command.tolist() == pytest.approx([0.4, 0.4])


# what cannot be enforced is refused


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
        {"overrun_limit": 0},
        {"range_fault_ticks": -1},
    ],
)
def test_a_setting_that_switches_a_rule_off_is_refused(
    contract_with: Callable[..., Contract], bad: dict[str, float]
) -> None:
    with pytest.raises(BedplateError, match=next(iter(bad))):
        ReferenceGuard(contract_with(), GuardSettings(**bad))  # type: ignore[arg-type]


# properties

# `make test-long` runs the full count
EXAMPLES = 25_000 if os.environ.get("BEDPLATE_FULL") == "1" else 150

ANY = st.floats(allow_nan=True, allow_infinity=True, width=64)
MOSTLY_FINE = st.one_of(st.floats(-1.5, 1.5), st.floats(-1.5, 1.5), st.floats(-1.5, 1.5), ANY)
TICK = st.fixed_dictionaries(
    {
        "command": st.one_of(st.none(), st.lists(MOSTLY_FINE, min_size=2, max_size=2)),
        "dt_s": st.one_of(st.just(T), st.floats(0, 3 * T), ANY),
        "state_age_s": st.one_of(st.just(0.0), st.floats(0, 0.2), ANY),
        "action_age_s": st.one_of(st.just(0.0), st.floats(0, 0.2), ANY),
        "position": st.lists(st.one_of(st.floats(-3, 3), ANY), min_size=2, max_size=2),
        "effort": st.lists(st.one_of(st.floats(-20, 20), ANY), min_size=2, max_size=2),
    }
)


@pytest.mark.parametrize(
    ("kind", "mode"),
    [("velocity", "ramp"), ("position", "hold"), ("delta_position", "ramp"), ("twist", "constant")],
)
@given(ticks=st.lists(TICK, min_size=1, max_size=12), bad_rearm=st.booleans())
@settings(max_examples=EXAMPLES, deadline=None)
def test_whatever_comes_in_what_goes_out_is_finite_bounded_and_slewed(
    contract_with: Callable[..., Contract], kind: str, mode: str, ticks: list[dict[str, object]], bad_rearm: bool
) -> None:
    safe = SafeAction(mode, (0.25, -0.25) if kind != "velocity" else (0.0, 0.0))  # type: ignore[arg-type]
    world = World(contract_with(kind, safe))
    world.run_in([0.5, 0.5], 3)
    latched = None
    for inputs in ticks:
        before = world.last
        world.signals = {
            "position": np.array(inputs["position"]),
            "goal": np.zeros(2),
            "effort": np.array(inputs["effort"]),
        }
        decision = world.tick(
            inputs["command"],  # type: ignore[arg-type]
            dt_s=inputs["dt_s"],  # type: ignore[arg-type]
            state_age_s=inputs["state_age_s"],  # type: ignore[arg-type]
            action_age_s=inputs["action_age_s"],  # type: ignore[arg-type]
        )
        assert np.isfinite(decision.command).all()
        assert (np.abs(decision.command) <= 1.0).all()
        # "constant" is the one safe action that is declared to jump
        if mode != "constant":
            assert np.abs(decision.command - before).max() <= 5.0 * 2 * T + 1e-12
        if not math.isfinite(world.now_s):
            world.now_s = 100.0
        # what is latched stays, and cannot be re-armed with anything but its token
        if latched is not None:
            assert decision.fault is latched
        latched = decision.fault
        if latched is not None and bad_rearm:
            with pytest.raises(BedplateError):
                world.guard.rearm("please")


@given(
    command=st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=2),
    position=st.lists(st.floats(-5, 5), min_size=2, max_size=2),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_trusted_command_never_drives_further_out(
    contract_with: Callable[..., Contract], command: list[float], position: list[float]
) -> None:
    world = World(contract_with(effort=False))
    world.run_in([0.0, 0.0], 2)
    world.signals["position"] = np.array(position)
    decision = world.run_in(command, 60)
    for here, velocity in zip(position, decision.command.tolist(), strict=True):
        if here >= 2.0:
            assert velocity <= 0.0
        if here <= -2.0:
            assert velocity >= 0.0
