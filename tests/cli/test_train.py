"""What `bedplate train` shows while it runs."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bedplate.cli import app
from bedplate.cli.train import share_done
from bedplate.learn.training import Progress


@pytest.mark.parametrize(
    ("steps", "minutes", "max_minutes", "share"),
    [
        (250, 9.0, None, 0.25),
        # a quarter of the steps, but three quarters of the time: the time will end it
        (250, 3.0, 4.0, 0.75),
        (900, 1.0, 4.0, 0.9),
        (1010, 1.0, 4.0, 1.0),
        (500, 5.0, 4.0, 1.0),
    ],
)
def test_the_bar_follows_what_will_end_the_training(steps, minutes, max_minutes, share):
    progress = Progress(steps=steps, total_steps=1000, steps_per_s=10.0, success=math.nan, ep_rew=math.nan)
    assert share_done(progress, minutes, max_minutes) == pytest.approx(share)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--seed", "-5"], "--seed"),
        (["--envs", "-3"], "--envs"),
        (["--set", "env.num_envs=0"], "env.num_envs is 0"),
        (["--name", "../out"], "run name '../out'"),
        (["--name", "/tmp/out"], "run name '/tmp/out'"),
        (["--name", ".."], "run name '..'"),
    ],
)
def test_bad_input_is_refused_and_writes_nothing(options, words, tmp_path, capsys):
    assert app.run(["train", "demo", "--runs", str(tmp_path / "runs"), *options]) == 2
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_rollouts_that_do_not_fit_into_memory_are_refused(tmp_path, capsys):
    settings = ["env.num_envs=4096", "learn.n_steps=67108864", "learn.batch_size=4096"]
    options = [word for setting in settings for word in ("--set", setting)]
    assert app.run(["train", "demo", "--runs", str(tmp_path / "runs"), *options]) == 2
    assert "rollouts of 274,877,906,944 steps need" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def training(tmp_path):
    """A training in its own process that has learned for a while."""
    settings = ["env.num_envs=16", "learn.n_steps=16", "learn.batch_size=64", "learn.total_steps=100000000"]
    options = [word for setting in settings for word in ("--set", setting)]
    argv = [sys.executable, "-m", "bedplate", "train", "demo", "--name", "run", "--runs", str(tmp_path), *options]
    path = os.pathsep.join(filter(None, sys.path))
    process = subprocess.Popen(
        argv, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    metrics, deadline_s = tmp_path / "run" / "metrics.jsonl", time.monotonic() + 120
    while not (metrics.exists() and metrics.stat().st_size):
        assert process.poll() is None and time.monotonic() < deadline_s
        time.sleep(0.05)
    yield process
    process.kill()
    process.communicate()


def _status(tmp_path: Path) -> str:
    return json.loads((tmp_path / "run" / "manifest.json").read_text())["status"]


def test_ctrl_c_saves_what_was_learned(training, tmp_path):
    training.send_signal(signal.SIGINT)
    _, err = training.communicate(timeout=120)
    assert training.returncode == 130
    assert "Traceback" not in err
    assert _status(tmp_path) == "interrupted"
    assert (tmp_path / "run" / "model.zip").stat().st_size > 0


def test_what_a_killed_training_left_is_refused_and_kept(training, tmp_path, capsys):
    training.kill()
    training.communicate(timeout=120)
    run = tmp_path / "run"
    before = sorted(run.rglob("*"))
    assert app.run(["evaluate", str(run)]) == 2
    assert "the run's status is 'running'" in capsys.readouterr().err
    assert app.run(["export", str(run)]) == 2
    assert "model.zip is missing" in capsys.readouterr().err
    assert app.run(["train", "demo", "--name", "run", "--runs", str(tmp_path)]) == 2
    assert "exists" in capsys.readouterr().err
    assert sorted(run.rglob("*")) == before
