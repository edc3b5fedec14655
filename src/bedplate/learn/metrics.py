"""metrics.jsonl: one JSON object per logged update, with Stable-Baselines3's keys."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from stable_baselines3.common.logger import KVWriter

from bedplate.core.files import storage_error


class JsonLines(KVWriter):
    """Writes each update as one line, flushed, so that a killed run keeps what it logged.

    Args:
        path: the file; it is appended to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise storage_error(path, error) from error

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Write numbers; what is not a finite number is left out."""
        numbers = {"step": step}
        for key, value in sorted(key_values.items()):
            if isinstance(value, (int, float)) or hasattr(value, "item"):
                number = value.item() if hasattr(value, "item") else value
                if math.isfinite(number):
                    numbers[key] = number
        try:
            self.file.write(json.dumps(numbers) + "\n")
            self.file.flush()
        except OSError as error:
            raise storage_error(self.path, error) from error

    def close(self) -> None:
        """Close the file."""
        self.file.close()
