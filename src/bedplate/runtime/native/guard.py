"""The native guard behind the `Guard` protocol: the same decisions as `ReferenceGuard`, computed in C."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from ctypes import byref, c_void_p

import numpy as np

from bedplate.bundle.bpw import encode
from bedplate.bundle.contract import Contract, GuardSettings
from bedplate.core.errors import BedplateError
from bedplate.runtime.decision import RULES, Decision, Fault, Snapshot
from bedplate.runtime.native.structs import Decided, Error, Input, NativeBundle, check, functions
from bedplate.runtime.signals import SignalLayout, numbers

_MALFORMED = np.zeros(1)


class NativeGuard:
    """A `Guard` in C. Fault details are worded by the C core; all else is equal to the reference guard.

    Args:
        contract: of the robot; its limits are the bounds.
        settings: when the policy is distrusted.

    Raises:
        BedplateError: a limit or setting could not be enforced, or there is no native core on this machine.
    """

    def __init__(self, contract: Contract, settings: GuardSettings) -> None:
        self._library = functions()
        self._bundle = NativeBundle(encode(contract, settings))
        self._handle = c_void_p()
        error = Error()
        check(self._library.bedplate_guard_create(self._bundle.handle, byref(self._handle), byref(error)), error)
        self._layout = SignalLayout(contract)
        self._input, self._decided = Input(), Decided()
        self._fault: Fault | None = None

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.bedplate_guard_free(self._handle)
            self._handle = c_void_p()

    @property
    def fault(self) -> Fault | None:
        """The latched fault, or None."""
        return self._fault

    @property
    def counts(self) -> Mapping[str, int]:
        """Rule name -> number of ticks in which it acted."""
        return dict(zip(RULES, self._library.bedplate_guard_counts(self._handle), strict=False))

    @property
    def started(self) -> bool:
        """The policy has had authority since the last restart."""
        return bool(self._library.bedplate_guard_started(self._handle))

    def filter(
        self,
        now_s: float,
        state_stamp_s: float | Sequence[float],
        signals: Mapping[str, np.ndarray] | None,
        action_stamp_s: float,
        command: np.ndarray | None,
    ) -> Decision:
        """Decide what goes to the robot in this tick; see `Guard.filter`."""
        asked = None if command is None else _flat(command)
        values = None if signals is None else self._pack(signals)
        stamps = None if isinstance(state_stamp_s, (float, int)) else np.array(state_stamp_s, np.float64)

        # the arrays above must live until the call has returned
        given = self._input
        given.now_s, given.action_stamp_s = now_s, action_stamp_s
        given.state_stamp_s = math.nan if stamps is not None else state_stamp_s
        given.signal_stamps_s, given.num_stamps = _address(stamps)
        given.values, given.num_values = _address(values)
        if values is _MALFORMED:
            given.num_values = self._layout.size + 1
        given.command, given.num_command = _address(asked)
        decided = self._decided
        self._library.bedplate_guard_filter(self._handle, byref(given), byref(decided))

        if decided.faulted and self._fault is None:
            self._fault = self._read_fault(signals, asked)
        rules = tuple(name for bit, name in enumerate(RULES) if decided.rules >> bit & 1)
        sent = np.array(decided.command[: decided.num_channels])
        return Decision(sent, rules, self._fault, bool(decided.hold_back))

    def trip(self, now_s: float, cause: str, detail: str) -> None:
        """Take the authority from the policy from outside; see `Guard.trip`."""
        if self._fault is None:
            self._library.bedplate_guard_trip(self._handle, now_s, detail.encode())
            self._fault = self._read_fault(None, None, cause, detail)

    def rearm(self, token: str) -> None:
        """Give the authority back; see `Guard.rearm`."""
        if self._fault is None:
            raise BedplateError("the guard has no latched fault", "a fault to re-arm from")
        if token != self._fault.token:
            raise BedplateError(
                f"re-arm token {token!r}",
                f"{self._fault.token!r}, the token of the latched fault: {self._fault.detail}",
            )
        number = int(token.rpartition("-")[2])
        # the call stands outside of the assertion: under -O an assertion is not evaluated
        status = self._library.bedplate_guard_rearm(self._handle, number)
        assert status == 0
        self._fault = None

    def restart(self) -> None:
        """The robot was put somewhere else; see `Guard.restart`."""
        self._library.bedplate_guard_restart(self._handle)

    def _pack(self, signals: Mapping[str, np.ndarray]) -> np.ndarray:
        """All signals in contract order; `_MALFORMED` when one is absent, no numbers, or of another shape."""
        values = np.zeros(max(self._layout.size, 1))
        for name, part in zip(self._layout.names, self._layout.slices, strict=True):
            array = numbers(signals[name]) if signals.get(name) is not None else None
            if array is None or array.shape != (part.stop - part.start,):
                return _MALFORMED
            values[part] = array
        return values[: self._layout.size]

    def _read_fault(
        self,
        signals: Mapping[str, np.ndarray] | None,
        asked: np.ndarray | None,
        cause: str = "",
        detail: str = "",
    ) -> Fault:
        facts = self._library.bedplate_guard_fault(self._handle).contents
        rule = cause or RULES[facts.rule]
        snapshot = Snapshot(
            state_age_s=facts.state_age_s,
            action_age_s=facts.action_age_s,
            signals={name: tuple(_flat(value).tolist()) for name, value in (signals or {}).items()},
            command=() if asked is None else tuple(asked.tolist()),
            last_command=tuple(facts.last_command[: facts.num_channels]),
        )
        words = detail or facts.detail.decode("utf-8", "replace")
        return Fault(rule, words, facts.time_s, f"{rule}-{facts.number}", snapshot)


def _flat(value: object) -> np.ndarray:
    array = numbers(value)
    return np.zeros(0) if array is None else np.ascontiguousarray(array.reshape(-1))


def _address(array: np.ndarray | None) -> tuple[int | None, int]:
    """Pointer and length for C; an empty array still has an address."""
    if array is None:
        return None, 0
    return array.ctypes.data_as(ctypes.c_void_p).value or _MALFORMED.ctypes.data, array.size
