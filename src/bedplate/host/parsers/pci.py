"""GPUs on the PCI bus: `lspci`, with or without numbers, or plain lines from /sys."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BUS = re.compile(r"^\s*((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])\s", re.IGNORECASE)
_NUMBERS = re.compile(r"10de:([0-9a-f]{4})", re.IGNORECASE)
_DISPLAY = re.compile(r"VGA compatible|3D controller|Display controller|^\s*\S+ 030[02]:", re.IGNORECASE)
_OTHER = re.compile(r"audio|usb|serial bus|bridge|ethernet|infiniband", re.IGNORECASE)
_NAME = re.compile(r"NVIDIA(?: Corporation)?\s+(.+?)(?:\s*\(rev .*\))?\s*$")
_CHIP = re.compile(r"\b(GF|GK|GM|GP|GV|TU|GA|AD|GH|GB)\d{2,3}[A-Z]*\b")

GENERATIONS = {
    "GF": "fermi",
    "GK": "kepler",
    "GM": "maxwell",
    "GP": "pascal",
    "GV": "volta",
    "TU": "turing",
    "GA": "ampere",
    "AD": "ada",
    "GH": "hopper",
    "GB": "blackwell",
}

_BY_NAME = (
    ("blackwell", r"\bB[123]00\b|\bGB200\b|RTX (?:PRO )?50\d0|RTX PRO \d000 Blackwell"),
    ("hopper", r"\bH[12]00\b|\bH20\b|\bGH200\b|\bH800\b"),
    ("ada", r"RTX 40\d0|\bL40S?\b|\bL4\b|RTX \d000 Ada"),
    ("ampere", r"RTX 30\d0|RTX A\d{4}|\bA(?:100|800|10|30|40|16|2)\b"),
    ("turing", r"RTX 20\d0|\bT4\b|GTX 16\d0|Quadro RTX|TITAN RTX"),
    ("volta", r"\bV100S?\b|TITAN V\b"),
    ("pascal", r"GTX 10\d0|GT 10\d0|\bP100\b|\bP40\b|\bP4\b|Quadro P\d+|TITAN Xp"),
    ("maxwell", r"GTX 9\d0|GTX 750|\bM60\b|\bM40\b|Quadro M\d+"),
    ("kepler", r"\bK80\b|\bK40\b|\bK20|GTX 7[678]0|Quadro K\d+"),
)


@dataclass(frozen=True)
class PciGpu:
    """One NVIDIA GPU on the bus.

    Attributes:
        bus: such as "01:00.0"; empty when the line has none.
        name: as the line has it.
        generation: such as "ampere"; empty when neither chip nor name tells.
        lost: the card answers with ones only ("rev ff").
    """

    bus: str
    name: str
    generation: str
    lost: bool


def generation_of(name: str) -> str:
    """The generation of a GPU by its chip or product name; "" when it does not tell."""
    chip = _CHIP.search(name)
    if chip:
        return GENERATIONS[chip[1]]
    return next((generation for generation, pattern in _BY_NAME if re.search(pattern, name)), "")


def nvidia_gpus(lspci: str) -> list[PciGpu]:
    """NVIDIA GPUs in `lspci`, not their audio and USB functions."""
    gpus = []
    for line in lspci.splitlines():
        if not ("nvidia" in line.lower() or _NUMBERS.search(line)) or line.startswith("\t"):
            continue
        if _OTHER.search(line) or (":" in line and _BUS.match(line) and not _DISPLAY.search(line)):
            continue
        bus, name = _BUS.match(line), _NAME.search(line)
        text = name[1] if name else line.strip()
        gpus.append(PciGpu(bus[1] if bus else "", text, generation_of(text), "(rev ff)" in line))
    return gpus
