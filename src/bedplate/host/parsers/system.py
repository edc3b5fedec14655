"""Distribution, sizes, containers, Python: short texts of many tools."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RELEASE = (
    ("rhel", r"Red Hat Enterprise Linux"),
    ("rocky", r"Rocky Linux"),
    ("alma", r"AlmaLinux"),
    ("centos-stream", r"CentOS Stream"),
    ("centos", r"CentOS"),
    ("oracle", r"Oracle Linux"),
    ("fedora", r"Fedora"),
    ("debian", r"Debian"),
    ("ubuntu", r"Ubuntu"),
    ("suse", r"SUSE"),
)
EL_FAMILY = frozenset({"rhel", "rocky", "alma", "centos", "centos-stream", "oracle"})


@dataclass(frozen=True)
class OsRelease:
    """Distribution and version, such as ("rhel", "8.10")."""

    id: str
    version: str

    @property
    def el_major(self) -> int | None:
        """8 on RHEL 8 and its rebuilds; None elsewhere."""
        return int(self.version.split(".")[0]) if self.id in EL_FAMILY and self.version else None


def os_release(text: str) -> OsRelease | None:
    """The distribution of /etc/redhat-release, /etc/os-release, or a line such as collect_env's "OS:"."""
    for name, pattern in _RELEASE:
        found = re.search(rf"{pattern}[^\d\n]*(\d+(?:\.\d+)?)?", text, re.IGNORECASE)
        if found:
            return OsRelease(name, found[1] or "")
    return None


def podman_version(text: str) -> str | None:
    """The version in `podman --version`, `podman version` or `podman info`."""
    found = re.search(r"podman version (\d+\.\d+[.\d]*)", text, re.IGNORECASE) or re.search(
        r"^[ \t]*Version:\s*(\d+\.\d+[.\d]*)", text, re.MULTILINE
    )
    return found[1] if found else None


def cgroup_version(info: str, filesystem: str = "") -> int | None:
    """1 or 2, from `podman info` or from the file system's name."""
    found = re.search(r"cgroup(?:s)?Version:\s*v?([12])", info, re.IGNORECASE)
    if found:
        return int(found[1])
    return {"cgroup2fs": 2, "tmpfs": 1}.get(filesystem.strip())


def cdi_driver_versions(spec: str) -> list[str]:
    """Driver versions that the library names of a CDI specification carry."""
    return list(dict.fromkeys(re.findall(r"lib[\w-]+\.so\.(\d{3}\.\d+(?:\.\d+)?)", spec)))


def disk_rows(df: str) -> list[tuple[str, int, int]]:
    """(mount point, size, available) in bytes, of `df -P -k` or `df -P`; `df -h` is read too."""
    rows = []
    for line in df.splitlines():
        parts = line.split()
        if len(parts) >= 6 and parts[4].endswith("%"):
            size, free = _bytes(parts[1]), _bytes(parts[3])
            if size is not None and free is not None:
                rows.append((parts[5], size, free))
    return list(dict.fromkeys(rows))


def _bytes(text: str) -> int | None:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGTP]?)", text)
    if not found:
        return None
    if not found[2]:
        return int(float(found[1]) * 1024)
    return int(float(found[1]) * 1024 ** ("KMGTP".index(found[2]) + 1))


def torch_version(text: str) -> str | None:
    """The torch of `pip list`, `pip freeze` or collect_env, with its local part such as "+cu126"."""
    found = re.search(r"^[ \t]*(?:PyTorch version:|torch(?:==|\s+))\s*(\d+\.\d+[\w.+]*)", text, re.MULTILINE)
    return found[1] if found else None


def torch_cuda(text: str) -> str | None:
    """The CUDA that torch was built with: "12.6", or "none" of a CPU-only build."""
    found = re.search(r"CUDA used to build PyTorch:\s*(\S+)", text)
    if found:
        return "none" if found[1] in ("None", "N/A", "Could") else found[1]
    local = re.search(r"\+(cpu|cu\d{2,3})\b", torch_version(text) or "")
    if not local:
        return None
    return "none" if local[1] == "cpu" else f"{local[1][2:-1]}.{local[1][-1]}"


def glibc_version(text: str) -> str | None:
    """The C library's version in `ldd --version` or collect_env."""
    found = re.search(r"(?:^ldd \([^)]*\)|glibc-?)\s*(\d\.\d+)", text, re.MULTILINE)
    return found[1] if found else None
