"""The command `bedplate`: a table of commands that are imported when used, and one place that ends the process.

Exit codes: 0 fine; 1 the command's own "no"; 2 bad usage or bad input; 3 our bug, with a crash report;
130 interrupted with everything saved.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from bedplate import __version__
from bedplate.cli import render
from bedplate.cli.crash import write_crash_report
from bedplate.cli.extras import EXTRAS, install_command
from bedplate.core.errors import BedplateError, Interrupted, UnknownName
from bedplate.core.files import storage_error
from bedplate.core.registry import load_attribute

COMMANDS = {
    "doctor": "Say what is wrong with a GPU host, root cause first; also of a snapshot or a pasted log.",
    "collect": "Collect a redacted snapshot of this host, or print the script that does.",
    "plan": "Write a shell plan that mends a RHEL 8 GPU host, from its findings; changes nothing.",
    "apply": "Run a plan on this host as root: asks, keeps a journal, stops at the first failure.",
    "init": "Write a working site project: one task, one recipe, one test.",
    "tasks": "List the tasks; `tasks check ID` proves what can be proved about one.",
    "recipes": "List the recipes.",
    "train": "Train a policy from a recipe into a run folder.",
    "evaluate": "Measure a run on unseen worlds with the guard in the loop.",
    "export": "Turn a run into a policy bundle.",
    "verify": "Replay a bundle's golden vectors and time it; refuse a bundle that was changed.",
    "robot": "Run a simulated robot in its own process, in real time.",
    "serve": "Drive a robot: writer with guard, and policy, in two processes.",
    "bench": "Measure the simulation engine against its peers; needs a source checkout.",
    "report": "Write one self-contained report.html for a run.",
    "demo": "Train, evaluate, export, verify, drive and report: the whole way in a few minutes.",
}
"""Command -> one line for the help; the command itself is `<command>` in bedplate/cli/<command>.py."""

PATH_ERRORS = (errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR)
"""Why the system refuses a path that was given to us."""

HELP = {"help_option_names": ["-h", "--help"]}


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code."""
    # a stream that the caller closed, as `>&-` does, is None
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - open until the process ends
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    # a site's own package is found in the folder the command is run from; last, so that it shadows nothing
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        code = run(sys.argv[1:] if argv is None else argv)
    except OSError as error:
        if not _is_about_the_terminal(error):
            raise
        # what the interpreter still holds for the terminal goes nowhere
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        code = Interrupted.exit_code
    sys.exit(code)


def run(argv: Sequence[str]) -> int:
    """Run one command.

    Args:
        argv: the command line without the program's name.

    Returns:
        The exit code.
    """
    argv = list(argv)
    as_json = "--json" in argv
    render.forget_results()
    try:
        return _finished(_command(argv)(args=argv, prog_name="bedplate", standalone_mode=False))
    except BedplateError as error:
        render.show_error(_with_next_step(error, argv), as_json=as_json)
        return error.exit_code
    except TyperException as error:
        # a bare `bedplate`, or a bare group of commands: typer has printed the help, and there is no more to say
        if not error.format_message():
            return 2
        render.show_error(_usage_error(error, argv), as_json=as_json)
        return 2
    except Interrupted as error:
        return _interrupted(str(error))
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted("")
    except SystemExit:
        # rich ends the process when the reader of a pipe has gone, as with `bedplate --help | head -1`
        return 0
    except Exception as error:
        return _unexpected(error, argv, as_json)


def _command(argv: Sequence[str]) -> Any:
    """Build the command line; only the command that argv names is imported, the others are a name and a line."""
    app = typer.Typer(
        name="bedplate",
        help="From a bare GPU server to a guarded robot policy.",
        no_args_is_help=True,
        add_completion=False,
        context_settings=HELP,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    wanted = next((word for word in argv if not word.startswith("-")), "")
    for name, summary in COMMANDS.items():
        target = load_attribute(f"bedplate.cli.{name}:{name}", "command") if name == wanted else _not_loaded
        if isinstance(target, typer.Typer):
            _shorten_help(target)
            app.add_typer(target, name=name, help=summary, context_settings=HELP)
        else:
            app.command(name, help=_help_text(target, summary), short_help=summary, context_settings=HELP)(target)
    return typer.main.get_command(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        render.out.print(f"bedplate {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    pass  # the callback of --version has done it


def _not_loaded() -> None:
    raise AssertionError("a command was run that argv does not name")


def _shorten_help(group: typer.Typer) -> None:
    # typer would show the whole docstring of a group's commands
    for command in group.registered_commands:
        if command.callback is not None:
            command.help = _help_text(command.callback, "")


def _help_text(target: Callable[..., Any], summary: str) -> str:
    # the docstring up to its sections, which are for readers of the code
    text = (target.__doc__ or summary).split("\n    Args:")[0].split("\n    Raises:")[0]
    return text.strip()


def _finished(result: Any) -> int:
    # typer gives back the code of typer.Exit, or whatever the command returned; it makes 130 of Ctrl-C
    if result == 130:
        return _interrupted("")
    return result if isinstance(result, int) and not isinstance(result, bool) else 0


def _interrupted(what: str) -> int:
    render.show_note(f"interrupted: {what}" if what else "interrupted")
    return Interrupted.exit_code


def _with_next_step(error: BedplateError, argv: Sequence[str]) -> BedplateError:
    """Complete an error of the user's that names no next step of its own."""
    # a module that one of our extras brings, wherever it was wanted
    cause = error.__cause__
    if isinstance(cause, ModuleNotFoundError) and cause.name in EXTRAS:
        error.next_step = install_command(EXTRAS[cause.name])
    elif not error.next_step and error.exit_code == 2:
        error.next_step = _help_of(argv)
    return error


def _help_of(argv: Sequence[str]) -> str:
    return f"bedplate {argv[0]} --help" if argv and argv[0] in COMMANDS else "bedplate --help"


def _usage_error(error: TyperException, argv: Sequence[str]) -> BedplateError:
    command = argv[0] if argv and argv[0] in COMMANDS else ""
    if argv and not command and not argv[0].startswith("-"):
        return UnknownName("command", argv[0], COMMANDS)
    return BedplateError(error.format_message().rstrip("."), next_step=_help_of(argv))


def _is_about_the_terminal(error: Exception) -> bool:
    """The terminal was closed while the command ran: there is nobody to tell anything."""
    return isinstance(error, OSError) and error.errno == errno.EIO and error.filename is None


def _unexpected(error: Exception, argv: Sequence[str], as_json: bool) -> int:
    if _is_about_the_terminal(error):
        raise error
    # a full disk is not our bug, wherever it shows
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        render.show_error(storage_error(Path(error.filename or "a file"), error), as_json=as_json)
        return 2
    # nor is a path that the system does not let us use
    if isinstance(error, OSError) and error.errno in PATH_ERRORS and error.filename:
        name = f"{os.fsdecode(error.filename)!r:.200}" if isinstance(error.filename, (str, bytes)) else "a file"
        found = f"cannot use {name}: {error.strerror}"
        render.show_error(BedplateError(found, "a path that this user may use"), as_json=as_json)
        return 2
    # an extra that is not installed
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        next_step = install_command(EXTRAS[error.name])
        render.show_error(BedplateError(f"{error.name} is not installed", next_step=next_step), as_json=as_json)
        return 2
    # the reader of a pipe has gone, as with `bedplate tasks | head`
    if isinstance(error, BrokenPipeError) and _stdout_is_gone():
        return 0
    path = write_crash_report(error, argv)
    found = f"bedplate has a bug: {type(error).__name__}: {error}"
    where = f"send {path} to the maintainers" if path else "no folder could be written for a crash report"
    render.show_error(BedplateError(found, next_step=where), as_json=as_json, exit_code=3)
    return 3


def _stdout_is_gone() -> bool:
    try:
        sys.stdout.flush()
    except (BrokenPipeError, ValueError):
        sys.stdout = open("/dev/null", "w")  # noqa: SIM115 - the interpreter flushes it at exit
        return True
    return False
