"""Running a plan: what it would do, then every command with its output into a journal."""

from __future__ import annotations

import codecs
import json
import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from bedplate.core.errors import BedplateError
from bedplate.core.files import storage_error
from bedplate.host.plan.engine import MARK, REFUSED_CODE


def needed_steps(script: Path) -> list[str]:
    """Steps of a plan that this host needs now, as "code: title"; changes nothing.

    Raises:
        BedplateError: the file is no plan, or refuses this host.
    """
    try:
        head = script.read_text(encoding="utf-8", errors="replace").splitlines()[:2]
    except OSError as error:
        raise BedplateError(f"plan {script}: {error.strerror}", "a file of bedplate plan -o FILE") from error
    if head[1:] != [MARK]:
        raise BedplateError(f"{script} is no plan", f"{MARK!r} in its second line", "bedplate plan -o plan.sh")
    done = subprocess.run(["sh", str(script), "--check"], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip()
        raise BedplateError(f"the plan cannot run here: {words}", "RHEL 8 or a rebuild of it")
    return [line.removeprefix("== needed ") for line in done.stdout.splitlines() if line.startswith("== needed ")]


def run_plan(script: Path, journal: Path, show: Callable[[str], object]) -> tuple[int, str]:
    """Run a plan to its end, its first failure or its reboot.

    Args:
        script: the plan.
        journal: file that gets one JSON object a command: time, step, command, output; it is appended to.
        show: takes the plan's output as it comes.

    Returns:
        The script's exit code, and its last word.

    Raises:
        StorageError: the journal cannot be written; nothing was run.
        BedplateError: the plan refused.
    """
    try:
        stream = open(journal, "a", encoding="utf-8")  # noqa: SIM115 - closed below
    except OSError as error:
        raise storage_error(journal, error) from error
    with stream:
        book = _Journal(stream)
        code = _run(script, book, show)
        book.close(code)
    if code == REFUSED_CODE:
        raise BedplateError(book.last)
    return code, book.last


def _run(script: Path, book: _Journal, show: Callable[[str], object]) -> int:
    # the terminal stays the plan's standard input: mokutil asks for a password
    with subprocess.Popen(["sh", str(script)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        rest = ""
        # a question without a line end must be seen at once
        while chunk := os.read(process.stdout.fileno(), 65536):
            text = decode(chunk)
            show(text)
            *lines, rest = (rest + text).split("\n")
            for line in lines:
                book.line(line)
        if rest:
            book.line(rest)
        return process.wait()


class _Journal:
    """Lines of a plan's output as records of its commands."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.last = ""
        self.step = ""
        self.command = ""
        self.output: list[str] = []

    def line(self, text: str) -> None:
        if text.startswith(("== ", "refused: ")):
            self._end()
            self.last = text.removeprefix("== ")
            self.step = text.split()[2].rstrip(":") if text.startswith(("== do ", "== undo ")) else self.step
            self._write({"event": self.last})
        elif text.startswith("+ "):
            self._end()
            self.command = text[2:]
        else:
            self.output.append(text)

    def close(self, code: int) -> None:
        self._end()
        self._write({"event": f"ended with exit code {code}"})

    def _end(self) -> None:
        if self.command or self.output:
            self._write({"step": self.step, "command": self.command, "output": "\n".join(self.output)})
        self.command, self.output = "", []

    def _write(self, record: dict[str, str]) -> None:
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.stream.write(json.dumps({"time": time, **record}, ensure_ascii=False) + "\n")
        self.stream.flush()
