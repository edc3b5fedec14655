"""What a simulated robot received and what came of it, for its report."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bedplate.bundle.contract import Contract
from bedplate.core.files import write_json
from bedplate.envs.vec_env import Episode
from bedplate.runtime.latency import LatencyHistogram
from bedplate.runtime.links import Link
from bedplate.runtime.links.frame import CommandMessage
from bedplate.runtime.telemetry import plain

SCHEMA = 1

LONGEST_LOG = 500_000
"""Commands that are logged; later ones are only counted."""

LOG_COLUMNS = ("arrival_ns", "sequence", "state_sequence", "state_stamp_ns", "episode")
"""What stands before the channels in each row of the command log."""


class RobotRecord:
    """Counts and the log of received commands.

    Args:
        contract: of the robot.

    Attributes:
        ticks: control periods simulated.
        missed_ticks: deadlines that the simulation itself missed.
        seconds: real time since the first writer.
        writers: how many have come.
        links: one per writer.
        episodes: every finished one.
        num_commands: received.
        num_not_finite: of these, with a NaN or an infinity; not applied.
        latency: from the stamp of the state that a command answers to the command's arrival; of fresh answers only.
    """

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self.ticks = 0
        self.missed_ticks = 0
        self.seconds = 0.0
        self.writers = 0
        self.links: list[Link] = []
        self.episodes: list[Episode] = []
        self.num_commands = 0
        self.num_not_finite = 0
        self.latency = LatencyHistogram()
        self._log: list[tuple[float, ...]] = []
        self._answered = 0

    def add_command(self, message: CommandMessage, arrival_ns: int, episode: int) -> None:
        """Log one received command."""
        self.num_commands += 1
        self.num_not_finite += not np.isfinite(message.values).all()
        if message.state_sequence > self._answered:
            self._answered = message.state_sequence
            self.latency.add((arrival_ns - message.state_stamp_ns) * 1e-9)
        if len(self._log) < LONGEST_LOG:
            where = (arrival_ns, message.sequence, message.state_sequence, message.state_stamp_ns, episode)
            self._log.append((*where, *message.values.tolist()))

    def summary(self) -> dict[str, Any]:
        """The report without the command log."""
        return {
            "schema": SCHEMA,
            "task": self._contract.task,
            "contract_hash": self._contract.hash,
            "control_dt_s": self._contract.control_dt_s,
            "seconds": self.seconds,
            "ticks": self.ticks,
            "missed_ticks": self.missed_ticks,
            "writers": self.writers,
            "episodes": {
                "count": len(self.episodes),
                "success": sum(episode.success for episode in self.episodes),
                "by_reason": dict(Counter(episode.reason for episode in self.episodes)),
                "each": [plain(asdict(episode)) for episode in self.episodes],
            },
            "commands": self.num_commands,
            "commands_not_finite": self.num_not_finite,
            "refused_frames": dict(sum((link.refused for link in self.links), Counter())),
            "latency": asdict(self.latency.summary()),
            "latency_bins": self.latency.bins(),
        }

    def write(self, path: Path) -> None:
        """Write the report with the command log.

        Raises:
            StorageError: the folder cannot be written or the disk is full.
        """
        # a refused command may hold NaN, which JSON has no word for
        rows = plain(self._log)
        log = {"columns": [*LOG_COLUMNS, *self._contract.channels], "rows": rows}
        write_json(path, {**self.summary(), "log": log})
