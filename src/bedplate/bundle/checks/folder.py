"""Read a bundle's files once, safely: plain files of bounded size, never through a link.

The bytes that are returned are the bytes that are hashed and used, so nothing can change in between.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from bedplate.core.errors import BedplateError, ContractMismatch

MAX_FILES = 32
MAX_JSON_BYTES = 4 * 2**20
MAX_FILE_BYTES = 256 * 2**20


def read_files(folder: Path) -> dict[str, bytes]:
    """File name -> content, for every file of a bundle folder.

    Raises:
        BedplateError: the folder is absent or cannot be read.
        ContractMismatch: an entry is not a plain file (link, folder, pipe), is too large, or there are too many.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise BedplateError(
            f"cannot read bundle {folder}: {error.strerror or error}", "a folder written by bedplate export"
        ) from error
    if len(entries) > MAX_FILES:
        raise ContractMismatch(f"bundle {folder} has {len(entries)} files", f"at most {MAX_FILES}")
    return {entry.name: _read_plain_file(Path(entry.path)) for entry in entries}


def size_limit_bytes(name: str) -> int:
    """Largest size a bundle's file may have."""
    return MAX_JSON_BYTES if name.endswith(".json") else MAX_FILE_BYTES


def _read_plain_file(path: Path) -> bytes:
    limit_bytes = size_limit_bytes(path.name)
    # O_NOFOLLOW refuses links; O_NONBLOCK keeps a named pipe from blocking us
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        found = "a symbolic link" if path.is_symlink() else f"unreadable: {error.strerror or error}"
        raise ContractMismatch(f"{path} is {found}", "a plain file") from error
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ContractMismatch(f"{path} is not a plain file", "a plain file")
        if status.st_size > limit_bytes:
            raise ContractMismatch(f"{path} has {status.st_size} bytes", f"at most {limit_bytes} bytes")
        with open(handle, "rb", closefd=False) as file:
            # the file may grow while it is read
            data = file.read(limit_bytes + 1)
    except OSError as error:
        raise ContractMismatch(f"{path} is unreadable: {error.strerror or error}", "a plain file") from error
    finally:
        os.close(handle)
    if len(data) > limit_bytes:
        raise ContractMismatch(f"{path} has more than {limit_bytes} bytes", f"at most {limit_bytes} bytes")
    return data
