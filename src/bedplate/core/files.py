"""Files that are whole or absent: atomic writes, JSON with full precision, hashes.

A write goes to a temporary file in the same folder, is flushed to disk, and is renamed over the target; a crash or a
full disk leaves the earlier file as it was.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from bedplate.core.errors import BedplateError, StorageError


@contextlib.contextmanager
def atomic_open(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file that becomes `path` when the block ends without an error.

    Args:
        path: the target; absent parent folders are made.
        mode: "w" for UTF-8 text or "wb" for bytes.

    Raises:
        StorageError: the folder cannot be written or the disk is full; `path` is unchanged.
    """
    path = Path(path)
    # a rename would put the file in the place of a link to a folder
    if path.is_dir():
        raise StorageError(f"cannot write {path}: it is a folder", "the name of a file", "name a file inside of it")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    encoding = None if "b" in mode else "utf-8"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # "x" makes a new file with the user's umask, and never follows a link
        with open(temporary, mode.replace("w", "x"), encoding=encoding) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        if _is_about(error, path, temporary):
            raise storage_error(path, error) from error
        raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def check_folder(folder: Path) -> None:
    """Make a folder, with its parents, and find out whether files can be written into it.

    Raises:
        StorageError: it cannot be made, or not be written.
    """
    probe = Path(folder) / f".{secrets.token_hex(4)}.tmp"
    with atomic_open(probe):
        pass
    probe.unlink()


def storage_error(path: Path, error: OSError) -> StorageError:
    """Say in words why `path` could not be written."""
    folder = Path(path).parent
    return StorageError(
        f"cannot write {path}: {error.strerror or error}",
        "a writable folder with free space",
        f"check it with: df -h {folder}; ls -ld {folder}",
    )


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path`, whole or not at all."""
    with atomic_open(path) as file:
        file.write(text)


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path`, whole or not at all."""
    with atomic_open(path, "wb") as file:
        file.write(data)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON with full-precision numbers; NaN and infinities are refused."""
    write_text(path, json_text(value) + "\n")


def json_text(value: Any) -> str:
    """`value` as indented JSON with full-precision numbers.

    Raises:
        ValueError: a number is NaN or infinite.
        TypeError: an object has no JSON form.
    """
    return json.dumps(value, indent=2, default=_plain, allow_nan=False)


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        BedplateError: the file is absent or is not JSON; says where.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_no_constant)
    except OSError as error:
        raise BedplateError(f"cannot read {path}: {error.strerror or error}", "a readable JSON file") from error
    except (ValueError, RecursionError) as error:
        raise BedplateError(f"{path} is not JSON: {error}", "a file written by bedplate") from error


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no blanks, for hashing."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain, allow_nan=False)


def sha256_text(text: str) -> str:
    """SHA-256 of a text as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def sha256_file(path: Path) -> str:
    """SHA-256 of a file as 64 hexadecimal digits.

    Raises:
        BedplateError: the file cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BedplateError(f"cannot read {path}: {error.strerror or error}", "a readable file") from error


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} does not go into JSON")


def _no_constant(name: str) -> Any:
    raise ValueError(f"it holds the number {name}, which JSON does not have")


def _is_about(error: OSError, path: Path, temporary: Path) -> bool:
    # a failed write names no file; an error that names another file came from the caller's block
    names = (error.filename, error.filename2)
    return all(n is None or Path(os.fsdecode(n)) in (path, temporary, *path.parents) for n in names)


def _sync_folder(folder: Path) -> None:
    # a rename is durable only when its folder has been flushed too; some file systems refuse, which is harmless
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
