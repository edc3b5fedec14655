"""MuJoCo's C library, for the few functions that its Python package leaves out."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import mujoco

from bedplate.core.errors import BedplateError


class _LogConfig(ctypes.Structure):
    """MuJoCo's mjLogConfig."""

    _fields_ = (
        ("logto_console", ctypes.c_bool),
        ("logto_file", ctypes.c_bool),
        ("logfile", ctypes.c_char * 1024),
        ("topics", ctypes.c_int),
    )


@functools.cache
def mujoco_library() -> ctypes.CDLL:
    """The library that the Python package has loaded; the same copy, not a second one.

    Raises:
        BedplateError: the package holds no such file.
    """
    folder = Path(mujoco.__file__).parent
    files = sorted(folder.glob("libmujoco*.so*")) or sorted(folder.glob("libmujoco*.dylib"))
    if not files:
        raise BedplateError(f"no libmujoco in {folder}", "the library of the mujoco wheel", "pip install mujoco")
    return ctypes.CDLL(str(files[0]))


@functools.cache
def keep_mujoco_quiet() -> None:
    """Stop MuJoCo from writing MUJOCO_LOG.TXT and printing a line for each diverged world, in this process.

    The engine reports what happened itself, in `diverged` and `warnings()`. Log settings are plain data inside
    MuJoCo, so this is safe with any number of threads; a handler set by the user still gets every message.
    """
    library = mujoco_library()
    library.mju_getLogConfig.restype = _LogConfig
    library.mju_setLogConfig.argtypes = [_LogConfig]
    library.mju_setLogConfig.restype = None
    config = library.mju_getLogConfig()
    config.logto_console = config.logto_file = False
    library.mju_setLogConfig(config)
