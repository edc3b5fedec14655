"""`rpm -qa` of kernels and drivers: which kernel has a module, which versions are mixed."""

from __future__ import annotations

import re

_KERNEL = re.compile(r"^kernel(?:-core|-uek-core|-uek|-rt-core)?-(\d+\.\d+\.\d+-\S+?)(?:\.x86_64|\.aarch64)?$")
_DEVEL = re.compile(r"^kernel(?:-uek|-rt)?-devel-(\d+\.\d+\.\d+-\S+?)(?:\.x86_64|\.aarch64)?$")
_DRIVER = re.compile(
    r"^((?:nvidia-(?!container)|libnvidia-(?!container)|xorg-x11-(?:drv-)?nvidia|akmod-nvidia|kmod-nvidia|cuda-drivers|dkms-nvidia)"
    r"[a-zA-Z0-9-]*?)-(?:\d:)?(\d{3}\.\d+(?:\.\d+)?)-\S+$"
)
_PRECOMPILED = re.compile(
    r"kmod-nvidia(?:-open)?-(?:\d{3}\.[\d.]+-)?(\d+\.\d+\.\d+-[\d.]+?\d)(?:\.el\w+)?-(\d{3}\.\d+(?:\.\d+)?)-"
)
_BUILT_FOR = re.compile(r"kmod-nvidia\S*.*?built for (\d+\.\d+\.\d+-[\w.]+)", re.IGNORECASE)


def short(kernel: str) -> str:
    """A kernel's version without distribution and machine: 4.18.0-553.5.1 of 4.18.0-553.5.1.el8_10.x86_64."""
    return re.sub(r"\.(?:el\w*|fc\d+|x86_64|aarch64|uek|rt).*$", "", kernel)


def kernels(packages: str) -> list[str]:
    """Installed kernels, as `uname -r` has them without the machine."""
    return _unique(_KERNEL, packages)


def kernel_devel(packages: str) -> list[str]:
    """Kernels whose development package is installed."""
    return _unique(_DEVEL, packages)


def _unique(pattern: re.Pattern[str], packages: str) -> list[str]:
    found = [pattern.match(line.strip()) for line in packages.splitlines()]
    return list(dict.fromkeys(match[1] for match in found if match))


def driver_packages(packages: str) -> dict[str, str]:
    """Driver packages, user space and modules without a kernel in their name -> version; firmware of old kmods is not among them."""
    found = [_DRIVER.match(line.strip()) for line in packages.splitlines()]
    return {match[1]: match[2] for match in found if match}


def precompiled_for(packages: str) -> list[str]:
    """Kernels (short form) for which a precompiled kmod-nvidia is installed."""
    names = []
    for line in packages.splitlines():
        found = _PRECOMPILED.match(line.strip()) or _BUILT_FOR.search(line)
        if found:
            names.append(short(found[1]))
    return list(dict.fromkeys(names))
