"""Notes from a control loop to the terminal: a terminal that stands still must not stop the loop."""

from __future__ import annotations

import queue
import threading
from types import TracebackType

from bedplate.cli import render


class BackgroundNotes:
    """Prints notes in a thread of its own; `say` never blocks."""

    def __init__(self) -> None:
        self._notes: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._print, daemon=True)
        self._closed = False

    def say(self, text: str) -> None:
        """Print `text` soon, as one line on stderr."""
        self._notes.put(text)

    def __enter__(self) -> BackgroundNotes:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._notes.put(None)
        # what cannot be printed within a second is dropped
        self._thread.join(1.0)
        self._closed = True

    def _print(self) -> None:
        while (text := self._notes.get()) is not None and not self._closed:
            render.show_note(text)
