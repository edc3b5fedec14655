"""Texts become facts; what cannot be told is Unknown with the reason, and with the command that would tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from bedplate.core.check import Unknown
from bedplate.host.parsers import dkms, nvidia, pci, rpm, system
from bedplate.host.snapshot import Snapshot
from bedplate.host.versions import version

T = TypeVar("T")


@dataclass(frozen=True)
class HostFacts:
    """One host; every leaf is a value or Unknown.

    Attributes:
        os: distribution and version.
        kernel: `uname -r`.
        next_kernel: the kernel of the next boot.
        kernels: installed kernels.
        devel_kernels: kernels whose development package is installed.
        module_kernels: kernels that have an nvidia module on disk.
        cmdline: boot arguments.
        modules: loaded modules.
        gpus: NVIDIA GPUs on the bus.
        virtual: the hypervisor; "" on bare metal.
        driver: version of the loaded module or of the banner.
        module_version: version of the module on disk.
        module_flavour: "open" or "proprietary".
        library: version of the user-space libraries.
        packages: driver packages -> version.
        precompiled: kernels (short) with a precompiled module.
        cuda: highest CUDA of the driver.
        secure_boot: on or off.
        dkms: lines of `dkms status`.
        devices: text of the device nodes.
        smi: text of nvidia-smi.
        query: fields of `nvidia-smi -q`.
        query_rows: rows of `--query-gpu`.
        services: service -> (enabled, active).
        toolkits: CUDA toolkits in /usr/local.
        torch: version of torch.
        torch_cuda: CUDA of that build, or "none".
        glibc: version of the C library.
        env: environment variables.
        python: text of the interpreters.
        podman: version.
        cgroup: 1 or 2.
        cdi: text of the CDI specifications.
        cdi_drivers: driver versions named there.
        shm_bytes: size of /dev/shm.
        disks: (mount point, size, available) in bytes.
        blacklist: modprobe configuration.
        stream: text of the enabled module stream and version lock.
        subuid: text of the sub-id counts.
        limits: text of `ulimit -a`.
        tuning: text of tuned, governor, isolated cores and clock source.
    """

    os: system.OsRelease | Unknown
    kernel: str | Unknown
    next_kernel: str | Unknown
    kernels: list[str] | Unknown
    devel_kernels: list[str] | Unknown
    module_kernels: list[str] | Unknown
    cmdline: str | Unknown
    modules: list[str] | Unknown
    gpus: list[pci.PciGpu] | Unknown
    virtual: str | Unknown
    driver: str | Unknown
    module_version: str | Unknown
    module_flavour: str | Unknown
    library: str | Unknown
    packages: dict[str, str] | Unknown
    precompiled: list[str] | Unknown
    cuda: str | Unknown
    secure_boot: bool | Unknown
    dkms: list[dkms.DkmsLine] | Unknown
    devices: str | Unknown
    smi: str | Unknown
    query: dict[str, list[str]] | Unknown
    query_rows: list[dict[str, str]] | Unknown
    services: dict[str, tuple[str, str]] | Unknown
    toolkits: list[str] | Unknown
    torch: str | Unknown
    torch_cuda: str | Unknown
    glibc: str | Unknown
    env: dict[str, str] | Unknown
    python: str | Unknown
    podman: str | Unknown
    cgroup: int | Unknown
    cdi: str | Unknown
    cdi_drivers: list[str] | Unknown
    shm_bytes: int | Unknown
    disks: list[tuple[str, int, int]] | Unknown
    blacklist: str | Unknown
    stream: str | Unknown
    subuid: str | Unknown
    limits: str | Unknown
    tuning: str | Unknown

    def mapping(self) -> dict[str, Any]:
        """Name -> value, as checks take them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def derive(snapshot: Snapshot) -> HostFacts:
    """The facts of a snapshot."""
    texts = snapshot.texts
    everything = "\n".join(texts.values())
    smi_text = texts.get("nvidia-smi", "") or texts.get("log", "")
    smi = "\n".join(texts.get(name, "") for name in ("nvidia-smi", "nvidia-proc", "nvidia-smi-query", "log"))
    packages = texts.get("rpm-kernel", "")
    python_text = "\n".join(texts.get(name, "") for name in ("pip-list", "collect-env", "log", "app-error"))
    info = texts.get("podman-info", "") + "\n" + texts.get("podman", "") + "\n" + texts.get("log", "")
    driver_rows = _drivers(texts)

    def read(names: str, parse: Callable[[str], T | None]) -> T | Unknown:
        return _read(texts, names, parse)

    return HostFacts(
        os=_known(system.os_release(texts.get("redhat-release", "") or texts.get("collect-env", "")), "redhat-release"),
        kernel=_known(_release(texts.get("uname", "")), "uname"),
        next_kernel=read("next-kernel", lambda text: _release(text.replace("/boot/vmlinuz-", ""))),
        kernels=read("rpm-kernel", rpm.kernels),
        devel_kernels=read("rpm-kernel", rpm.kernel_devel),
        module_kernels=read("module-files", _module_kernels),
        cmdline=read("cmdline", str.strip),
        modules=read("lsmod", _modules),
        gpus=read("lspci", pci.nvidia_gpus),
        virtual=read("lscpu", _hypervisor),
        driver=_known(nvidia.driver_version(smi), "nvidia-smi"),
        module_version=read("modinfo", nvidia.module_version),
        module_flavour=_known(nvidia.module_flavour(texts.get("modinfo", ""), texts.get("nvidia-proc", "")), "modinfo"),
        library=_known(driver_rows.get("libnvidia-ml") or nvidia.library_version(everything), "nvidia-smi"),
        packages=_known(driver_rows if packages else None, "rpm-kernel"),
        precompiled=read("rpm-kernel", rpm.precompiled_for),
        cuda=_known(nvidia.cuda_version(smi_text), "nvidia-smi"),
        secure_boot=read("sb-state", _secure_boot),
        dkms=read("dkms-status", dkms.dkms_lines),
        devices=read("devices", str.strip),
        smi=read("nvidia-smi", str.strip),
        query=read("nvidia-smi-query", nvidia.query_fields),
        query_rows=read("nvidia-smi-query", nvidia.query_csv),
        services=read("services", _services),
        toolkits=read("cuda-dirs", _toolkits),
        torch=_known(system.torch_version(python_text), "pip-list"),
        torch_cuda=_known(system.torch_cuda(python_text), "collect-env"),
        glibc=_known(system.glibc_version(texts.get("ldd", "") + "\n" + texts.get("collect-env", "")), "ldd"),
        env=read("env", _env),
        python=read("python-version", str.strip),
        podman=_known(system.podman_version(info), "podman"),
        cgroup=_known(system.cgroup_version(info, texts.get("cgroup", "")), "cgroup"),
        cdi=read("cdi", str.strip),
        cdi_drivers=read("cdi", system.cdi_driver_versions),
        shm_bytes=read("shm", _shm),
        disks=read("df", system.disk_rows),
        blacklist=read("modprobe", str.strip),
        stream=read("dnf", str.strip),
        subuid=read("subuid", str.strip),
        limits=read("limits", str.strip),
        tuning=read("tuned", str.strip),
    )


def _known(value: T | None, source: str) -> T | Unknown:
    return Unknown(f"nothing in {source} tells") if value is None else value


def _read(texts: Mapping[str, str], name: str, parse: Callable[[str], T | None]) -> T | Unknown:
    text = texts.get(name, "")
    if not text.strip():
        return Unknown(f"{name} was not collected")
    return _known(parse(text), name)


def _release(text: str) -> str | None:
    words = [word for word in text.split() if len(version(word)) >= 3 and word[0].isdigit()]
    return words[0] if words else None


def _drivers(texts: Mapping[str, str]) -> dict[str, str]:
    return rpm.driver_packages(texts.get("rpm-kernel", ""))


def _modules(text: str) -> list[str]:
    return [line.split()[0] for line in text.splitlines() if line.strip() and not line.startswith("Module ")]


def _module_kernels(text: str) -> list[str]:
    parts = [line.split("/") for line in text.splitlines()]
    return list(dict.fromkeys(part[3] for part in parts if len(part) > 3 and part[2] == "modules"))


def _hypervisor(text: str) -> str:
    found = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("Hypervisor vendor")]
    return found[0] if found else ""


def _secure_boot(text: str) -> bool | None:
    if "SecureBoot enabled" in text:
        return "validation is disabled" not in text
    off = ("SecureBoot disabled", "EFI variables are not supported", "doesn't support Secure Boot")
    return False if any(phrase in text for phrase in off) else None


def _services(text: str) -> dict[str, tuple[str, str]]:
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}


def _toolkits(text: str) -> list[str]:
    names = [line.strip().rstrip("/") for line in text.splitlines()]
    return [name for name in names if name.startswith("/usr/local/cuda-") and name.count(".") == 1]


def _env(text: str) -> dict[str, str]:
    pairs = [line.partition("=") for line in text.splitlines() if "=" in line]
    return {name.removeprefix("export ").strip(): value.strip().strip("\"'") for name, _, value in pairs}


def _shm(text: str) -> int | None:
    rows = [size for mount, size, _ in system.disk_rows(text) if mount.endswith("/shm")]
    return rows[0] if rows else None
