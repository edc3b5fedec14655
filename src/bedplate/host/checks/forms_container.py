"""Wrong forms of containers: podman, CDI, Containerfiles."""

from __future__ import annotations

from bedplate.host.checks.form import form

_RUN = "podman run --rm --device nvidia.com/gpu=all --security-opt label=disable IMAGE nvidia-smi -L"

CHECKS = (
    form(
        "FORM-CTK-PODMAN",
        ("nvidia-ctk for podman", "为 podman 运行 nvidia-ctk"),
        r"nvidia-ctk\s+runtime\s+configure\b[^\n]*--runtime[=\s]*podman",
        (
            "nvidia-ctk runtime configure does not know podman (unrecognized runtime): podman uses CDI",
            "nvidia-ctk runtime configure 不支持 podman：podman 使用 CDI",
        ),
        "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
        hints=("nvidia-ctk",),
    ),
    form(
        "FORM-GPUS-FLAG",
        ("--gpus with podman", "podman 使用 --gpus"),
        r"podman\b[^\n]*--gpus\b",
        (
            "podman 4.9 ignores --gpus: the container starts without a GPU, and training runs on the CPU",
            "podman 4.9 忽略 --gpus：容器没有 GPU，训练会跑在 CPU 上",
        ),
        _RUN,
        hints=("--gpus",),
    ),
    form(
        "FORM-RESTART-PODMAN",
        ("restart of podman", "重启 podman"),
        r"systemctl\s+(?:restart|start|enable)\s+podman\b(?!\.socket)",
        ("podman has no daemon: restarting it changes nothing", "podman 没有守护进程：重启无作用"),
        "systemctl restart nvidia-cdi-refresh",
        hints=("systemctl",),
        breaks=False,
    ),
    form(
        "FORM-HOME-Z",
        (":Z on a home folder", "对家目录使用 :Z"),
        r"-v\s*(?:/home/|~|\$HOME|\$\{HOME\})[^\s:]*:[^\s:]+:[^\s]*Z",
        (
            ":Z relabels the home folder for one container only: SSH and logins may break",
            ":Z 会把家目录重新标记给单一容器：可能破坏 SSH 与登录",
        ),
        "podman run -v /srv/runs:/workspace:z IMAGE",
        hints=(":",),
    ),
    form(
        "FORM-VOLUME-NO-LABEL",
        ("volume without SELinux label", "卷未加 SELinux 标签"),
        r"podman\s+run\b(?![^\n]*label=disable)[^\n]*-v\s*\S+:/[^\s:]+(?=\s|$)",
        (
            "on RHEL SELinux refuses a mounted folder without :z or label=disable",
            "RHEL 上未加 :z 或 label=disable 的挂载会被 SELinux 拒绝",
        ),
        "podman run -v /srv/runs:/workspace:z IMAGE",
        hints=("podman",),
        breaks=False,
    ),
    form(
        "FORM-NO-LABEL-DISABLE",
        ("GPU device without SELinux option", "GPU 设备缺少 SELinux 选项"),
        r"podman\s+run\b(?![^\n]*label=disable)[^\n]*nvidia\.com/gpu",
        (
            "on RHEL NVML answers Insufficient Permissions without label=disable or the boolean container_use_devices",
            "RHEL 上若无 label=disable 或布尔值 container_use_devices，NVML 会报 Insufficient Permissions",
        ),
        _RUN,
        hints=("nvidia.com/gpu",),
        breaks=False,
        unless="container_use_devices",
    ),
    form(
        "FORM-CPUSET",
        ("--cpuset-cpus rootless", "rootless 的 --cpuset-cpus"),
        r"podman\b[^\n]*--(?:cpuset-cpus|cpus|memory)[=\s]",
        (
            "rootless podman on RHEL 8 (cgroup v1) ignores CPU and memory limits with a warning",
            "RHEL 8（cgroup v1）上 rootless podman 会忽略 CPU/内存限制并给出警告",
        ),
        "taskset -c 0-15 python train.py",
        hints=("--cpus", "--cpuset", "--memory"),
        breaks=False,
    ),
    form(
        "FORM-SHM-EQUALS",
        ("--shm-size lost its =", "--shm-size 丢失等号"),
        r"--shm-size\d",
        ("the equals sign is missing", "缺少等号"),
        "podman run --shm-size=8g IMAGE",
        hints=("--shm-size",),
    ),
    form(
        "FORM-SHM-IPC",
        ("--shm-size with --ipc=host", "--shm-size 与 --ipc=host"),
        r"--shm-size[^\n]*--ipc[=\s]host|--ipc[=\s]host[^\n]*--shm-size",
        ("the two exclude each other", "两者互斥"),
        "podman run --shm-size=8g IMAGE",
        hints=("--ipc",),
    ),
    form(
        "FORM-RUN-AND",
        ("RUN lost its &&", "RUN 丢失 &&"),
        r"RUN\s+(?:dnf|yum|microdnf)\b[^\n]*\\\s*(?:\n\s*)?(?:alternatives|pip3?|python3?|ln|rm)\s",
        ("a && is missing: the next command becomes a package name", "缺少 &&：后面的命令会被当作软件包名"),
        (
            "RUN dnf install -y python3.12 && \\ alternatives ...",
            "RUN dnf install -y python3.12 && \\ alternatives ...",
        ),
        hints=("run ",),
        unless=r"&&\s*\\\s*\n\s*(?:alternatives|pip)",
    ),
    form(
        "FORM-IMAGE-DRIVER",
        ("driver inside the image", "镜像中安装驱动"),
        r"RUN\b[^\n]*(?:install)[^\n]*(?:nvidia-driver|nvidia-smi|libnvidia-ml|kmod-nvidia)",
        (
            "the driver's user space is injected from the host and must equal the module: a copy inside breaks",
            "驱动用户态由主机注入且须与内核模块一致：镜像内的副本会出错",
        ),
        _RUN,
        hints=("run ",),
    ),
)
