"""Find or compile the native core's shared library, and load it once.

Where it comes from, in order: the file named by BEDPLATE_NATIVE_LIBRARY; a cache of libraries compiled earlier from the
same sources with the same compiler; a C compiler on this machine (CC, else gcc, clang or cc).
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import bedplate
from bedplate.core.errors import BedplateError

ABI = 1
FLAGS = ("-std=c11", "-O3", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
LINKED = ("-fPIC", "-shared", "-fvisibility=hidden", "-D_GNU_SOURCE")
LIBRARIES = ("-lm", "-lrt")
COMPILE_TIMEOUT_S = 120.0


def available() -> str:
    """Why the native core cannot be used on this machine, in words; "" when it can."""
    try:
        load_library()
    except BedplateError as error:
        return f"{error.found}; {error.next_step}" if error.next_step else error.found
    return ""


@functools.cache
def load_library() -> ctypes.CDLL:
    """The library.

    Raises:
        BedplateError: there is no compiler, it failed, or the library has another ABI.
    """
    path = Path(os.environ.get("BEDPLATE_NATIVE_LIBRARY") or compiled())
    try:
        library = ctypes.CDLL(str(path))
        found = int(library.bedplate_abi())
    except (OSError, AttributeError) as error:
        raise BedplateError(f"cannot load {path}: {error}", "a library built from native/", "make native") from error
    if found != ABI:
        raise BedplateError(f"{path} has the ABI {found}", f"{ABI}", "make native")
    return library


def source_folder() -> Path:
    """The folder with include/ and src/: in a checkout native/, in an installed package beside its modules.

    Raises:
        BedplateError: neither is there.
    """
    package = Path(bedplate.__file__).resolve().parent
    for folder in (package / "_native", package.parents[1] / "native"):
        if (folder / "include" / "bedplate.h").is_file():
            return folder
    raise BedplateError(f"no C sources beside {package}", "native/ of the source, or a package that carries it")


def find_compiler() -> str:
    """Path of a C compiler.

    Raises:
        BedplateError: there is none.
    """
    wanted = os.environ.get("CC", "")
    for name in [wanted] if wanted else ["gcc", "clang", "cc"]:
        path = shutil.which(name)
        if path:
            return path
    raise BedplateError(
        f"no C compiler: {wanted or 'gcc, clang and cc'} not found",
        "gcc 8 or later, or clang",
        "install gcc; without it the reference guard and ONNX Runtime are used",
    )


def compiled(folder: Path | None = None) -> Path:
    """The library compiled from this source, from the cache when it is there.

    Args:
        folder: of the sources; found when not given.

    Raises:
        BedplateError: no compiler, or it failed.
    """
    source = folder or source_folder()
    compiler = find_compiler()
    files = sorted((source / "src").glob("*.c"))
    digest = hashlib.sha256(" ".join((compiler, *FLAGS, *LINKED)).encode())
    digest.update(str(os.stat(compiler).st_mtime_ns).encode())
    included = sorted(file for kind in ("*.h", "*.inc") for file in (source / "src").glob(kind))
    for file in [*files, *included, source / "include" / "bedplate.h"]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    target = _cache_folder() / f"libbedplate-{digest.hexdigest()[:24]}.so"
    if not target.exists():
        _compile(compiler, source, files, target)
    return target


def _compile(compiler: str, source: Path, files: list[Path], target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        output = Path(work) / target.name
        command = [compiler, *FLAGS, *LINKED, f"-I{source / 'include'}", *map(str, files), "-o", str(output)]
        try:
            done = subprocess.run(
                [*command, *LIBRARIES], capture_output=True, text=True, timeout=COMPILE_TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BedplateError(f"{compiler} did not run: {error}", "a working C compiler") from error
        if done.returncode:
            reason = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0]
            raise BedplateError(f"{compiler} failed: {reason}", "the native core to compile", "set CC to gcc or clang")
        # two processes may compile at once: the last one wins, with the same content
        os.replace(output, target)


def _cache_folder() -> Path:
    """A folder of this user's own; what others could write to is never loaded."""
    base = os.environ.get("BEDPLATE_CACHE") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(base) / "bedplate" / "native"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.stat()
    except OSError as error:
        raise BedplateError(
            f"cannot make {folder}: {error.strerror}", "a folder of yours", "set BEDPLATE_CACHE"
        ) from error
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise BedplateError(
            f"others may write to {folder}", "a folder that only you can write to", f"chmod go-w {folder}"
        )
    return folder
