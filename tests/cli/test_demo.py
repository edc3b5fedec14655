"""The end of `bedplate demo`: what went wrong must be seen, and a bundle that fails ends it with 1."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bedplate.cli import app, demo
from bedplate.cli.demo import DemoResult, closing_rows
from bedplate.core.errors import BedplateError, Interrupted
from bedplate.core.signals import StopRequest
from bedplate.learn.config import load_config
from bedplate.recipes import recipe_path
from bedplate.runs.layout import Run
from bedplate.runtime.verification import Gate

FAULT = {"rule": "stale_state", "detail": "the scan is 400 ms old", "time_s": 3.2}


def result(passed: bool = True, faults: list[dict[str, Any]] | None = None) -> DemoResult:
    """What the stages of a demo measured."""
    gates = (Gate("parity", "1e-07", "<= 1e-05", True), Gate("latency", "p99 70 ms", "<= 50 ms", passed))
    served = {
        "faults": faults or [],
        "interventions": {"rate": 3},
        "rate_hz": 20.0,
        "control_dt_s": 0.05,
        "deadline_misses": 0,
        "ticks": 210,
        "driven_ticks": 200,
    }
    guarded = SimpleNamespace(success="97 %", collisions="1 %", time_outs="2 %", guard=SimpleNamespace(clamp_rate=0.01))
    evaluation = SimpleNamespace(guarded=guarded, baseline=None, task=SimpleNamespace(description="a cart"))
    verification = SimpleNamespace(gates=gates, passed=passed, parity=SimpleNamespace(max_error=1e-7))
    trained: Any = SimpleNamespace(steps_per_s=7000.0)
    return DemoResult(trained, evaluation, verification, served, 300.0)  # type: ignore[arg-type]


@pytest.fixture
def ends_with(monkeypatch, tmp_path):
    """Run the command with stages that measured a given result; returns the exit code."""
    monkeypatch.chdir(tmp_path)

    def run(measured: DemoResult, *options: str) -> int:
        monkeypatch.setattr(demo, "_all_stages", lambda *args: measured)
        return app.run(["demo", *options])

    return run


def test_a_good_demo_ends_with_0(ends_with, capsys):
    assert ends_with(result()) == 0
    rows = dict(closing_rows(result()))
    assert rows["verification of the bundle"] == "passed"
    assert rows["guard on the robot"] == "3 interventions, 0 faults"
    # what was sent before and after the drive is no part of it
    assert rows["loop rate"] == "20.00 Hz of 20 Hz" and rows["deadline misses"] == "0 of 200"
    assert "warning" not in capsys.readouterr().err


def test_a_bundle_that_fails_its_verification_ends_with_1_after_everything_is_shown(ends_with, capsys):
    assert ends_with(result(passed=False)) == 1
    seen = capsys.readouterr()
    assert "FAILED: latency" in seen.out
    assert "report.html" in seen.err
    assert "the bundle failed its verification: latency: p99 70 ms" in seen.err.replace("\n", " ")


def test_with_json_the_failed_result_is_the_only_object(ends_with, capsys):
    assert ends_with(result(passed=False), "--json") == 1
    assert json.loads(capsys.readouterr().out)["verification of the bundle"] == "FAILED: latency"


def test_a_fault_on_the_robot_is_seen_in_the_table_and_as_a_warning(ends_with, capsys):
    assert ends_with(result(faults=[FAULT])) == 0
    seen = capsys.readouterr()
    assert "FAULT: stale_state" in seen.out
    assert "warning: the guard took the robot from the policy: stale_state: the scan is 400 ms old" in seen.err


def test_a_second_demo_does_not_move_the_first_ones_files_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "demo").mkdir()
    with demo._only_demo(tmp_path):
        assert app.run(["demo", "--runs", str(tmp_path)]) == 2
    assert "another demo is at work" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


def test_ctrl_c_while_the_robot_is_driven_is_an_interruption_and_no_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The writer gets the signal too and ends with 130; that is not a robot that could not be driven."""
    process = SimpleNamespace(
        communicate=lambda timeout: ("", "interrupted"), returncode=130, terminate=lambda: None, kill=lambda: None
    )
    monkeypatch.setattr(demo, "_start", lambda command: process)
    config = load_config(recipe_path("demo"))
    stop = StopRequest()
    with pytest.raises(BedplateError, match="was not driven"):
        demo._drive(config, Run(tmp_path), 1.0, stop)
    stop.request("SIGINT")
    with pytest.raises(Interrupted, match="SIGINT"):
        demo._drive(config, Run(tmp_path), 1.0, stop)
