"""The policy on ONNX Runtime: one thread, no spinning, buffers bound once, warmed up before its first real answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import onnxruntime as ort

from bedplate.bundle.bundle import POLICY_ONNX, Bundle
from bedplate.bundle.contract import COMMANDED
from bedplate.core.errors import BedplateError, ContractMismatch

WARM_UP_CALLS = 50


class Policy(Protocol):
    """Signals in, command out; whatever it remembers stays inside."""

    def reset(self) -> None:
        """Forget everything: a new episode begins."""
        ...

    def act(self, signals: Mapping[str, np.ndarray], sent: np.ndarray | None = None) -> np.ndarray:
        """The command for one state.

        Args:
            signals: name -> (size,) in physical units.
            sent: (num_channels,) what the robot was really sent last, after the guard; None when nothing was.

        Returns:
            (num_channels,) float64.
        """
        ...


class OnnxPolicy:
    """A bundle's policy.onnx with its memory.

    Args:
        bundle: as read by `read_bundle`.

    Raises:
        ContractMismatch: the graph's inputs or outputs are not those of the contract.
        BedplateError: ONNX Runtime cannot load the graph.
    """

    def __init__(self, bundle: Bundle) -> None:
        contract = bundle.contract
        self._memory_terms = contract.memory
        self._session = open_session(bundle)
        inputs = {s.name: s.size for s in contract.signals} | {f"memory.{m.name}": m.size for m in contract.memory}
        outputs = {"command": len(contract.channels)} | {f"memory.{m.name}.next": m.size for m in contract.memory}
        _check_nodes("input", self._session.get_inputs(), inputs, bundle)
        _check_nodes("output", self._session.get_outputs(), outputs, bundle)

        # the graph reads and writes these arrays directly; memory has one array on each side
        self._inputs = {name: np.zeros((1, size), np.float32) for name, size in inputs.items()}
        self._outputs = {name: np.zeros((1, size), np.float32) for name, size in outputs.items()}
        self._binding = self._session.io_binding()
        for name, array in self._inputs.items():
            self._binding.bind_input(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
        for name, array in self._outputs.items():
            self._binding.bind_output(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
        self._signals = [(s.name, self._inputs[s.name][0]) for s in contract.signals]
        self._memory = [
            (self._inputs[f"memory.{m.name}"], self._outputs[f"memory.{m.name}.next"]) for m in contract.memory
        ]
        self._commanded = self._inputs[f"memory.{COMMANDED}"][0] if contract.remembers_command else None
        self._command = self._outputs["command"][0]
        self._fresh = True

        # the first calls allocate and are slow
        for _ in range(WARM_UP_CALLS):
            self._session.run_with_iobinding(self._binding)
        self.reset()

    def reset(self) -> None:
        """Forget everything: a new episode begins."""
        for term in self._memory_terms:
            self._inputs[f"memory.{term.name}"][:] = term.initial
        self._fresh = True

    def act(self, signals: Mapping[str, np.ndarray], sent: np.ndarray | None = None) -> np.ndarray:
        """The command for one state.

        Args:
            signals: name -> (size,) in physical units; every signal of the contract.
            sent: (num_channels,) what the robot was really sent last, after the guard. It replaces the memory
                "commanded", so that deltas do not wind up against a guard that cuts them; None leaves the memory.

        Returns:
            (num_channels,) float64 in the channels' units. It may hold NaN: judging it is the guard's business.
        """
        for name, array in self._signals:
            array[:] = signals[name]
        if self._fresh:
            self._start_memory()
        if sent is not None and self._commanded is not None:
            self._commanded[:] = sent
        self._session.run_with_iobinding(self._binding)
        command: np.ndarray = self._command.astype(np.float64)
        # what is not finite must not stay in the memory for ever
        if np.isfinite(command).all() and all(np.isfinite(following).all() for _, following in self._memory):
            for current, following in self._memory:
                current[:] = following
        return command

    def _start_memory(self) -> None:
        for term in self._memory_terms:
            if term.initial_signal:
                self._inputs[f"memory.{term.name}"][:] = self._inputs[term.initial_signal]
        self._fresh = False


def open_session(bundle: Bundle) -> ort.InferenceSession:
    """An ONNX Runtime session on the bundle's policy.onnx: CPU, one thread, no spinning.

    Raises:
        BedplateError: ONNX Runtime cannot load the graph.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(bundle.policy_onnx, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises classes of its own for each status code
        reason = str(error).strip().splitlines()[0]
        raise BedplateError(
            f"ONNX Runtime {ort.__version__} cannot load {bundle.folder / POLICY_ONNX}: {reason}",
            "a graph that this version of ONNX Runtime knows",
            "export the bundle again, or install a newer onnxruntime",
        ) from error


def _check_nodes(side: str, nodes: list[Any], expected: dict[str, int], bundle: Bundle) -> None:
    found = {node.name: list(node.shape) for node in nodes}
    wanted = {name: [1, size] for name, size in expected.items()}
    for name in sorted(found.keys() | wanted.keys()):
        if found.get(name) != wanted.get(name):
            raise ContractMismatch(
                f"{bundle.folder / POLICY_ONNX}: {side} {name!r} is {_shape(found.get(name))}",
                f"{_shape(wanted.get(name))}, as the contract says",
                "export the bundle again",
            )
    for node in nodes:
        if node.type != "tensor(float)":
            raise ContractMismatch(
                f"{bundle.folder / POLICY_ONNX}: {side} {node.name!r} is {node.type}", "tensor(float)"
            )


def _shape(shape: list[Any] | None) -> str:
    return "absent" if shape is None else f"of shape {tuple(shape)}"
