"""The card itself: lost from the bus, bad memory, firmware processor, links, power."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedplate.core.check import Finding, Safety, Status
from bedplate.host.checks.kinds import GPU, NOTHING, TRAIN, do, filled_steps, hand, passed, reboot, state, symptom
from bedplate.host.language import Both

_RESEAT = (
    do(
        "nvidia-smi -q -d POWER,TEMPERATURE,PAGE_RETIREMENT",
        "look at power and temperature before the next loss",
        "在再次掉卡前查看功耗与温度",
    ),
    reboot("a lost GPU comes back only with a reboot, or a power cycle", "掉线的 GPU 只有重启或断电后才能恢复"),
    hand(
        "reseat the card and its power connectors; then check PSU headroom, riser or cable, slot, system firmware (BIOS) and airflow",
        "重新插拔显卡与供电接头；再检查电源余量、转接卡/线缆、插槽、BIOS 固件与散热",
        "contact and power are the usual causes when it comes back",
        "反复出现时通常是接触或供电问题",
        Safety.DISRUPTIVE,
    ),
    do(
        "nvidia-smi -lgc 300,1200",
        "a test: if lower clocks hold, suspect power",
        "测试：降频后稳定则怀疑供电",
        Safety.DISRUPTIVE,
        "nvidia-smi -rgc",
    ),
)

_DRAIN = (
    do(
        "nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT",
        "see which counters rise and whether a remap is pending",
        "查看哪些计数在增加、是否有待生效的重映射",
    ),
    do(
        "nvidia-smi --gpu-reset -i {bus}",
        "drain the node first; a reset activates a pending row remap",
        "先清空任务；复位后待处理的行重映射才生效",
        Safety.DISRUPTIVE,
    ),
    hand(
        "replace the GPU (RMA) when uncorrectable errors come back after the reset, or at once on Xid 64 or a remapping failure",
        "复位后仍出现不可纠正错误，或出现 Xid 64/重映射失败时，更换 GPU（RMA）",
    ),
)


def _remapped(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-ROW-REMAP"
    query = facts["query"]
    pending = query.get("Remapped Rows/Pending", []) + query.get("Pending Page Blacklist", [])
    failed = query.get("Remapped Rows/Remapping Failure Occurred", [])
    wrong = [f"Pending: {v}" for v in pending if v == "Yes"] + [
        f"Remapping Failure Occurred: {v}" for v in failed if v == "Yes"
    ]
    if not wrong:
        return passed(code, "no row remap is pending", "没有待生效的行重映射")
    count = ", ".join(query.get("Remapped Rows/Uncorrectable Error", []))
    summary = Both(
        f"GPU memory (HBM) has uncorrectable ECC errors: row remap {'; '.join(wrong)}; remapped rows {count or '?'}",
        f"显存 (HBM) 有不可纠正的 ECC 错误：行重映射 {'; '.join(wrong)}；已重映射行 {count or '?'}",
    )
    steps = filled_steps(_DRAIN, {"bus": "0"})
    return Finding(code, Status.FAIL, summary, (("nvidia-smi-query", "\n".join(wrong)),), TRAIN, steps)


def _present(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-GPU"
    gpus = facts["gpus"]
    lost = [gpu for gpu in gpus if gpu.lost]
    if lost:
        summary = Both(
            f"GPU {lost[0].bus} answers with ones only (rev ff): it fell off the PCI bus, or sleeps in D3cold",
            f"GPU {lost[0].bus} 读回全 1 (rev ff)：已从 PCI 总线掉线，或处于 D3cold",
        )
        return Finding(code, Status.FAIL, summary, (("lspci", f"{lost[0].bus} {lost[0].name} (rev ff)"),), GPU, _RESEAT)
    if gpus:
        names = ", ".join(dict.fromkeys(gpu.name for gpu in gpus))
        return passed(
            code,
            f"{len(gpus)} NVIDIA GPU(s) on the PCI bus: {names}",
            f"PCI 总线上有 {len(gpus)} 块 NVIDIA GPU：{names}",
        )
    summary = Both("no NVIDIA GPU on the PCI bus: no driver can help", "PCI 总线上没有 NVIDIA GPU：装驱动无济于事")
    steps = (
        hand(
            "check seat, power, slot and BIOS (Above 4G Decoding); on a virtual machine pass the device through",
            "检查插接、供电、插槽与 BIOS (Above 4G Decoding)；虚拟机需直通设备",
        ),
        do("lspci -nn | grep -i 10de", "shows the card when the bus sees it", "总线识别到时会显示显卡"),
    )
    return Finding(code, Status.FAIL, summary, (("lspci", "no line with NVIDIA or 10de"),), GPU, steps)


CHECKS = (
    state("HOST-GPU", ("NVIDIA GPU on the bus", "总线上的 NVIDIA GPU"), ("gpus",), _present),
    symptom(
        "HOST-GPU-LOST",
        ("GPU fell off the bus (Xid 79)", "GPU 从总线掉线 (Xid 79)"),
        r"(?:Unable to determine the device handle for (?:GPU ?\d*:? ?|gpu )(?P<bus>[0-9a-f:.]+)?.*|Xid \(PCI:(?P<bus2>[0-9a-f:.]+)\): 79,.*"
        r"|GPU (?P<bus3>[0-9a-f]{4,8}:[0-9a-f:.]+)?.*(?:fallen off the bus|GPU is lost)|GPU is lost.*|GPU at (?P<bus4>\S+) has fallen off.*)",
        (
            "a GPU was lost from the PCI bus while in use (device handle, Xid 79: fallen off the bus): {bus}; PCIe contact, power or heat, rarely the driver",
            "GPU 在使用中从 PCI 总线掉线（device handle、Xid 79: fallen off the bus）：{bus}；多为 PCIe 接触、供电或过热，很少是驱动",
        ),
        _RESEAT,
        hints=("device handle", "79,", "fallen off", "gpu is lost"),
        blocks=GPU,
    ),
    state("HOST-ROW-REMAP", ("ECC and row remapping", "ECC 与行重映射"), ("query",), _remapped, follows=("HOST-ECC",)),
    symptom(
        "HOST-ECC",
        (
            "uncorrectable GPU memory errors (ECC, Xid 48/63/64/92/94/95)",
            "不可纠正的显存错误 (ECC, Xid 48/63/64/92/94/95)",
        ),
        r"Xid \(PCI:(?P<bus>[0-9a-f:.]+)\): (?P<xid>48|63|64|92|94|95|140|171|172)\b|uncorrectable ECC error encountered|double bit error",
        (
            "GPU {bus} reports uncorrectable ECC memory errors (Xid 48 double bit, 63 row remap pending, 64 remap failed, 94 contained, 95 uncontained; first seen: {xid}): its HBM is degrading",
            "GPU {bus} 报告不可纠正的 ECC 显存错误（Xid 48 双比特、63 待重映射 remap、64 重映射失败、94 已隔离、95 未隔离；首个：{xid}）：显存在退化",
        ),
        _DRAIN,
        hints=("xid", "ecc", "double bit"),
        blocks=GPU,
    ),
    symptom(
        "HOST-GSP",
        ("GPU system processor (GSP) failed", "GPU 系统处理器 (GSP) 故障"),
        r"Xid \(PCI:(?P<bus>[0-9a-f:.]+)\): (?:119|120|122)\b.*|Timeout (?:after \S+ )?.*waiting for RPC response from GPU.*GSP.*|GSP (?:RPC timeout|firmware.*(?:failed|crash)|task .*exception)|RmInitAdapter.*GSP|_?kgsp\w+: [^\n]*(?:failed|Attempted to process RPC|timeout|error)[^\n]*",
        (
            "the GSP (GPU System Processor) firmware of GPU {bus} timed out or crashed (Xid 119/120)",
            "GPU {bus} 的 GSP 固件超时或崩溃 (Xid 119/120)",
        ),
        (
            do(
                "nvidia-smi --gpu-reset -i {bus}",
                "reset the GPU; reboot when that is refused",
                "复位 GPU；被拒绝则重启",
                Safety.DISRUPTIVE,
            ),
            do(
                "dnf upgrade 'nvidia*' 'kmod-nvidia*'",
                "take the newest release of the driver branch: GSP fixes come with it",
                "升级到该分支最新驱动：GSP 修复在其中",
                Safety.DISRUPTIVE,
            ),
            hand(
                "with the proprietary module only: NVreg_EnableGpuFirmware=0 in /etc/modprobe.d/nvidia-gsp.conf turns GSP off (Turing to Ada; the open module cannot)",
                "仅闭源模块：在 /etc/modprobe.d/nvidia-gsp.conf 设置 NVreg_EnableGpuFirmware=0 关闭 GSP（开源模块不支持）",
            ),
        ),
        hints=("119", "120", "gsp"),
        blocks=GPU,
        unless=r"does not include the required GPU|gsp_\w+\.bin",
    ),
    symptom(
        "HOST-GSP-FIRMWARE",
        ("GSP firmware file missing", "缺少 GSP 固件文件"),
        r"(?:Direct firmware load for|failed to load|RmFetchGspRmImages).*(?:nvidia/(?P<fw>[\d.]+)/)?gsp\w*(?:\.bin)?.*",
        (
            "the kernel module found no GSP firmware of its version ({fw}) in /lib/firmware/nvidia",
            "内核模块在 /lib/firmware/nvidia 中找不到同版本的 GSP 固件 ({fw})",
        ),
        (
            do(
                "dnf reinstall nvidia-kmod-common",
                "the package carries the firmware; its version must equal the module's",
                "该软件包带有固件，版本须与模块一致",
                Safety.DISRUPTIVE,
            ),
            do(
                "ls /lib/firmware/nvidia/",
                "one folder per driver version; modinfo -F version nvidia must be among them",
                "每个驱动版本一个目录；应包含 modinfo -F version nvidia 的版本",
            ),
            reboot(),
        ),
        hints=("gsp",),
        blocks=GPU,
    ),
    symptom(
        "HOST-NVLINK",
        ("NVLink error (Xid 74)", "NVLink 错误 (Xid 74)"),
        r"Xid \(PCI:(?P<bus>[0-9a-f:.]+)\): (?:74|144|145|149|150)\b",
        (
            "GPU {bus} reports NVLink errors (Xid 74): bridge, NVSwitch or link hardware",
            "GPU {bus} 报告 NVLink 错误 (Xid 74)：桥接、NVSwitch 或链路硬件",
        ),
        (
            do("nvidia-smi nvlink -e", "which link counts errors", "查看哪条链路在累计错误"),
            do(
                "NCCL_P2P_DISABLE=1 python -m bedplate --version",
                "a test: training without peer to peer avoids the link",
                "测试：禁用 P2P 训练可绕开该链路",
            ),
            hand(
                "reseat or replace the bridge; ask the vendor when it returns", "重插或更换桥接器；再次出现请联系厂商"
            ),
        ),
        hints=("xid",),
    ),
    symptom(
        "HOST-XID-APP",
        ("Xid of an application", "应用程序引起的 Xid"),
        r"Xid \(PCI:(?P<bus>[0-9a-f:.]+)\): (?P<xid>8|13|31|32|43|45|61|62|69|109)\b.*",
        (
            "GPU {bus}: Xid {xid}, usually an application's illegal access or time-out, or the follow-up of a killed process",
            "GPU {bus}：Xid {xid}，通常是应用的非法访问/超时，或进程被杀的后续",
        ),
        (
            do("CUDA_LAUNCH_BLOCKING=1 python your_training.py", "find the kernel that faults", "定位出错的 CUDA 内核"),
            do("compute-sanitizer python your_training.py", "find the invalid access", "定位非法访问"),
            hand(
                "suspect the hardware only if several unrelated programs cause it on one GPU",
                "仅当多个无关程序在同一 GPU 上触发时才怀疑硬件",
            ),
        ),
        hints=("xid",),
        blocks=NOTHING,
        status=Status.WARN,
        follows=("HOST-GPU-LOST", "HOST-ECC", "HOST-GSP"),
    ),
    symptom(
        "HOST-INFOROM",
        ("infoROM is corrupted", "infoROM 损坏"),
        r"infoROM is corrupted.*",
        ("the GPU's infoROM is corrupted (nvidia-smi return code 14)", "GPU 的 infoROM 已损坏（nvidia-smi 返回码 14）"),
        (
            do("nvidia-smi -q | grep -i -A4 inforom", "which object is bad", "查看哪个对象损坏"),
            hand(
                "power cycle; if it stays, ask the vendor for a repair image or RMA",
                "断电重启；若仍在，请联系厂商修复或 RMA",
            ),
        ),
        hints=("inforom is corrupted",),
        group="smi",
        status=Status.WARN,
        blocks=NOTHING,
    ),
    symptom(
        "HOST-POWER-CABLE",
        ("GPU power cable", "GPU 供电线"),
        r"(?:power cable|power connector)[^\n]*(?:not|attach|missing|improper)[^\n]*|GPU requires (?:external )?power|does not have the necessary power cables",
        ("the GPU's power connectors are not all attached", "GPU 的供电接头未全部接好"),
        (
            hand(
                "power off and attach every power connector of the card",
                "关机并接好显卡的所有供电接头",
                safety=Safety.DISRUPTIVE,
            ),
        ),
        hints=("power",),
        blocks=GPU,
        group="kernel",
    ),
    symptom(
        "HOST-PCIE-ERRORS",
        ("PCIe bus errors", "PCIe 总线错误"),
        r"(?:pcieport|nvidia) \S+ (?:AER: |PCIe Bus Error: ).*(?:severity=Uncorrect|Fatal|Non-Fatal|Uncorrected).*|PCIe Bus Error: severity=Uncorrect.*",
        (
            "uncorrectable PCIe errors (AER): slot, riser, cable or link speed",
            "不可纠正的 PCIe 错误 (AER)：插槽、转接卡、线缆或链路速率",
        ),
        (
            do(
                "lspci -vv | grep -E 'LnkSta|UESta'",
                "width and speed of the link against what the card can do",
                "比较链路宽度/速率与显卡能力",
            ),
            hand(
                "reseat the card, replace the riser, or set the slot to a lower PCIe generation in the BIOS",
                "重插显卡、更换转接卡，或在 BIOS 中降低 PCIe 代数",
            ),
        ),
        hints=("aer", "pcie bus error"),
        status=Status.WARN,
        blocks=NOTHING,
    ),
)
