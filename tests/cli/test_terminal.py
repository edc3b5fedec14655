"""A terminal that is closed while a command runs."""

from __future__ import annotations

import contextlib
import os
import pty
import sys
from pathlib import Path

PROGRAM = """
import sys, types
from bedplate.cli import render
from bedplate.cli.app import main
from bedplate.core.signals import StopRequest

def train():
    with StopRequest() as stop:
        render.show_note("ready")
        stop.wait(20.0)
    open("saved", "w").close()
    render.show_table("", ("a", "b"), [("1", "2")])
    stop.finish("saved")

module = types.ModuleType("bedplate.cli.train")
module.train = train
sys.modules["bedplate.cli.train"] = module
main(["train"])
"""


def test_what_is_worth_keeping_is_saved_and_nobody_is_told(tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, "-c", PROGRAM])
    seen = b""
    with contextlib.suppress(OSError):
        while b"ready" not in seen:
            seen += os.read(terminal, 1000)
    assert b"ready" in seen, seen
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert os.listdir(tmp_path) == ["saved"]
