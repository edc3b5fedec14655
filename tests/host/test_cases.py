"""Whole snapshots, written in the manner of real failures: the root cause is the first finding; a healthy host passes."""

from __future__ import annotations

import pytest

from bedplate.core.check import Status, do_text, verdict
from bedplate.host.doctor import diagnose
from bedplate.host.snapshot import Snapshot

EL8 = "Red Hat Enterprise Linux release 8.10 (Ootpa)\n"
KERNEL = "4.18.0-553.16.1.el8_10.x86_64\n"

# name -> (texts, code of the first finding, words of its summary and remedy)
CASES: dict[str, tuple[dict[str, str], str, tuple[str, ...]]] = {
    "nouveau bound although the initramfs keeps it out": (
        {
            "cmdline": "ro rd.driver.blacklist=nouveau",
            "journal-kernel": "[ 4.1] nouveau 0000:65:00.0: NVIDIA GV100 (140000a1)\n[ 4.2] nouveau 0000:65:00.0: DRM: VRAM: 32768 MiB",
            "uname": KERNEL,
        },
        "HOST-NOUVEAU",
        ("65:00.0", "modprobe.blacklist=nouveau", "dracut", "reboot"),
    ),
    "key not enrolled": (
        {
            "sb-state": "SecureBoot enabled",
            "modprobe": "modprobe: ERROR: could not insert 'nvidia': Required key not available",
            "nvidia-smi": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        },
        "HOST-SB-REJECTED",
        ("Secure Boot", "mokutil --import", "Enroll MOK"),
    ),
    "kernel update without headers": (
        {
            "dkms-build": "Error! Your kernel headers for kernel 4.18.0-553.16.1.el8_10.x86_64 cannot be found at /lib/modules/x",
            "dkms-status": "nvidia/580.95.05, 4.18.0-477.el8.x86_64, x86_64: installed",
            "uname": KERNEL,
            "nvidia-smi": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        },
        "HOST-HEADERS",
        ("4.18.0-553.16.1", "dnf install kernel-devel-4.18.0-553.16.1.el8_10.x86_64"),
    ),
    "no precompiled module for the kernel": (
        {
            "uname": KERNEL,
            "rpm-kernel": "kmod-nvidia-550.54.15-4.18.0-513.24.1-550.54.15-3.el8_9.x86_64\nnvidia-driver-cuda-550.54.15-1.el8.x86_64",
            "nvidia-smi": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        },
        "HOST-KMOD-KERNEL",
        ("513.24.1", "553.16.1", "grubby --set-default"),
    ),
    "partial upgrade": (
        {
            "nvidia-smi": "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95",
            "modinfo": "580.82.07",
            "rpm-kernel": "libnvidia-ml-580.95.05-1.el8.x86_64\nkmod-nvidia-open-dkms-580.82.07-1.el8.x86_64",
        },
        "HOST-NVML-MISMATCH",
        ("580.95.05", "580.82.07", "one version"),
    ),
    "open module on a Volta card": (
        {
            "journal-kernel": "NVRM: The NVIDIA GPU 0000:3b:00.0 (PCI ID: 10de:1db6)\nNVRM: installed in this system is not supported by open\nNVRM: nvidia.ko because it does not include the required GPU\nNVRM: System Processor (GSP).\nNVRM: None of the NVIDIA devices were initialized.",
            "nvidia-smi": "No devices were found",
        },
        "HOST-OPEN-OLD",
        ("proprietary", "580-dkms"),
    ),
    "closed module on a Blackwell card": (
        {
            "journal-kernel": "NVRM: The NVIDIA GPU 0000:02:00.0 (PCI ID: 10de:2bb1)\nNVRM: installed in this system requires use of the NVIDIA open kernel modules.\nNVRM: GPU 0000:02:00.0: RmInitAdapter failed! (0x22:0x56:884)",
            "nvidia-smi": "No devices were found",
        },
        "HOST-CLOSED-NEW",
        ("open-dkms",),
    ),
    "no address space in a virtual machine": (
        {
            "journal-kernel": "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\nNVRM: BAR1 is 0M @ 0x0 (PCI:0000:0b:00.0)\nnvidia: probe of 0000:0b:00.0 failed with error -1\nNVRM: None of the NVIDIA devices were initialized.",
            "nvidia-smi": "No devices were found",
        },
        "HOST-BAR",
        ("64bitMMIOSizeGB", "Above 4G"),
    ),
    "nothing but no devices": (
        {
            "nvidia-smi": "No devices were found",
            "lspci": "13:00.0 3D controller: NVIDIA Corporation GA100 [A100] (rev a1)",
        },
        "HOST-NO-DEVICES",
        ("dmesg", "NVRM", "MMIO"),
    ),
    "fabric in progress": (
        {
            "nvidia-smi-query": "    Fabric\n        State : In Progress\n",
            "traceback": "RuntimeError: Error 802: system not yet initialized",
        },
        "HOST-FABRIC-STATE",
        ("In Progress", "nvidia-fabricmanager"),
    ),
    "driver older than the wheel": (
        {
            "traceback": "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11080)."
        },
        "HOST-DRIVER-OLD",
        ("11.8 (11080)", "525 or newer"),
    ),
    "stale CDI": (
        {
            "cdi": "hostPath: /usr/lib64/libEGL_nvidia.so.570.86.15",
            "nvidia-smi": "Driver Version: 580.95.05",
            "podman": "Error: crun: error stat'ing file `/lib64/libEGL_nvidia.so.570.86.15`: No such file or directory",
        },
        "HOST-CDI-STALE",
        ("570.86.15", "nvidia-ctk cdi generate"),
    ),
    "rootless hook": (
        {
            "podman": "podman version 4.9.4-rhel\nnvidia-container-cli: mount error: failed to add device rules: bpf: permission denied"
        },
        "HOST-DEVICES-HOOK",
        ("no-cgroups",),
    ),
    "memory held by another": (
        {
            "traceback": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 512.00 MiB is free. Process 4321 has 15.00 GiB memory in use. Including non-PyTorch memory, this process has 8.10 GiB memory in use."
        },
        "HOST-CUDA-OOM",
        ("other process", "nvidia-smi"),
    ),
    "disk full while building": (
        {
            "dkms-build": "cc1: error: No space left on device\nError! Bad return status for module build on kernel: 4.18.0-553.el8_10.x86_64 (x86_64)"
        },
        "HOST-DISK-FULL",
        ("df -h",),
    ),
    "render node": (
        {"app-error": "libEGL warning: failed to open /dev/dri/renderD128: Permission denied"},
        "HOST-RENDER-NODE",
        ("group", "render,video"),
    ),
    "Chinese shell": ({"app-error": "bash: nvidia-smi: 未找到命令"}, "HOST-SMI-ABSENT", ("nvidia-driver-cuda",)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_root_cause_comes_first(name: str) -> None:
    texts, code, words = CASES[name]
    first = diagnose(Snapshot(texts))[0]
    assert first.code == code
    assert first.status is Status.FAIL
    said = first.summary + " ".join(f"{do_text(step)} {step.why}" for step in first.remedy)
    assert [word for word in words if word not in said] == []


def test_consequences_are_marked_and_stand_behind() -> None:
    texts, _, _ = CASES["no address space in a virtual machine"]
    findings = [finding for finding in diagnose(Snapshot(texts)) if finding.status is Status.FAIL]
    assert [finding.code for finding in findings] == ["HOST-BAR", "HOST-INIT-FAILED", "HOST-NO-DEVICES"]
    assert [finding.caused_by for finding in findings] == ["", "HOST-BAR", "HOST-BAR"]


HEALTHY = {
    "redhat-release": EL8,
    "uname": KERNEL,
    "cmdline": "BOOT_IMAGE=/vmlinuz ro rd.driver.blacklist=nouveau modprobe.blacklist=nouveau",
    "lscpu": "Architecture: x86_64\n",
    "lspci": "65:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 80GB] [10de:20b5] (rev a1)",
    "lsmod": "Module Size Used by\nnvidia_uvm 1 0\nnvidia 2 1 nvidia_uvm",
    "modinfo": "version:        580.95.05\nlicense:        Dual MIT/GPL",
    "nvidia-proc": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build",
    "rpm-kernel": "kernel-core-4.18.0-553.16.1.el8_10.x86_64\nkernel-devel-4.18.0-553.16.1.el8_10.x86_64\nkmod-nvidia-open-dkms-580.95.05-1.el8.x86_64\nnvidia-driver-cuda-580.95.05-1.el8.x86_64\nlibnvidia-ml-580.95.05-1.el8.x86_64",
    "next-kernel": "/boot/vmlinuz-4.18.0-553.16.1.el8_10.x86_64",
    "module-files": "/lib/modules/4.18.0-553.16.1.el8_10.x86_64/extra/nvidia.ko.xz",
    "dkms-status": "nvidia/580.95.05, 4.18.0-553.16.1.el8_10.x86_64, x86_64: installed",
    "dkms-build": "DKMS make.log for nvidia-580.95.05\nCC [M] nvidia/nv.o",
    "sb-state": "SecureBoot enabled",
    "mok": "MokListNew is empty",
    "journal-kernel": "kernel: nvidia-nvlink: Nvlink Core is being initialized\nkernel: NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05\nkernel: Secure boot enabled",
    "nvidia-smi": "| NVIDIA-SMI 580.95.05  Driver Version: 580.95.05  CUDA Version: 13.0 |",
    "nvidia-smi-query": "Driver Version : 580.95.05\nGPU 00000000:65:00.0\n    Persistence Mode : Enabled\n    Remapped Rows\n        Pending : No\n    Clocks Event Reasons\n        SW Power Cap : Not Active\n        SW Thermal Slowdown : Not Active\n    Fabric\n        State : N/A\n",
    "devices": "/dev/nvidia0\n/dev/nvidiactl\n/dev/nvidia-uvm",
    "env": "PATH=/usr/bin",
    "pip-list": "torch 2.9.0+cu126",
    "podman": "podman version 4.9.4-rhel",
    "podman-info": "cgroupVersion: v2",
    "cdi": "cdiVersion: 0.5.0\nhostPath: /usr/lib64/libcuda.so.580.95.05",
    "selinux": "SELinux status: enabled\nCurrent mode: enforcing",
    "shm": "tmpfs 131072000 0 131072000 0% /dev/shm",
    "df": "/dev/sda1 104857600 50000000 54857600 48% /",
    "tuned": "Current active profile: throughput-performance\nperformance\ntsc",
    "services": "nvidia-persistenced enabled active\nnvidia-fabricmanager disabled inactive\nnvidia-cdi-refresh enabled inactive\ndkms enabled active\ntuned enabled active",
    "modprobe": "blacklist nouveau\noptions nouveau modeset=0\noptions nvidia NVreg_DeviceFileMode=0666",
    "dnf": "[nvidia-driver]\nname=nvidia-driver\nstream=580-open\nprofiles=\nstate=enabled",
    "limits": "open files                      (-n) 65536\nmax user processes              (-u) 32768",
    "toolkit-config": 'NVIDIA Container Toolkit CLI version 1.18.0\n#no-cgroups = false\nmode = "auto"\nload-kmods = true',
    "cgroup": "cgroup2fs",
    "subuid": "/etc/subuid:1\n/etc/subgid:1",
    "compute-apps": "pid, process_name, used_gpu_memory [MiB]",
    "ldd": "ldd (GNU libc) 2.28\n\tlibcuda.so.1 (libc6,x86-64) => /lib64/libcuda.so.1",
    "python-version": "/usr/bin/python3\nPython 3.6.8\n/usr/bin/python3.12\nPython 3.12.8",
    "cuda-dirs": "/usr/local/cuda\n/usr/local/cuda-12.6",
    "nvcc": "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.6, V12.6.20",
    "groups": "wheel render video",
    "memory": "Mem: 540000000000 20000000000 510000000000",
    "lsblk": "NAME ROTA SIZE TYPE\nnvme0n1 0 3.5T disk",
    "repos": "[cuda-rhel8-x86_64]\nenabled=1\ngpgcheck=1\n[epel]\nenabled=1",
    "messages": "Dec  7 10:00:00 gpu01 systemd[1]: Started Session 3 of user x.\nDec  7 10:00:01 gpu01 kernel: nvidia: module verification failed: signature and/or required key missing - tainting kernel",
    "hooks-dir": "ls: cannot access '/usr/share/containers/oci/hooks.d/': No such file or directory",
}


def test_a_healthy_host_passes() -> None:
    findings = diagnose(Snapshot(HEALTHY, live=True))
    assert [(f.code, f.summary) for f in findings if f.status is not Status.PASS] == []
    assert verdict(findings) == "pass"


def test_too_little_says_what_to_run_next() -> None:
    first = diagnose(Snapshot({"uname": KERNEL}))[0]
    assert first.code == "HOST-MORE"
    assert first.status is Status.SKIP
    assert "journalctl -k" in do_text(first.remedy[0])


def test_a_stage_turns_what_blocks_others_into_a_warning() -> None:
    texts = {"podman": "podman version 4.0.2"}
    assert diagnose(Snapshot(texts), "image")[0].status is Status.FAIL
    assert diagnose(Snapshot(texts), "train")[0].status is Status.WARN


def test_a_driver_below_the_toolkits_own_is_told_what_it_lacks() -> None:
    texts = {"pip-list": "torch 2.9.0+cu128", "nvidia-smi": "Driver Version: 535.104.05"}
    finding = next(f for f in diagnose(Snapshot(texts)) if f.code == "HOST-WHEEL-DRIVER")
    assert finding.status is Status.INFO
    assert "570.26" in finding.summary


@pytest.mark.parametrize(
    ("card", "wanted", "unwanted"),
    [
        ("GV100GL [Tesla V100 PCIe 32GB]", ("580-dkms", "kmod-nvidia-latest-dkms", "epel"), "open"),
        ("GA100 [A100 PCIe 40GB]", ("580-open", "kmod-nvidia-open-dkms", "epel"), "latest-dkms"),
        ("GK210GL [Tesla K80]", ("replace the card",), "dnf"),
    ],
)
def test_the_driver_that_is_missing_is_the_one_for_this_card(card: str, wanted: tuple[str, ...], unwanted: str) -> None:
    texts = {
        "lspci": f"3b:00.0 3D controller: NVIDIA Corporation {card} (rev a1)",
        "rpm-kernel": "kernel-core-4.18.0-553.16.1.el8_10.x86_64",
        "lsmod": "Module                  Size  Used by\nxfs                  1593344  2",
    }
    found = next(f for f in diagnose(Snapshot(texts)) if f.code == "HOST-DRIVER")
    said = " ".join(str(do_text(step)) for step in found.remedy)
    assert all(word in said for word in wanted), said
    assert unwanted not in said


def test_the_end_of_an_unlisted_branch_is_not_known() -> None:
    texts = {"nvidia-smi": "NVIDIA-SMI 525.60.13  Driver Version: 525.60.13  CUDA Version: 12.0"}
    assert next(f for f in diagnose(Snapshot(texts)) if f.code == "HOST-BRANCH-LIFE").status is Status.SKIP
