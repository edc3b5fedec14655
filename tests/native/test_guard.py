"""The native guard decides exactly what the reference guard decides, bit by bit, whatever happens."""

from __future__ import annotations

import math
import os
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st
from tests.native import robots

from bedplate.bundle.contract import Contract, GuardSettings
from bedplate.core.errors import BedplateError
from bedplate.core.limits import ChannelLimits, Limits, SafeAction
from bedplate.runtime.guard import ReferenceGuard
from bedplate.runtime.native.guard import NativeGuard

EXAMPLES = 4000 if os.environ.get("BEDPLATE_FULL") else 300

pytestmark = pytest.mark.usefixtures("native")


def bits(values: object) -> bytes:
    """Equal for equal doubles only: NaN equals NaN, and zero differs from minus zero."""
    return b"".join(struct.pack("<d", math.nan if math.isnan(v) else v) for v in np.asarray(values, float).reshape(-1))


def describe(decision):
    """A decision as something that can be compared exactly; the fault's words aside."""
    fault = decision.fault and (
        decision.fault.rule,
        decision.fault.token,
        bits(decision.fault.time_s),
        bits([decision.fault.snapshot.state_age_s, decision.fault.snapshot.action_age_s]),
        {name: bits(value) for name, value in decision.fault.snapshot.signals.items()},
        bits(decision.fault.snapshot.command),
        bits(decision.fault.snapshot.last_command),
    )
    return bits(decision.command), decision.rules, decision.hold_back, fault


def elbow(limits: Limits) -> Contract:
    """A robot of one channel and one signal."""
    signals = (robots.make_signal("goal", 1, 20.0, 0.06),)
    return Contract(task="t", control_dt_s=0.01, signals=signals, memory=(), action_kind="velocity", limits=limits)


def act(guards, then: str, now_s: float) -> None:
    """Restart, re-arm or trip both guards."""
    for guard in guards:
        if then == "restart":
            guard.restart()
        elif then == "trip":
            guard.trip(now_s, "stop", "asked to stop")
        elif then == "rearm" and guard.fault:
            guard.rearm(guard.fault.token)
        elif then == "wrong rearm":
            with pytest.raises(BedplateError):
                guard.rearm("finite-1000")


@given(robots.contracts(), robots.settings, st.lists(robots.ticks, min_size=1, max_size=25))
@hypothesis_settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_both_guards_decide_the_same(contract, settings, days):
    guards = ReferenceGuard(contract, settings), NativeGuard(contract, settings)
    now_s = last_stamp_s = 100.0
    for tick in days:
        later_s = now_s + tick["dt"] * contract.control_dt_s
        arguments = robots.inputs(contract, tick, later_s, last_stamp_s)
        reference, native = (guard.filter(*arguments) for guard in guards)
        assert describe(native) == describe(reference)
        assert dict(guards[1].counts) == dict(guards[0].counts)
        assert guards[1].started == guards[0].started
        act(guards, tick["then"], later_s)
        last_stamp_s = arguments[3]
        now_s = later_s if math.isfinite(later_s) else now_s


def test_long_runs_of_a_working_robot_agree():
    """Mostly good ticks, so that rates, stopping distances and efforts are exercised rather than faults."""
    rng = np.random.default_rng(0)
    faults = passed = 0
    for kind in robots.KINDS:
        channels = tuple(ChannelLimits(f"axis_{i}", "1", -1.0, 1.0, 3.0) for i in range(3))
        signals = tuple(robots.make_signal(name, 3, 20.0, 0.06) for name in robots.SIGNALS)
        contract = Contract(
            task="steady",
            control_dt_s=0.02,
            signals=signals,
            memory=(),
            action_kind=kind,
            limits=Limits(channels, SafeAction("ramp", (0.0, 0.0, 0.0))),
        )
        guards = ReferenceGuard(contract, GuardSettings()), NativeGuard(contract, GuardSettings())
        now_s = 0.0
        for _ in range(500):
            now_s += 0.02 * rng.uniform(0.7, 1.4)
            values = {name: rng.normal(0, 5.0, 3) for name in robots.SIGNALS}
            arguments = (now_s, now_s - rng.uniform(0, 0.02), values, now_s - 0.02 * rng.random(), rng.normal(0, 1, 3))
            reference, native = (guard.filter(*arguments) for guard in guards)
            assert describe(native) == describe(reference)
            passed += "rate" in native.rules
            faults += native.fault is not None
            if native.fault:
                act(guards, "rearm", now_s)
    assert passed > 100
    assert faults < 1000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"control_dt_s": 0.0}, "control_dt_s"),
        ({"limits": Limits((ChannelLimits("a", "1", 1.0, -1.0, 1.0),), SafeAction("ramp", (0.0,)))}, "'a'"),
        (
            {"limits": Limits((ChannelLimits("a", "1", -1.0, 1.0, math.nan),), SafeAction("ramp", (0.0,)))},
            "rate|not finite",
        ),
        ({"limits": Limits((ChannelLimits("a", "1", -1.0, 1.0, 1.0),), SafeAction("hold", (0.0,)))}, "hold"),
        ({"limits": Limits((ChannelLimits("a", "1", -1.0, 1.0, 1.0),), SafeAction("ramp", (7.0,)))}, "safe"),
    ],
)
def test_both_guards_refuse_what_would_switch_a_rule_off(change, words):
    limits = Limits((ChannelLimits("a", "1", -1.0, 1.0, 1.0),), SafeAction("ramp", (0.0,)))
    contract = elbow(limits).model_copy(update=change)
    for guard in (ReferenceGuard, NativeGuard):
        with pytest.raises(BedplateError, match=words):
            guard(contract, GuardSettings())


def test_details_are_in_words():
    limits = Limits((ChannelLimits("elbow", "rad/s", -1.0, 1.0, 1.0),), SafeAction("ramp", (0.0,)))
    guard = NativeGuard(elbow(limits), GuardSettings())
    decision = guard.filter(1.0, 1.0, {"goal": np.zeros(1)}, 1.0, np.array([math.nan]))
    assert decision.fault.detail == "command of 'elbow' is nan"
    assert decision.fault.rule == "finite"
    assert list(decision.command) == [0.0]
