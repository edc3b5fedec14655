"""golden.npz: recorded inputs with the commands that the trained model gave, for replay on the robot side."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bedplate.bundle.contract import Contract
from bedplate.core.files import canonical_json

if TYPE_CHECKING:
    import numpy as np

MIN_SAMPLES = 256
"""Fewest samples that prove a bundle."""


@dataclass(frozen=True)
class Golden:
    """Inputs and expected outputs of the policy graph, one row per sample, all float32.

    Attributes:
        signals: signal name -> (samples, size), physical units.
        memory: memory name -> (samples, size).
        command: (samples, num_channels), physical units.
        memory_next: memory name -> (samples, size).
        contract: what these samples were made with.
    """

    signals: Mapping[str, np.ndarray]
    memory: Mapping[str, np.ndarray]
    command: np.ndarray
    memory_next: Mapping[str, np.ndarray]
    contract: Contract

    @property
    def num_samples(self) -> int:
        """Number of rows."""
        return len(self.command)

    def inputs(self) -> dict[str, np.ndarray]:
        """Graph input name -> (samples, size) float32."""
        return {**self.signals, **{f"memory.{name}": values for name, values in self.memory.items()}}

    def outputs(self) -> dict[str, np.ndarray]:
        """Graph output name -> (samples, size) float32."""
        return {"command": self.command} | {f"memory.{name}.next": values for name, values in self.memory_next.items()}

    def to_bytes(self) -> bytes:
        """The content of golden.npz."""
        import numpy as np

        arrays: dict[str, Any] = {f"signal.{name}": values for name, values in self.signals.items()}
        arrays |= {f"memory.{name}": values for name, values in self.memory.items()} | self.outputs()
        arrays = {name: np.ascontiguousarray(values, dtype=np.float32) for name, values in arrays.items()}
        buffer = io.BytesIO()
        contract = canonical_json(self.contract.model_dump(mode="json"))
        np.savez_compressed(buffer, contract=np.array(contract), **arrays)
        return buffer.getvalue()
