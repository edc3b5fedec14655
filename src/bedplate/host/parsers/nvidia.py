"""What NVIDIA's tools print: both banners of nvidia-smi, -q, --query-gpu, modinfo, /proc, device nodes."""

from __future__ import annotations

import re

_VERSION = r"(\d{3,4}\.\d+(?:\.\d+)?)"
_BANNER = re.compile(rf"(?:Driver Version|KMD Version)\s*:\s*{_VERSION}", re.IGNORECASE)
_CUDA = re.compile(r"CUDA (?:UMD )?Version\s*:\s*(\d+\.\d+)", re.IGNORECASE)
_PROC = re.compile(rf"Kernel Module(?: for \S+)?\s+{_VERSION}")
_MODINFO = re.compile(rf"^(?:version:\s*)?{_VERSION}\s*$", re.MULTILINE)
_LIBRARY = re.compile(r"NVML library version:\s*(\d+\.\d+(?:\.\d+)?)")
_FIELD = re.compile(r"^(\s*)([^:\n]+?)\s*:\s*(.*?)\s*$")


def driver_version(text: str) -> str | None:
    """The driver's version in a banner of either form, in `-q`, or in /proc/driver/nvidia/version."""
    found = _BANNER.search(text) or _PROC.search(text)
    return found[1] if found else None


def cuda_version(text: str) -> str | None:
    """The highest CUDA version that the driver offers, from a banner of either form."""
    found = _CUDA.search(text)
    return found[1] if found else None


def module_version(modinfo: str) -> str | None:
    """The version of the module on disk, from the whole of modinfo or from `-F version`."""
    found = _MODINFO.search(modinfo)
    return found[1] if found else None


def library_version(text: str) -> str | None:
    """The version of libnvidia-ml that nvidia-smi names in a mismatch; it may print major and minor only."""
    found = _LIBRARY.search(text)
    return found[1] if found else None


def module_flavour(modinfo: str, proc: str = "") -> str | None:
    """The module's kind, "open" or "proprietary", by licence or by the name in /proc."""
    if "Dual MIT/GPL" in modinfo or "Open Kernel Module" in proc:
        return "open"
    if re.search(r"^license:\s*NVIDIA", modinfo, re.MULTILINE) or "NVRM version" in proc:
        return "proprietary"
    return None


def query_fields(text: str) -> dict[str, list[str]]:
    """`nvidia-smi -q` as "section/field" and "field" -> values in order, one for each GPU."""
    values: dict[str, list[str]] = {}
    sections: list[tuple[int, str]] = []
    for line in text.splitlines():
        found = _FIELD.match(line)
        if found:
            while sections and sections[-1][0] >= len(found[1]):
                sections.pop()
            name = found[2].strip()
            for key in {name, f"{sections[-1][1]}/{name}" if sections else name}:
                values.setdefault(key, []).append(found[3])
        elif line.strip() and not line.strip().startswith("="):
            indent = len(line) - len(line.lstrip())
            while sections and sections[-1][0] >= indent:
                sections.pop()
            sections.append((indent, line.strip()))
    return values


def query_csv(text: str) -> list[dict[str, str]]:
    """`--query-gpu=... --format=csv` as rows; throttle reasons get their new name, units stay in the values."""
    lines = [line for line in text.splitlines() if "," in line]
    if not lines:
        return []
    names = [re.sub(r"\s*\[.*\]", "", name).strip() for name in lines[0].split(",")]
    names = [name.replace("clocks_throttle_reasons", "clocks_event_reasons") for name in names]
    rows = [[value.strip() for value in line.split(",")] for line in lines[1:]]
    return [dict(zip(names, row, strict=True)) for row in rows if len(row) == len(names)]
