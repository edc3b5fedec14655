"""A log of any length becomes a text of bounded length that keeps every kind of line a check can ask for."""

from __future__ import annotations

from typing import BinaryIO

SMALL_BYTES = 256 * 1024
"""A text of this length is kept as it is."""

BLOCK_BYTES = 256 * 1024
PER_SHAPE = 12
MAX_LINES = 6000
MAX_LINE_BYTES = 2000

KEYS: tuple[bytes, ...] = (
    b"nvrm",
    b"nvidia",
    b"nvml",
    b"xid",
    b"nouveau",
    b"cuda",
    b"cudnn",
    b"signed",
    b"dkms",
    b"podman",
    b"cdi",
    b"shm",
    b"shared memory",
    b"bus error",
    b"avc:",
    b"egl",
    b"opengl",
    b"glfw",
    b"torch",
    b"glibc",
    b"no space",
    b"out of memory",
    b"oom-kill",
    b"traceback",
    b"lockdown",
    b"aer:",
    b"dmar",
    b"amd-vi",
    b"bar ",
)
"""Lower-case words; a line of a long log is kept when it has one of them. Together they cover every check's hints
that a kernel log can have (tests/host/test_checks.py)."""

_DIGITS = b"0123456789"


def read_reduced(stream: BinaryIO) -> bytes:
    """The stream's text: whole when it is small, otherwise its start and its lines of interest, few of each shape."""
    head = stream.read(SMALL_BYTES + 1)
    if len(head) <= SMALL_BYTES or head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return head[:SMALL_BYTES]
    seen: dict[bytes, int] = {}
    kept: list[bytes] = []
    rest, more = head, b"-"
    while more and len(kept) < MAX_LINES:
        more = stream.read(BLOCK_BYTES)
        block, rest = _whole_lines(rest + more, bool(more))
        _keep(block, seen, kept)
    return b"\n".join(kept)


def _whole_lines(block: bytes, more: bool) -> tuple[bytes, bytes]:
    if not more:
        return block, b""
    end = block.rfind(b"\n")
    # a line longer than a block is cut
    return (block[:end], block[end + 1 :]) if end >= 0 else (block, b"")


def _keep(block: bytes, seen: dict[bytes, int], kept: list[bytes]) -> None:
    lower = block.lower()
    for start, end in sorted(_lines_of_interest(lower)):
        # lines that differ in their numbers only have one shape
        shape = lower[max(start, end - 120) : end].translate(None, _DIGITS)
        count = seen.get(shape, 0)
        if count < PER_SHAPE and len(kept) < MAX_LINES:
            seen[shape] = count + 1
            kept.append(block[start : min(end, start + MAX_LINE_BYTES)])


def _lines_of_interest(lower: bytes) -> set[tuple[int, int]]:
    """Start and end of each line that has a key; a search by key costs less than a look at every line."""
    lines: set[tuple[int, int]] = set()
    for key in KEYS:
        position = lower.find(key)
        while position >= 0:
            end = lower.find(b"\n", position)
            end = len(lower) if end < 0 else end
            lines.add((lower.rfind(b"\n", 0, position) + 1, end))
            position = lower.find(key, end)
    return lines
