"""The command line: quick to start, one message for bad input, one exit code each."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import typer

from bedplate import __version__
from bedplate.cli import app, crash, render
from bedplate.cli.extras import install_command
from bedplate.core.errors import BedplateError, GateFailed, Interrupted, StorageError
from bedplate.core.registry import load_attribute

HEAVY = ("torch", "mujoco", "numpy", "gymnasium", "stable_baselines3", "onnxruntime", "scipy", "matplotlib")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable]:
    """Put a function in the place of `bedplate train` and run it."""
    monkeypatch.chdir(tmp_path)

    def run(function: Callable, *argv: str) -> int:
        module = ModuleType("bedplate.cli.train")
        module.train = function
        monkeypatch.setitem(sys.modules, "bedplate.cli.train", module)
        return app.run(["train", *argv])

    yield run
    render.forget_results()


def raiser(error: BaseException) -> Callable:
    def train(as_json: bool = typer.Option(False, "--json")) -> None:
        raise error

    return train


def test_help_lists_every_command_quickly_and_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from bedplate.cli.app import run\n"
        "code = run(['--help'])\n"
        f"print([name for name in {HEAVY} if name in sys.modules])\n"
        "sys.exit(code)\n"
    )
    times_s = []
    for _ in range(3):
        start_s = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        times_s.append(time.perf_counter() - start_s)
    assert done.stdout.endswith("[]\n")
    for name in app.COMMANDS:
        assert f" {name} " in done.stdout
    # the goal is 0.3 s on a quiet machine; this only catches an import that should not be there
    assert min(times_s) < 1.5


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["--version"]) == 0
    assert capsys.readouterr().out == f"bedplate {__version__}\n"


@pytest.mark.parametrize("name", app.COMMANDS)
def test_every_command_of_the_table_exists_and_has_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = load_attribute(f"bedplate.cli.{name}:{name}")
    assert callable(target)
    # a group's own commands have it
    inner = [command.callback.__name__ for command in getattr(target, "registered_commands", [])]
    for words in [[name, each] for each in inner] or [[name]]:
        assert app.run([*words, "--help"]) == 0
        assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize("argv", [["tasks", "check"], ["bench", "engine"], ["train"]])
def test_help_shows_no_section_for_readers_of_the_code(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run([*argv, "--help"]) == 0
    text = capsys.readouterr().out
    for section in ("Raises:", "Args:", "GateFailed"):
        assert section not in text
    assert "Usage" in text


def test_unknown_command_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["trian"]) == 2
    assert "did you mean 'train'?" in capsys.readouterr().err


def test_unknown_option_is_bad_usage(command: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    def train(steps: int = 3) -> None:
        raise AssertionError("it must not run")

    assert command(train, "--stesp", "4") == 2
    text = capsys.readouterr().err
    assert "--stesp" in text
    assert "--steps" in text
    assert "bedplate train --help" in text


def test_a_wrong_type_is_bad_usage(command: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    def train(steps: int = 3) -> None:
        raise AssertionError("it must not run")

    assert command(train, "--steps", "many") == 2
    text = capsys.readouterr().err
    assert "--steps" in text
    assert "integer" in text


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BedplateError("x [1, 2] found", "y", "z"), 2),
        (StorageError("x"), 2),
        (GateFailed("x"), 1),
        (Interrupted("SIGINT; all saved"), 130),
        (KeyboardInterrupt(), 130),
        (typer.Abort(), 130),
        (typer.Exit(7), 7),
        (OSError(errno.ENOSPC, "No space left on device", "/runs/x"), 2),
        (OSError(errno.ENAMETOOLONG, "File name too long", 300 * "x"), 2),
        (PermissionError(errno.EACCES, "Permission denied", b"/root/run"), 2),
        (ModuleNotFoundError("No module named 'torch'", name="torch"), 2),
        (ZeroDivisionError("division by zero"), 3),
        (ModuleNotFoundError("No module named 'no_such_x'", name="no_such_x"), 3),
    ],
)
def test_exit_codes_and_no_traceback(
    command: Callable, capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    assert command(raiser(error)) == code
    seen = capsys.readouterr()
    assert "Traceback" not in seen.err
    assert seen.out == ""


def test_a_command_that_returns_is_fine(command: Callable) -> None:
    assert command(lambda: None) == 0


def test_message_has_found_expected_and_next_step(command: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    command(raiser(BedplateError("the range [0, 1] was found", "[bold]two[/bold] numbers", "edit x.yaml")))
    text = capsys.readouterr().err
    assert "error: the range [0, 1] was found" in text
    assert "expected: [bold]two[/bold] numbers" in text
    assert "next step: edit x.yaml" in text


def test_json_error_is_one_object_on_stdout(command: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(raiser(BedplateError("a", "b", "c")), "--json") == 2
    error = {"kind": "BedplateError", "found": "a", "expected": "b", "next_step": "c"}
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "error": error, "exit_code": 2}


def test_json_result_followed_by_a_no_stays_one_object(command: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    def train(as_json: bool = typer.Option(False, "--json")) -> None:
        render.show_json({"success": 0.5})
        raise GateFailed("success 0.5")

    assert command(train, "--json") == 1
    seen = capsys.readouterr()
    assert json.loads(seen.out) == {"success": 0.5}
    assert "no: success 0.5" in seen.err


def test_an_absent_extra_names_the_extra(command: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    command(raiser(ModuleNotFoundError("No module named 'torch'", name="torch")))
    assert install_command("train") in capsys.readouterr().err


def test_an_absent_extra_behind_another_error_is_named_too(
    command: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    error = BedplateError("cannot import the task", next_step="pip install torch")
    error.__cause__ = ModuleNotFoundError("No module named 'torch'", name="torch")
    command(raiser(error))
    assert install_command("train") in capsys.readouterr().err


@pytest.mark.parametrize("argv", [[], ["bench"]])
def test_a_bare_command_shows_its_help_and_no_error(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(argv) == 2
    seen = capsys.readouterr()
    assert "Usage" in seen.out
    assert "error" not in seen.err


def test_an_error_without_a_next_step_gets_one(command: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    command(raiser(BedplateError("x", "y")))
    assert "next step: bedplate train --help" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--seed=-5", "--envs=-1"])
def test_a_negative_number_is_not_taken_for_none(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["train", "no_such_recipe", option]) == 2
    assert option.split("=")[0] in capsys.readouterr().err


def test_our_bug_leaves_a_report_with_versions_and_traceback(
    command: Callable, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command(raiser(ZeroDivisionError("division by zero")), "--json") == 3
    (report,) = tmp_path.glob("bedplate-crash-*.txt")
    text = report.read_text()
    for part in ("command: bedplate train --json", "Traceback", "ZeroDivisionError", "python: ", "torch: "):
        assert part in text
    seen = capsys.readouterr()
    assert report.name in seen.err.replace("\n", "")
    assert json.loads(seen.out)["exit_code"] == 3


def test_report_goes_to_the_temporary_folder_when_the_current_one_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_current_folder() -> Path:
        raise FileNotFoundError("it was removed")

    monkeypatch.setattr(crash.Path, "cwd", no_current_folder)
    monkeypatch.setattr(crash.tempfile, "gettempdir", lambda: str(tmp_path))
    path = crash.write_crash_report(ValueError("x"), ["train"])
    assert path is not None
    assert path.parent == tmp_path


def test_no_folder_at_all_still_gives_an_exit_code(
    command: Callable, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, text: str) -> None:
        raise StorageError("read-only")

    monkeypatch.setattr(crash, "write_text", refuse)
    assert command(raiser(ValueError("x"))) == 3
    assert "no folder could be written" in capsys.readouterr().err


def run_process(code: str, **more: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def test_ctrl_c_ends_with_130_and_no_traceback() -> None:
    program = (
        "import sys, time, types\n"
        "from bedplate.cli.app import main\n"
        "module = types.ModuleType('bedplate.cli.train')\n"
        "def train(): print('ready', flush=True); time.sleep(30)\n"
        "module.train = train; sys.modules['bedplate.cli.train'] = module\n"
        "main(['train'])\n"
    )
    process = run_process(program)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err == "interrupted\n"


def test_a_closed_pipe_is_no_bug(tmp_path: Path) -> None:
    program = (
        "import sys, types\n"
        "from bedplate.cli import render\n"
        "from bedplate.cli.app import main\n"
        "module = types.ModuleType('bedplate.cli.train')\n"
        "def train():\n"
        "    for _ in range(10_000): render.show_json({'line': 'x' * 100})\n"
        "module.train = train; sys.modules['bedplate.cli.train'] = module\n"
        "main(['train'])\n"
    )
    process = run_process(program, cwd=tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(20) in (0, 1)
    assert process.stderr is not None
    assert "bug" not in process.stderr.read()
    process.stderr.close()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "| true"])
@pytest.mark.parametrize("words", ["tasks", "--help"])
def test_a_closed_stream_is_no_bug(tmp_path: Path, redirection: str, words: str) -> None:
    line = f"{sys.executable} -m bedplate {words} {redirection}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == []
