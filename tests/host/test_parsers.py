"""Both forms of everything: old and new dkms, nvidia-smi, podman, lspci, rpm."""

from __future__ import annotations

import pytest

from bedplate.host.parsers import dkms, nvidia, pci, rpm, system
from bedplate.host.versions import at_least, branch, version


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "nvidia, 460.32.03, 4.18.0-240.el8.x86_64, x86_64: installed",
            ("460.32.03", "4.18.0-240.el8.x86_64", "installed", ""),
        ),
        (
            "nvidia/580.95.05, 4.18.0-553.el8_10.x86_64, x86_64: built",
            ("580.95.05", "4.18.0-553.el8_10.x86_64", "built", ""),
        ),
        ("nvidia/580.95.05: added", ("580.95.05", "", "added", "")),
        ("nvidia/580.95.05: broken", ("580.95.05", "", "broken", "")),
        (
            "nvidia, 580.95.05, 4.18.0-553.5.1.el8_10.x86_64, x86_64: installed-weak from 4.18.0-553.el8_10.x86_64",
            ("580.95.05", "4.18.0-553.5.1.el8_10.x86_64", "installed-weak", ""),
        ),
        (
            "nvidia/580.95.05, 4.18.0-553.el8_10.x86_64, x86_64: installed (Original modules exist)",
            ("580.95.05", "4.18.0-553.el8_10.x86_64", "installed", "(Original modules exist)"),
        ),
    ],
)
def test_dkms_status_of_every_version(line: str, expected: tuple[str, ...]) -> None:
    (found,) = dkms.dkms_lines(f"noise\n{line}\n")
    assert (found.version, found.kernel, found.state, found.note) == expected


def test_no_dkms_line_is_made_of_noise() -> None:
    assert dkms.dkms_lines("sh: dkms: command not found\nnvidia: missing\n") == []


@pytest.mark.parametrize(
    ("banner", "driver", "cuda"),
    [
        ("| NVIDIA-SMI 570.169     Driver Version: 570.169     CUDA Version: 12.8 |", "570.169", "12.8"),
        ("| NVIDIA-SMI 610.43.02   KMD Version: 610.43.02   CUDA UMD Version: 13.3 |", "610.43.02", "13.3"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19", "535.104.05", None),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release", "580.95.05", None),
    ],
)
def test_versions_in_every_banner(banner: str, driver: str, cuda: str | None) -> None:
    assert nvidia.driver_version(banner) == driver
    assert nvidia.cuda_version(banner) == cuda


def test_modinfo_whole_and_short() -> None:
    whole = "filename: /lib/modules/x/nvidia.ko.xz\nversion:        580.95.05\nlicense:        Dual MIT/GPL\n"
    assert nvidia.module_version(whole) == "580.95.05"
    assert nvidia.module_flavour(whole) == "open"
    assert nvidia.module_version("575.64\n") == "575.64"
    assert nvidia.module_flavour("license:        NVIDIA\n") == "proprietary"
    assert nvidia.module_flavour("nothing") is None


def test_query_keeps_sections_apart() -> None:
    text = "GPU 00000000:01:00.0\n    Remapped Rows\n        Pending                : Yes\n    Fabric\n        State                  : Completed\n"
    fields = nvidia.query_fields(text)
    assert fields["Remapped Rows/Pending"] == ["Yes"]
    assert fields["Fabric/State"] == ["Completed"]


def test_query_csv_with_old_names() -> None:
    text = "name, clocks_throttle_reasons.sw_power_cap, power.limit [W]\nA4000, Active, 100 W\n"
    assert nvidia.query_csv(text) == [
        {"name": "A4000", "clocks_event_reasons.sw_power_cap": "Active", "power.limit": "100 W"}
    ]


@pytest.mark.parametrize(
    ("line", "generation"),
    [
        ("01:00.0 3D controller: NVIDIA Corporation GV100GL [Tesla V100 PCIe 32GB] (rev a1)", "volta"),
        (
            "0000:01:00.0 VGA compatible controller [0300]: NVIDIA Corporation TU104 [GeForce RTX 2080] [10de:1e87] (rev a1)",
            "turing",
        ),
        ("01:00.0 3D controller: NVIDIA Corporation GB202GL [RTX PRO 6000 Blackwell] (rev a1)", "blackwell"),
        ("NVIDIA Corporation GP104GL [Tesla P4]", "pascal"),
        ("0000:01:00.0 0302: 10de:2204", ""),
    ],
)
def test_gpus_on_the_bus(line: str, generation: str) -> None:
    (gpu,) = pci.nvidia_gpus(line)
    assert gpu.generation == generation


def test_other_functions_are_no_gpu() -> None:
    text = "01:00.1 Audio device: NVIDIA Corporation GA102 High Definition Audio (rev a1)\n05:00.0 Bridge: NVIDIA Corporation GA100 [A100 NVSwitch]\n00:02.0 VGA compatible controller: Intel Corporation UHD\n"
    assert pci.nvidia_gpus(text) == []


def test_packages() -> None:
    text = (
        "kernel-core-4.18.0-553.5.1.el8_10.x86_64\nkernel-devel-4.18.0-553.el8_10.x86_64\nnvidia-driver-cuda-580.95.05-1.el8.x86_64\n"
        "libnvidia-ml-580.95.05-1.el8.x86_64\nnvidia-container-toolkit-1.18.0-1.x86_64\n"
        "kmod-nvidia-590.48.01-5.14.0-611.24.1-590.48.01-3.el9_7.x86_64\n"
    )
    assert rpm.kernels(text) == ["4.18.0-553.5.1.el8_10"]
    assert rpm.kernel_devel(text) == ["4.18.0-553.el8_10"]
    assert rpm.driver_packages(text)["libnvidia-ml"] == "580.95.05"
    assert "nvidia-container-toolkit" not in rpm.driver_packages(text)
    assert rpm.precompiled_for(text) == ["5.14.0-611.24.1"]
    assert rpm.short("4.18.0-553.5.1.el8_10.x86_64") == "4.18.0-553.5.1"


def test_small_texts() -> None:
    assert system.os_release("Red Hat Enterprise Linux release 8.10 (Ootpa)") == system.OsRelease("rhel", "8.10")
    assert system.podman_version("podman version 4.9.4-rhel") == "4.9.4"
    assert system.cgroup_version("  cgroupVersion: v1\n") == 1
    assert system.cgroup_version("", "cgroup2fs\n") == 2
    assert system.torch_cuda("PyTorch version: 2.8.0+cpu\nCUDA used to build PyTorch: None\n") == "none"
    assert system.torch_cuda("torch    2.9.0+cu126\n") == "12.6"
    assert system.glibc_version("ldd (GNU libc) 2.28\n") == "2.28"
    assert system.disk_rows("/dev/sda1 1000 900 100 90% /\n") == [("/", 1024000, 102400)]
    assert system.cdi_driver_versions("- libcuda.so.535.161.07\n- libEGL_nvidia.so.535.161.07") == ["535.161.07"]


def test_versions_are_compared_as_numbers() -> None:
    assert at_least("4.10.0", "4.9.4")
    assert at_least("580.65.06", "580.65")
    assert not at_least("575.64", "575.64.03")
    assert branch("580.95.05") == 580
    assert version("") == ()
