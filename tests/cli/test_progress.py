"""Progress: nothing before the first one, lines instead of a bar where there is no terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from bedplate.cli import progress, render
from bedplate.cli.train import progress_bar
from bedplate.learn.training import Progress

STEP = Progress(steps=500, total_steps=1000, steps_per_s=12.0, success=0.5, ep_rew=0.0)


@pytest.fixture
def stderr(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    file = io.StringIO()
    monkeypatch.setattr(render, "err", Console(file=file, width=60, force_terminal=True))
    return file


def test_a_refusal_is_not_preceded_by_a_bar(stderr: io.StringIO) -> None:
    with progress_bar("train"):
        pass
    assert stderr.getvalue() == ""


def test_a_narrow_terminal_shows_every_column(stderr: io.StringIO) -> None:
    with progress_bar("train") as on_progress:
        on_progress(STEP)
    for part in ("train", "50%", "12 steps/s", "success 50%"):
        assert part in stderr.getvalue()


def test_a_pipe_gets_lines_and_no_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(render, "err", Console(file=file, width=60))
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.0)
    with progress_bar("train") as on_progress:
        on_progress(STEP)
    assert file.getvalue() == "train: 50%, 12 steps/s, success 50%\n"
