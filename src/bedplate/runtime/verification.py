"""Prove on this machine that a bundle does what training measured: parity, determinism, latency.

Needs numpy and ONNX Runtime only, so that it runs on the robot. The golden samples are replayed on a bare ONNX Runtime
session; the policy that `serve` runs (bound buffers, memory handed on) must then give the same bits as that session.
A bundle's policy.bpw is replayed on the native core too, where this machine can compile it.
"""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass

import numpy as np
import onnxruntime as ort

from bedplate.bundle.bundle import POLICY_BPW, Bundle
from bedplate.bundle.golden import MIN_SAMPLES
from bedplate.runtime.latency import LatencyHistogram, LatencySummary
from bedplate.runtime.native.library import available
from bedplate.runtime.native.replay import replay_native
from bedplate.runtime.policy import OnnxPolicy, open_session

SCHEMA = 1
PARITY_LIMIT = 1e-5
LATENCY_CALLS = 5000
REPEATS = 1000
EPISODE_CALLS = 100
"""Calls in a row in which the policy's own memory is compared with memory that is handed on by hand."""

NOT_FINITE = 1e9
"""Error of an output that is not finite; JSON has no infinity."""


@dataclass(frozen=True)
class Gate:
    """One question with a limit.

    Attributes:
        name: "samples", "parity", "determinism", "latency" or "native parity".
        found: what was measured, with its unit.
        expected: the limit, with its unit.
        passed: the answer.
    """

    name: str
    found: str
    expected: str
    passed: bool


@dataclass(frozen=True)
class Parity:
    """How far this runtime is from the trained model, over all golden samples.

    Attributes:
        max_error: largest scaled error of any output; see `scales`.
        output, component, sample: where it occurred.
        mean_error: mean scaled error over samples and output elements.
        channel_errors: channel -> largest error in the channel's own unit.
    """

    max_error: float
    mean_error: float
    output: str
    component: int
    sample: int
    channel_errors: dict[str, float]


@dataclass(frozen=True)
class Verification:
    """The content of verification.json.

    Attributes:
        native_parity: of policy.bpw on the native core; None where it was not replayed.
        native_skipped: why it was not, in words; "" where it was.
    """

    schema: int
    task: str
    bundle_hash: str
    contract_hash: str
    passed: bool
    gates: tuple[Gate, ...]
    samples: int
    parity: Parity
    native_parity: Parity | None
    native_skipped: str
    latency: LatencySummary
    control_period_us: float
    time_utc: str
    machine: dict[str, str]


def verify(bundle: Bundle, calls: int = LATENCY_CALLS) -> Verification:
    """Replay the golden samples, repeat them, and time the call.

    Args:
        bundle: as read by `read_bundle`.
        calls: timed calls, at least 2000.

    Raises:
        ContractMismatch: the graph's inputs or outputs are not those of the contract.
        BedplateError: ONNX Runtime cannot load the graph, or the native core refuses policy.bpw.
    """
    # the policy as `serve` runs it; its constructor checks names and shapes of the graph
    policy = OnnxPolicy(bundle)
    session = open_session(bundle)
    outputs = replay(session, bundle)
    parity = compare(outputs, bundle)
    differing = count_differing(session, bundle, outputs) + count_differing_served(policy, session, bundle)
    latency = time_calls(policy, bundle, max(calls, 2000))
    skipped = available() if POLICY_BPW in bundle.files else f"the bundle has no {POLICY_BPW}"
    native = None if skipped else compare(replay_native(bundle), bundle)
    samples, period_us = bundle.golden.num_samples, bundle.contract.control_dt_s * 1e6

    gates = (
        Gate("samples", str(samples), f">= {MIN_SAMPLES}", samples >= MIN_SAMPLES),
        # written so that NaN fails
        _parity_gate("parity", parity),
        Gate("determinism", f"{differing} answers differ", "0 answers differ", differing == 0),
        Gate(
            "latency",
            f"p99 {latency.p99_us:.1f} us",
            f"<= one control period, {period_us:.0f} us",
            latency.p99_us <= period_us,
        ),
        *(() if native is None else (_parity_gate("native parity", native),)),
    )
    return Verification(
        schema=SCHEMA,
        task=bundle.contract.task,
        bundle_hash=bundle.info.bundle_hash,
        contract_hash=bundle.info.contract_hash,
        passed=all(gate.passed for gate in gates),
        gates=gates,
        samples=samples,
        parity=parity,
        native_parity=native,
        native_skipped=skipped,
        latency=latency,
        control_period_us=period_us,
        time_utc=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        machine={
            "onnxruntime": ort.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "kernel": platform.release(),
            "architecture": platform.machine(),
        },
    )


def _parity_gate(name: str, parity: Parity) -> Gate:
    return Gate(name, f"{parity.max_error:.3g}", f"<= {PARITY_LIMIT:g}", parity.max_error <= PARITY_LIMIT)


def replay(session: ort.InferenceSession, bundle: Bundle) -> dict[str, np.ndarray]:
    """Output name -> (samples, size) float32: the session's answers to the golden inputs, one call per sample."""
    inputs, names = bundle.golden.inputs(), list(bundle.golden.outputs())
    rows = [
        session.run(names, {name: values[index : index + 1] for name, values in inputs.items()})
        for index in range(bundle.golden.num_samples)
    ]
    return {name: np.concatenate([row[column] for row in rows]) for column, name in enumerate(names)}


def scales(bundle: Bundle) -> dict[str, np.ndarray]:
    """What errors are divided by: output name -> (samples or 1, size) float64.

    A command is compared in units of half its channel's range, so that 1 is what a policy output of 1 means; memory
    relative to the expected value, or absolute where that is below 1.
    """
    channels = bundle.contract.limits.channels
    result = {"command": np.array([[(limit.high - limit.low) / 2 for limit in channels]])}
    for name, values in bundle.golden.memory_next.items():
        result[f"memory.{name}.next"] = np.maximum(1.0, np.abs(values.astype(np.float64)))
    return result


def compare(outputs: dict[str, np.ndarray], bundle: Bundle) -> Parity:
    """The errors of `outputs` against the golden ones; an output that is not finite counts as 1e9."""
    worst = (-1.0, "", 0, 0)
    total, count, divisors = 0.0, 0, scales(bundle)
    expected = bundle.golden.outputs()
    for name, values in outputs.items():
        scaled = _errors(values, expected[name]) / divisors[name]
        sample, component = np.unravel_index(int(scaled.argmax()), scaled.shape)
        worst = max(worst, (float(scaled[sample, component]), name, int(component), int(sample)))
        total, count = total + float(scaled.sum()), count + scaled.size
    physical = _errors(outputs["command"], expected["command"]).max(axis=0)
    return Parity(
        max_error=worst[0],
        mean_error=total / count,
        output=worst[1],
        component=worst[2],
        sample=worst[3],
        channel_errors=dict(zip(bundle.contract.channels, physical.tolist(), strict=True)),
    )


def count_differing(session: ort.InferenceSession, bundle: Bundle, first: dict[str, np.ndarray]) -> int:
    """Answers that differ in any bit from the first ones: the golden samples again, anew, and one of them repeated.

    Args:
        session: the one that gave `first`.
        bundle: its bundle.
        first: the answers to the golden samples.
    """
    differing = 0
    for other in (session, open_session(bundle)):
        again = replay(other, bundle)
        same = [np.all(_bits(again[name]) == _bits(first[name]), axis=1) for name in first]
        differing += int((~np.logical_and.reduce(same)).sum())
    # many times the same input, without any other input in between
    inputs = {name: values[:1] for name, values in bundle.golden.inputs().items()}
    for _ in range(REPEATS):
        answers = zip(first.values(), session.run(list(first), inputs), strict=True)
        differing += not all(np.array_equal(_bits(answer[0]), _bits(known[0])) for known, answer in answers)
    return differing


def count_differing_served(policy: OnnxPolicy, session: ort.InferenceSession, bundle: Bundle) -> int:
    """Commands of one episode in which the policy, as served, differs in any bit from the bare session.

    Args:
        policy: as served; it is reset before and after.
        session: a bare session on the same graph.
        bundle: its signals are the states of the episode.
    """
    contract, differing = bundle.contract, 0
    memory: dict[str, np.ndarray] = {}
    policy.reset()
    for index in range(min(EPISODE_CALLS, bundle.golden.num_samples)):
        row = {name: values[index : index + 1] for name, values in bundle.golden.signals.items()}
        if not memory:
            for term in contract.memory:
                start = np.full((1, term.size), term.initial, np.float32)
                memory[f"memory.{term.name}"] = row[term.initial_signal] if term.initial_signal else start
        names = ["command", *(f"{name}.next" for name in memory)]
        command, *following = session.run(names, {**row, **memory})
        # what is not finite is not kept, on either side
        if all(np.isfinite(values).all() for values in (command, *following)):
            memory = dict(zip(memory, following, strict=True))
        served = policy.act({name: values[0] for name, values in row.items()})
        differing += not np.array_equal(served, command[0].astype(np.float64), equal_nan=True)
    policy.reset()
    return differing


def time_calls(policy: OnnxPolicy, bundle: Bundle, calls: int) -> LatencySummary:
    """Wall time of `policy.act` over the golden signals, memory and copies included, Python's collector running."""
    signals = bundle.golden.signals
    rows = [{name: values[i] for name, values in signals.items()} for i in range(bundle.golden.num_samples)]
    histogram = LatencyHistogram()
    for index in range(calls):
        row = rows[index % len(rows)]
        start_ns = time.perf_counter_ns()
        policy.act(row)
        histogram.add((time.perf_counter_ns() - start_ns) * 1e-9)
    return histogram.summary()


def _errors(values: np.ndarray, expected: np.ndarray) -> np.ndarray:
    errors = np.abs(values.astype(np.float64) - expected.astype(np.float64))
    return np.where(np.isfinite(errors), errors, NOT_FINITE)


def _bits(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).view(np.uint32)
