"""Versions as tuples of numbers."""

from __future__ import annotations

import re
from itertools import zip_longest

_NUMBERS = re.compile(r"\d+")


def version(text: str) -> tuple[int, ...]:
    """The numbers of a version: "4.18.0-553.el8_10" is (4, 18, 0, 553, 8, 10)."""
    return tuple(int(number) for number in _NUMBERS.findall(text))


def at_least(text: str, lowest: str) -> bool:
    """Whether a version reaches another one; missing parts count as 0."""
    for have, want in zip_longest(version(text), version(lowest), fillvalue=0):
        if have != want:
            return have > want
    return True


def branch(driver: str) -> int:
    """The branch of an NVIDIA driver: 580 of "580.95.05"; 0 when the text holds no number."""
    numbers = version(driver)
    return numbers[0] if numbers else 0
