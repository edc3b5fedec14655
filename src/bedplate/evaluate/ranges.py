"""What was drawn from where while worlds were measured, in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from bedplate.tasks.spec import Event, Task


def active_ranges(task: Task, randomisation: bool) -> dict[str, dict[str, str]]:
    """Event -> what it draws -> from where; events that are off, or that declare no range, are left out."""
    ranges = {event.name: _texts(event) for event in task.events if randomisation or not event.randomisation}
    return {name: texts for name, texts in ranges.items() if texts}


def _texts(event: Event) -> dict[str, str]:
    texts = {name: in_words(value) for name, value in event.ranges.items()}
    if event.mode == "interval" and texts:
        texts["every_s"] = in_words(event.interval_s)
    return texts


def in_words(value: Any) -> str:
    """A range as text: "0.8 to 1.2" for a pair; the extremes of longer rows; the fields of a dataclass."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return "; ".join(f"{name} {in_words(inner)}" for name, inner in fields)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)) and value and all(_is_number(item) for item in value):
        return _row(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(in_words(item) for item in value)
    return f"{value:.6g}" if _is_number(value) else str(value)


def _row(values: Sequence[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.6g}"
    text = f"{min(values):.6g} to {max(values):.6g}"
    return text if len(values) == 2 else f"{text} ({len(values)} values)"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
