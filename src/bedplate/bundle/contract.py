"""bundle.json: everything a robot side must know about a policy, by name and in units.

`contract_hash` covers what two sides must agree on before the first message: signals, memory, channels, limits and
the control period. Evaluation results and provenance are outside of it.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from bedplate.core.files import canonical_json, sha256_text
from bedplate.core.limits import ActionKind, Limits

SCHEMA: Final = 1

COMMANDED: Final = "commanded"
"""The memory term that holds the last command; a robot side fills in what was really sent."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class SignalContract(_Frozen):
    """One input of policy.onnx, float32 (1, size).

    Attributes:
        name: of the graph's input.
        components: one name per element.
        unit: of every element; "1" for pure numbers.
        frame: that the numbers are expressed in; "" when they have none.
        low, high: bounds outside which the guard refuses a measurement.
        max_age_s: age above which the guard refuses a measurement. How often one arrives is not judged: whatever its
            rate, a signal that stops is noticed by this age.
        rate_hz: how often the robot side is meant to measure it. Information for whoever writes the robot side: both
            sides must state the same number, and nothing enforces it; `max_age_s` is what is enforced.
    """

    name: str
    components: tuple[str, ...]
    unit: str
    frame: str
    low: float
    high: float
    max_age_s: float
    rate_hz: float

    @property
    def size(self) -> int:
        """Number of elements."""
        return len(self.components)


class MemoryContract(_Frozen):
    """State the policy carries: graph input "memory.<name>", graph output "memory.<name>.next", float32 (1, size).

    It starts at `initial`, or at the first measured value of `initial_signal` when that is named. A term named
    "commanded" with one element per channel is special: before each call the robot side overwrites it with the command
    that was really sent, after the guard. The graph's own "next" value counts only until something has been sent.
    """

    name: str
    size: int
    initial: float
    initial_signal: str = ""


class FeatureContract(_Frozen):
    """One slice [start, stop) of the observation inside the graph."""

    name: str
    start: int
    stop: int


class GuardSettings(_Frozen):
    """When the guard distrusts the policy. Periods are control periods.

    Attributes:
        action_max_age_periods: an action older than this is stale.
        overrun_limit: consecutive missed deadlines that latch a fault.
        range_fault_ticks: consecutive rejected measurements that latch a fault.
    """

    action_max_age_periods: float = 3.0
    overrun_limit: int = 3
    range_fault_ticks: int = 5


class Contract(_Frozen):
    """What robot and policy must agree on.

    policy.onnx has one input per signal (by its name) and per memory term, and the outputs "command"
    (1, num_channels) float32 in physical units and one per memory term.
    """

    task: str
    control_dt_s: float
    signals: tuple[SignalContract, ...]
    memory: tuple[MemoryContract, ...]
    action_kind: ActionKind
    limits: Limits

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the command channels, in command order."""
        return tuple(limit.channel for limit in self.limits.channels)

    @property
    def remembers_command(self) -> bool:
        """There is a memory term "commanded", which must hold what was really sent."""
        return any(term.name == COMMANDED and term.size == len(self.channels) for term in self.memory)

    @property
    def hash(self) -> str:
        """SHA-256 over the contract's canonical JSON."""
        return sha256_text(canonical_json(self.model_dump(mode="json")))


class BundleInfo(_Frozen):
    """The whole of bundle.json."""

    # `schema` is taken in pydantic
    schema_version: Literal[1] = Field(default=SCHEMA, alias="schema")
    contract: Contract
    contract_hash: str
    features: tuple[FeatureContract, ...]
    guard: GuardSettings
    evaluation: dict[str, Any] | None = None
    provenance: dict[str, Any] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    """File name -> SHA-256, for every file of the bundle but bundle.json itself."""
    bundle_hash: str = ""
    """SHA-256 over the canonical JSON of every other field: the bundle's identity."""

    @property
    def content_hash(self) -> str:
        """What `bundle_hash` must be."""
        return sha256_text(canonical_json(self.model_dump(mode="json", by_alias=True, exclude={"bundle_hash"})))
