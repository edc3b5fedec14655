"""NVSwitch machines: fabric manager and the state of the NVLink fabric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedplate.core.check import Finding, Safety, Status
from bedplate.host.checks.kinds import GPU, NOTHING, do, hand, passed, state, symptom
from bedplate.host.language import Both

_START = (
    do(
        "dnf install nvidia-fabricmanager",
        "on the host, exactly the driver's version; on B200-class boards nvlsm too",
        "在主机上安装，版本须与驱动完全一致；B200 类主板还需 nvlsm",
    ),
    do(
        "systemctl enable --now nvidia-fabricmanager",
        "nothing inside the container or the training script can do it",
        "容器内或训练脚本无法代替",
        undo="systemctl disable --now nvidia-fabricmanager",
    ),
    do(
        "nvidia-smi -q | grep -A4 -w Fabric",
        "State must become Completed, Status Success",
        "State 应变为 Completed，Status 为 Success",
    ),
)


def _fabric(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-FABRIC-STATE"
    states = facts["query"].get("Fabric/State", [])
    waiting = [value for value in states if value.lower() not in ("completed", "n/a")]
    if not waiting:
        return passed(code, "no GPU waits for a fabric", "没有 GPU 在等待 fabric")
    summary = Both(
        f"the GPU has not registered with the NVLink fabric: State '{waiting[0]}' means that fabric manager is not running on the host (or lacks its subnet manager nvlsm on Blackwell)",
        f"GPU 尚未注册到 NVLink fabric：State '{waiting[0]}' 表示主机 (host) 上的 fabric manager 未运行（Blackwell 上或缺 nvlsm）",
    )
    return Finding(code, Status.FAIL, summary, (("nvidia-smi-query", f"Fabric State: {waiting[0]}"),), GPU, _START)


CHECKS = (
    symptom(
        "HOST-FABRIC-VERSION",
        ("fabric manager of another version", "fabric manager 版本不符"),
        r"fabric ?manager[^\n]*version[^\n]*(?:mismatch|not match|incompatible|don't match|does ?n.t match)[^\n]*|(?:version|interface)[^\n]*(?:mismatch|not match|don't match)[^\n]*fabric ?manager[^\n]*|fabric manager NVIDIA GPU driver interface version \S+ don't match[^\n]*",
        (
            "nvidia-fabricmanager and the driver have different versions: they must be equal to the last number",
            "nvidia-fabricmanager 与驱动版本不同：必须完全一致",
        ),
        (
            do("rpm -q nvidia-fabricmanager nvidia-driver-cuda", "compare", "比较版本"),
            do(
                "dnf install nvidia-fabricmanager-{driver}", "the driver's version", "安装驱动同版本", Safety.DISRUPTIVE
            ),
            _START[1],
        ),
        hints=("fabric",),
        group="any",
        blocks=GPU,
    ),
    state(
        "HOST-FABRIC-STATE", ("NVLink fabric", "NVLink fabric"), ("query",), _fabric, follows=("HOST-FABRIC-VERSION",)
    ),
    symptom(
        "HOST-FABRIC-NOT-NEEDED",
        ("fabric manager failed on a machine without NVSwitch", "无 NVSwitch 的机器上 fabric manager 失败"),
        r"NV_WARN_NOTHING_TO_DO[^\n]*|failed to open[^\n]*NVSwitch driver[^\n]*|NVSwitch devices? not found[^\n]*|No NVSwitch[^\n]*",
        (
            "nvidia-fabricmanager found no NVSwitch and stopped: harmless, this machine needs none",
            "nvidia-fabricmanager 未发现 NVSwitch 而退出：无害，本机不需要它",
        ),
        (
            do(
                "systemctl disable --now nvidia-fabricmanager",
                "keeps the failed unit out of the list; bridges between two cards need no fabric manager",
                "避免失败单元；两卡桥接不需要 fabric manager",
                undo="systemctl enable nvidia-fabricmanager",
            ),
        ),
        hints=("nothing_to_do", "nvswitch"),
        group="any",
        status=Status.INFO,
        blocks=NOTHING,
    ),
    symptom(
        "HOST-FABRIC",
        ("CUDA waits for the NVLink fabric (error 802)", "CUDA 等待 NVLink fabric（错误 802）"),
        r"(?:Error 802: )?system not yet initialized[^\n]*|CUDA_ERROR_SYSTEM_NOT_READY|cudaErrorSystemNotReady|fabric[^\n]*(?:not (?:running|initialized)|In Progress)[^\n]*|nvidia-fabricmanager\S*[^\n]*(?:Failed with result|failed because|Failed to start)[^\n]*",
        (
            "CUDA error 802, system not yet initialized: on NVSwitch machines fabric manager must run on the host and must have the driver's version",
            "CUDA 错误 802 (system not yet initialized)：NVSwitch 机器须在主机 (host) 上运行与驱动同版本的 fabric manager",
        ),
        (
            *_START,
            hand(
                "an open-module machine with two or more Hopper cards and no NVSwitch: see CUDA's release notes (HMM): options nvidia_uvm uvm_disable_hmm=1",
                "开源模块且无 NVSwitch：见 CUDA 发行说明 (HMM)：options nvidia_uvm uvm_disable_hmm=1",
            ),
        ),
        hints=("802", "not yet initialized", "system_not_ready", "systemnotready", "fabric"),
        group="any",
        blocks=GPU,
        follows=("HOST-FABRIC-STATE", "HOST-FABRIC-VERSION"),
        unless="NV_WARN_NOTHING_TO_DO",
    ),
)
