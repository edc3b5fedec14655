"""Progress on stderr: a bar on a terminal, a line now and then in a file or a pipe."""

from __future__ import annotations

import time
from typing import Any

from rich.progress import Progress, ProgressColumn, TaskID

from bedplate.cli import render

LINE_EVERY_S = 30.0
"""Time between two lines where there is no terminal to draw a bar on."""


class LateBar(Progress):
    """A bar that appears with the first progress, so that a command's refusal is not preceded by an empty bar.

    Args:
        columns: as for rich.progress.Progress.
    """

    def __init__(self, *columns: str | ProgressColumn) -> None:
        super().__init__(*columns, console=render.err, disable=not render.err.is_terminal)
        self._last_line_s: dict[TaskID, float] = {}

    def __enter__(self) -> LateBar:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def show(self, row: TaskID, line: str) -> None:
        """Before an update: draw the bar, or print `line` when the last one is old.

        Args:
            row: the row of the bar.
            line: the progress in words.
        """
        if render.err.is_terminal:
            self.start()
            return
        now_s = time.monotonic()
        last_s = self._last_line_s.setdefault(row, now_s)
        if now_s - last_s >= LINE_EVERY_S:
            self._last_line_s[row] = now_s
            render.show_note(line)
