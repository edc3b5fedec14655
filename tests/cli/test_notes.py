from __future__ import annotations

import threading
import time

import pytest

from bedplate.cli import render
from bedplate.cli.notes import BackgroundNotes


def test_notes_come_out_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    with BackgroundNotes() as notes:
        for number in range(5):
            notes.say(f"note {number}")
    assert capsys.readouterr().err.splitlines() == [f"note {number}" for number in range(5)]


def test_a_terminal_that_stands_still_does_not_stop_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    resumed = threading.Event()
    monkeypatch.setattr(render, "show_note", lambda text: resumed.wait(20))
    started_s = time.monotonic()
    with BackgroundNotes() as notes:
        for number in range(1000):
            notes.say(str(number))
    # leaving waits one second at most
    assert time.monotonic() - started_s < 5.0
    resumed.set()
