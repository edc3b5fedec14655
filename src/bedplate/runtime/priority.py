"""Real-time scheduling, for loops that share their machine with other work."""

from __future__ import annotations

import os

from bedplate.core.errors import BedplateError

LOWEST, HIGHEST = 1, 99


def set_real_time_priority(priority: int) -> None:
    """Put this process under SCHED_FIFO; processes that it starts are scheduled normally.

    Args:
        priority: 1 to 99; 0 changes nothing.

    Raises:
        BedplateError: the priority does not exist, or the kernel does not permit it.
    """
    if priority == 0:
        return
    if not LOWEST <= priority <= HIGHEST:
        raise BedplateError(f"real-time priority {priority}", f"{LOWEST} to {HIGHEST}, or 0 for none")
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
    except OSError as error:
        raise BedplateError(
            f"the kernel refuses real-time priority {priority}: {error.strerror}",
            "root, CAP_SYS_NICE, or a limit of at least that much (see `ulimit -r`)",
            "add `USER - rtprio 99` to /etc/security/limits.d/bedplate.conf and log in again",
        ) from error
