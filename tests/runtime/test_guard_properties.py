"""Whatever comes in, what goes out is finite, bounded and slewed."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from bedplate.bundle.contract import Contract
from bedplate.core.errors import BedplateError
from bedplate.core.limits import SafeAction

T = 0.02


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
    make_world: Any,
    contract_with: Callable[..., Contract],
    kind: str,
    mode: str,
    ticks: list[dict[str, object]],
    bad_rearm: bool,
) -> None:
    safe = SafeAction(mode, (0.25, -0.25) if kind != "velocity" else (0.0, 0.0))  # type: ignore[arg-type]
    world = make_world(contract_with(kind, safe))
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
    make_world: Any, contract_with: Callable[..., Contract], command: list[float], position: list[float]
) -> None:
    world = make_world(contract_with(effort=False))
    world.run_in([0.0, 0.0], 2)
    world.signals["position"] = np.array(position)
    decision = world.run_in(command, 60)
    for here, velocity in zip(position, decision.command.tolist(), strict=True):
        if here >= 2.0:
            assert velocity <= 0.0
        if here <= -2.0:
            assert velocity >= 0.0
