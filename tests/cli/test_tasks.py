"""`bedplate tasks` and `bedplate recipes`: tables of what there is, and a verdict on one task."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from bedplate.cli import app, tasks as tasks_command
from bedplate.recipes import recipe_names
from bedplate.tasks import TASKS, make_task
from bedplate.tasks.spec import RewardTerm


def test_every_task_has_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["tasks", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tasks"]
    assert [row["id"] for row in rows] == list(TASKS)
    for row in rows:
        assert row["obs_dim"] > 0, row
        assert row["act_dim"] > 0
        assert row["description"]


def test_the_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["tasks"]) == 0
    assert "nav_lidar" in capsys.readouterr().out


def test_a_task_that_cannot_be_built_hides_no_other(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TASKS.table, "broken", "no_such_package_x:task")
    assert app.run(["tasks", "--json"]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)["tasks"]}
    assert "no_such_package_x" in rows["broken"]["description"]
    assert rows["nav_lidar"]["obs_dim"] > 0


def test_check_says_what_it_proved(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["tasks", "check", "nav_lidar", "--worlds", "4"]) == 0
    assert "TASK-STANDING" in capsys.readouterr().out


def paid_to_stand():
    """A task whose reward pays a policy that does nothing."""
    task = make_task("nav_lidar", {"episode_length_s": 2.0})
    return dataclasses.replace(task, rewards=(RewardTerm("alive", lambda state: torch.ones(state.num_envs), 1.0),))


def test_check_of_a_task_that_pays_for_standing_is_a_no(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks_command, "paid_to_stand", paid_to_stand, raising=False)
    assert app.run(["tasks", "check", "bedplate.cli.tasks:paid_to_stand", "--worlds", "4", "--json"]) == 1
    seen = capsys.readouterr()
    value = json.loads(seen.out)
    assert value["verdict"] == "fail"
    assert "TASK-STANDING" in seen.err


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["tasks", "check", "nav_lidr"], "did you mean 'nav_lidar'?"),
        (["tasks", "check", "nav_lidar", "--set", "task.obstacels=3"], "obstacles"),
        (["tasks", "check", "nav_lidar", "--set", "task.obstacles"], "--set key.key=value"),
        (["tasks", "check", "nav_lidar", "--set", "task.obstacles=[1"], "not YAML"),
        (["tasks", "chekc", "nav_lidar"], "check"),
        (["tasks", "check", "nav_lidar", "--worlds", "0"], "--worlds"),
        (
            ["tasks", "check", "nav_lidar", "--set", "task.arena_m=-4"],
            "does not compile: size 1 must be positive in geom",
        ),
        (["tasks", "check", "nav_lidar", "--set", "task.arena_m=big"], "expected: a valid number"),
        (["tasks", "check", "os:path"], "is a module"),
        (["tasks", "check", "os.path:join"], "--set task.a=VALUE"),
    ],
)
def test_bad_input(argv: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(argv) == 2
    assert text in capsys.readouterr().err


def test_a_sites_factory_that_raises_is_the_sites_to_mend(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "my_arm.py").write_text("def arm():\n    return 1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert app.run(["tasks", "check", "my_arm:arm"]) == 2
    text = capsys.readouterr().err
    assert "ZeroDivisionError" in text
    assert "my_arm.py, line 2" in text


def test_every_recipe_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["recipes", "--json"]) == 0
    assert sorted(json.loads(capsys.readouterr().out)["recipes"]) == recipe_names()
    assert app.run(["recipes"]) == 0
    text = capsys.readouterr().out
    for name in recipe_names():
        assert name in text
