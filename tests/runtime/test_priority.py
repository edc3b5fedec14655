"""Real-time priority, always in a process of its own: the tests must not run under it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bedplate.core.errors import BedplateError
from bedplate.runtime.priority import set_real_time_priority

CODE = """
import os
from bedplate.core.errors import BedplateError
from bedplate.runtime.priority import set_real_time_priority
{before}
try:
    set_real_time_priority(10)
    print(os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK, os.sched_getparam(0).sched_priority)
except BedplateError as error:
    print(error)
"""


def outcome(before: str = "") -> str:
    argv = [sys.executable, "-c", CODE.format(before=before)]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_where_the_kernel_permits_it_the_process_is_under_fifo() -> None:
    found = outcome()
    if "refuses" in found:
        pytest.skip("the kernel permits this user no real-time priority")
    assert found.split() == [str(os.SCHED_FIFO), "10"]


def test_where_the_kernel_refuses_it_the_message_says_what_to_do() -> None:
    if os.getuid() != 0:
        pytest.skip("needs root, to become nobody")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0)); os.setgid(65534); os.setuid(65534)"
    assert "kernel refuses" in outcome(limit) and "rtprio" in outcome(limit)


@pytest.mark.parametrize("priority", [-1, 100])
def test_a_priority_that_does_not_exist_is_refused(priority: int) -> None:
    with pytest.raises(BedplateError, match="priority"):
        set_real_time_priority(priority)


def test_no_priority_changes_nothing() -> None:
    before = os.sched_getscheduler(0)
    set_real_time_priority(0)
    assert os.sched_getscheduler(0) == before
