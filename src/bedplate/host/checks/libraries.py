"""Shared libraries: shadowed, absent, of the wrong version, too new for glibc 2.28."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedplate.core.check import Finding, Status
from bedplate.host.checks.kinds import NOTHING, TRAIN, do, hand, passed, state, symptom
from bedplate.host.language import Both

_UNSET = (
    do(
        "unset LD_LIBRARY_PATH",
        "wheels carry their own CUDA; drop the cuda entry from ~/.bashrc and /etc/profile.d too",
        "wheel 自带 CUDA；也从 ~/.bashrc、/etc/profile.d 中删除 cuda 条目",
    ),
    do(
        "python -c 'import torch; print(torch.version.cuda, torch.backends.cudnn.version())'",
        "prove it in the same shell",
        "在同一 shell 中验证",
    ),
    hand(
        "where the path is needed: put the wheel's folder (site-packages/nvidia/*/lib) before the toolkit's",
        "若必须设置：把 wheel 目录（site-packages/nvidia/*/lib）放在工具包之前",
    ),
)


def _path(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-LD-PATH"
    value = facts["env"].get("LD_LIBRARY_PATH", "")
    parts = [
        part
        for part in value.split(":")
        if "cuda" in part.lower() or "cudnn" in part.lower() or "tensorrt" in part.lower()
    ]
    if not parts:
        return passed(code, "LD_LIBRARY_PATH names no CUDA folder", "LD_LIBRARY_PATH 不含 CUDA 目录")
    summary = Both(
        f"LD_LIBRARY_PATH={value} puts a system CUDA before the wheels' own",
        f"LD_LIBRARY_PATH={value} 使系统 CUDA 优先于 wheel 自带的库",
    )
    return Finding(code, Status.WARN, summary, (("env", f"LD_LIBRARY_PATH={value}"),), NOTHING, _UNSET)


CHECKS = (
    symptom(
        "HOST-SHADOWED",
        ("a system library shadows the wheel's", "系统库遮盖了 wheel 的库"),
        r"undefined symbol: (?P<symbol>\S*(?:nvJitLink|cudnn|cublas|cusparse|cusolver|cufft|nccl|cudart|cuda|nvrtc)[^\s,]*)[^\n]*|symbol (?P<s2>\S+)[^\n]*version (?P<lib>lib(?:nvJitLink|cublas|cudnn|cusparse|cudart|nccl)\S*) not defined[^\n]*|version `?(?P<v>lib(?:nvJitLink|cublas|cudart|cusparse)\S*)' not found[^\n]*|cuDNN version incompatibility[^\n]*|Loaded runtime CuDNN library: \S+ but source was compiled with[^\n]*|CUDNN_STATUS_(?:VERSION_MISMATCH|SUBLIBRARY_VERSION_MISMATCH|NOT_INITIALIZED)[^\n]*|PyTorch was compiled\s+against[^\n]*but found runtime version[^\n]*",
        (
            "the loader takes another copy of a CUDA library (nvJitLink, cuDNN, cuBLAS, NCCL) than the wheel's: LD_LIBRARY_PATH or a second toolkit shadows it ({symbol})",
            "加载器使用了与 wheel 不同的 CUDA 库（nvJitLink、cuDNN、cuBLAS、NCCL）：被 LD_LIBRARY_PATH 或另一工具包遮盖 ({symbol})",
        ),
        (
            *_UNSET,
            do(
                "python -m pip install --force-reinstall torch",
                "only when LD_LIBRARY_PATH is empty and it persists: wheels of two CUDA versions are mixed",
                "仅当 LD_LIBRARY_PATH 为空仍出现：混装了两种 CUDA 的 wheel",
            ),
        ),
        hints=("undefined symbol", "not defined", "not found", "cudnn", "found runtime version"),
        group="app",
    ),
    state("HOST-LD-PATH", ("LD_LIBRARY_PATH", "LD_LIBRARY_PATH"), ("env",), _path, follows=("HOST-SHADOWED",)),
    symptom(
        "HOST-GLIBC",
        ("binary needs a newer glibc", "二进制需要更新的 glibc"),
        r"version [`'](?P<need>GLIBC(?:XX)?_[\d.]+|CXXABI_[\d.]+)' not found(?: \(required by (?P<by>[^)]+)\))?[^\n]*",
        (
            "{by} needs {need}; RHEL 8 has glibc 2.28, GLIBCXX_3.4.25 and CXXABI_1.3.11",
            "{by} 需要 {need}；RHEL 8 为 glibc 2.28、GLIBCXX_3.4.25、CXXABI_1.3.11",
        ),
        (
            hand(
                "take a wheel tagged manylinux_2_28 or older of that package (pip does when it is current; a file copied by hand does not)",
                "选用 manylinux_2_28 或更旧标签的 wheel（新版 pip 会自动选择）",
            ),
            do(
                "podman run --rm --device nvidia.com/gpu=all IMAGE python train.py",
                "or run it in a container with a newer userland",
                "或在更新用户态的容器中运行",
            ),
            hand(
                "GLIBCXX only: conda's or gcc-toolset's libstdc++ may be loaded first; never replace the system's glibc",
                "仅 GLIBCXX：可先加载 conda 或 gcc-toolset 的 libstdc++；切勿替换系统 glibc",
            ),
        ),
        hints=("glibc", "cxxabi"),
        group="app",
    ),
    symptom(
        "HOST-LIBCUDA",
        ("libcuda.so.1 or libnvidia-ml.so.1 is missing", "缺少 libcuda.so.1 或 libnvidia-ml.so.1"),
        r"(?P<lib>libcuda\.so(?:\.1)?|libnvidia-ml\.so(?:\.1)?|libnvidia-\w+\.so\S*): cannot open shared object file[^\n]*|NVML Shared Library Not Found|couldn't find libnvidia-ml\.so[^\n]*|Could not find[^\n]*libcuda[^\n]*|failed call to cuInit[^\n]*(?:UNKNOWN|NO_DEVICE|303)[^\n]*",
        (
            "the driver's user-space library {lib} is missing here: the driver is not installed, or the container was started without its GPU",
            "缺少驱动的用户态库 {lib}：未安装驱动，或容器启动时未带 GPU",
        ),
        (
            do("ldconfig -p | grep -E 'libcuda.so|libnvidia-ml'", "on the host both must be there", "主机上应都存在"),
            do(
                "dnf install nvidia-driver-cuda-libs libnvidia-ml",
                "host: the packages that own them",
                "主机：所属软件包",
            ),
            do(
                "podman run --device nvidia.com/gpu=all --security-opt label=disable IMAGE nvidia-smi",
                "container: --gpus does nothing on podman 4.9; never install the driver inside",
                "容器：podman 4.9 的 --gpus 无效；不要在容器内装驱动",
            ),
        ),
        hints=("libcuda", "libnvidia", "nvml shared", "cuinit"),
        group="app",
        follows=("HOST-DRIVER", "FORM-GPUS-FLAG"),
    ),
    symptom(
        "HOST-CUDA-LIB",
        ("a CUDA library is missing", "缺少 CUDA 库"),
        r"(?P<lib>lib(?:cudart|cublas(?:Lt)?|cudnn\w*|cufft|curand|cusolver|cusparse|nvrtc|nccl|cupti|nvinfer\w*|nvonnxparser|nvJitLink)\.so\S*?):? cannot open shared object file[^\n]*|Could not load (?:dynamic )?library '?(?P<l2>lib(?:cud|cub|nv)\S+?)'?[;. ][^\n]*|Failed to load library libonnxruntime_providers_(?:cuda|tensorrt)\.so[^\n]*",
        (
            "{lib} is missing: the package was built for a CUDA or cuDNN major version that is not installed",
            "缺少 {lib}：该软件包所需的 CUDA/cuDNN 主版本未安装",
        ),
        (
            do(
                "python -m pip install nvidia-cudnn-cu12 nvidia-cuda-runtime-cu12 nvidia-cublas-cu12",
                "the wheels of that major version (cu13 for CUDA 13), and for onnxruntime-gpu: onnxruntime.preload_dlls()",
                "对应主版本的 wheel（CUDA 13 用 cu13）；onnxruntime-gpu：onnxruntime.preload_dlls()",
            ),
            hand(
                "number after .so is the major version: .so.12 is CUDA 12, libcudnn.so.9 is cuDNN 9",
                ".so 后的数字为主版本：.so.12 即 CUDA 12，libcudnn.so.9 即 cuDNN 9",
            ),
            hand(
                "do not cure it with a global LD_LIBRARY_PATH: it shadows other wheels",
                "不要用全局 LD_LIBRARY_PATH 解决：会遮盖其他 wheel",
            ),
        ),
        hints=("cannot open shared", "could not load", "failed to load library"),
        group="app",
    ),
    symptom(
        "HOST-SYSTEM-LIB",
        ("a system library is missing", "缺少系统库"),
        r"(?P<lib>lib(?:GL|EGL|OSMesa|glfw|X11|Xext|SM|gomp|quadmath|stdc\+\+|ffi|bz2|sndfile|numa|ibverbs)[\w+-]*\.so\S*?): cannot open shared object file[^\n]*",
        ("the system library {lib} is missing", "缺少系统库 {lib}"),
        (
            do("dnf provides '*/{lib}'", "names the package", "查询所属软件包"),
            do(
                "dnf install mesa-libGL mesa-libEGL mesa-libOSMesa libgomp numactl-libs",
                "the usual ones of rendering and numerics",
                "渲染与数值计算常用库",
            ),
        ),
        hints=("cannot open shared",),
        group="app",
    ),
    symptom(
        "HOST-NUMPY-ABI",
        ("built for another NumPy", "为其他 NumPy 版本构建"),
        r"(?:A module that was compiled using NumPy 1\.x cannot be run in|numpy\.dtype size changed|_ARRAY_API not found|numpy\.core\.multiarray failed to import)[^\n]*",
        (
            "a package was compiled for NumPy 1 and runs with NumPy 2, or the reverse",
            "某软件包针对 NumPy 1 编译而运行在 NumPy 2 上，或相反",
        ),
        (
            do(
                "python -m pip install 'numpy<2'",
                "until the package has a build for NumPy 2",
                "在该包支持 NumPy 2 之前",
            ),
            hand("or upgrade that package", "或升级该软件包"),
        ),
        hints=("numpy", "_array_api"),
        group="app",
        blocks=TRAIN,
    ),
)
