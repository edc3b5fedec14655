"""Limits refuse every number that a guard could not enforce."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bedplate.core.errors import BedplateError
from bedplate.core.limits import ChannelLimits, EffortLimit, Limits, PositionLimit, SafeAction

NAN, INF = float("nan"), float("inf")

JOINT = ChannelLimits(
    "elbow",
    "rad/s",
    -2.0,
    2.0,
    10.0,
    PositionLimit("joint_position", 0, -1.5, 1.5),
    EffortLimit("joint_effort", 0, 40.0),
)
GOOD = Limits((JOINT, replace(JOINT, channel="wrist")), SafeAction("ramp", (0.0, 0.0)))


def test_good_limits_pass() -> None:
    GOOD.validate()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"low": 2.0}, "command bounds of 'elbow'"),
        ({"low": NAN}, "command bounds of 'elbow'"),
        ({"high": INF}, "command bounds of 'elbow'"),
        ({"rate_per_s": 0.0}, "rate_per_s of 'elbow'"),
        ({"rate_per_s": INF}, "rate_per_s of 'elbow'"),
        ({"rate_per_s": NAN}, "rate_per_s of 'elbow'"),
        ({"position": PositionLimit("q", 0, 1.0, -1.0)}, "position bounds of 'elbow'"),
        ({"effort": EffortLimit("tau", 0, -1.0)}, "effort of 'elbow'"),
        ({"low": 0.5, "high": 1.0}, "safe_action of 'elbow' is 0.0"),
    ],
)
def test_a_bad_number_is_named(change: dict, found: str) -> None:
    with pytest.raises(BedplateError, match=found):
        replace(GOOD, channels=(replace(JOINT, **change), GOOD.channels[1])).validate()


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        (Limits((), SafeAction("hold", ())), "no channel"),
        (replace(GOOD, safe_action=SafeAction("hold", (0.0,))), "1 values"),
        (replace(GOOD, safe_action=SafeAction("constant", (0.0, NAN))), "safe_action of 'wrist' is nan"),
        (replace(GOOD, safe_action=SafeAction("stop", (0.0, 0.0))), "mode 'stop'"),
        (replace(GOOD, channels=(JOINT, JOINT)), "each channel once"),
    ],
)
def test_a_bad_set_is_named(limits: Limits, found: str) -> None:
    with pytest.raises(BedplateError) as caught:
        limits.validate()
    assert found in str(caught.value)
