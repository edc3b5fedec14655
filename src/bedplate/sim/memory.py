"""Memory that a simulation or a training is going to need, asked before the kernel ends the process for it."""

from __future__ import annotations

import os

from bedplate.core.errors import BedplateError


def machine_memory_bytes() -> int:
    """Memory of this machine, used or not."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def require_memory(what: str, needed_bytes: int, next_step: str) -> None:
    """Refuse what cannot fit, whatever else runs here.

    Args:
        what: that needs the memory, such as "100000000 worlds".
        needed_bytes: at least.
        next_step: what the user can make smaller.

    Raises:
        BedplateError: the machine has less.
    """
    present = machine_memory_bytes()
    if needed_bytes > present:
        raise BedplateError(
            f"{what} need {needed_bytes / 1e9:,.0f} GB of memory",
            f"at most the {present / 1e9:,.0f} GB of this machine",
            next_step,
        )
