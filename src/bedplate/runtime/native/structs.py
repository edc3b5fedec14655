"""include/bedplate.h for ctypes: structs, and the functions with their types."""

from __future__ import annotations

import ctypes
import functools
from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)

from bedplate.core.errors import BedplateError
from bedplate.runtime.native.library import load_library


class Error(Structure):
    """bedplate_error."""

    _fields_ = (("status", c_int), ("text", c_char * 240))


class Input(Structure):
    """bedplate_input."""

    _fields_ = (
        ("now_s", c_double),
        ("state_stamp_s", c_double),
        ("signal_stamps_s", c_void_p),
        ("num_stamps", c_size_t),
        ("values", c_void_p),
        ("num_values", c_size_t),
        ("action_stamp_s", c_double),
        ("command", c_void_p),
        ("num_command", c_size_t),
    )


class Decided(Structure):
    """bedplate_decision."""

    _fields_ = (
        ("command", POINTER(c_double)),
        ("num_channels", c_size_t),
        ("rules", c_uint32),
        ("hold_back", c_int32),
        ("faulted", c_int32),
    )


class FaultFacts(Structure):
    """bedplate_fault."""

    _fields_ = (
        ("number", c_uint64),
        ("time_s", c_double),
        ("rule", c_uint32),
        ("detail", c_char * 244),
        ("state_age_s", c_double),
        ("action_age_s", c_double),
        ("values", POINTER(c_double)),
        ("num_values", c_size_t),
        ("command", POINTER(c_double)),
        ("num_command", c_size_t),
        ("last_command", POINTER(c_double)),
        ("num_channels", c_size_t),
    )


_HANDLE, _ERROR = c_void_p, POINTER(Error)
_FUNCTIONS: dict[str, tuple[object, tuple[object, ...]]] = {
    "bedplate_bundle_read": (c_int, (c_char_p, c_size_t, POINTER(_HANDLE), _ERROR)),
    "bedplate_bundle_close": (None, (_HANDLE,)),
    "bedplate_policy_create": (c_int, (_HANDLE, POINTER(_HANDLE), _ERROR)),
    "bedplate_policy_free": (None, (_HANDLE,)),
    "bedplate_policy_reset": (None, (_HANDLE,)),
    "bedplate_policy_act": (None, (_HANDLE, c_void_p, c_void_p, c_void_p)),
    "bedplate_policy_evaluate": (None, (_HANDLE, c_void_p, c_void_p)),
    "bedplate_guard_create": (c_int, (_HANDLE, POINTER(_HANDLE), _ERROR)),
    "bedplate_guard_free": (None, (_HANDLE,)),
    "bedplate_guard_filter": (None, (_HANDLE, POINTER(Input), POINTER(Decided))),
    "bedplate_guard_trip": (None, (_HANDLE, c_double, c_char_p)),
    "bedplate_guard_rearm": (c_int, (_HANDLE, c_uint64)),
    "bedplate_guard_restart": (None, (_HANDLE,)),
    "bedplate_guard_fault": (POINTER(FaultFacts), (_HANDLE,)),
    "bedplate_guard_counts": (POINTER(c_uint64), (_HANDLE,)),
    "bedplate_guard_started": (c_int32, (_HANDLE,)),
}


@functools.cache
def functions() -> ctypes.CDLL:
    """The library, its functions typed.

    Raises:
        BedplateError: it cannot be had on this machine.
    """
    library = load_library()
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class NativeBundle:
    """A policy.bpw as the library read it. Guards and policies made from it must be gone before it is closed.

    Args:
        data: the file's content.

    Raises:
        BedplateError: the library refuses it, in its own words.
    """

    def __init__(self, data: bytes) -> None:
        self.handle = c_void_p()
        self._library = functions()
        error = Error()
        check(
            self._library.bedplate_bundle_read(data, len(data), ctypes.byref(self.handle), ctypes.byref(error)), error
        )

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self._library.bedplate_bundle_close(self.handle)
            self.handle = c_void_p()


def check(status: int, error: Error) -> None:
    """Raise what the library said.

    Raises:
        BedplateError: the status is not 0.
    """
    if status:
        found, _, expected = error.text.decode("utf-8", "replace").partition("; expected ")
        raise BedplateError(f"policy.bpw: {found}", expected)
