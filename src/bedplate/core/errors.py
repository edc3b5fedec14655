"""The exception tree. Every message says what was found, what was expected and what to do next.

BedplateError            exit 2: bad usage or bad input
├── UnknownName          a name that no table knows; carries the nearest one
├── ContractMismatch     two sides disagree (bundle, robot, link, checkpoint); nothing was started
├── StorageError         a disk is full, a folder cannot be written
└── GateFailed           exit 1: the command ran and its answer is "no"
Interrupted              exit 130: stopped on request, everything saved

Anything else that escapes is our bug: exit 3 and a crash report.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BedplateError(Exception):
    """An expected failure that the user can mend.

    Args:
        found: what was found, with its value.
        expected: what would have been right; empty when `found` says it all.
        next_step: the command or edit that mends it.
    """

    exit_code = 2

    def __init__(self, found: str, expected: str = "", next_step: str = "") -> None:
        self.found = found
        self.expected = expected
        self.next_step = next_step
        super().__init__(found)

    def __str__(self) -> str:
        lines = [self.found]
        if self.expected:
            lines.append(f"expected: {self.expected}")
        if self.next_step:
            lines.append(f"next step: {self.next_step}")
        return "\n".join(lines)


class UnknownName(BedplateError):
    """A name that is in no table.

    Args:
        kind: what the name stands for, such as "task".
        name: the name as given.
        known: the names that exist.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], next_step: str = "") -> None:
        self.kind = kind
        self.name = name
        self.known = sorted(known)
        self.nearest = nearest(name, self.known)
        if self.nearest and not next_step:
            next_step = f"did you mean {self.nearest!r}?"
        listing = ", ".join(self.known) if self.known else "none"
        super().__init__(f"unknown {kind} {name!r}", f"one of: {listing}", next_step)


class ContractMismatch(BedplateError):
    """Two sides disagree on what they exchange. Nothing was started."""


class StorageError(BedplateError):
    """A file or folder could not be written. What was there before is unchanged."""


class GateFailed(BedplateError):
    """The command ran to its end and its answer is "no"."""

    exit_code = 1


class Interrupted(Exception):
    """The user asked to stop; everything worth keeping has been saved."""

    exit_code = 130


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name closest to `name`, or "" when none is close."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.55)
    return matches[0] if matches else ""
