"""The one table of what is collected from a host: the live doctor, the collect script and the documents read it.

Commands are POSIX sh, need no root, change nothing, and are run with LC_ALL=C. A source that a user can only paste
has no command.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One text of a snapshot.

    Attributes:
        name: file name in the snapshot folder, without ".txt".
        command: sh line that prints it; empty when only a user can give it.
        holds: what it is for.
        root_adds: what the same command shows more of as root; empty when nothing.
        slow_s: seconds after which it is given up.
    """

    name: str
    command: str
    holds: str
    root_adds: str = ""
    slow_s: float = 6.0


_PCI_IDS = (
    "for d in /sys/bus/pci/devices/*; do "
    'printf "%s %s: %s:%s\\n" "${d##*/}" "$(cut -c3-6 "$d/class")" "$(cut -c3-6 "$d/vendor")" '
    '"$(cut -c3-6 "$d/device")"; done'
)

SOURCES: tuple[Source, ...] = (
    # the machine and its system
    Source("redhat-release", "cat /etc/redhat-release 2>/dev/null || head -n 2 /etc/os-release", "distribution"),
    Source("uname", "uname -r", "running kernel"),
    Source("cmdline", "cat /proc/cmdline", "boot arguments"),
    Source("lscpu", "lscpu", "processor, virtual machine or not"),
    Source("memory", "free -b", "memory"),
    Source("df", "df -P -k / /boot /var /tmp . 2>/dev/null", "free disk space"),
    Source("lsblk", "lsblk -d -o NAME,ROTA,SIZE,TYPE", "kind of disks"),
    Source("shm", "df -P -k /dev/shm", "shared memory"),
    Source("limits", "ulimit -a", "limits of the user"),
    Source("groups", "id -Gn", "groups of the user"),
    # the GPU on the bus and its driver
    Source("lspci", f"lspci -nn 2>/dev/null || {_PCI_IDS}", "devices on the PCI bus", "link widths and regions"),
    Source("lsmod", "lsmod", "loaded modules"),
    Source("modinfo", "modinfo nvidia 2>&1", "nvidia module of the running kernel"),
    Source("nvidia-proc", "cat /proc/driver/nvidia/version", "the nvidia module that is loaded"),
    Source(
        "modprobe",
        "cat /etc/modprobe.d/*nvidia* /etc/modprobe.d/*nouveau* /usr/lib/modprobe.d/*nvidia* 2>/dev/null",
        "module blacklist",
    ),
    Source(
        "rpm-kernel",
        "rpm -qa | grep -E -i 'kernel|nvidia|cuda|dkms|cudnn|container-toolkit' | sort",
        "kernel and driver packages",
    ),
    Source("next-kernel", "grubby --default-kernel", "the kernel of the next boot", "needs root on most systems"),
    Source(
        "module-files",
        "find /lib/modules -name 'nvidia.ko*' 2>/dev/null",
        "kernels that have an nvidia module",
    ),
    Source(
        "dnf",
        "cat /etc/dnf/modules.d/nvidia-driver.module /etc/dnf/plugins/versionlock.list 2>/dev/null; "
        "grep -h -E -i '^(exclude|excludepkgs)' /etc/dnf/dnf.conf 2>/dev/null",
        "module stream, version lock, excluded packages",
    ),
    Source("repos", "grep -h -E '^(\\[|enabled|gpgcheck)' /etc/yum.repos.d/*.repo", "package repositories"),
    Source("dkms-status", "dkms status 2>&1", "modules that DKMS builds"),
    Source(
        "dkms-build",
        "tail -n 200 /var/lib/dkms/nvidia*/*/build/make.log 2>/dev/null",
        "log of a failed build",
    ),
    Source("installer", "tail -n 300 /var/log/nvidia-installer.log 2>/dev/null", "log of a runfile installation"),
    Source("sb-state", "mokutil --sb-state 2>&1", "Secure Boot"),
    Source("mok", "mokutil --list-new 2>&1", "keys that wait for enrolment", "needs root on some systems"),
    Source(
        "journal-kernel",
        "journalctl -k -b --no-pager 2>/dev/null | tail -n 20000 | grep . || dmesg",
        "kernel log",
        "the whole log where users may not read it",
        10.0,
    ),
    Source("messages", "tail -n 20000 /var/log/messages 2>/dev/null", "system log", "readable by root only"),
    Source("nvidia-smi", "nvidia-smi 2>&1", "driver, GPUs, processes", "", 15.0),
    Source("nvidia-smi-query", "nvidia-smi -q 2>&1", "state of every GPU", "", 15.0),
    Source(
        "compute-apps",
        "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv 2>&1",
        "processes on the GPUs",
        "owners and commands of other users' processes",
        15.0,
    ),
    Source("devices", "ls -l /dev/nvidia* /dev/dri /dev/nvidia-caps 2>&1", "device nodes"),
    Source(
        "services",
        "for s in nvidia-persistenced nvidia-fabricmanager nvidia-cdi-refresh dkms tuned; do "
        'printf "%s %s %s\\n" "$s" "$(systemctl is-enabled "$s" 2>/dev/null)" "$(systemctl is-active "$s" 2>/dev/null)"; done',
        "services",
    ),
    # CUDA and Python
    Source("nvcc", "nvcc --version 2>&1 || /usr/local/cuda/bin/nvcc --version 2>&1", "CUDA toolkit"),
    Source(
        "cuda-dirs", "ls -d /usr/local/cuda* 2>/dev/null; ls -l /etc/alternatives/cuda 2>/dev/null", "CUDA toolkits"
    ),
    Source(
        "ldd",
        "ldd --version 2>&1 | head -n 1; ldconfig -p | grep -E 'libcuda|libcudnn|libnvidia-ml|libEGL_nvidia|libnvJitLink'",
        "C library, GPU libraries",
    ),
    Source(
        "env",
        "env | grep -E '^(LD_|CUDA|NVIDIA|NCCL|MUJOCO|PYOPENGL|PYTHON|VIRTUAL_ENV|CONDA|XDG_RUNTIME|DISPLAY|PATH=|OMP_)'",
        "environment",
    ),
    Source(
        "python-version",
        'for p in python3 python3.11 python3.12; do command -v "$p" && "$p" --version; done 2>&1',
        "Python interpreters",
    ),
    Source(
        "pip-list",
        "${VIRTUAL_ENV:+\"$VIRTUAL_ENV/bin/\"}python3 -m pip --disable-pip-version-check list 2>/dev/null | grep -E -i 'torch|nvidia|cuda|mujoco|gym|onnx|tensorrt|numpy|ray|stable|triton|pip|jax'",
        "Python packages",
    ),
    # containers
    Source("podman", "podman --version 2>&1", "podman"),
    Source("podman-info", "podman info 2>&1", "podman's host", "", 10.0),
    Source(
        "cdi",
        "head -n 400 /etc/cdi/*.yaml /var/run/cdi/*.yaml /etc/cdi/*.json /var/run/cdi/*.json 2>/dev/null",
        "CDI specifications",
    ),
    Source(
        "toolkit-config",
        "nvidia-ctk --version 2>&1; cat /etc/nvidia-container-runtime/config.toml 2>/dev/null",
        "container toolkit",
    ),
    Source("hooks-dir", "ls /usr/share/containers/oci/hooks.d/ /etc/containers/oci/hooks.d/ 2>&1", "old OCI hooks"),
    Source("cgroup", "stat -fc %T /sys/fs/cgroup", "cgroup version"),
    Source("subuid", 'grep -c "^$(id -un):" /etc/subuid /etc/subgid 2>&1', "sub-ids of the user"),
    Source(
        "selinux",
        "sestatus 2>/dev/null || getenforce; getsebool container_use_devices 2>/dev/null",
        "SELinux",
        "recent denials",
    ),
    Source(
        "tuned",
        "tuned-adm active 2>/dev/null; cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor /sys/devices/system/cpu/isolated /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null",
        "tuning for serving",
    ),
    # what only a user has
    Source("collect-env", "", "output of python -m torch.utils.collect_env"),
    Source("app-error", "", "what a program printed"),
    Source("traceback", "", "what Python printed"),
)

GROUPS: dict[str, frozenset[str]] = {
    "kernel": frozenset({"journal-kernel", "messages"}),
    "build": frozenset({"dkms-build", "installer", "dkms-status"}),
    "app": frozenset({"app-error", "traceback", "collect-env"}),
    "container": frozenset({"podman", "podman-info"}),
    "package": frozenset({"dnf", "installer"}),
    "smi": frozenset({"nvidia-smi", "nvidia-smi-query"}),
    "selinux": frozenset({"selinux", "messages"}),
}
"""Kinds of texts in which a symptom can be expected; "log" is what a user pastes, and counts for each."""

PASTED = frozenset({"app", "package"})
"""Kinds that no command gives: their checks are asked only when such a text, or a pasted log, is there."""
