"""`bedplate serve` with its real processes, against a small robot in this one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bedplate.bundle.bundle import Bundle
from bedplate.bundle.contract import Contract, GuardSettings
from bedplate.runtime.links import Link, Listener, listen
from bedplate.runtime.links.frame import CommandMessage, StateMessage

T = 0.05
BundleWith = Callable[..., Bundle]

# the machine that runs these tests may be busy: what they ask for is the reaction, not a perfect rate before it
PATIENT = GuardSettings(action_max_age_periods=4.0, overrun_limit=20)


class Robot(threading.Thread):
    """Two axes that do what they are told, with the goal given by the test."""

    def __init__(self, url: str, contract: Contract) -> None:
        super().__init__(daemon=True)
        self.listener: Listener = listen(url, contract)
        self.goal = 1.9
        self.received: list[tuple[float, CommandMessage]] = []
        self.ended = threading.Event()
        self.start()

    def run(self) -> None:
        link: Link | None = None
        position, velocity, sequence = np.zeros(2), np.zeros(2), 0
        tick_s = time.monotonic()
        while not self.ended.is_set():
            link = self.listener.accept() or link
            tick_s += T
            if link is not None and not link.peer_gone:
                sequence += 1
                values = np.concatenate([position, np.full(2, self.goal), np.zeros(2)])
                link.send(StateMessage(sequence, time.monotonic_ns(), 0, values, np.zeros(3)))
                while (left_s := tick_s - time.monotonic()) > 0 and not link.peer_gone:
                    link.wait(left_s)
                    for message in link.drain():
                        assert isinstance(message, CommandMessage)
                        self.received.append((time.monotonic(), message))
                        velocity = message.values
                # slow enough never to arrive: the policy's command stays at 1
                position = position + velocity * T * 0.001
            time.sleep(max(0.0, tick_s - time.monotonic()))
        if link is not None:
            link.close()
        self.listener.close()

    def end(self) -> None:
        self.ended.set()
        self.join(5.0)

    def wait_until(self, condition: Callable[[np.ndarray], bool], timeout_s: float = 30.0) -> float:
        """Time of the first newly received command for which the condition holds."""
        seen, until_s = len(self.received), time.monotonic() + timeout_s
        while time.monotonic() < until_s:
            for at_s, message in self.received[seen:]:
                seen += 1
                if condition(message.values):
                    return at_s
            time.sleep(0.002)
        raise AssertionError(f"no such command within {timeout_s} s; last: {self.received[-1:]}")


class Served:
    """A running `bedplate serve`."""

    def __init__(self, bundle: Bundle, url: str, report: Path, *options: str) -> None:
        self.report_path = report
        argv = [sys.executable, "-m", "bedplate.cli", "serve", str(bundle.folder), "--link", url]
        self.process = subprocess.Popen(
            [*argv, "--report", str(report), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    @property
    def policy_pid(self) -> int:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        assert len(children) == 1
        return int(children[0])

    def finish(self, timeout_s: float = 30.0) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=timeout_s)
        return self.process.returncode, errors

    @property
    def report(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.report_path.read_text())
        return read


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"unix://{tmp_path}/robot.sock"


@pytest.fixture
def slow_bundle(bundle_with: BundleWith) -> Bundle:
    return bundle_with(settings=PATIENT, period_s=T, rate_per_s=20.0)


@pytest.fixture
def robot(url: str, slow_bundle: Bundle) -> Iterator[Robot]:
    made = Robot(url, slow_bundle.contract)
    yield made
    made.end()


@pytest.fixture
def served(robot: Robot, url: str, slow_bundle: Bundle, tmp_path: Path) -> Iterator[Served]:
    running = Served(slow_bundle, url, tmp_path / "serve.json")
    robot.wait_until(moving)
    yield running
    if running.process.poll() is None:
        running.process.kill()
    running.process.communicate()


def moving(command: np.ndarray) -> bool:
    return bool((command == 1.0).all())


def safe(command: np.ndarray) -> bool:
    return bool((command == 0.0).all())


def test_it_drives_for_the_time_it_was_given_and_comes_to_rest(
    robot: Robot, url: str, slow_bundle: Bundle, tmp_path: Path
) -> None:
    served = Served(slow_bundle, url, tmp_path / "serve.json", "--seconds", "4", "--json")
    out, errors = served.process.communicate(timeout=40)
    assert served.process.returncode == 0, errors
    commands = [message.values for _, message in robot.received]
    assert any(moving(command) for command in commands) and safe(commands[-1])

    # the report says the same as the robot saw
    report = served.report
    assert json.loads(out) == report
    assert report["end"] == "stopped" and report["faults"] == []
    assert report["contract_hash"] == slow_bundle.contract.hash
    assert report["ticks"] == len(commands)
    assert 0 < report["latency"]["p50_us"] <= report["latency"]["p99_9_us"] and report["latency"]["n"] > 10
    sent_ns = np.array([message.stamp_ns for _, message in robot.received])
    driven_ns = sent_ns[report["waiting_ticks"] : len(sent_ns) - report["rest_ticks"]]
    assert len(driven_ns) == report["driven_ticks"] and report["rest_ticks"] > 0
    assert report["rate_hz"] == pytest.approx((len(driven_ns) - 1) / (driven_ns[-1] - driven_ns[0]) * 1e9, rel=0.05)
    assert np.diff(sent_ns).min() >= 0.5 * T * 1e9 - 1e3


@pytest.mark.parametrize("kill", [signal.SIGSTOP, signal.SIGKILL])
def test_a_policy_that_is_stopped_or_killed_gives_way_to_the_safe_action(
    served: Served, robot: Robot, kill: signal.Signals
) -> None:
    policy_pid = served.policy_pid
    os.kill(policy_pid, kill)
    struck_s = time.monotonic()
    first_s = robot.wait_until(lambda command: not moving(command))
    at_rest_s = robot.wait_until(safe)
    # stated bound: the age limit and two periods, then the ramp of one unit at 20 per second
    bound_s = (PATIENT.action_max_age_periods + 2) * T
    scheduling_s = 0.1
    assert first_s - struck_s <= bound_s + scheduling_s
    assert at_rest_s - first_s <= 1.0 / 20.0 + T + scheduling_s

    # it stays there, with commands at the fixed rate, even when the policy comes back
    if kill == signal.SIGSTOP:
        os.kill(policy_pid, signal.SIGCONT)
    seen = len(robot.received)
    time.sleep(0.6)
    later = robot.received[seen:]
    assert len(later) >= 8 and all(safe(message.values) for _, message in later)

    served.process.send_signal(signal.SIGTERM)
    code, errors = served.finish()
    assert code == 1, errors
    assert "took the authority" in errors
    assert [fault["rule"] for fault in served.report["faults"]] == ["stale_action"]
    if kill == signal.SIGKILL:
        assert "SIGKILL" in errors


def test_every_command_was_finite_bounded_and_slewed_whatever_happened_to_the_policy(
    served: Served, robot: Robot
) -> None:
    os.kill(served.policy_pid, signal.SIGSTOP)
    robot.wait_until(safe)
    values = np.array([message.values for _, message in robot.received])
    stamps_s = np.array([message.stamp_ns for _, message in robot.received]) * 1e-9
    assert np.isfinite(values).all() and np.abs(values).max() <= 1.0
    allowed = 20.0 * np.clip(np.diff(stamps_s), 0.5 * T, 2 * T) + 0.02
    assert (np.abs(np.diff(values, axis=0)) <= allowed[:, None]).all()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_brings_the_robot_to_rest_first(served: Served, robot: Robot, number: signal.Signals) -> None:
    served.process.send_signal(number)
    code, errors = served.finish()
    assert code == 130, errors
    assert served.report["end"] == "interrupted" and served.report["faults"] == []
    assert safe(robot.received[-1][1].values)
    seen = len(robot.received)
    time.sleep(0.2)
    assert len(robot.received) == seen


def test_a_robot_that_dies_ends_it_with_a_report(served: Served, robot: Robot) -> None:
    robot.end()
    code, errors = served.finish()
    assert code == 2 and "the robot" in errors and "is gone" in errors
    assert "Traceback" not in errors
    assert served.report["end"] == "robot_gone" and served.report["ticks"] > 0


@pytest.mark.parametrize("stopped", [False, True])
def test_a_policy_outlives_no_writer(served: Served, stopped: bool) -> None:
    policy_pid = served.policy_pid
    if stopped:
        os.kill(policy_pid, signal.SIGSTOP)
    served.process.kill()
    served.process.wait()
    until_s = time.monotonic() + 10
    while Path(f"/proc/{policy_pid}").exists() and time.monotonic() < until_s:
        # an orphan that has ended may wait for its new parent
        if "State:\tZ" in Path(f"/proc/{policy_pid}/status").read_text():
            return
        time.sleep(0.02)
    assert not Path(f"/proc/{policy_pid}").exists()


def test_a_policy_that_breaks_latches_a_fault_with_its_inputs(
    bundle_with: BundleWith, nan_policy: bytes, url: str, tmp_path: Path
) -> None:
    bundle = bundle_with(policy=nan_policy, settings=PATIENT, period_s=T, rate_per_s=20.0)
    robot = Robot(url, bundle.contract)
    served = Served(bundle, url, tmp_path / "serve.json")
    try:
        robot.wait_until(moving)
        robot.goal = 4.5
        robot.wait_until(safe)
        served.process.send_signal(signal.SIGTERM)
        code, errors = served.finish()
        assert code == 1 and "finite" in errors
        (fault,) = served.report["faults"]
        assert fault["rule"] == "finite" and fault["snapshot"]["signals"]["goal"] == [4.5, 4.5]
        assert fault["snapshot"]["command"] == ["nan", "nan"]
    finally:
        served.process.kill()
        robot.end()


def test_a_robot_whose_states_cannot_be_believed_is_never_driven(
    slow_bundle: Bundle, robot: Robot, url: str, tmp_path: Path
) -> None:
    robot.goal = 5.5
    code, errors = Served(slow_bundle, url, tmp_path / "serve.json", "--seconds", "1.5").finish()
    assert code == 1 and "never drove" in errors and "5.5 is outside" in errors
    assert robot.received == []


# what is refused before anything moves


def refused(bundle: Bundle, url: str, report: Path) -> str:
    code, errors = Served(bundle, url, report, "--seconds", "1", "--wait", "0").finish()
    assert code == 2, errors
    assert "Traceback" not in errors and not report.is_file()
    return errors


def test_no_robot_is_refused(slow_bundle: Bundle, url: str, tmp_path: Path) -> None:
    assert "no robot listens" in refused(slow_bundle, url, tmp_path / "serve.json")


def test_a_bundle_of_another_task_is_refused(bundle_with: BundleWith, robot: Robot, url: str, tmp_path: Path) -> None:
    other = bundle_with(name="other", task="other", period_s=T)
    errors = refused(other, url, tmp_path / "serve.json")
    assert "'other'" in errors and "'tiny'" in errors
    assert robot.received == []


def test_an_unwritable_report_is_refused(slow_bundle: Bundle, robot: Robot, url: str, tmp_path: Path) -> None:
    assert "report cannot be written" in refused(slow_bundle, url, tmp_path / "absent" / "serve.json")
    assert robot.received == []


def test_a_changed_bundle_is_refused(slow_bundle: Bundle, robot: Robot, url: str, tmp_path: Path) -> None:
    file = slow_bundle.folder / "bundle.json"
    file.write_text(file.read_text().replace("axis_x", "axis_z"))
    assert "bundle" in refused(slow_bundle, url, tmp_path / "serve.json")
    assert robot.received == []


def test_a_graph_that_does_not_load_is_named(bundle_with: BundleWith, url: str, tmp_path: Path) -> None:
    bundle = bundle_with(policy=b"no graph at all", period_s=T)
    robot = Robot(url, bundle.contract)
    try:
        code, errors = Served(bundle, url, tmp_path / "serve.json").finish()
        assert code == 2 and "cannot load" in errors
        assert all(safe(message.values) for _, message in robot.received)
    finally:
        robot.end()
