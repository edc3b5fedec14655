"""The golden samples on the native core."""

from __future__ import annotations

import numpy as np

from bedplate.bundle.bundle import POLICY_BPW, Bundle
from bedplate.runtime.native.policy import NativePolicy


def replay_native(bundle: Bundle) -> dict[str, np.ndarray]:
    """Output name -> (samples, size) float32: the native core's answers to the golden inputs.

    Args:
        bundle: one that holds policy.bpw.

    Raises:
        BedplateError: the core refuses the file, or there is none on this machine.
    """
    contract = bundle.contract
    policy = NativePolicy(bundle.files[POLICY_BPW], contract)
    names = [signal.name for signal in contract.signals] + [f"memory.{term.name}" for term in contract.memory]
    inputs = bundle.golden.inputs()
    rows = np.concatenate([inputs[name] for name in names], axis=1)
    answers = np.stack([policy.evaluate(row) for row in rows])
    # split in the order of the contract
    result, start = {}, 0
    sizes = {"command": len(contract.channels)} | {f"memory.{term.name}.next": term.size for term in contract.memory}
    for name, size in sizes.items():
        result[name] = answers[:, start : start + size]
        start += size
    return result
