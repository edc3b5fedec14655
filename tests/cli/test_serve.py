from __future__ import annotations

import errno
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bedplate.bundle import bundle
from bedplate.cli.app import run
from bedplate.cli.serve import _judge
from bedplate.core.errors import BedplateError, GateFailed
from bedplate.core.files import storage_error
from bedplate.runtime import session, telemetry
from bedplate.runtime.latency import LatencyHistogram, LatencySummary
from bedplate.runtime.telemetry import ServeReport


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


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of `serve` that has just ended, without a robot."""
    contract = SimpleNamespace(task="tiny", control_dt_s=0.05)
    monkeypatch.setattr(bundle, "read_bundle", lambda folder: SimpleNamespace(folder=folder, contract=contract))
    monkeypatch.setattr(session, "serve", lambda *arguments: (report(), ""))


def report() -> ServeReport:
    numbers = dict.fromkeys(("ticks", "waiting_ticks", "driven_ticks", "rest_ticks", "deadline_misses", "held_back"), 7)
    words = dict.fromkeys(("contract_hash", "bundle_hash", "link", "last_rejection"), "")
    summaries = dict.fromkeys(("latency", "late_latency", "spacing"), late(0.001, 7))
    tables: dict[str, Any] = {"misses": {}, "interventions": {}, "refused_frames": {}, "host": {}}
    lists: dict[str, Any] = {"latency_bins": [], "faults": []}
    kept: dict[str, Any] = {**numbers, **words, **summaries, **tables, **lists}
    return ServeReport(task="tiny", end="stopped", seconds=1.0, control_dt_s=0.05, rate_hz=20.0, **kept)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_at_the_end_loses_the_file_and_not_the_result(
    served: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
) -> None:
    def full(path: Path, value: object) -> None:
        raise storage_error(path, OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setattr(telemetry, "write_json", full)
    argv = ["serve", str(tmp_path), "--link", "unix:///tmp/x", "--report", str(tmp_path / "serve.json"), *options]
    assert run(argv) == 2
    seen = capsys.readouterr()
    assert "No space left on device" in seen.err and "serve.json" in seen.err
    assert json.loads(seen.out)["driven_ticks"] == 7 if options else "7 driven" in seen.out


def test_a_report_of_which_the_name_is_too_long_is_refused_before_anything_moves(
    served: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "serve", lambda *arguments: pytest.fail("the robot was driven"))
    argv = ["serve", str(tmp_path), "--link", "unix:///tmp/x", "--report", str(tmp_path / (300 * "x"))]
    assert run(argv) == 2
    assert "File name too long" in capsys.readouterr().err
