"""The native policy behind the `Policy` protocol: policy.bpw evaluated in C, without ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import byref, c_void_p

import numpy as np

from bedplate.bundle.contract import Contract
from bedplate.runtime.native.structs import Error, NativeBundle, check, functions
from bedplate.runtime.signals import SignalLayout


class NativePolicy:
    """A policy.bpw with its memory.

    Args:
        data: the file's content.
        contract: of its bundle.

    Raises:
        BedplateError: the library refuses the file, or there is no native core on this machine.
    """

    def __init__(self, data: bytes, contract: Contract) -> None:
        self._library = functions()
        self._bundle = NativeBundle(data)
        self._handle = c_void_p()
        error = Error()
        check(self._library.bedplate_policy_create(self._bundle.handle, byref(self._handle), byref(error)), error)
        self._layout = SignalLayout(contract)
        self._values = np.zeros(self._layout.size)
        self._parts = [
            (name, self._values[part]) for name, part in zip(self._layout.names, self._layout.slices, strict=True)
        ]
        self._sent, self._command = np.zeros(len(contract.channels)), np.zeros(len(contract.channels))
        # addresses are asked for once: that costs more than the call
        self._addresses = tuple(array.ctypes.data for array in (self._values, self._sent, self._command))
        memory = sum(term.size for term in contract.memory)
        self._raw = np.zeros(len(contract.channels) + memory, np.float32)
        self._num_inputs = self._layout.size + memory

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.bedplate_policy_free(self._handle)
            self._handle = c_void_p()

    def reset(self) -> None:
        """Forget everything: a new episode begins."""
        self._library.bedplate_policy_reset(self._handle)

    def act(self, signals: Mapping[str, np.ndarray], sent: np.ndarray | None = None) -> np.ndarray:
        """The command for one state; see `Policy.act`."""
        for name, array in self._parts:
            array[:] = signals[name]
        values, last, command = self._addresses
        if sent is not None:
            self._sent[:] = sent
        self._library.bedplate_policy_act(self._handle, values, None if sent is None else last, command)
        return self._command.copy()

    def evaluate(self, inputs: np.ndarray) -> np.ndarray:
        """One evaluation without the kept memory, as policy.onnx does it.

        Args:
            inputs: signals and memory terms side by side, float32.

        Returns:
            Command and next memory side by side, float32.
        """
        given = np.ascontiguousarray(inputs, np.float32)
        assert given.shape == (self._num_inputs,)
        self._library.bedplate_policy_evaluate(self._handle, given.ctypes.data, self._raw.ctypes.data)
        return self._raw.copy()
