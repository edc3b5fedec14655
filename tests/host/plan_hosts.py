"""Snapshots of hosts for the tests of plans: bare, healthy, and between."""

from __future__ import annotations

from bedplate.host.snapshot import Snapshot

KERNEL = "4.18.0-553.5.1.el8_10.x86_64"
AMPERE = "2b:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 40GB] [10de:20f1] (rev a1)"
VOLTA = "2b:00.0 3D controller [0302]: NVIDIA Corporation GV100GL [Tesla V100 PCIe 16GB] [10de:1db4] (rev a1)"
BLACKWELL = "2b:00.0 3D controller [0302]: NVIDIA Corporation GB100 [B200] [10de:2901] (rev a1)"

BARE = {
    "redhat-release": "Red Hat Enterprise Linux release 8.10 (Ootpa)",
    "uname": KERNEL,
    "next-kernel": f"/boot/vmlinuz-{KERNEL}",
    "lspci": AMPERE,
    "lsmod": "Module                  Size  Used by\nnouveau              2289664  1",
    "rpm-kernel": f"kernel-{KERNEL}\nkernel-core-{KERNEL}",
    "sb-state": "SecureBoot enabled",
    "selinux": "SELinux status:                 enabled\ncontainer_use_devices --> off",
    "subuid": "/etc/subuid:0\n/etc/subgid:0",
}

HEALTHY = {
    **BARE,
    "cmdline": "BOOT_IMAGE=/vmlinuz rd.driver.blacklist=nouveau modprobe.blacklist=nouveau",
    "lsmod": "Module                  Size  Used by\nnvidia_uvm 1 0\nnvidia              56000000  2",
    "modinfo": "filename: /lib/modules/x/nvidia.ko\nversion:        580.95.05\nlicense:        Dual MIT/GPL",
    "nvidia-proc": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build",
    "rpm-kernel": "\n".join(
        [
            f"kernel-{KERNEL}",
            f"kernel-core-{KERNEL}",
            f"kernel-devel-{KERNEL}",
            "dkms-3.2.2-1.el8.noarch",
            "kmod-nvidia-open-dkms-580.95.05-1.el8.x86_64",
            "nvidia-driver-cuda-580.95.05-1.el8.x86_64",
            "nvidia-driver-cuda-libs-580.95.05-1.el8.x86_64",
            "libnvidia-ml-580.95.05-1.el8.x86_64",
            "nvidia-container-toolkit-base-1.20.1-1.x86_64",
        ]
    ),
    "module-files": f"/lib/modules/{KERNEL}/extra/nvidia.ko.xz",
    "dnf": "[nvidia-driver]\nname=nvidia-driver\nstream=580-open\nstate=enabled\n"
    "nvidia-driver-cuda-3:580.95.05-1.el8.*\nkernel-0:4.18.0-553.5.1.el8_10.*",
    "dkms-status": f"nvidia/580.95.05, {KERNEL}, x86_64: installed",
    "nvidia-smi": "| NVIDIA-SMI 580.95.05   Driver Version: 580.95.05   CUDA Version: 13.0 |\n|   0  NVIDIA A100-PCIE-40GB  On |",
    "devices": "\n".join(
        f"crw-rw-rw-. 1 root root 195, {n} Dec  1 10:00 /dev/{name}"
        for n, name in enumerate(("nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"))
    ),
    "services": "nvidia-persistenced enabled active\ntuned enabled active",
    "python-version": "/usr/bin/python3.12\nPython 3.12.8",
    "podman": "podman version 4.9.4-rhel",
    "cdi": 'cdiVersion: "0.5.0"\nkind: nvidia.com/gpu\n    - hostPath: /usr/lib64/libcuda.so.580.95.05',
    "selinux": "SELinux status:                 enabled\ncontainer_use_devices --> on",
    "subuid": "/etc/subuid:1\n/etc/subgid:1",
    "tuned": "Current active profile: throughput-performance\nperformance\n\ntsc",
}


def snapshot(texts: dict[str, str], **changes: str) -> Snapshot:
    """A snapshot with some texts changed; underscores stand for dashes, "" takes one out."""
    named = {name.replace("_", "-"): text for name, text in changes.items()}
    return Snapshot({name: text for name, text in {**texts, **named}.items() if text})
