"""nouveau holds the card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedplate.core.check import Finding, Status
from bedplate.host.checks.kinds import GPU, do, edit, passed, reboot, state, symptom
from bedplate.host.language import Both

_STEPS = (
    edit(
        "/etc/modprobe.d/blacklist-nouveau.conf",
        "blacklist nouveau\noptions nouveau modeset=0",
        "keeps nouveau from loading later",
        "禁止之后加载 nouveau",
    ),
    do(
        "grubby --update-kernel=ALL --args='rd.driver.blacklist=nouveau modprobe.blacklist=nouveau'",
        "blacklist nouveau for the whole boot, not the initramfs (rd.) alone",
        "整个启动过程都屏蔽 nouveau，而不仅是 initramfs (rd.)",
        undo="grubby --update-kernel=ALL --remove-args='rd.driver.blacklist=nouveau modprobe.blacklist=nouveau'",
    ),
    do(
        "dracut --force --regenerate-all",
        "rebuild every initramfs: nouveau may still be inside",
        "重建所有 initramfs：其中可能仍含 nouveau",
    ),
    reboot(
        "nouveau lets the card go only at a reboot; then install or load the nvidia driver",
        "重启后 nouveau 才会释放显卡；随后再安装或加载 nvidia 驱动",
    ),
)


def _loaded(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-NOUVEAU-LOADED"
    if "nouveau" not in facts["modules"]:
        return passed(code, "nouveau is not loaded", "未加载 nouveau")
    summary = Both(
        "nouveau is loaded and owns the GPU, so the nvidia driver cannot be installed or bound; it is not blacklisted for this boot",
        "nouveau 已加载并占用 GPU，nvidia 驱动无法安装或绑定；本次启动未将其屏蔽",
    )
    return Finding(code, Status.FAIL, summary, (("lsmod", "nouveau"),), GPU, _STEPS)


CHECKS = (
    symptom(
        "HOST-NOUVEAU",
        ("nouveau holds the GPU", "nouveau 占用 GPU"),
        r"nouveau (?:0000:)?(?P<bus>[0-9a-f]{2}:[0-9a-f]{2}\.\d)[^\n]*(?:NVIDIA|bios|DRM|fb|enabling|vgaarb|fifo)[^\n]*|nouveau[^\n]*(?:is currently in use|appears to be currently loaded)[^\n]*"
        r"|Nouveau kernel driver[^\n]*(?:in use|incompatible)[^\n]*|Kernel driver in use: nouveau|fb\d*: (?:switching to )?nouveau(?:drmfb)?[^\n]*|nouveaufb",
        (
            "the in-kernel nouveau driver bound the GPU {bus} at boot, so the nvidia module cannot claim it: nouveau is not blacklisted for the whole boot",
            "内核自带的 nouveau 驱动在启动时绑定了 GPU {bus}，nvidia 模块无法接管：nouveau 未被完整屏蔽 (blacklist)",
        ),
        _STEPS,
        hints=("nouveau",),
        blocks=GPU,
    ),
    state(
        "HOST-NOUVEAU-LOADED", ("nouveau is loaded", "nouveau 已加载"), ("modules",), _loaded, follows=("HOST-NOUVEAU",)
    ),
    symptom(
        "HOST-PROBE",
        ("another driver owns the GPU", "另一个驱动占用 GPU"),
        r"NVIDIA probe routine was not called for \d+ device.*|This can occur when (?:a driver such as|another driver).*",
        (
            "the nvidia module was loaded but another driver (nouveau, vfio-pci, rivafb) had bound the GPU before it",
            "nvidia 模块已加载，但其他驱动（nouveau、vfio-pci、rivafb）先绑定了 GPU",
        ),
        (do("lspci -nnk -d 10de:", "shows which driver is in use", "显示正在使用的驱动"), *_STEPS),
        hints=("probe routine", "this can occur"),
        blocks=GPU,
        follows=("HOST-NOUVEAU", "HOST-NOUVEAU-LOADED", "HOST-VFIO", "HOST-OPEN-OLD", "HOST-CLOSED-NEW"),
    ),
)
