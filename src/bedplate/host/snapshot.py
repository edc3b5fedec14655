"""What is known of a host as texts: from this machine, from a folder, or from one pasted log."""

from __future__ import annotations

import os
import platform
import re
import stat
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from bedplate.core.errors import BedplateError
from bedplate.host.reduce import SMALL_BYTES, read_reduced
from bedplate.host.sources import SOURCES, Source

SUFFIXES = {".txt", ".log", ".out", ".err", ".yaml", ".yml", ""}
MAX_FILES = 200
MAX_LINE = 1500

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


@dataclass(frozen=True)
class Snapshot:
    """Texts by source.

    Attributes:
        texts: source -> text as printed, with Unix line ends; "log" is a pasted one.
        notes: what could not be read, and why.
        live: this machine.
    """

    texts: Mapping[str, str]
    notes: tuple[str, ...] = field(default=())
    live: bool = False


def clean(raw: bytes) -> str:
    """Text of any encoding, line end and colour; never an error."""
    wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = raw.decode("utf-16", errors="replace") if wide else _decoded(raw)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _CONTROL.sub("", _ESCAPES.sub("", text))
    return "\n".join(_plain_lines(text))


def _plain_lines(text: str) -> Iterator[str]:
    """Lines without what would make a search take minutes: thousands of letters, or thousands of empty lines."""
    empty = False
    for line in text.split("\n"):
        if line.strip() or not empty:
            yield line[:MAX_LINE]
        empty = not line.strip()


def _decoded(raw: bytes) -> str:
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", errors="replace")


def read_folder(folder: Path) -> Snapshot:
    """Every text of a snapshot folder; links that leave it, and what is no text, are left out with a note.

    Raises:
        BedplateError: it is no folder, or holds no text.
    """
    if not folder.is_dir():
        kind = "does not exist" if not folder.exists() else "is a file"
        step = f"unpack it first: tar xf {folder}" if ".t" in folder.name else "bedplate collect --script > collect.sh"
        raise BedplateError(f"snapshot {folder} {kind}", "a folder of NAME.txt files", step)
    texts: dict[str, str] = {}
    notes: list[str] = []
    root = folder.resolve()
    for path in sorted(folder.iterdir())[:MAX_FILES]:
        if path.suffix.lower() not in SUFFIXES or path.name.startswith("."):
            continue
        if not path.resolve().is_relative_to(root):
            notes.append(f"{path.name}: a link that leaves the folder; not read")
            continue
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                continue
            with open(path, "rb") as stream:
                texts[path.stem] = clean(read_reduced(stream))
        except OSError as error:
            notes.append(f"{path.name}: {error.strerror}")
    texts = {name: text for name, text in texts.items() if text.strip()}
    if not texts:
        why = f" ({'; '.join(notes)})" if notes else ""
        expected = f"NAME.txt files, NAME such as {', '.join(source.name for source in SOURCES[:6])}"
        raise BedplateError(f"snapshot {folder} holds no text{why}", expected, "bedplate collect --script > collect.sh")
    return Snapshot(texts, tuple(notes))


def read_log(stream: BinaryIO, name: str) -> Snapshot:
    """One pasted text of any length.

    Raises:
        BedplateError: it is empty.
    """
    text = clean(read_reduced(stream))
    if not text.strip():
        raise BedplateError(f"{name} is empty", "an error message, a log, a command or a Containerfile")
    return Snapshot({"log": text})


def read_live() -> Snapshot:
    """This machine: every command of the table, at once, as an ordinary user.

    Raises:
        BedplateError: the system is not Linux.
    """
    if platform.system() != "Linux":
        step = "bedplate doctor --snapshot DIR reads a folder from a Linux host"
        raise BedplateError(f"this system is {platform.system()}", "Linux", step)
    asked = [source for source in SOURCES if source.command]
    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = list(pool.map(_run, asked))
    texts = {source.name: text for source, text in zip(asked, answers, strict=True) if text.strip()}
    missing = tuple(f"{source.name}: nothing printed" for source in asked if source.name not in texts)
    return Snapshot(texts, missing, live=True)


def _run(source: Source) -> str:
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    env = {**os.environ, "LC_ALL": "C", "PATH": path}
    try:
        done = subprocess.run(
            ["sh", "-c", source.command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            timeout=source.slow_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return clean(done.stdout[-SMALL_BYTES * 4 :])


def lines_of(texts: Mapping[str, str], *names: str) -> Iterator[str]:
    """Lines of the named texts, in order."""
    for name in names:
        yield from texts.get(name, "").splitlines()
