"""Which driver stream serves the GPUs of a host, and what it holds: never one that floats."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bedplate.core.errors import BedplateError
from bedplate.host.matrix import driver_branch, rows

FIXED = re.compile(r"(\d{3})-(open|dkms)")
DEFAULT = 580
"""Long-term branch to June 2028, the last of Maxwell, Pascal and Volta; seen in the RHEL 8 repository."""

LAST_PROPRIETARY = 610
"""Branches after it have open modules only."""


def flavour_of(stream: str) -> str:
    """Flavour of the kernel modules: "open" or "proprietary"."""
    return "open" if stream.endswith("-open") else "proprietary"


def kmod_of(stream: str) -> str:
    """The package of kernel modules that a stream holds."""
    return f"kmod-nvidia-{'open' if flavour_of(stream) == 'open' else 'latest'}-dkms"


def choose(generations: Iterable[str], current: str = "") -> str:
    """The stream for GPUs of these generations; the current one when it fits.

    Raises:
        BedplateError: no one driver serves them all, or a generation is not in the matrix.
    """
    names = sorted(set(generations))
    known = {row["generation"]: row for row in rows("gpu_generations")}
    unknown = [name or "unknown" for name in names if name not in known]
    if unknown:
        raise BedplateError(f"GPU of the generation {unknown[0]}", f"one of {', '.join(known)}", "--stream 580-open")
    flavours = set.intersection(*({str(f) for f in known[name]["flavour"]} for name in names))
    if not flavours:
        found = f"GPUs of the generations {', '.join(names)}: no one driver serves them all"
        raise BedplateError(found, "cards that one kernel module can drive", "take one kind out of the machine")
    if current and not refusal(current, names):
        return current
    return f"{DEFAULT}-open" if "open" in flavours else f"{DEFAULT}-dkms"


def refusal(stream: str, generations: Iterable[str]) -> str:
    """Why a stream does not do for GPUs of these generations; "" when it does."""
    found = FIXED.fullmatch(stream)
    if not found:
        return f"stream {stream!r} floats or is precompiled: it is no NNN-open or NNN-dkms"
    branch, flavour = int(found[1]), flavour_of(stream)
    if flavour == "proprietary" and branch > LAST_PROPRIETARY:
        return f"branch {branch} has open modules only"
    life = driver_branch(branch)
    if life is not None and life.ended:
        return f"branch {branch} ended in {life.end}"
    for row in rows("gpu_generations"):
        if row["generation"] not in set(generations):
            continue
        if flavour not in row["flavour"]:
            return f"the {flavour} module does not drive {row['generation']}"
        if row.get("last_branch") and branch > row["last_branch"]:
            return f"{row['generation']} ends with branch {row['last_branch']}"
    return ""
