"""`bedplate init` writes a project that works as it is, and never touches what is there."""

from __future__ import annotations

import ast
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bedplate.cli import app, init
from bedplate.core.errors import BedplateError, StorageError
from bedplate.learn.config import load_config

ROOT = Path(__file__).parents[2]


def tree(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sites") / "My Cart-2"
    init.write_site(folder, init.package_name(folder.name))
    return folder


def test_files_and_names(site: Path) -> None:
    assert tree(site) == [
        ".gitignore",
        "README.md",
        "my_cart_2/__init__.py",
        "my_cart_2/task.py",
        "pyproject.toml",
        "recipes/cart.yaml",
        "tests/test_task.py",
    ]
    for name in tree(site):
        text = (site / name).read_text()
        assert "$" not in text, name
        if name.endswith(".py"):
            ast.parse(text)


def test_the_projects_own_test_passes(site: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=site, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_the_recipe_is_valid_and_names_the_task(site: Path) -> None:
    config = load_config(site / "recipes" / "cart.yaml")
    assert config.task.name == "my_cart_2.task:cart"


def test_the_task_passes_the_task_checks(site: Path) -> None:
    command = [sys.executable, "-m", "bedplate.cli", "tasks", "check", "my_cart_2.task:cart", "--json"]
    done = subprocess.run(command, cwd=site, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "pass"


def test_an_existing_empty_folder_is_filled(tmp_path: Path) -> None:
    init.write_site(tmp_path, "my_arm")
    assert "my_arm/task.py" in tree(tmp_path)


def test_a_folder_that_holds_something_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert app.run(["init", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert tree(tmp_path) == ["notes.txt"]


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BedplateError, match="is a file"):
        init.write_site(tmp_path / "notes.txt", "my_arm")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_below_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert app.run(["init", str(tmp_path / "notes.txt" / "new")]) == 2
    text = capsys.readouterr().err
    assert f"{tmp_path / 'notes.txt'} is a file" in text
    assert ".tmp" not in text


def test_the_next_command_can_be_pasted_and_the_package_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["init", str(tmp_path / "my 机器人")]) == 0
    text = capsys.readouterr().err
    assert f"cd '{tmp_path}/my 机器人'" in text
    assert "the Python package is called my;" in text


def test_the_house_linter_leaves_a_project_in_the_clone_alone(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    init.write_site(tmp_path / "my_robot", "a_package_with_a_long_name")
    for command in (["check"], ["format", "--check"]):
        line = [sys.executable, "-m", "ruff", *command, "--no-cache", "."]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    # a file size limit makes the first write fail, as a full disk does
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    earlier = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(StorageError):
            init.write_site(tmp_path / "site", "my_arm")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, earlier)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("folder", "package"),
    [
        ("my_robot", "my_robot"),
        ("My Robot-2.0", "my_robot_2_0"),
        ("7axis", "site_7axis"),
        ("机器人", "robot_site"),
        ("class", "class_site"),
        ("tests", "tests_site"),
        ("json", "json_site"),
        ("torch", "torch_site"),
        ("bedplate", "bedplate_site"),
    ],
)
def test_package_names(folder: str, package: str) -> None:
    assert init.package_name(folder) == package


@pytest.mark.parametrize("name", ["My", "a-b", "1a", "class", "json", "torch", "tests", "a.b", "../x"])
def test_a_name_that_cannot_be_used_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["init", str(tmp_path / "new"), "--name", name]) == 2
    assert f"package name {name!r}" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["init", str(tmp_path / "new"), "--name", "my_arm", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["package"] == "my_arm"
    assert sorted(value["files"]) == tree(tmp_path / "new")
