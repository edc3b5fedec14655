"""Random robots and random bad days, for comparing the two guards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from bedplate.bundle.contract import Contract, GuardSettings, MemoryContract, SignalContract
from bedplate.core.limits import ChannelLimits, EffortLimit, Limits, PositionLimit, SafeAction

KINDS = ("velocity", "position", "delta_position", "twist", "thrust_and_body_rate", "effort")
SIGNALS = ("position", "effort", "goal")
ODD = (math.nan, math.inf, -math.inf, 1e308, -0.0, 5e-324)


def make_signal(name: str, size: int, high: float, max_age_s: float) -> SignalContract:
    """A signal within [-high, high]."""
    components = tuple(f"{name}_{index}" for index in range(size))
    return SignalContract(
        name=name, components=components, unit="1", frame="", low=-high, high=high, max_age_s=max_age_s, rate_hz=50.0
    )


@st.composite
def contracts(draw: Any) -> Contract:
    """Contracts of every kind, with and without position and effort limits."""
    kind = draw(st.sampled_from(KINDS))
    moves = kind in ("position", "delta_position")
    size = draw(st.integers(1, 3))
    period_s = draw(st.sampled_from((0.001, 0.01, 0.02, 0.05)))
    ages = draw(st.lists(st.sampled_from((0.5, 1.5, 3.0, 7.0)), min_size=3, max_size=3))
    position = draw(st.booleans()) and kind in ("velocity", "twist", "position", "delta_position")
    effort = draw(st.booleans()) and kind != "thrust_and_body_rate"
    channels = tuple(
        ChannelLimits(
            f"axis_{index}",
            "1",
            -draw(st.floats(0.1, 5.0)),
            draw(st.floats(0.1, 5.0)),
            draw(st.floats(0.01, 500.0)),
            position=PositionLimit("position", index, -0.09, draw(st.floats(0.05, 4.0))) if position else None,
            effort=EffortLimit("effort", index, draw(st.floats(0.1, 10.0))) if effort else None,
        )
        for index in range(size)
    )
    mode = draw(st.sampled_from(("hold", "ramp", "constant") if moves else ("ramp", "constant")))
    safe = SafeAction(mode, tuple(draw(st.floats(-0.05, 0.05)) for _ in range(size)))
    memory = ()
    if moves and draw(st.booleans()):
        memory = (MemoryContract(name="commanded", size=size, initial=0.0, initial_signal="position"),)
    signals = tuple(
        make_signal(name, size, 20.0, periods * period_s) for name, periods in zip(SIGNALS, ages, strict=True)
    )
    return Contract(
        task="random",
        control_dt_s=period_s,
        signals=signals,
        memory=memory,
        action_kind=kind,
        limits=Limits(channels, safe),
    )


settings = st.builds(
    GuardSettings,
    action_max_age_periods=st.sampled_from((1.0, 2.0, 3.0)),
    overrun_limit=st.integers(1, 3),
    range_fault_ticks=st.integers(1, 4),
)

_values = st.one_of(st.floats(-6.0, 6.0), st.floats(-25.0, 25.0), st.sampled_from(ODD))

ticks = st.fixed_dictionaries(
    {
        # in periods: a regular tick, a stall, a burst, a clock that jumps or breaks
        "dt": st.one_of(st.just(1.0), st.sampled_from((0.0, 0.2, 1.4, 1.6, 30.0, -5.0, 3.6e6, math.nan, math.inf))),
        "stamps": st.sampled_from(("one", "each", "each", "short", "none")),
        "ages": st.lists(st.one_of(st.just(0.0), st.floats(-2.0, 9.0), st.just(math.nan)), min_size=3, max_size=3),
        "signals": st.sampled_from(("fine", "fine", "fine", "odd", "absent", "short", "text", "none")),
        "values": st.lists(_values, min_size=9, max_size=9),
        "command": st.sampled_from(("fine", "fine", "fine", "none", "short", "text")),
        "asked": st.lists(_values, min_size=3, max_size=3),
        "action_age": st.one_of(st.just(0.0), st.floats(-2.0, 5.0), st.just(math.nan)),
        "same_action": st.booleans(),
        "then": st.sampled_from(("",) * 12 + ("restart", "rearm", "trip", "wrong rearm")),
    }
)


def inputs(contract: Contract, tick: dict[str, Any], now_s: float, last_stamp_s: float) -> tuple[Any, ...]:
    """The arguments of `Guard.filter` in this tick."""
    period_s, size = contract.control_dt_s, len(contract.channels)
    stamps: Any = [now_s - age * period_s for age in tick["ages"]]
    stamps = {"one": stamps[0], "short": stamps[:1], "none": []}.get(tick["stamps"], stamps)

    # fine values are within the signals' bounds, odd ones are anything
    values = np.array(tick["values"]).reshape(3, 3)[:, :size]
    if tick["signals"] != "odd":
        values = np.clip(np.nan_to_num(values, posinf=1.0, neginf=-1.0), -20.0, 20.0)
    signals: Any = dict(zip(SIGNALS, values, strict=True))
    if tick["signals"] == "absent":
        del signals["effort"]
    elif tick["signals"] == "short":
        signals["goal"] = np.zeros(size + 1)
    elif tick["signals"] == "text":
        signals["goal"] = "north"
    elif tick["signals"] == "none":
        signals = None

    asked = np.array(tick["asked"][:size])
    command: Any = {"none": None, "short": asked[1:], "text": "go"}.get(tick["command"], asked)
    action_stamp_s = last_stamp_s if tick["same_action"] else now_s - tick["action_age"] * period_s
    return now_s, stamps, signals, action_stamp_s, command
