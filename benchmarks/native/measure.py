"""One call of a tanh network, 17-256-256-6: native core beside ONNX Runtime, interleaved in one process.

Both are called from Python on buffers that are bound once; the interpreter's share is in both figures.
"""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime as ort
import torch
from torch import nn

from bedplate.bundle.contract import Contract, GuardSettings, SignalContract
from bedplate.core.limits import ChannelLimits, Limits, SafeAction
from bedplate.export.native.lower import to_bpw
from bedplate.runtime.native.policy import NativePolicy

SIZES = (17, 256, 256, 6)
CALLS = 2000
OWED_RATIO, OWED_P99_US = 3.0, 10.0


@dataclass(frozen=True)
class Row:
    """One contestant: latencies in microseconds, medians over rounds, and the rounds' medians."""

    name: str
    p50_us: float
    p99_us: float
    rounds_us: tuple[float, ...]


def measure(rounds: int) -> tuple[list[Row], float]:
    """Both contestants, and the largest difference of their answers.

    Args:
        rounds: slices of CALLS calls each, alternating.
    """
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(SIZES):
        layers += [nn.Linear(inputs, outputs), nn.Tanh()]
    graph = _graph(nn.Sequential(*layers[:-1]))
    x = np.random.default_rng(0).normal(size=(1, SIZES[0])).astype(np.float32)
    answers: dict[str, np.ndarray] = {}
    calls = {"native": _native(graph, x, answers), "ONNX Runtime": _onnx(graph, x, answers)}
    times: dict[str, list[np.ndarray]] = {name: [] for name in calls}
    for call in calls.values():
        _time(call)
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(_time(call))
    rows = [
        Row(
            name,
            float(np.median([np.median(t) for t in slices])),
            float(np.median([np.percentile(t, 99) for t in slices])),
            tuple(float(np.median(t)) for t in slices),
        )
        for name, slices in times.items()
    ]
    return rows, float(np.abs(answers["native"] - answers["ONNX Runtime"]).max())


def _time(call: Callable[[], object]) -> np.ndarray:
    result = np.empty(CALLS)
    for index in range(CALLS):
        start_ns = time.perf_counter_ns()
        call()
        result[index] = time.perf_counter_ns() - start_ns
    return result * 1e-3


def _graph(network: nn.Module) -> bytes:
    buffer = io.BytesIO()
    torch.onnx.export(
        network,
        (torch.zeros(1, SIZES[0]),),
        buffer,  # type: ignore[arg-type]  # a file object is taken, the annotation is too narrow
        dynamo=False,
        opset_version=17,
        input_names=["x"],
        output_names=["command"],
    )
    return onnx.load_model_from_string(buffer.getvalue()).SerializeToString()


def _native(graph: bytes, x: np.ndarray, answers: dict[str, np.ndarray]) -> Callable[[], object]:
    signal = SignalContract(
        name="x", components=tuple(f"x{i}" for i in range(SIZES[0])), unit="1", frame="", low=-9, high=9,
        max_age_s=0.1, rate_hz=1000.0,
    )  # fmt: skip
    channels = tuple(ChannelLimits(f"y{i}", "1", -9.0, 9.0, 1e3) for i in range(SIZES[-1]))
    limits = Limits(channels, SafeAction("ramp", (0.0,) * SIZES[-1]))
    contract = Contract(
        task="bench", control_dt_s=0.001, signals=(signal,), memory=(), action_kind="velocity", limits=limits
    )
    policy = NativePolicy(to_bpw(graph, contract, GuardSettings()), contract)
    answers["native"] = policy.act({"x": x[0]})
    return lambda: policy.act({"x": x[0]})


def _onnx(graph: bytes, x: np.ndarray, answers: dict[str, np.ndarray]) -> Callable[[], object]:
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = ort.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    given, command = np.zeros_like(x), np.zeros((1, SIZES[-1]), np.float32)
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, given.shape, given.ctypes.data)
    binding.bind_output("command", "cpu", 0, np.float32, command.shape, command.ctypes.data)

    def call() -> np.ndarray:
        given[0] = x[0]
        session.run_with_iobinding(binding)
        return command[0].astype(np.float64)

    answers["ONNX Runtime"] = call()
    return call
