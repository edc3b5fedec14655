"""What a served run leaves behind: one JSON report."""

from __future__ import annotations

import math
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bedplate.bundle.bundle import Bundle
from bedplate.core.errors import BedplateError
from bedplate.core.files import write_json
from bedplate.runtime.decision import Fault
from bedplate.runtime.latency import LatencySummary
from bedplate.runtime.links import Link
from bedplate.runtime.writer import Writer

SCHEMA = 1


@dataclass(frozen=True)
class ServeReport:
    """The report of one `bedplate serve`.

    Attributes:
        task, contract_hash, bundle_hash: what was served.
        link: URL of the link.
        end: why it ended: "stopped", "interrupted", "robot_gone", "policy_never_started" or "policy_too_slow".
        seconds: wall time from the start to the robot at rest.
        control_dt_s: the period.
        ticks: commands sent: the sum of the next three.
        waiting_ticks: before the policy's first answer.
        driven_ticks: from then until the end was asked for or came.
        rest_ticks: after it, until the safe action was reached.
        rate_hz: driven commands per second, by their deadlines; 0 for fewer than two of them.
        deadline_misses: driven ticks without an answer to a new state by the deadline, or without a new state, and
            skipped ticks.
        misses: the same, by kind; and late answers and rejected states until the end, which are no misses themselves.
        latency: from a state's stamp to the sending of the command computed from it.
        latency_bins: its histogram: (upper edge in microseconds, count).
        late_latency: of the answers that came too late: from a state's stamp to the policy's answer.
        spacing: between two commands.
        interventions: guard rule -> driven ticks in which it acted.
        held_back: periods in which nothing was sent, for want of a fresh measured position to start from.
        last_rejection: what was wrong with the last state that could not be believed, "" when all could.
        faults: each latched fault with its cause and inputs.
        refused_frames: reason -> frames of the robot that were not used.
        host: where it ran.
    """

    task: str
    contract_hash: str
    bundle_hash: str
    link: str
    end: str
    seconds: float
    control_dt_s: float
    ticks: int
    waiting_ticks: int
    driven_ticks: int
    rest_ticks: int
    rate_hz: float
    deadline_misses: int
    misses: dict[str, int]
    latency: LatencySummary
    latency_bins: list[tuple[float, int]]
    late_latency: LatencySummary
    spacing: LatencySummary
    interventions: dict[str, int]
    held_back: int
    last_rejection: str
    faults: list[dict[str, Any]]
    refused_frames: dict[str, int]
    host: dict[str, Any]
    schema: int = SCHEMA

    def write(self, path: Path) -> None:
        """Write the report.

        Raises:
            StorageError: the folder cannot be written or the disk is full.
        """
        write_json(path, asdict(self))


def serve_report(bundle: Bundle, url: str, end: str, seconds: float, writer: Writer, link: Link) -> ServeReport:
    """Collect the report of a run that has ended."""
    record = writer.record
    misses = {"no_answer": record.no_answer, "no_state": record.no_state, "skipped": record.skipped}
    return ServeReport(
        task=bundle.contract.task,
        contract_hash=bundle.contract.hash,
        bundle_hash=bundle.info.bundle_hash,
        link=url,
        end=end,
        seconds=seconds,
        control_dt_s=bundle.contract.control_dt_s,
        ticks=record.ticks,
        waiting_ticks=record.waiting_ticks,
        driven_ticks=record.driven_ticks,
        rest_ticks=record.rest_ticks,
        rate_hz=record.rate_hz,
        deadline_misses=sum(misses.values()),
        misses={**misses, "late_answers": record.late_answers, "rejected_states": record.rejected_states},
        latency=record.latency.summary(),
        latency_bins=record.latency.bins(),
        late_latency=record.late_latency.summary(),
        spacing=record.spacing.summary(),
        interventions=record.interventions,
        held_back=record.held_back,
        last_rejection=record.last_rejection,
        faults=[fault_record(fault) for fault in record.faults],
        refused_frames=dict(link.refused),
        host=_host(),
    )


def fault_record(fault: Fault) -> dict[str, Any]:
    """A fault for JSON; numbers that JSON has no word for become text."""
    record: dict[str, Any] = plain(asdict(fault))
    return record


def plain(value: Any) -> Any:
    """`value` with text, such as "nan", in the place of numbers that JSON has no word for."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def check_writable(path: Path) -> None:
    """Find out before a robot moves that its report can be written.

    Raises:
        BedplateError: the folder is absent or cannot be written.
    """
    folder = Path(os.path.realpath(path)).parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise BedplateError(f"the report cannot be written to {path}", "a file in a folder that exists and is writable")


def _host() -> dict[str, Any]:
    scheduler = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "scheduler": {os.SCHED_OTHER: "SCHED_OTHER", os.SCHED_FIFO: "SCHED_FIFO"}.get(scheduler, str(scheduler)),
        "priority": os.sched_getparam(0).sched_priority,
    }
