"""`bedplate doctor` and `bedplate collect` on the command line."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bedplate.cli import app

XID = "NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus.\n"


def test_a_log_that_blocks_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.txt"
    path.write_text(XID)
    assert app.run(["doctor", "--log", str(path), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "fail"
    assert answer["findings"][0]["code"] == "HOST-GPU-LOST"
    assert answer["findings"][0]["remedy"][0]["do"]


def test_standard_input_and_chinese(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(XID.encode())))
    assert app.run(["doctor", "--log", "-", "--lang", "zh"]) == 1
    out = capsys.readouterr().out
    assert "掉线" in out and "HOST-GPU-LOST" in out


def test_a_folder_without_trouble_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "uname.txt").write_text("4.18.0-553.el8_10.x86_64\n")
    assert app.run(["doctor", "--snapshot", str(tmp_path)]) == 0
    assert "HOST-MORE" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv",
    [
        ["--for", "fun"],
        ["--lang", "fr"],
        ["--snapshot", "absent"],
        ["--log", "absent"],
        ["--snapshot", "a", "--log", "b"],
    ],
)
def test_bad_use_ends_with_2(argv: list[str]) -> None:
    assert app.run(["doctor", *argv]) == 2


def test_this_machine_is_asked_without_a_crash(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["doctor", "--json"]) in (0, 1)
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert findings and [finding for finding in findings if finding["status"] == "crash"] == []


def test_collect_writes_a_folder_that_doctor_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "snapshot"
    assert app.run(["collect", "-o", str(folder)]) == 0
    assert app.run(["doctor", "--snapshot", str(folder)]) in (0, 1)
    assert app.run(["collect", "-o", str(folder)]) == 2
    assert app.run(["collect"]) == 2
    capsys.readouterr()
    assert app.run(["collect", "--script"]) == 0
    assert capsys.readouterr().out.startswith("#!/bin/sh\n")


def test_doctor_loads_nothing_heavy() -> None:
    program = (
        "import sys\nfrom bedplate.host.doctor import diagnose\nfrom bedplate.host.snapshot import Snapshot\n"
        "diagnose(Snapshot({'log': 'x'}))\n"
        "print([name for name in ('torch', 'numpy', 'pydantic', 'rich', 'mujoco') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
