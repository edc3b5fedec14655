"""One `bedplate serve`: this process is the writer, a second one is the policy."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from bedplate.bundle.bundle import Bundle
from bedplate.core.clock import MonotonicClock
from bedplate.core.signals import StopRequest
from bedplate.runtime.decision import Fault
from bedplate.runtime.guard import ReferenceGuard
from bedplate.runtime.links import connect
from bedplate.runtime.loop import no_garbage_collection
from bedplate.runtime.policy_process import PolicyProcess
from bedplate.runtime.priority import set_real_time_priority
from bedplate.runtime.telemetry import ServeReport, serve_report
from bedplate.runtime.writer import Writer


def serve(
    bundle: Bundle,
    url: str,
    seconds: float | None,
    wait_s: float = 0.0,
    priority: int = 0,
    on_fault: Callable[[Fault], None] = lambda fault: None,
    on_wait: Callable[[], None] = lambda: None,
) -> tuple[ServeReport, str]:
    """Drive the robot at `url` with a bundle's policy behind the guard.

    Args:
        bundle: as read by `read_bundle`.
        url: of the link.
        seconds: how long; None means until SIGINT or SIGTERM.
        wait_s: how long the robot may take to start listening.
        priority: real-time priority of the writer, 0 for none; the policy gets one less.
        on_fault: called once for each latched fault; must not block.
        on_wait: called once when nobody listens yet and the robot is waited for.

    Returns:
        The report, and in words why the policy process ended, "" when it lived.

    Raises:
        BedplateError: no robot listens at `url`, or another writer drives it.
        ContractMismatch: the robot there has another contract.
    """
    guard = ReferenceGuard(bundle.contract, bundle.info.guard)
    link = connect(url, bundle.contract, wait_s, on_wait)
    policy = PolicyProcess(bundle, max(priority - 1, 0))
    try:
        set_real_time_priority(priority)
        writer = Writer(bundle.contract, link, policy.link, guard, MonotonicClock(), on_fault)
        started_s = time.monotonic()
        until_s = math.inf if seconds is None else started_s + seconds
        with StopRequest() as stop, no_garbage_collection():
            end: str = writer.run(lambda: stop.requested or time.monotonic() >= until_s)
        elapsed_s = time.monotonic() - started_s
        if end == "stopped" and stop.requested:
            end = "interrupted"
        died = policy.why_it_ended() if policy.link.peer_gone else ""
        return serve_report(bundle, url, end, elapsed_s, writer, link), died
    finally:
        policy.close()
        link.close()
