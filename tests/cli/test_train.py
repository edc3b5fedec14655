"""What `bedplate train` shows while it runs."""

from __future__ import annotations

import math

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
