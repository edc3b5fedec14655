"""The older way: OCI hooks, nvidia-container-cli, Docker's runtime."""

from __future__ import annotations

from bedplate.host.checks.kinds import IMAGE, do, hand, symptom

_CDI = (
    do(
        "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
        "CDI needs neither hook nor hooks directory",
        "CDI 不需要 hook 与 hooks 目录",
    ),
    do(
        "podman run --rm --device nvidia.com/gpu=all --security-opt label=disable IMAGE nvidia-smi -L",
        "the form for podman",
        "podman 的写法",
    ),
)

CHECKS = (
    symptom(
        "HOST-HOOK-DRIVER",
        ("container hook finds no driver", "容器 hook 找不到驱动"),
        r"nvidia-container-cli: (?:initialization error: )?(?:nvml error: driver not loaded|load library failed: lib(?:nvidia-ml|cuda)\.so[^\n]*|driver rpc error[^\n]*|cuda error: (?:no cuda-capable|unknown|invalid)[^\n]*)[^\n]*",
        (
            "the container hook finds no working driver on the host: the module is not loaded or libnvidia-ml.so.1 is missing",
            "容器 hook 在主机上找不到可用驱动：模块未加载或缺少 libnvidia-ml.so.1",
        ),
        (
            do("nvidia-smi", "must work on the host first", "主机上须先可用"),
            do("dnf install nvidia-driver-cuda-libs libnvidia-ml", "the libraries", "安装库"),
            *_CDI,
        ),
        hints=("nvidia-container-cli",),
        group="container",
        blocks=IMAGE,
        follows=("HOST-NVML-MISMATCH", "HOST-DRIVER", "HOST-COMM"),
    ),
    symptom(
        "HOST-HOOK-REQUIREMENT",
        ("image needs a newer driver", "镜像需要更新的驱动"),
        r"(?:requirement error: )?unsatisfied condition: (?P<condition>[^\n,]+)[^\n]*",
        (
            "the image needs {condition}, and the host's driver is older (its highest CUDA is in nvidia-smi)",
            "镜像要求 {condition}，而主机驱动较旧（最高 CUDA 见 nvidia-smi）",
        ),
        (
            hand(
                "update the driver to a branch of that CUDA version, or take an image of an older CUDA",
                "升级驱动到对应 CUDA 的分支，或改用较旧 CUDA 的镜像",
            ),
            do("dnf module switch-to nvidia-driver:{stream} --allowerasing", "the driver's stream", "驱动流"),
            hand("NVIDIA_DISABLE_REQUIRE=1 only hides it", "NVIDIA_DISABLE_REQUIRE=1 只是隐藏问题"),
        ),
        hints=("unsatisfied condition",),
        group="container",
        blocks=IMAGE,
    ),
    symptom(
        "HOST-DOCKER-GPUS",
        ("Docker without the NVIDIA runtime", "Docker 缺少 NVIDIA 运行时"),
        r"could not select device driver \"?\"? ?with capabilities: \[\[gpu\]\][^\n]*|[Uu]nknown runtime specified nvidia[^\n]*|unknown or invalid runtime name: nvidia[^\n]*",
        (
            "the NVIDIA container toolkit is not installed or not configured for Docker",
            "未安装 NVIDIA container toolkit，或未为 Docker 配置",
        ),
        (
            do("dnf install nvidia-container-toolkit", "the toolkit", "安装 toolkit"),
            do(
                "nvidia-ctk runtime configure --runtime=docker && systemctl restart docker",
                "Docker; podman needs no such step but CDI",
                "Docker；podman 不需要此步而用 CDI",
            ),
            *_CDI,
        ),
        hints=("capabilities: [[gpu]]", "runtime"),
        group="container",
        blocks=IMAGE,
    ),
    symptom(
        "HOST-HOOK-LEFT",
        ("old OCI hook beside CDI", "旧 OCI hook 与 CDI 并存"),
        r"oci-nvidia-hook\.json|nvidia-container-(?:runtime-)?(?:hook|toolkit)[^\n]*(?:executable file not found|no such file or directory|exit status)[^\n]*|error (?:running|executing) hook[^\n]*nvidia[^\n]*",
        (
            "the old OCI hook (oci-nvidia-hook.json) is there or fails: beside CDI it injects the GPU twice",
            "旧 OCI hook (oci-nvidia-hook.json) 仍存在或失败：与 CDI 并存会重复注入 GPU",
        ),
        (
            do(
                "mv /usr/share/containers/oci/hooks.d/oci-nvidia-hook.json /root/",
                "CDI replaces it",
                "由 CDI 取代",
                undo="mv /root/oci-nvidia-hook.json /usr/share/containers/oci/hooks.d/",
            ),
            *_CDI,
        ),
        hints=("oci-nvidia-hook", "nvidia-container-", "running hook", "executing hook"),
        group="container",
        blocks=IMAGE,
        follows=("HOST-HOOK-DRIVER", "HOST-HOOK-REQUIREMENT", "HOST-DEVICES-HOOK"),
        only=frozenset({"hooks-dir", "podman", "app-error", "log"}),
    ),
    symptom(
        "HOST-HOOK-DIR",
        ("hooks directory is missing", "缺少 hooks 目录"),
        r"(?:--hooks-dir|hooks\.d)[^\n]*(?:No such file|does not exist|not found|没有那个文件)[^\n]*|(?:No such file|open)[^\n]*/oci/hooks\.d[^\n]*no such file[^\n]*",
        (
            "the OCI hook directory does not exist: the toolkit no longer ships that hook; use CDI",
            "OCI hook 目录不存在：toolkit 已不再提供该 hook；请用 CDI",
        ),
        _CDI,
        hints=("hooks.d", "hooks-dir"),
        group="container",
        blocks=IMAGE,
        follows=("HOST-RUNTIME",),
        only=frozenset({"podman", "app-error", "log"}),
    ),
    symptom(
        "HOST-CTK-PODMAN",
        ("nvidia-ctk cannot configure podman", "nvidia-ctk 不能配置 podman"),
        r"unrecognized runtime '?podman'?[^\n]*",
        (
            "nvidia-ctk runtime configure knows containerd, crio and docker: podman uses CDI",
            "nvidia-ctk runtime configure 只支持 containerd、crio、docker：podman 使用 CDI",
        ),
        _CDI,
        hints=("unrecognized runtime",),
        group="container",
        blocks=IMAGE,
    ),
    symptom(
        "HOST-LOST-DEVICES",
        ("container lost its GPU while running", "容器运行中丢失 GPU"),
        r"Failed to initialize NVML: Unknown Error[^\n]*",
        (
            "a running container lost its device permissions (Failed to initialize NVML: Unknown Error): systemctl daemon-reload with hook-based injection",
            "运行中的容器丢失设备权限（Failed to initialize NVML: Unknown Error）：hook 注入方式遇到 systemctl daemon-reload",
        ),
        (
            hand("start the container again", "重新启动容器"),
            *_CDI,
            hand(
                'Docker: "exec-opts": ["native.cgroupdriver=cgroupfs"] or CDI',
                'Docker："exec-opts": ["native.cgroupdriver=cgroupfs"] 或 CDI',
            ),
        ),
        hints=("unknown error",),
        group="smi",
        blocks=IMAGE,
    ),
)
