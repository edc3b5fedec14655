"""torch against driver, GPU and toolkit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedplate.core.check import Finding, Status
from bedplate.host.checks.kinds import TRAIN, Texts, do, filled_steps, hand, known, passed, state, symptom
from bedplate.host.language import Both
from bedplate.host.matrix import least_driver, matching_driver
from bedplate.host.versions import at_least

_CUDA_BUILD = (
    do("python -m pip uninstall -y torch", "the CPU-only build goes first", "先卸载 CPU 版"),
    do(
        "python -m pip install torch --index-url https://download.pytorch.org/whl/cu126",
        "a CUDA build that the driver carries: cu126 for driver 560 and older GPUs, cu130 for driver 580 and newer",
        "选择驱动支持的 CUDA 版：560 及旧 GPU 用 cu126，580 及以上用 cu130",
    ),
    do(
        "python -c 'import torch; print(torch.version.cuda, torch.cuda.is_available())'",
        "prove it; do not touch the driver on this evidence",
        "验证；据此无需改动驱动",
    ),
)


def _cpu(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-CPU-WHEEL"
    if facts["torch_cuda"] != "none":
        return passed(
            code, f"torch was built for CUDA {facts['torch_cuda']}", f"torch 为 CUDA {facts['torch_cuda']} 构建"
        )
    version = known(facts["torch"], "torch")
    summary = Both(
        f"torch {version} is a CPU-only build (suffix +cpu, 'CUDA used to build PyTorch: None'): CUDA can never be available with it",
        f"torch {version} 是仅 CPU (CPU-only) 版本（后缀 +cpu，CUDA used to build PyTorch: None）：无法使用 CUDA",
    )
    return Finding(
        code,
        Status.FAIL,
        summary,
        (("torch", f"torch {version}: no CUDA in this build"),),
        TRAIN,
        _CUDA_BUILD,
    )


def _wheel_driver(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-WHEEL-DRIVER"
    cuda, driver = facts["torch_cuda"], facts["driver"]
    least = least_driver(cuda) if cuda != "none" else None
    matching = matching_driver(cuda) if cuda != "none" else None
    if least is not None and matching is not None and at_least(driver, least) and not at_least(driver, matching):
        said = Both(
            f"driver {driver} runs CUDA {cuda} by minor-version compatibility; Triton and torch.compile need {matching}",
            f"驱动 {driver} 通过次版本兼容运行 CUDA {cuda}；Triton 与 torch.compile 需要 {matching}",
        )
        proof = (("nvidia-smi", driver), ("pip-list", f"CUDA {cuda}"))
        return Finding(code, Status.INFO, said, proof, frozenset(), filled_steps(_NEWER_DRIVER, {"stream": "580-open"}))
    if least is None or at_least(driver, least):
        return passed(code, f"driver {driver} runs CUDA {cuda}", f"驱动 {driver} 可运行 CUDA {cuda}")
    summary = Both(
        f"torch was built for CUDA {cuda}, which needs driver {least} or newer; the host has {driver}",
        f"torch 为 CUDA {cuda} 构建，需要驱动 {least} 或更新；主机为 {driver}",
    )
    return Finding(
        code,
        Status.FAIL,
        summary,
        (("nvidia-smi", driver), ("pip-list", cuda)),
        TRAIN,
        filled_steps(_NEWER_DRIVER, {"stream": "580-open"}),
    )


def _too_old(facts: Mapping[str, Any]) -> Finding:
    import re

    code = "HOST-DRIVER-OLD"
    texts: Texts = facts["texts"]
    for name, text in texts.texts.items():
        found = re.search(
            r"driver on your system is too old[^\n]*?(?:\(found version (\d+)\))?[^\n]*|CUDA driver version is insufficient for CUDA runtime version[^\n]*|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|cudaErrorInsufficientDriver[^\n]*",
            text,
        )
        if not found:
            continue
        number = re.search(r"found version (\d+)", found[0])
        level = (
            f"{int(number[1]) // 1000}.{int(number[1]) % 1000 // 10} ({number[1]})"
            if number
            else known(facts.get("cuda"), "lower")
        )
        wants = "CUDA 13" if number and int(number[1]) >= 12000 else "CUDA 12 or newer"
        summary = Both(
            f"the host driver supports CUDA up to {level}, and the installed torch wheel was built for {wants}: the driver is too old for it",
            f"主机驱动最高支持 CUDA {level}，而已装 torch wheel 为 {wants} 构建：驱动过旧",
        )
        return Finding(
            code, Status.FAIL, summary, ((name, found[0][:300]),), TRAIN, filled_steps(_NEWER_DRIVER, texts.values)
        )
    return passed(code, "no program says that the driver is too old", "没有程序报告驱动过旧")


_NEWER_DRIVER = (
    do(
        "dnf module reset nvidia-driver && dnf module enable nvidia-driver:{stream} && dnf install nvidia-driver-cuda",
        "upgrade the driver: 525 or newer for CUDA 12, 580 or newer for CUDA 13",
        "升级驱动：CUDA 12 需 525+，CUDA 13 需 580+",
    ),
    do(
        "python -m pip install torch --index-url https://download.pytorch.org/whl/cu126",
        "or a torch build of an older CUDA: cu126 for drivers from 525; cu118 (torch up to 2.7) for drivers from 450",
        "或安装更旧 CUDA 的 torch：525+ 用 cu126；450+ 用 cu118（torch 至 2.7）",
    ),
)

CHECKS = (
    state(
        "HOST-CPU-WHEEL", ("torch with CUDA", "带 CUDA 的 torch"), ("torch_cuda", "torch"), _cpu, follows=("HOST-GPU",)
    ),
    symptom(
        "HOST-CPU-ONLY",
        ("torch is a CPU-only build", "torch 是仅 CPU 版本"),
        r"Torch not compiled with CUDA enabled[^\n]*|PyTorch version: \S+\+cpu|torch\S*\+cpu\b[^\n]*|CUDA used to build PyTorch: None",
        (
            "torch is a CPU-only build (version suffix +cpu; CUDA used to build PyTorch: None)",
            "torch 是仅 CPU (CPU-only) 版本（+cpu；CUDA used to build PyTorch: None）",
        ),
        _CUDA_BUILD,
        hints=("not compiled with cuda", "+cpu", "cuda used to build"),
        group="app",
        follows=("HOST-CPU-WHEEL",),
    ),
    state("HOST-DRIVER-OLD", ("driver too old for the program", "驱动对程序过旧"), ("texts",), _too_old),
    state(
        "HOST-WHEEL-DRIVER",
        ("driver and the wheel's CUDA", "驱动与 wheel 的 CUDA"),
        ("torch_cuda", "driver"),
        _wheel_driver,
        follows=("HOST-DRIVER-OLD",),
    ),
    symptom(
        "HOST-ARCH",
        ("GPU architecture is not in the wheel", "wheel 不含该 GPU 架构"),
        r"(?:(?P<gpu>[^\n]+?) with CUDA capability (?P<sm>sm_\d+a?)[^\n]*(?:is )?not compatible|Found GPU\d+ (?P<g2>[^\n]+?) which is of (?:cuda )?capability (?P<cap>[\d.]+)|no kernel image is available for execution|(?:GPU|gencode|arch)[^\n]*(?:compute|sm)_(?P<s2>\d{2,3})[^\n]*(?:unsupported|not (?:supported|defined))|Unsupported gpu architecture '(?P<s3>\w+)'|minimum cuda capability supported[^\n]*)[^\n]*",
        (
            "the wheel has no kernels for this GPU ({gpu}, {sm}): older cards (below the minimum, such as 7.0 or 7.5) need the CUDA 12.6 build, Blackwell (sm_100, sm_120) needs CUDA 12.8 or newer",
            "wheel 没有该 GPU 的内核（{gpu}，{sm}）：旧卡（低于最低要求如 7.0、7.5）需 CUDA 12.6 版；Blackwell (sm_100, sm_120) 需 CUDA 12.8 或更新",
        ),
        (
            do(
                "python -c 'import torch; print(torch.cuda.get_arch_list(), torch.version.cuda)'",
                "the wheel's list must hold the GPU's sm",
                "列表须包含该 GPU 的 sm",
            ),
            do(
                "python -m pip install 'torch<2.15' --index-url https://download.pytorch.org/whl/cu126",
                "Maxwell, Pascal, Volta (sm_50 to sm_70): the CUDA 12.6 build, last with torch 2.14; reinstalling the same wheel changes nothing",
                "Maxwell/Pascal/Volta (sm_50–sm_70)：CUDA 12.6 版，至 torch 2.14；重装同一 wheel 无效",
            ),
            do(
                "python -m pip install torch --index-url https://download.pytorch.org/whl/cu130",
                "Blackwell (sm_100, sm_120): CUDA 12.8 or newer, and a driver of 570 or newer with the open module",
                "Blackwell (sm_100, sm_120)：CUDA 12.8 或更新，且驱动 570+ 的开源模块",
            ),
            hand(
                "kernels of your own: set TORCH_CUDA_ARCH_LIST and build again",
                "自编内核：设置 TORCH_CUDA_ARCH_LIST 后重编",
            ),
        ),
        hints=("capability", "kernel image", "gpu architecture", "gencode", "sm_"),
        group="app",
    ),
    symptom(
        "HOST-PTX",
        ("PTX of a newer toolkit", "PTX 来自更新的工具包"),
        r"(?:provided PTX was compiled with an unsupported toolchain|cudaErrorUnsupportedPtxVersion|CUDA_ERROR_UNSUPPORTED_PTX_VERSION|Unsupported \.version \d[^\n]*|ptxas[^\n]*unsupported)[^\n]*",
        (
            "PTX was made by a newer CUDA than the driver can compile (Triton, torch.compile, JIT)",
            "PTX 由比驱动更新的 CUDA 生成，驱动无法编译（Triton、torch.compile、JIT）",
        ),
        (
            hand(
                "update the driver to the branch of that CUDA (595 for CUDA 13.2, 580 for 13.0, 570 for 12.8), or take a torch of the driver's CUDA",
                "把驱动升级到对应分支（13.2→595，13.0→580，12.8→570），或使用与驱动 CUDA 相同的 torch",
            ),
            *_NEWER_DRIVER,
        ),
        hints=("ptx", "unsupported .version"),
        group="app",
    ),
    symptom(
        "HOST-FORWARD-COMPAT",
        ("forward-compatibility libraries", "前向兼容库"),
        r"(?:forward compatibility was attempted on non[- ]supported HW|Error 804|unsupported display driver ?/ ?cuda driver combination|Error 803|/usr/local/cuda[^\n]*/compat/libcuda\.so[^\n]*)[^\n]*",
        (
            "a libcuda.so of cuda-compat shadows the driver's (error 803/804): forward compatibility works on data-centre GPUs and certain branches only",
            "cuda-compat 的 libcuda.so 遮盖了驱动的库（错误 803/804）：前向兼容仅适用于数据中心 GPU 与特定分支",
        ),
        (
            do(
                "unset LD_LIBRARY_PATH; ldconfig -p | grep libcuda.so",
                "only the driver's copy in /usr/lib64 may be found",
                "应只找到 /usr/lib64 中驱动的库",
            ),
            do("dnf remove 'cuda-compat*'", "the compat package", "移除 compat 软件包"),
            do(
                "rm -f /etc/ld.so.conf.d/*compat*.conf && ldconfig",
                "in an image: drop the compat folder from the loader's path",
                "镜像中：从加载器路径移除 compat 目录",
            ),
        ),
        hints=("forward compat", "804", "803", "driver combination", "compat/libcuda"),
        group="app",
    ),
    symptom(
        "HOST-CUDA-HOME",
        ("toolkit and torch of different CUDA", "工具包与 torch 的 CUDA 不同"),
        r"detected CUDA version \((?P<have>[\d.]+)\) mismatches the version that was used to compile\s+PyTorch \((?P<want>[\d.]+)\)[^\n]*|CUDA_HOME environment variable is not set[^\n]*|(?:nvcc|/bin/nvcc)[^\n]*(?:command not found|No such file)[^\n]*",
        (
            "an extension is compiled with toolkit {have} for a torch of CUDA {want}: a toolkit is needed only for compiling, and of torch's major version",
            "用工具包 {have} 为 CUDA {want} 的 torch 编译扩展：只有编译才需要工具包，且主版本须一致",
        ),
        (
            do("python -c 'import torch; print(torch.version.cuda)'", "the version to install", "应安装的版本"),
            do(
                "dnf install cuda-toolkit-12-6",
                "toolkit without driver, of that version",
                "安装该版本的工具包（不含驱动）",
            ),
            do(
                "export CUDA_HOME=/usr/local/cuda-12.6",
                "for this build only; training from wheels needs no toolkit",
                "仅用于本次编译；用 wheel 训练无需工具包",
            ),
        ),
        hints=("detected cuda version", "cuda_home", "nvcc"),
        group="app",
    ),
    symptom(
        "HOST-NVCC-GCC",
        ("compiler too new for nvcc", "编译器对 nvcc 过新"),
        r"unsupported GNU version! gcc versions later than (?P<gcc>\d+)[^\n]*",
        ("nvcc of this toolkit accepts gcc up to {gcc}", "该工具包的 nvcc 最高支持 gcc {gcc}"),
        (
            do(
                "dnf install gcc-toolset-{gcc} && scl enable gcc-toolset-{gcc} bash",
                "a compiler that nvcc accepts; or a newer toolkit",
                "使用 nvcc 支持的编译器，或更新工具包",
            ),
            hand(
                "do not use --allow-unsupported-compiler for training code",
                "训练代码不要用 --allow-unsupported-compiler",
            ),
        ),
        hints=("unsupported gnu version",),
        group="app",
    ),
)
