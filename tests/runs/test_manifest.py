"""The manifest says what a run was made with, and names what has changed since."""

from __future__ import annotations

import json
import subprocess

import pytest

from bedplate.core.errors import BedplateError
from bedplate.runs.manifest import (
    compare,
    current,
    finish_manifest,
    git_state,
    mark_ended,
    read_manifest,
    world_change,
    world_version,
    write_manifest,
)


def test_a_manifest_names_everything_that_may_change_a_result(tmp_path):
    path = tmp_path / "manifest.json"
    written = write_manifest(path, seed=3, recipe_hash="abc")
    assert json.loads(path.read_text()) == written
    assert written["status"] == "running"
    assert written["seed"] == 3
    for key in ("kernel", "driver", "cuda", "cudnn", "python", "git", "argv"):
        assert written[key], key
    assert {"torch", "mujoco", "stable-baselines3", "bedplate"} <= written["packages"].keys()
    assert compare(written, current()) == []


def test_finishing_keeps_what_was_recorded(tmp_path):
    path = tmp_path / "manifest.json"
    write_manifest(path, seed=3)
    finish_manifest(path, "finished", steps=10)
    manifest = json.loads(path.read_text())
    assert (manifest["status"], manifest["seed"], manifest["steps"]) == ("finished", 3, 10)
    assert manifest["ended"] >= manifest["started"]


def test_a_full_disk_still_takes_the_final_status(tmp_path):
    path = tmp_path / "manifest.json"
    written = write_manifest(path, seed=3)
    inode, size = path.stat().st_ino, path.stat().st_size
    mark_ended(path, "interrupted")
    assert {**read_manifest(path), "ended": "", "status": ""} == {**written, "ended": "", "status": ""}
    assert read_manifest(path)["status"] == "interrupted"
    # the same file, and no larger
    assert path.stat().st_ino == inode and path.stat().st_size <= size


@pytest.mark.parametrize(
    ("part", "value", "line"),
    [
        ("kernel", "4.18.0-553.el8_10.x86_64", "kernel: 4.18.0-553.el8_10.x86_64 -> "),
        ("packages", {"torch": "2.0.1"}, "packages.torch: 2.0.1 -> "),
        ("git", {"commit": "0" * 40, "dirty": False}, "git"),
    ],
)
def test_a_change_is_named_with_both_values(part, value, line):
    now = current()
    recorded = {
        **now,
        part: {**now[part], **value} if isinstance(value, dict) and isinstance(now[part], dict) else value,
    }
    changes = compare(recorded, now)
    assert any(change.startswith(line) for change in changes), changes


def test_a_manifest_is_read_absent_or_refused(tmp_path):
    path = tmp_path / "manifest.json"
    assert read_manifest(path) == {}
    written = write_manifest(path, world_version=2)
    assert read_manifest(path) == written
    for damaged in ("[1]", "{", ""):
        path.write_text(damaged)
        with pytest.raises(BedplateError, match=r"manifest\.json"):
            read_manifest(path)


@pytest.mark.parametrize(
    ("recorded", "line"),
    [
        ({"world_version": 1}, "world generator of arena: version 1 -> 2; these are not the worlds of the training"),
        ({"world_version": 2}, ""),
        ({}, ""),
        ({"world_version": "two"}, ""),
        ({"world_version": True}, ""),
    ],
)
def test_another_world_generator_is_named(recorded, line):
    assert world_change("arena", world_version(recorded), 2) == line


def test_what_cannot_change_a_result_is_not_compared():
    now = current()
    assert compare({**now, "argv": ["other"], "cores": 1000}, now) == []


def _git(folder, *argv):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *argv], cwd=folder, check=True)


@pytest.fixture
def work_tree(tmp_path):
    """A clean work tree with one Python file, and an ignored folder `venv`."""
    assert git_state(tmp_path) == "not a git work tree"
    (tmp_path / "task.py").write_text("a")
    (tmp_path / "venv").mkdir()
    (tmp_path / ".gitignore").write_text("venv/\n")
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-q", "-m", "x")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "dirty"),
    [
        ("task.py", True),
        ("new.py", True),
        ("recipe.yaml", True),
        ("results/one/config.yaml", False),
        ("notes.txt", False),
    ],
)
def test_git_state_tells_the_commits_code_from_other_code(work_tree, file, dirty):
    state = git_state(work_tree)
    assert (len(state["commit"]), state["dirty"]) == (40, False)
    (work_tree / file).parent.mkdir(parents=True, exist_ok=True)
    (work_tree / file).write_text("b")
    assert git_state(work_tree) == {"commit": state["commit"], "dirty": dirty}


def test_a_package_installed_inside_a_work_tree_is_not_its_code(work_tree):
    assert git_state(work_tree / "venv") == "not a git work tree"


def test_the_git_state_is_that_of_the_code_and_of_the_users_folder(work_tree, monkeypatch):
    before = current()
    monkeypatch.chdir(work_tree)
    now = current()
    assert now["git"] == before["git"]
    assert now["site_git"] == git_state(work_tree)
    (work_tree / "task.py").write_text("b")
    assert compare(now, current()) == ["site_git.dirty: False -> True"]
    # a manifest from before says nothing about it
    del now["site_git"]
    assert compare(now, current()) == []
