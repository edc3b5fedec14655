"""Wrong forms of commands: Python, CUDA, torch."""

from __future__ import annotations

from bedplate.host.checks.form import form

CHECKS = (
    form(
        "FORM-PYTHON3",
        ("the system's python3", "系统自带 python3"),
        r"(?:^|[\s;&|\"'(])python3\s+-c\s+[\"'][^\n]*import torch|(?:^|\s)pip3\s+install\b[^\n]*\b(?:torch|stable|gymnasium)",
        (
            "python3 and pip3 of RHEL 8 are Python 3.6: no current torch exists for it",
            "RHEL 8 的 python3、pip3 是 3.6：没有可用的 torch",
        ),
        "python3.12 -m venv .venv && .venv/bin/python -m pip install torch",
        hints=("python3", "pip3"),
        breaks=False,
    ),
    form(
        "FORM-PYTHON-STREAM",
        ("retired Python", "已退役的 Python"),
        r"(?:module\s+(?:-y\s+)?(?:enable|install)\s+(?:-y\s+)?|install\s+(?:-y\s+)?)[^\n]*\bpython3?\.?(?:36|38|39|3\.6|3\.8|3\.9)\b|module\s+enable\s+python3",
        (
            "python36, python38 and python39 are too old for torch 2.9, and enable does not install; python3.11 and 3.12 are plain packages",
            "python36/38/39 对 torch 2.9 过旧，且 enable 不会安装；python3.11/3.12 是普通软件包",
        ),
        "dnf install python3.12",
        hints=("python",),
    ),
    form(
        "FORM-LD-PATH",
        ("global LD_LIBRARY_PATH", "全局 LD_LIBRARY_PATH"),
        r"(?:export\s+|ENV\s+)LD_LIBRARY_PATH[=\s][^\n]*(?:cuda|cudnn)",
        (
            "a global LD_LIBRARY_PATH shadows the CUDA libraries that the wheels carry",
            "全局 LD_LIBRARY_PATH 会遮盖 wheel 自带的 CUDA 库",
        ),
        "unset LD_LIBRARY_PATH",
        hints=("ld_library_path",),
        breaks=False,
    ),
    form(
        "FORM-EXPORT-EQUALS",
        ("export lost its equals sign", "export 丢失等号"),
        r"export\s+(?:PATH|LD_LIBRARY_PATH|CUDA_HOME)\s*/",
        ("the equals sign is missing: the shell refuses the line", "缺少等号：shell 会拒绝该行"),
        "export PATH=/usr/local/cuda/bin:$PATH",
        hints=("export",),
    ),
    form(
        "FORM-CUDNN-COPY",
        ("cuDNN copied by hand", "手工复制 cuDNN"),
        r"cp\b[^\n]*cudnn[^\n]*/usr/local/cuda|(?:dnf|yum|rpm)\b[^\n]*cudnn[^\n]*-archive",
        (
            "copied cuDNN files mix versions and no package owns them; torch wheels bring their own; an -archive file is no RPM",
            "手工复制的 cuDNN 会混版本且无包管理；torch wheel 自带；-archive 文件不是 RPM",
        ),
        (
            "nothing for training from wheels; to compile: the cuDNN RPM of NVIDIA's repository",
            "用 wheel 训练无需安装；编译时使用 NVIDIA 仓库的 cuDNN RPM",
        ),
        hints=("cudnn",),
        breaks=False,
    ),
    form(
        "FORM-TORCH-EQUALS",
        ("pip lost its ==", "pip 丢失 =="),
        r"pip3?\s+install\b[^\n]*\b(?:torch|torchvision|numpy|stable-baselines3|gymnasium)\d+\.\d+",
        ("the == is missing: no package has that name", "缺少 ==：没有这个名字的包"),
        "python -m pip install torch==2.9.0",
        hints=("pip",),
    ),
    form(
        "FORM-TORCH-UNPINNED",
        ("torch without version and CUDA", "torch 未固定版本与 CUDA"),
        r"pip3?\s+install\s+(?:-U\s+|--upgrade\s+)?torch(?:\s|$)(?![^\n]*index-url)",
        (
            "plain pip install torch takes the newest CUDA build (13): it needs driver 580 and a GPU of 7.5 or newer",
            "直接 pip install torch 会装最新 CUDA (13) 版：需要驱动 580 与算力 7.5 以上的 GPU",
        ),
        "python -m pip install 'torch==2.9.*' --index-url https://download.pytorch.org/whl/cu126",
        hints=("torch",),
        breaks=False,
    ),
    form(
        "FORM-CU118",
        ("cu118 as a cure", "以 cu118 作为通用解法"),
        r"whl/cu(?:118|117|116|121)\b|cudatoolkit=11|pytorch-cuda=11",
        (
            "cu118 ended with torch 2.7, knows no Blackwell, and is not the default of PyTorch 2",
            "cu118 止于 torch 2.7，不支持 Blackwell，也不是 PyTorch 2 的默认",
        ),
        (
            "choose by GPU and driver: cu126 for Maxwell to Hopper, cu130 for Turing and newer with driver 580",
            "按 GPU 与驱动选择：Maxwell–Hopper 用 cu126；Turing 及以后且驱动 580 用 cu130",
        ),
        hints=("cu11", "cu121", "cudatoolkit", "pytorch-cuda"),
        breaks=False,
    ),
)
