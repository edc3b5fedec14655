"""Write a snapshot of this host, redacted."""

from __future__ import annotations

import getpass
import platform
from pathlib import Path

from bedplate.core.errors import BedplateError, StorageError
from bedplate.host.redact import redact
from bedplate.host.snapshot import read_live


def write_snapshot(folder: Path) -> list[str]:
    """Write one text file per source that printed something; returns their names.

    Raises:
        BedplateError: the folder exists and holds something.
        StorageError: it cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BedplateError(f"{folder} exists and is not empty", "a new folder", "name another one")
    names = (platform.node().split(".")[0], _user())
    texts = {name: redact(text, names) for name, text in read_live().texts.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{folder}: {error.strerror}", "a folder that can be written") from error
    return sorted(texts)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
