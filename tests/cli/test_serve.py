from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bedplate.cli.serve import _judge
from bedplate.core.errors import BedplateError, GateFailed
from bedplate.runtime.latency import LatencyHistogram, LatencySummary


def late(seconds: float, count: int) -> LatencySummary:
    histogram = LatencyHistogram()
    for _ in range(count):
        histogram.add(seconds)
    return histogram.summary()


def result(**changes: Any) -> Any:
    fields = {"control_dt_s": 0.05, "late_latency": late(0.055, 300), "latency": late(0.0, 0), "faults": []}
    return SimpleNamespace(**{**fields, "held_back": 0, "last_rejection": "", **changes})


BUNDLE: Any = SimpleNamespace(folder=Path("runs/demo/bundle"))


def test_a_slow_policy_is_told_how_slow_it_is() -> None:
    with pytest.raises(BedplateError) as refusal:
        _judge(result(end="policy_too_slow"), BUNDLE, "", Path("serve.json"))
    assert "300 answers" in refusal.value.found and "55." in refusal.value.found
    assert "40.0 ms" in refusal.value.expected


def test_a_robot_that_was_sent_nothing_is_told_why() -> None:
    with pytest.raises(GateFailed, match="fresh enough"):
        _judge(result(end="stopped", held_back=12), BUNDLE, "", Path("serve.json"))
