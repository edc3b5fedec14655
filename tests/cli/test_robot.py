from __future__ import annotations

import inspect
import shlex
from pathlib import Path

import pytest

from bedplate.cli.app import run
from bedplate.cli.robot import _build
from bedplate.core.errors import StorageError
from bedplate.core.settings import TASK_EXAMPLE, parse_setting
from bedplate.robot import record
from bedplate.tasks.nav_lidar import nav_lidar


def test_the_example_of_the_advice_is_accepted() -> None:
    (setting,) = shlex.split(TASK_EXAMPLE)
    assert parse_setting(setting)[0][1] in inspect.signature(nav_lidar).parameters
    assert _build("nav_lidar", [setting]).id


def test_numbers_are_read_as_training_reads_them() -> None:
    assert _build("nav_lidar", ["task.episode_length_s=2e1"]).episode_length_s == 20.0


def test_a_full_disk_at_the_end_loses_the_file_and_not_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, value: object) -> None:
        raise StorageError(f"cannot write {path}: No space left on device")

    monkeypatch.setattr(record, "write_json", full)
    link = f"unix://{tmp_path}/robot.sock"
    assert run(["robot", "nav_lidar", "--link", link, "--seconds", "0", "--report", str(tmp_path / "r.json")]) == 2
    seen = capsys.readouterr()
    assert "No space left on device" in seen.err and "episodes" in seen.out
    # and the socket is not left behind
    assert list(tmp_path.iterdir()) == []
