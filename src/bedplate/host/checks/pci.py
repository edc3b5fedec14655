"""Address space and passthrough: the card is there but its memory cannot be mapped."""

from __future__ import annotations

from bedplate.core.check import Status
from bedplate.host.checks.kinds import GPU, NOTHING, do, hand, reboot, symptom

CHECKS = (
    symptom(
        "HOST-BAR",
        ("no address space for the GPU (BAR)", "GPU 没有地址空间 (BAR)"),
        r"BAR\d? is 0M @ 0x0.*|PCI I/O region assigned to your NVIDIA device is invalid.*|BAR ?\d+: (?:no space for|can't assign|failed to assign) \[mem size 0x0*[1-9a-f][0-9a-f]{7,} 64bit[^\n]*|This PCI I/O region.*invalid.*|NVRM: BAR\d.*invalid.*",
        (
            "the system gave the GPU no 64-bit MMIO space (BAR is 0 or not assigned), so the driver cannot map it; typical of passthrough into a virtual machine, or of a BIOS without Above 4G Decoding",
            "系统没有给 GPU 分配 64 位 MMIO 空间（BAR 为 0 或未分配），驱动无法映射；常见于虚拟机直通或 BIOS 未开 Above 4G Decoding",
        ),
        (
            hand(
                "virtual machine: UEFI firmware and larger 64-bit MMIO (VMware: pciPassthru.use64bitMMIO=TRUE and pciPassthru.64bitMMIOSizeGB at least twice the GPU memory, rounded up to a power of two; QEMU: OVMF with X-PciMmio64Mb)",
                "虚拟机：使用 UEFI 固件并加大 64 位 MMIO（VMware：pciPassthru.use64bitMMIO=TRUE，pciPassthru.64bitMMIOSizeGB 至少为显存两倍并取 2 的幂；QEMU：OVMF 与 X-PciMmio64Mb）",
            ),
            hand(
                "bare metal: switch on Above 4G Decoding (and Resizable BAR where offered) in the BIOS, CSM off",
                "物理机：在 BIOS 打开 Above 4G Decoding（以及 Resizable BAR），关闭 CSM",
            ),
            do(
                "grubby --update-kernel=ALL --args=pci=realloc",
                "lets the kernel assign bridges anew; try it only after the firmware settings",
                "让内核重新分配桥；先改固件再试",
                undo="grubby --update-kernel=ALL --remove-args=pci=realloc",
            ),
            reboot(),
        ),
        hints=("bar", "i/o region"),
        blocks=GPU,
    ),
    symptom(
        "HOST-VFIO",
        ("GPU is held by vfio", "GPU 被 vfio 占用"),
        r"Kernel driver in use: vfio-pci|vfio-pci[^\n]*10de|vfio_pci[^\n]*add \[10de",
        (
            "the GPU is bound to vfio-pci for a virtual machine, so the host's nvidia driver cannot have it",
            "GPU 绑定在 vfio-pci（供虚拟机使用），主机 nvidia 驱动无法使用",
        ),
        (
            hand(
                "take the GPU's ids out of vfio-pci.ids= on the kernel command line and of /etc/modprobe.d, or use another GPU",
                "从内核命令行 vfio-pci.ids= 与 /etc/modprobe.d 中移除该 GPU，或换一块",
            ),
            do("dracut --force --regenerate-all", "the initramfs binds early", "initramfs 会提前绑定"),
            reboot(),
        ),
        hints=("vfio",),
        blocks=GPU,
    ),
    symptom(
        "HOST-IOMMU",
        ("IOMMU faults", "IOMMU 错误"),
        r"(?:DMAR|AMD-Vi|IO_PAGE_FAULT)[^\n]*(?:fault|IO_PAGE_FAULT)[^\n]*",
        (
            "the IOMMU refuses DMA of a device: with GPUs it breaks peer to peer (NCCL hangs) or initialisation",
            "IOMMU 拒绝设备 DMA：会导致 GPU 对等通信（NCCL 挂起）或初始化失败",
        ),
        (
            do(
                "grubby --update-kernel=ALL --args=iommu=pt",
                "pass-through mode on bare metal",
                "物理机使用直通模式",
                undo="grubby --update-kernel=ALL --remove-args=iommu=pt",
            ),
            reboot(),
        ),
        hints=("fault",),
        status=Status.WARN,
        blocks=NOTHING,
    ),
)
