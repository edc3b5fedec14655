"""The driver's log: which kind or version of module the card refuses, and why it did not start."""

from __future__ import annotations

from collections.abc import Sequence

from bedplate.core.check import Safety, Step
from bedplate.host.checks.kinds import GPU, do, filled_steps, hand, reboot, symptom
from bedplate.host.parsers.pci import PciGpu
from bedplate.host.streams import DEFAULT, kmod_of

ONE_VERSION = (
    do(
        "rpm -qa | grep -i nvidia | sort",
        "every NVIDIA package must show one version; what lags is the partial upgrade",
        "所有 NVIDIA 软件包应为同一版本；落后的就是未升级完的部分",
    ),
    do(
        "dnf distro-sync 'nvidia*' 'libnvidia*' 'kmod-nvidia*'",
        "bring all to one version and remove old kmods",
        "统一版本并移除旧 kmod",
        Safety.DISRUPTIVE,
    ),
    do(
        "dkms install nvidia/{driver} -k {kernel} --force",
        "DKMS only: build the module of that version",
        "仅 DKMS：构建该版本的模块",
    ),
    reboot(
        "the old module stays in the kernel until a reboot, or until every client is stopped and rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia works",
        "旧模块在重启前一直在内核中；或停止所有使用者后 rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia",
    ),
)

CLOSED = (
    do(
        "dnf module reset nvidia-driver && dnf module enable nvidia-driver:580-dkms",
        "the proprietary module; 580 is the last branch for Maxwell, Pascal and Volta",
        "闭源 (proprietary) 模块；580 是 Maxwell、Pascal、Volta 的最后分支",
    ),
    do(
        "dnf swap kmod-nvidia-open-dkms kmod-nvidia-latest-dkms --allowerasing",
        "switch the flavour; with akmod packages set kernel instead of kernel-open in the module's configuration and rebuild",
        "切换模块类型；akmod 包则在配置中把 kernel-open 改为 kernel 并重建",
        Safety.DISRUPTIVE,
    ),
    reboot(),
)

OPEN = (
    do(
        "dnf module reset nvidia-driver && dnf module enable nvidia-driver:open-dkms",
        "the open kernel module: Blackwell and Grace Hopper work with no other",
        "开源内核模块：Blackwell 与 Grace Hopper 只支持它",
    ),
    do(
        "dnf swap kmod-nvidia-latest-dkms kmod-nvidia-open-dkms --allowerasing",
        "switch the flavour",
        "切换模块类型",
        Safety.DISRUPTIVE,
    ),
    reboot(),
)

TOO_OLD = (
    hand(
        "replace the card: Kepler ends with branch 470 and CUDA 11.4, which no current PyTorch build supports",
        "更换显卡：Kepler 的最后分支是 470，CUDA 止于 11.4，当前的 PyTorch 构建均不支持",
    ),
)

WITHOUT_GSP = frozenset({"maxwell", "pascal", "volta"})
"""Generations that need the proprietary module; 580 is their last branch."""


def for_cards(gpus: Sequence[PciGpu], steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps, filled for these cards; for a card that no current driver serves, what is left to do."""
    return TOO_OLD if any(gpu.generation == "kepler" for gpu in gpus) else filled_steps(steps, stream(gpus))


def stream(gpus: Sequence[PciGpu]) -> dict[str, str]:
    """The long-term stream for these cards, and its package of kernel modules; to fill steps with."""
    old = any(gpu.generation in WITHOUT_GSP for gpu in gpus)
    chosen = f"{DEFAULT}-{'dkms' if old else 'open'}"
    return {"stream": chosen, "kmod": kmod_of(chosen)}


CHECKS = (
    symptom(
        "HOST-OPEN-OLD",
        ("open module on a GPU without GSP", "开源模块用于没有 GSP 的 GPU"),
        r"(?:is not supported by (?:the )?open\b|(?:not supported|unsupported) by (?:the )?(?:NVIDIA )?open[^\n]*|does not include the required GPU|System Processor \(GSP\)\.?\s*$|open (?:nvidia\.ko|kernel module)[^\n]*(?:not support|require)[^\n]*Turing)[^\n]*",
        (
            "the installed kernel module is the open flavour, which supports Turing and newer only; this GPU ({gpu}) has no GSP (GPU System Processor) and needs the proprietary module",
            "安装的是开源 (open) 内核模块，仅支持 Turing 及更新；该 GPU ({gpu}) 没有 GSP，需要闭源 (proprietary) 模块",
        ),
        CLOSED,
        hints=("open", "gsp", "required gpu"),
        blocks=GPU,
    ),
    symptom(
        "HOST-CLOSED-NEW",
        ("proprietary module on a GPU that needs the open one", "需要开源模块的 GPU 使用了闭源模块"),
        r"requires use of the NVIDIA open kernel modules[^\n]*|installed in this system requires use of the[^\n]*|RmInitAdapter failed! \(0x22:0x56[^\n]*",
        (
            "this GPU ({gpu}; Blackwell or Grace Hopper) requires the NVIDIA open kernel modules, and the proprietary one is installed",
            "该 GPU（{gpu}；Blackwell 或 Grace Hopper）必须使用 NVIDIA 开源 (open) 内核模块，而安装的是闭源模块",
        ),
        OPEN,
        hints=("requires use of", "0x22:0x56"),
        blocks=GPU,
    ),
    symptom(
        "HOST-LEGACY",
        ("driver too new or too old for the card", "驱动对该显卡过新或过旧"),
        r"(?:supported through|will be supported by) the NVIDIA (?P<legacy>\d{3})\S* (?:Legacy )?drivers[^\n]*|The NVIDIA (?P<card>[^\n]+?) GPU installed in this system is\s*(?:not supported|supported through)[^\n]*|is not supported by the NVIDIA (?P<have>\d{3}[\d.]+)\s*driver release[^\n]*|\(PCI ID: [^)]*\)\s*(?:NVRM: )?installed in this system is (?:not supported|supported through)[^\n]*|GPU [^\n]*is not supported by[^\n]*driver release[^\n]*",
        (
            "the installed driver {driver} does not support this GPU ({gpu}): it needs branch {legacy} (older card: the legacy branch it names; newer card: a newer branch)",
            "已装驱动 {driver} 不支持该 GPU ({gpu})：需要分支 {legacy}（旧卡用提示的 legacy 分支，新卡用更新分支）",
        ),
        (
            do(
                "dnf module list nvidia-driver",
                "find the stream of the branch the message names; 580-dkms for Maxwell, Pascal and Volta; 470 for Kepler",
                "找到提示中的分支流；Maxwell/Pascal/Volta 用 580-dkms；Kepler 用 470",
            ),
            CLOSED[0],
            reboot(),
        ),
        hints=("legacy", "not supported", "supported through", "driver release"),
        blocks=GPU,
        follows=("HOST-OPEN-OLD", "HOST-CLOSED-NEW"),
    ),
    symptom(
        "HOST-NVML-MISMATCH",
        ("driver/library version mismatch", "驱动与库版本不一致"),
        r"Driver/library version mismatch[^\n]*|NVRM: API mismatch: the client has the version (?P<client>[\d.]+)[^\n]*|API mismatch[^\n]*|but\s*(?:NVRM: )?this kernel module has the version (?P<kernel_module>[\d.]+)[^\n]*|version mismatch[^\n]*nvml[^\n]*|ERROR_LIB_RM_VERSION_MISMATCH|nvml error: driver/library version mismatch",
        (
            "version mismatch: the user-space libraries ({library}) are newer than the loaded kernel module ({module}): a driver update, often partial, without a reboot; kernel-devel is not the cause",
            "版本 mismatch：用户态库 ({library}) 与已加载内核模块 ({module}) 不同：驱动更新（常不完整）后未重启；与 kernel-devel 无关",
        ),
        ONE_VERSION,
        hints=("mismatch", "this kernel module"),
        group="smi",
        blocks=GPU,
    ),
    symptom(
        "HOST-INIT-FAILED",
        ("the driver could not initialise the GPU", "驱动无法初始化 GPU"),
        r"RmInitAdapter failed! \((?P<reason>[^)]*)\)[^\n]*|rm_init_adapter failed[^\n]*|NVRM: None of the NVIDIA (?:devices|graphics adapters) were initialized[^\n]*|nvidia: probe of \S+ failed with error -?\d+",
        (
            "the nvidia module loaded but could not initialise the GPU ({reason})",
            "nvidia 模块已加载但无法初始化 GPU ({reason})",
        ),
        (
            do(
                "journalctl -k -b --no-pager | grep -i -E 'nvrm|nvidia' | head -n 60",
                "the NVRM lines before it name the cause: flavour, BAR, GSP firmware, power",
                "其前面的 NVRM 行说明原因：模块类型、BAR、GSP 固件、供电",
            ),
            do("nvidia-smi --gpu-reset", "or a cold power cycle", "或冷启动断电", Safety.DISRUPTIVE),
            hand(
                "in a virtual machine check 64-bit MMIO (BAR) and that the guest hides no hypervisor feature the driver needs",
                "虚拟机：检查 64 位 MMIO (BAR) 与直通设置",
            ),
        ),
        hints=("rminitadapter", "rm_init_adapter", "none of the nvidia", "probe of"),
        blocks=GPU,
        follows=(
            "HOST-OPEN-OLD",
            "HOST-CLOSED-NEW",
            "HOST-BAR",
            "HOST-GSP",
            "HOST-GSP-FIRMWARE",
            "HOST-LEGACY",
            "HOST-GPU-LOST",
            "HOST-NOUVEAU",
            "HOST-POWER-CABLE",
            "HOST-PROBE",
            "HOST-FLAVOUR",
        ),
    ),
)
