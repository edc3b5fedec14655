"""`bedplate robot` and `bedplate serve` as a user starts them: two commands, three processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bedplate.bundle.bundle import Bundle
from bedplate.cli.app import run

T = 0.05
PATIENCE_PERIODS = 4.0


def start(*arguments: object) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "bedplate.cli", *(str(argument) for argument in arguments)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str], timeout_s: float = 40.0) -> tuple[int, str, str]:
    out, errors = process.communicate(timeout=timeout_s)
    assert "Traceback" not in errors
    return process.returncode, out, errors


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def await_policy(serve: subprocess.Popen[str]) -> int:
    """Process id of the policy, once it has loaded ONNX Runtime."""
    until_s = time.monotonic() + 90
    while time.monotonic() < until_s and serve.poll() is None:
        for child in Path(f"/proc/{serve.pid}/task/{serve.pid}/children").read_text().split():
            if "onnxruntime" in Path(f"/proc/{child}/maps").read_text():
                return int(child)
        time.sleep(0.05)
    raise AssertionError(f"no policy process: {finish(serve) if serve.poll() is not None else 'timeout'}")


def read_log(report: Path) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """The robot's report, arrival times in seconds, and received commands (n, 2)."""
    read = json.loads(report.read_text())
    columns = read["log"]["columns"]
    rows = np.array(read["log"]["rows"], float)
    return read, rows[:, columns.index("arrival_ns")] * 1e-9, rows[:, columns.index("forward_speed") :]


@pytest.mark.parametrize("kill", [signal.SIGSTOP, signal.SIGKILL])
def test_the_robot_receives_the_safe_action_when_the_policy_is_gone(
    kill: signal.Signals, turning_bundle: Bundle, tmp_path: Path, processes: list[subprocess.Popen[str]]
) -> None:
    url = f"unix://{tmp_path}/robot.sock"
    robot = start("robot", "nav_lidar", "--link", url, "--report", tmp_path / "robot.json", "--json")
    serve = start("serve", turning_bundle.folder, "--link", url, "--wait", 60, "--report", tmp_path / "serve.json")
    processes += [robot, serve]

    # drive, then strike the policy process
    policy_pid = await_policy(serve)
    time.sleep(2.0)
    struck_s = time.monotonic()
    os.kill(policy_pid, kill)
    time.sleep(1.5)
    ended_s = time.monotonic()
    serve.send_signal(signal.SIGTERM)
    code, _, errors = finish(serve)
    robot.send_signal(signal.SIGTERM)
    robot_code, out, _ = finish(robot)
    assert robot_code == 130

    # what the robot itself received
    report, arrival_s, commands = read_log(tmp_path / "robot.json")
    assert report["commands_not_finite"] == 0 and report["refused_frames"] == {}
    assert json.loads(out)["commands"] == len(commands) == report["commands"]
    before = commands[(arrival_s < struck_s) & (arrival_s > struck_s - 1.0)]
    assert len(before) > 10 and np.abs(before - [0.1, 1.0]).max() < 1e-6
    assert commands[-1].tolist() == [0.0, 0.0]
    assert code == 1, errors
    still_moving_s = arrival_s[np.abs(commands).max(axis=1) > 0.0].max()
    # bound: age limit and two periods; both channels ramp to zero within one period more
    assert still_moving_s - struck_s <= (PATIENCE_PERIODS + 3) * T + 0.1
    resting = commands[(arrival_s > still_moving_s) & (arrival_s < ended_s)]
    assert len(resting) > 10 and not resting.any()


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("did you mean 'nav_lidar'", ["nav_lidr"]),
        ("task.KEY=VALUE", ["nav_lidar", "--set", "obstacles=3"]),
        ("task.obstacles=[12, 12]", ["nav_lidar", "--set", "task.obstacles"]),
        ("unknown parameter of task", ["nav_lidar", "--set", "task.wheels=3"]),
        ("report cannot be written", ["nav_lidar", "--report", "absent/robot.json"]),
        ("such as unix://", ["nav_lidar", "--link", "robot.sock"]),
    ],
)
def test_what_is_wrong_is_said_before_anybody_can_connect(
    words: str,
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    options = [] if "--link" in arguments else ["--link", f"unix://{tmp_path}/robot.sock"]
    assert run(["robot", *arguments, *options]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == []


def test_a_killed_robot_leaves_a_socket_that_is_named_and_kept(
    tmp_path: Path, processes: list[subprocess.Popen[str]]
) -> None:
    sock = tmp_path / "robot.sock"
    first = start("robot", "nav_lidar", "--link", f"unix://{sock}")
    processes.append(first)
    until_s = time.monotonic() + 60
    while not sock.exists() and time.monotonic() < until_s:
        time.sleep(0.05)
    inode = sock.stat().st_ino
    first.kill()
    first.communicate()
    code, _, errors = finish(start("robot", "nav_lidar", "--link", f"unix://{sock}"))
    assert code == 2 and "killed robot" in errors and f"rm {sock}" in errors
    assert sock.stat().st_ino == inode
