"""Tables print what they are given; JSON is one object."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from bedplate.cli import render
from bedplate.core.check import Status, Step


def test_table_shows_square_brackets_and_every_cell(capsys: pytest.CaptureFixture[str]) -> None:
    render.show_table("a [b]", ("name", "n"), [("[red]x[/red]", 1), ("y", 22)])
    text = capsys.readouterr().out
    assert "a [b]" in text
    assert "[red]x[/red]" in text
    assert "22" in text


def test_table_aligns_numbers_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    render.show_table("", ("name", "n"), [("x", "1.5"), ("y", "1,000"), ("z", "-")])
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert len({len(line) for line in lines[2:]}) == 1


def test_empty_table(capsys: pytest.CaptureFixture[str]) -> None:
    render.show_table("nothing", ("name",), [])
    assert "nothing" in capsys.readouterr().out


def test_json_takes_dataclasses_paths_and_enums(capsys: pytest.CaptureFixture[str]) -> None:
    render.show_json({"path": Path("a/b"), "status": Status.PASS, "step": Step(("ls",), "why")})
    value = json.loads(capsys.readouterr().out)
    assert value["path"] == "a/b"
    assert value["status"] == "pass"
    assert value["step"]["do"] == ["ls"]


def test_json_refuses_nan() -> None:
    with pytest.raises(ValueError, match="JSON"):
        render.show_json({"success": float("nan")})


def test_notes_and_warnings_never_mix_with_results(capsys: pytest.CaptureFixture[str]) -> None:
    render.show_note("a note")
    render.show_warning("a warning")
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err == "a note\nwarning: a warning\n"


ROWS = [("nav_lidar", "2D-lidar navigation among 12 to 20 unseen obstacles", "lowest of three seeds; one core each")]
COLUMNS = ("recipe", "description", "measured with")


def test_a_row_in_a_pipe_is_one_line_without_padding(capsys: pytest.CaptureFixture[str]) -> None:
    render.show_table("t", COLUMNS, ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert any(all(cell in line for cell in ROWS[0]) for line in lines)
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_narrow_terminal_lists_a_row_under_its_first_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(render, "out", Console(file=file, width=48, force_terminal=True, no_color=True))
    render.show_table("t", COLUMNS, ROWS)
    assert "measured with: " in file.getvalue()
    assert "lowest of three seeds" in file.getvalue()
