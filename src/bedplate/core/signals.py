"""Stopping cleanly: the first SIGINT, SIGTERM or SIGHUP asks, the second one insists.

with StopRequest() as stop:
    while not stop.requested:
        ...one step...
    save_everything()
    stop.finish()          # raises Interrupted when it was asked to stop: exit 130
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from bedplate.core.errors import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""SIGHUP comes when a terminal is closed or a connection is lost."""

INSIST_EXIT_CODE = 130

ECHO_S = 0.2
"""Signals this close to the first one are its echo: a terminal and a parent process may both deliver one Ctrl-C."""

POLL_S = 0.02


class StopRequest:
    """Turns SIGINT, SIGTERM and SIGHUP into a flag while its block runs, and puts the earlier handlers back afterwards.

    The second signal interrupts at once by KeyboardInterrupt, so that `finally` blocks still run; the third ends the
    process without them. Used outside the main thread it handles no signals, and only request() sets the flag.

    Args:
        on_request: called once with the signal's name, in the signal handler, when the first signal arrives.

    Attributes:
        requested: whether somebody asked to stop.
        reason: who did.
    """

    def __init__(self, on_request: Callable[[str], None] | None = None) -> None:
        self._on_request = on_request
        # plain attributes: a lock that the main thread holds would block the handler, which runs in that same thread
        self._earlier: dict[signal.Signals, Any] = {}
        self._signals_seen = 0
        self._first_s = 0.0
        self.requested = False
        self.reason = ""

    def request(self, reason: str = "asked to stop") -> None:
        """Ask to stop, as the first signal does; later reasons don't replace the first."""
        if not self.requested:
            self.reason = reason
            self.requested = True

    def wait(self, timeout_s: float) -> bool:
        """Sleep until somebody asks to stop, at most `timeout_s`; whether they did."""
        end_s = time.monotonic() + timeout_s
        while not self.requested and (left_s := end_s - time.monotonic()) > 0:
            time.sleep(min(left_s, POLL_S))
        return self.requested

    def finish(self, saved: str = "") -> None:
        """End of the work: everything worth keeping is saved.

        Args:
            saved: what was saved and how to go on, for the message.

        Raises:
            Interrupted: a stop was requested.
        """
        if self.requested:
            raise Interrupted(f"{self.reason}; {saved}" if saved else self.reason)

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                # `nohup` ignores SIGHUP on purpose
                if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                    continue
                self._earlier[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._earlier.items():
            # None stands for a handler that was not installed from Python: it cannot be put back
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._earlier.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        name, now_s = signal.Signals(number).name, time.monotonic()
        if self._signals_seen and now_s - self._first_s < ECHO_S:
            return
        self._signals_seen += 1
        if self._signals_seen == 1:
            self._first_s = now_s
            self.request(name)
            if self._on_request is not None:
                self._on_request(name)
        elif self._signals_seen == 2:
            raise KeyboardInterrupt
        else:
            os._exit(INSIST_EXIT_CODE)
