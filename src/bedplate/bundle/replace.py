"""Put a whole folder in place in one step, also over an earlier one."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path

from bedplate.core.files import storage_error

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def replace_folder(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write `contents` (file name -> bytes) as the folder `folder`.

    The files are written and flushed to a temporary folder beside it, which then changes places with the old one.

    Raises:
        StorageError: the disk is full or the place cannot be written; an earlier folder is unchanged.
    """
    temporary = folder.parent / f".{folder.name}.{uuid.uuid4().hex}.tmp"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        os.mkdir(temporary)
        for name, data in contents.items():
            _write_synced(temporary / name, data)
        _sync(temporary)
        _swap(temporary, folder)
        _sync(folder.parent)
    except OSError as error:
        raise storage_error(folder, error) from error
    finally:
        # after a swap this is the earlier folder, after a failure the unfinished one
        shutil.rmtree(temporary, ignore_errors=True)


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    # some file systems refuse to flush a folder, which is harmless
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def _swap(new: Path, old: Path) -> None:
    if not old.exists():
        os.rename(new, old)
        return
    if _exchange(new, old):
        return
    # no atomic exchange on this file system (NFS): move the old one aside, and back if the second step fails
    aside = new.with_suffix(".old")
    os.rename(old, aside)
    try:
        os.rename(new, old)
    except OSError:
        os.rename(aside, old)
        raise
    os.rename(aside, new)


def _exchange(first: Path, second: Path) -> bool:
    # renameat2 is in glibc since 2.28 (RHEL 8); it is absent from musl and old libraries
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    done: int = renameat2(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE)
    return done == 0
