"""The first signal asks, the second insists, the third ends; handlers are put back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from bedplate.core import signals
from bedplate.core.errors import Interrupted
from bedplate.core.signals import StopRequest


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_only_asks(number: signal.Signals) -> None:
    heard: list[str] = []
    with StopRequest(heard.append) as stop:
        assert not stop.requested
        os.kill(os.getpid(), number)
        assert stop.wait(1.0)
    assert heard == [number.name]
    with pytest.raises(Interrupted, match=rf"{number.name}; saved x"):
        stop.finish("saved x")


def test_work_that_was_not_asked_to_stop_finishes_quietly() -> None:
    with StopRequest() as stop:
        assert not stop.wait(0.01)
        stop.finish()
    assert not stop.requested


def test_the_second_signal_insists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "ECHO_S", 0.0)
    with StopRequest() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(1.0)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1.0)


def test_an_echo_of_the_first_signal_does_not_insist() -> None:
    with StopRequest() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        assert stop.requested


def test_handlers_are_put_back_after_an_error_too() -> None:
    before = [signal.getsignal(number) for number in signals.SIGNALS]
    with pytest.raises(ValueError, match="inside"), StopRequest():
        assert [signal.getsignal(number) for number in signals.SIGNALS] != before
        raise ValueError("inside")
    assert [signal.getsignal(number) for number in signals.SIGNALS] == before


def test_a_thread_can_ask_and_handles_no_signals() -> None:
    before = signal.getsignal(signal.SIGINT)
    reasons: list[str] = []

    def work() -> None:
        with StopRequest() as stop:
            assert signal.getsignal(signal.SIGINT) is before
            stop.request("the disk is full")
            stop.request("another reason")
            reasons.append(stop.reason)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(5)
    assert reasons == ["the disk is full"]


PROGRAM = """
import time
from bedplate.core import signals
signals.ECHO_S = 0.0
with signals.StopRequest() as stop:
    print('ready', flush=True)
    while True:
        try:
            time.sleep(0.01)
            if stop.requested:
                print('asked', flush=True)
                while True:
                    time.sleep(1)
        except KeyboardInterrupt:
            print('insisted', flush=True)
"""


def test_the_third_signal_ends_a_process_that_does_not_listen() -> None:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        for line in ("ready", "asked", "insisted"):
            assert process.stdout.readline() == f"{line}\n"
            process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 130
    finally:
        process.kill()
        process.stdout.close()


NOHUP = """
import os, signal
from bedplate.core.signals import StopRequest
signal.signal(signal.SIGHUP, signal.{before})
with StopRequest() as stop:
    os.kill(os.getpid(), signal.SIGHUP)
    print(stop.wait(0.3), stop.reason)
"""


@pytest.mark.parametrize(("before", "heard"), [("SIG_DFL", "True SIGHUP"), ("SIG_IGN", "False")])
def test_a_closed_terminal_asks_to_stop_unless_it_is_ignored(before: str, heard: str) -> None:
    code = NOHUP.replace("{before}", before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == heard
