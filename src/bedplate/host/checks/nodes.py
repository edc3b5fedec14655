"""Device nodes, visibility, exclusive use, MIG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedplate.core.check import Finding, Status
from bedplate.host.checks.kinds import GPU, NOTHING, TRAIN, do, hand, passed, state, symptom
from bedplate.host.language import Both

_UVM = (
    do(
        "nvidia-modprobe -c 0 -u",
        "loads nvidia_uvm and creates /dev/nvidia-uvm and /dev/nvidia-uvm-tools",
        "加载 nvidia_uvm 并创建 /dev/nvidia-uvm、/dev/nvidia-uvm-tools",
    ),
    do(
        "echo nvidia_uvm > /etc/modules-load.d/nvidia-uvm.conf",
        "at every boot (modprobe nvidia_uvm)",
        "每次启动自动加载 (modprobe nvidia_uvm)",
        undo="rm /etc/modules-load.d/nvidia-uvm.conf",
    ),
    hand(
        "start containers again after it; after a suspend: rmmod nvidia_uvm && modprobe nvidia_uvm",
        "之后重新启动容器；休眠后：rmmod nvidia_uvm && modprobe nvidia_uvm",
    ),
)


def _nodes(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-UVM"
    text = facts["devices"]
    if "/dev/nvidia0" not in text and "nvidiactl" not in text:
        summary = Both(
            "there are no /dev/nvidia* device nodes: the driver is not loaded, or nvidia-modprobe has not run",
            "没有 /dev/nvidia* 设备节点：驱动未加载，或未运行 nvidia-modprobe",
        )
        return Finding(
            code,
            Status.FAIL,
            summary,
            (("devices", text.splitlines()[0]),),
            GPU,
            (do("modprobe nvidia && nvidia-modprobe -c 0 -u", "load and create them", "加载并创建"),),
        )
    if "nvidia-uvm" not in text:
        summary = Both(
            "/dev/nvidia-uvm does not exist because the nvidia_uvm module is not loaded, and CUDA needs it",
            "/dev/nvidia-uvm 不存在：nvidia_uvm 模块未加载，而 CUDA 需要它",
        )
        return Finding(code, Status.FAIL, summary, (("devices", text),), GPU, _UVM)
    return passed(code, "the device nodes are there, nvidia-uvm among them", "设备节点齐全，包括 nvidia-uvm")


def _visible(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-VISIBLE"
    value = facts["env"].get("CUDA_VISIBLE_DEVICES")
    if value is None or (value not in ("", "-1", "NoDevFiles") and not value.startswith("-")):
        return passed(
            code, "CUDA_VISIBLE_DEVICES hides no GPU, or is not set", "CUDA_VISIBLE_DEVICES 未隐藏 GPU 或未设置"
        )
    summary = Both(
        f"CUDA_VISIBLE_DEVICES={value!r} hides every GPU from CUDA",
        f"CUDA_VISIBLE_DEVICES={value!r} 对 CUDA 隐藏了所有 GPU",
    )
    return Finding(
        code,
        Status.FAIL,
        summary,
        (("env", f"CUDA_VISIBLE_DEVICES={value}"),),
        TRAIN,
        (
            do(
                "unset CUDA_VISIBLE_DEVICES",
                "or give the numbers that nvidia-smi -L lists",
                "或使用 nvidia-smi -L 列出的编号",
            ),
        ),
    )


def _persistence(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-PERSISTENCE"
    modes = facts["query"].get("Persistence Mode", [])
    if "Disabled" not in modes:
        return passed(code, "persistence mode is on", "持久模式已开启")
    step = do(
        "systemctl enable --now nvidia-persistenced",
        "the daemon survives reboots; nvidia-smi -pm 1 is the legacy way",
        "守护进程重启后仍有效；nvidia-smi -pm 1 为旧方式",
        undo="systemctl disable --now nvidia-persistenced",
    )
    summary = Both(
        "persistence mode is off: each first use of a GPU takes seconds, and settings are lost between jobs",
        "持久模式关闭：每次首次使用 GPU 需数秒，且设置会丢失",
    )
    return Finding(code, Status.WARN, summary, (("nvidia-smi-query", "Persistence Mode: Disabled"),), NOTHING, (step,))


CHECKS = (
    state(
        "HOST-UVM",
        ("device nodes", "设备节点"),
        ("devices",),
        _nodes,
        follows=(
            "HOST-DRIVER",
            "HOST-MODULE-MISSING",
            "HOST-SB-REJECTED",
            "HOST-NOUVEAU",
            "HOST-NOUVEAU-LOADED",
            "HOST-KMOD-KERNEL",
            "HOST-DKMS",
            "HOST-GPU",
        ),
    ),
    state("HOST-VISIBLE", ("GPUs hidden by the environment", "环境变量隐藏 GPU"), ("env",), _visible),
    state("HOST-PERSISTENCE", ("persistence mode", "持久模式"), ("query",), _persistence),
    symptom(
        "HOST-NODE-PERMISSION",
        ("no permission for the device nodes", "没有设备节点权限"),
        r"(?:/dev/nvidia\S*[^\n]*(?:Permission denied|权限不够|Operation not permitted)|NVML: Insufficient Permissions|Insufficient Permissions)[^\n]*",
        (
            "the user or the container may not open /dev/nvidia* (Insufficient Permissions): SELinux label in containers, NVreg_DeviceFileMode or a group on the host",
            "用户或容器无法打开 /dev/nvidia*（Insufficient Permissions）：容器内为 SELinux 标签，主机上为 NVreg_DeviceFileMode 或用户组",
        ),
        (
            do("ls -lZ /dev/nvidia*", "mode 0666 is the driver's default", "驱动默认权限为 0666"),
            do(
                "podman run --rm --device nvidia.com/gpu=all --security-opt label=disable IMAGE nvidia-smi -L",
                "container: SELinux off for this container only",
                "容器：仅对该容器关闭 SELinux 标签",
            ),
            do(
                "setsebool -P container_use_devices=true",
                "or the narrower boolean",
                "或使用更窄的布尔值",
                undo="setsebool -P container_use_devices=false",
            ),
        ),
        hints=("/dev/nvidia", "insufficient permissions"),
        group="any",
        blocks=GPU,
        follows=("HOST-SELINUX",),
    ),
    symptom(
        "HOST-BUSY",
        ("GPU is in exclusive use", "GPU 被独占"),
        r"(?:all )?CUDA-capable devices? (?:are|is)(?:/are)? busy or unavailable[^\n]*|CUDA_ERROR_DEVICE_UNAVAILABLE|cudaErrorDevicesUnavailable|exclusive[- ]process[^\n]*",
        (
            "the GPU is busy or unavailable: compute mode Exclusive_Process, MIG, or a process that holds it",
            "GPU 忙或不可用：计算模式 Exclusive_Process、MIG，或被其他进程占用",
        ),
        (
            do("nvidia-smi -q -d COMPUTE; nvidia-smi", "mode and holder", "查看模式与占用者"),
            do("nvidia-smi -c 0", "back to Default", "恢复 Default", undo="nvidia-smi -c 3"),
        ),
        hints=("busy or unavailable", "device_unavailable", "devicesunavailable", "exclusive"),
        group="app",
    ),
    symptom(
        "HOST-MIG",
        ("MIG is on without an instance", "MIG 已开启但没有实例"),
        r"No MIG devices found[^\n]*|MIG[^\n]*(?:no (?:GPU|compute) instances?|not (?:created|configured))[^\n]*|Insufficient Resources[^\n]*MIG[^\n]*|Unable to (?:enable|disable) MIG[^\n]*|MIG Mode\s*\n\s*Current\s*:\s*Enabled\s*\n\s*Pending\s*:\s*Disabled",
        (
            "MIG mode is on (or pending) and no usable instance exists: CUDA sees no device",
            "MIG 模式开启（或待生效）而没有可用实例：CUDA 看不到设备",
        ),
        (
            do("nvidia-smi mig -lgi; nvidia-smi -L", "instances that exist", "查看已有实例"),
            do("nvidia-smi mig -cgi 19 -C", "create instances, or", "创建实例，或"),
            do(
                "nvidia-smi -mig 0 && nvidia-smi --gpu-reset",
                "turn MIG off; stop every client first; regenerate the CDI spec after it",
                "关闭 MIG；先停止使用者；之后重新生成 CDI",
                undo="nvidia-smi -mig 1",
            ),
        ),
        hints=("mig",),
        group="smi",
    ),
    symptom(
        "HOST-CUDA-UNKNOWN",
        ("CUDA unknown error", "CUDA unknown error"),
        r"CUDA unknown error[^\n]*|CUDA_ERROR_UNKNOWN[^\n]*|cudaErrorUnknown|Error 999: unknown error|/dev/nvidia-uvm[^\n]*(?:No such file|没有那个文件)[^\n]*",
        (
            "CUDA unknown error (999): /dev/nvidia-uvm missing or stale (nvidia_uvm), typical after suspend or when nothing loaded it",
            "CUDA unknown error (999)：/dev/nvidia-uvm 缺失或失效 (nvidia_uvm)，常见于休眠之后或从未加载",
        ),
        (do("ls -l /dev/nvidia-uvm; lsmod | grep nvidia_uvm", "both must be there", "两者都应存在"), *_UVM),
        hints=("unknown error", "error_unknown", "errorunknown", "/dev/nvidia-uvm"),
        group="app",
        follows=("HOST-UVM", "HOST-VISIBLE", "HOST-NVML-MISMATCH"),
    ),
)
