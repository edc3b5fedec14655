"""What people see first and what says least: each follows from anything above that failed."""

from __future__ import annotations

from bedplate.host.checks.kinds import GPU, do, hand, symptom

_KERNEL_LOG = do(
    "dmesg | grep -i -E 'nvrm|nvidia|nouveau' || journalctl -k -b | grep -i nvrm",
    "the NVRM lines of the kernel log say why: collect them before acting",
    "内核日志的 NVRM 行说明原因：先采集再动手",
)

CHECKS = (
    symptom(
        "HOST-NO-DEVICES",
        ("the driver found no usable GPU", "驱动没有找到可用 GPU"),
        r"^[ \t]*No devices were found[^\n]*|No devices found\.?\s*$",
        (
            "No devices were found: the driver is loaded but initialised no GPU; the reason is only in the kernel log (dmesg, NVRM lines)",
            "No devices were found：驱动已加载但未初始化任何 GPU；原因只在内核日志（dmesg 的 NVRM 行）中",
        ),
        (
            _KERNEL_LOG,
            hand(
                "virtual machine: suspect missing 64-bit MMIO space for passthrough first (BAR lines)",
                "虚拟机：先怀疑直通缺少 64 位 MMIO（BAR 行）",
            ),
            hand(
                "then an unsupported module flavour (open on Pascal or Volta, closed on Blackwell) or a GSP failure",
                "其次是模块类型不符（Pascal/Volta 用了 open，Blackwell 用了闭源）或 GSP 故障",
            ),
        ),
        hints=("no devices",),
        group="smi",
        blocks=GPU,
        follows=("*",),
    ),
    symptom(
        "HOST-COMM",
        ("nvidia-smi cannot talk to the driver", "nvidia-smi 无法与驱动通信"),
        r"couldn't communicate with the NVIDIA driver[^\n]*|NVML: Driver Not Loaded[^\n]*|NVIDIA-SMI has failed[^\n]*|could not insert '?nvidia\w*'?: No such device[^\n]*|Failed to initialize NVML: (?:Driver Not Loaded|GPU access blocked|Not Found)[^\n]*",
        (
            "the nvidia module is not loaded: not built for the running kernel {kernel}, refused by Secure Boot, or nouveau has the card",
            "nvidia 模块未加载：未为运行内核 {kernel} 构建、被 Secure Boot 拒绝，或 nouveau 占用显卡",
        ),
        (
            do("modprobe nvidia; dmesg | tail -n 20", "the error it gives decides", "其报错决定方向"),
            do(
                "dkms status; mokutil --sb-state; lsmod | grep -E 'nouveau|nvidia'",
                "built? signed? nouveau?",
                "是否构建？签名？nouveau？",
            ),
            do(
                "dkms install nvidia/{driver} -k {kernel} --force",
                "after a kernel update the module is usually missing for the new kernel",
                "内核更新后通常缺少新内核的模块",
            ),
        ),
        hints=(
            "nvidia-smi has failed",
            "communicate with",
            "driver not loaded",
            "no such device",
            "gpu access blocked",
            "nvml: not found",
        ),
        group="smi",
        blocks=GPU,
        follows=("*",),
    ),
    symptom(
        "HOST-SMI-ABSENT",
        ("nvidia-smi is not installed", "未安装 nvidia-smi"),
        r"nvidia-smi: (?:command )?not found[^\n]*|nvidia-smi: 未找到命令[^\n]*|nvidia-smi: 没有那个文件[^\n]*|executable file [`'\"]?nvidia-smi[`'\"]? not found[^\n]*",
        (
            "nvidia-smi is absent: on the host the package nvidia-driver-cuda owns it; in a container it is injected with the GPU, so the GPU was not given",
            "没有 nvidia-smi：主机上属于 nvidia-driver-cuda；容器中随 GPU 注入，说明未带 GPU",
        ),
        (
            do(
                "dnf install nvidia-driver-cuda",
                "host; nvidia-utils is no RHEL package",
                "主机；RHEL 没有 nvidia-utils",
            ),
            do(
                "podman run --rm --device nvidia.com/gpu=all --security-opt label=disable IMAGE nvidia-smi",
                "container: --gpus all does nothing on podman 4.9",
                "容器：podman 4.9 的 --gpus all 无效",
            ),
        ),
        hints=("nvidia-smi",),
        group="smi",
        blocks=GPU,
        follows=("*",),
    ),
    symptom(
        "HOST-NO-CUDA",
        ("CUDA sees no device", "CUDA 看不到设备"),
        r"(?:no CUDA-capable device is detected|No CUDA GPUs are available|CUDA_ERROR_NO_DEVICE|cudaErrorNoDevice|Found no NVIDIA driver on your system|Is CUDA available: False|torch\.cuda\.is_available\(\)[^\n]*False)[^\n]*",
        (
            "CUDA sees no device: driver not loaded, GPU not given to the container, or CUDA_VISIBLE_DEVICES hides it",
            "CUDA 看不到设备：驱动未加载、容器未带 GPU，或被 CUDA_VISIBLE_DEVICES 隐藏",
        ),
        (
            do(
                'nvidia-smi -L; echo "$CUDA_VISIBLE_DEVICES"; ls -l /dev/nvidia*',
                "host first, then the same in the container",
                "先主机，再在容器中",
            ),
            do(
                "podman run --rm --device nvidia.com/gpu=all --security-opt label=disable IMAGE nvidia-smi -L",
                "container",
                "容器",
            ),
            do(
                "python -c 'import torch; print(torch.__version__, torch.version.cuda)'",
                "None means a CPU-only build",
                "None 表示 CPU 版",
            ),
        ),
        hints=("no cuda", "no_device", "nodevice", "found no nvidia", "cuda available", "is_available"),
        group="app",
        follows=("*",),
    ),
)
