"""podman itself: users, storage, cgroups, SELinux, runtimes."""

from __future__ import annotations

from bedplate.core.check import Safety, Status
from bedplate.host.checks.kinds import IMAGE, do, edit, hand, reboot, symptom

_CGROUP2 = (
    do(
        "grubby --update-kernel=ALL --args=systemd.unified_cgroup_hierarchy=1",
        "switch the host to cgroup v2; RHEL 8 boots with v1",
        "把主机切换到 cgroup v2；RHEL 8 默认 v1",
        undo="grubby --update-kernel=ALL --remove-args=systemd.unified_cgroup_hierarchy=1",
    ),
    reboot(),
    do("podman info --format '{{.Host.CgroupsVersion}}'", "must say v2", "应为 v2"),
)
_LABEL = (
    do(
        "podman run --security-opt label=disable --device nvidia.com/gpu=all IMAGE nvidia-smi",
        "label=disable for this container only; do not turn SELinux off",
        "仅对该容器 label=disable；不要关闭 SELinux",
    ),
    do(
        "setsebool -P container_use_devices=true",
        "the narrower way; policies newer than 2023 also have container_use_xserver_devices",
        "更窄的方式；较新策略还有 container_use_xserver_devices",
        undo="setsebool -P container_use_devices=false",
    ),
    do("dnf update container-selinux", "newer policies know the GPU's device type", "新策略认识 GPU 设备类型"),
    do("ausearch -m avc -ts recent | audit2allow -M gpu_local", "or a small local policy", "或编写小的本地策略"),
)

CHECKS = (
    symptom(
        "HOST-SELINUX",
        ("SELinux denies the container", "SELinux 拒绝容器"),
        r"avc:\s+denied\s+\{ (?P<permission>[^}]*)\}[^\n]*(?:nvidia|container_t|xserver_misc_device_t|svirt)[^\n]*|Target Context\s+\S*:(?P<type>\w+_t)\S*|SELinux is preventing[^\n]*(?:nvidia|container|python|podman|crun|device)[^\n]*|scontext=\S*container_t\S*[^\n]*tcontext=\S*:(?P<type2>\w+_t)[^\n]*",
        (
            "SELinux denies the container domain access to the GPU node or a volume ({type}; for /dev/nvidia* it is xserver_misc_device_t), even with container_use_devices where that boolean lacks it",
            "SELinux 拒绝容器域访问 GPU 节点或卷（{type}；/dev/nvidia* 的类型为 xserver_misc_device_t），即使开启 container_use_devices",
        ),
        _LABEL,
        hints=("avc:", "target context", "selinux is preventing", "scontext="),
        group="selinux",
        blocks=IMAGE,
        unless=r"Current mode:\s+permissive|Enforcing Mode\s+Permissive|permissive=1(?![^\n]*\n[\s\S]*permissive=0)",
    ),
    symptom(
        "HOST-VOLUME-LABEL",
        ("container may not read a volume", "容器不能读取卷"),
        r"(?:ls|cat|cp|mkdir|touch|python3?|bash|sh|error|PermissionError)[^\n]*(?:/workspace|/data|/mnt|/code|/runs|/models?|/app)\S*[^\n]*(?:Permission denied|权限不够)[^\n]*",
        (
            "a mounted folder is refused inside the container: on RHEL usually its SELinux label, otherwise the user mapping",
            "容器内无法访问挂载目录：RHEL 上通常是 SELinux 标签，否则为用户映射",
        ),
        (
            hand(
                "mount a dedicated folder with :z (shared label), never :Z on a home folder",
                "为专用目录加 :z（共享标签），不要对家目录用 :Z",
            ),
            do(
                "podman run --userns=keep-id -v /srv/runs:/runs:z IMAGE ls /runs",
                "your own user inside",
                "容器内使用自己的用户",
            ),
            _LABEL[0],
        ),
        hints=("denied", "权限不够"),
        group="container",
        blocks=IMAGE,
        follows=("HOST-SELINUX",),
    ),
    symptom(
        "HOST-SUBUID",
        ("no sub-ids for rootless podman", "rootless podman 缺少子 ID"),
        r"(?:no subuid ranges found|no subgid ranges|cannot find (?:UID/GID|mappings) for user|there might not be enough IDs available|potentially insufficient UIDs or GIDs|newuidmap[^\n]*(?:not allowed|Operation not permitted|failed|write to uid_map)|newgidmap[^\n]*|lchown [^\n]*invalid argument|insufficient UIDs)[^\n]*",
        (
            "rootless podman has no or too few sub-ids for this user in /etc/subuid and /etc/subgid",
            "rootless podman 在 /etc/subuid、/etc/subgid 中没有或不足够的子 ID",
        ),
        (
            do(
                "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER",
                "a range nobody else has; directory (LDAP, AD) users need lines by hand",
                "选用无人使用的区间；LDAP/AD 用户需手工添加",
            ),
            do("podman system migrate", "podman takes the new range", "podman 采用新区间"),
            do(
                "chmod u+s /usr/bin/newuidmap /usr/bin/newgidmap",
                "only if they lost their privilege: rpm --setcaps shadow-utils is the packaged way",
                "仅当其权限丢失时；rpm --setcaps shadow-utils 为打包方式",
            ),
        ),
        hints=("subuid", "subgid", "uid", "newgidmap", "lchown", "mappings"),
        group="container",
        blocks=IMAGE,
    ),
    symptom(
        "HOST-USERNS",
        ("user namespaces are off", "用户命名空间被关闭"),
        r"(?:user namespaces are not enabled|max_user_namespaces|cannot clone: (?:Operation not permitted|Invalid argument|No space left)|cannot re-exec process)[^\n]*",
        (
            "rootless containers need user namespaces, and user.max_user_namespaces is 0 or used up",
            "rootless 容器需要用户命名空间，而 user.max_user_namespaces 为 0 或已用尽",
        ),
        (
            edit("/etc/sysctl.d/60-userns.conf", "user.max_user_namespaces=28633", "a value that suffices", "足够的值"),
            do("sysctl --system", "now", "立即生效"),
        ),
        hints=("namespaces", "cannot clone", "re-exec"),
        group="container",
        blocks=IMAGE,
    ),
    symptom(
        "HOST-CPUSET",
        ("cgroup controller is not delegated", "cgroup 控制器未委派"),
        r"(?:requested cgroup controller [`'\"]?(?P<controller>\w+)['\"`]? is not available|controller [`'\"]?(?P<c2>cpuset|cpu|memory|io|pids)\S* (?:is )?not (?:available|found|delegated))[^\n]*|(?:Resource limits are not supported and ignored on cgroups V1 rootless)[^\n]*",
        (
            "the rootless user has no {controller} controller: on cgroup v1 (RHEL 8's default) limits are ignored, on v2 it must be delegated",
            "rootless 用户没有 {controller} 控制器：cgroup v1（RHEL 8 默认）上限制被忽略，v2 上需委派",
        ),
        (
            *_CGROUP2[:2],
            edit(
                "/etc/systemd/system/user@.service.d/delegate.conf",
                "[Service]\nDelegate=memory pids cpu cpuset",
                "delegates the controllers; log in again",
                "委派控制器；需重新登录",
            ),
            hand(
                "systemd 239 has no cpuset support: on RHEL 8 use taskset or numactl inside the container instead of --cpuset-cpus",
                "systemd 239 不支持 cpuset：RHEL 8 上在容器内用 taskset 或 numactl 代替 --cpuset-cpus",
            ),
        ),
        hints=("controller", "resource limits"),
        group="container",
        blocks=IMAGE,
        status=Status.WARN,
    ),
    symptom(
        "HOST-DEVICES-HOOK",
        ("the legacy hook may not write the device cgroup", "旧 hook 无权写设备 cgroup"),
        r"nvidia-container-cli[^\n]*(?:devices\.allow|cgroup|bpf)[^\n]*(?:permission denied|not permitted|failed|no cgroup)[^\n]*|/sys/fs/cgroup/devices/\S*devices\.allow[^\n]*denied[^\n]*|bpf_prog_query\(BPF_CGROUP_DEVICE\) failed[^\n]*|failed to (?:add|get|create) device (?:rules|filters?)[^\n]*|load program: operation not permitted[^\n]*",
        (
            "the legacy NVIDIA hook (nvidia-container-cli) tries to change the device cgroup (devices.allow), which a rootless user may not do",
            "旧版 NVIDIA hook (nvidia-container-cli) 试图修改设备 cgroup (devices.allow)，rootless 用户无权这样做",
        ),
        (
            edit(
                "/etc/nvidia-container-runtime/config.toml",
                "[nvidia-container-cli]\nno-cgroups = true",
                "for rootless use; rootful Docker on the same host needs false",
                "供 rootless 使用；同机 rootful Docker 需为 false",
            ),
            do(
                "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
                "or better: CDI, which needs no hook",
                "更好：CDI，无需 hook",
            ),
            do(
                "podman run --rm --device nvidia.com/gpu=all --security-opt label=disable IMAGE nvidia-smi -L",
                "the CDI way to run",
                "CDI 运行方式",
            ),
        ),
        hints=("devices.allow", "nvidia-container-cli", "bpf_", "device rules", "device filter", "load program"),
        group="container",
        blocks=IMAGE,
    ),
    symptom(
        "HOST-CGROUP-V1",
        ("device rules cannot be written on cgroup v1", "cgroup v1 上无法写设备规则"),
        r"(?:writ\w+ (?:file|to)?[^\n]*devices\.(?:allow|deny)[^\n]*(?:not permitted|denied|Invalid argument)|cgroups? v1[^\n]*(?:not supported|deprecated|rootless)[^\n]*|OCI runtime error: crun: [^\n]*cgroup[^\n]*)[^\n]*",
        (
            "RHEL 8 boots with cgroup v1, where the runtime (crun) cannot write its device rules (devices.allow) for this container",
            "RHEL 8 默认 cgroup v1，运行时 (crun) 无法为该容器写设备规则 (devices.allow)；切换到 cgroup v2",
        ),
        _CGROUP2,
        hints=("devices.", "cgroup"),
        group="container",
        blocks=IMAGE,
        follows=("HOST-DEVICES-HOOK", "HOST-CPUSET"),
    ),
    symptom(
        "HOST-RUNTIME",
        ("container runtime is broken", "容器运行时有问题"),
        r"(?:no read access to (?P<runtime>\S+) binary file|(?:runc|crun): (?:symbol lookup error|error while loading shared|command not found|no such file)[^\n]*|default OCI runtime \"?(?P<r2>\w+)\"? not found|unknown (?:or invalid )?runtime (?:name|specified)?:? ?\"?(?P<r3>[\w-]+)|can't copy bootstrap data to pipe|find runc path: [^\n]*|exec: \"(?P<r4>runc|crun)\": executable file not found)[^\n]*",
        (
            "the container runtime (runc or crun) cannot be run or read: {runtime}; it is not SELinux",
            "容器运行时（runc 或 crun）无法读取或运行：{runtime}；与 SELinux 无关",
        ),
        (
            do("dnf reinstall runc crun", "restores its permissions", "恢复权限"),
            do("podman --runtime crun run --rm IMAGE true", "crun instead of runc", "用 crun 代替 runc"),
            do(
                "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
                "with CDI no NVIDIA hook and no nvidia runtime is needed",
                "使用 CDI 无需 NVIDIA hook 与 nvidia 运行时",
            ),
        ),
        hints=("runc", "crun", "runtime", "bootstrap data"),
        group="container",
        blocks=IMAGE,
    ),
    symptom(
        "HOST-STORAGE",
        ("storage of rootless podman", "rootless podman 的存储"),
        r"(?:kernel does not support overlay fs|overlay[^\n]*(?:is not supported over|not supported|invalid argument)|fuse-overlayfs[^\n]*(?:not found|failed|cannot)|'overlay' is not supported over (?P<fs>\w+)|(?:chown|lsetxattr|setxattr)[^\n]*(?:operation not supported|not permitted)[^\n]*(?:containers|storage)|database (?:graph driver|static dir)[^\n]*mismatch|mount_program)[^\n]*",
        (
            "podman's storage cannot work where it lies (NFS home, no fuse-overlayfs): {fs}",
            "podman 存储所在位置不可用（NFS 家目录、缺少 fuse-overlayfs）：{fs}",
        ),
        (
            edit(
                "~/.config/containers/storage.conf",
                '[storage]\ndriver = "overlay"\nrootless_storage_path = "/var/tmp/$USER/containers"',
                "a local disk, not NFS",
                "使用本地磁盘而非 NFS",
            ),
            do("dnf install fuse-overlayfs", "needed by rootless overlay on RHEL 8", "RHEL 8 的 rootless overlay 需要"),
            do(
                "podman system reset",
                "deletes all images and containers of the user",
                "删除该用户的全部镜像与容器",
                Safety.DISRUPTIVE,
            ),
        ),
        hints=("overlay", "setxattr", "chown", "database", "mount_program"),
        group="container",
        blocks=IMAGE,
    ),
    symptom(
        "HOST-SESSION",
        ("no login session for rootless podman", "rootless podman 缺少登录会话"),
        r"(?:XDG_RUNTIME_DIR[^\n]*(?:not set|not writable|not owned|does not exist|permission)|RunRoot is pointing to a path[^\n]*not writable|systemd user session|Failed to connect to (?:user )?bus|sd-bus call: [^\n]*|The cgroupv2 manager is set to systemd but there is no systemd user session)[^\n]*",
        (
            "rootless podman has no systemd user session: su and sudo -i give none",
            "rootless podman 没有 systemd 用户会话：su 和 sudo -i 不提供",
        ),
        (
            hand("log in by SSH or on the console as that user", "以该用户通过 SSH 或控制台登录"),
            do(
                "loginctl enable-linger USER",
                "keeps the session for services",
                "为服务保留会话",
                undo="loginctl disable-linger USER",
            ),
        ),
        hints=("xdg_runtime_dir", "runroot", "user session", "bus"),
        group="container",
        blocks=IMAGE,
        status=Status.WARN,
    ),
    symptom(
        "HOST-REGISTRY",
        ("image cannot be pulled", "镜像无法拉取"),
        r"(?:x509: [^\n]*|server gave HTTP response to HTTPS client|short-name [^\n]*(?:did not resolve|resolution)|pinging container registry \S+|manifest unknown|unauthorized: [^\n]*|i/o timeout[^\n]*registry|toomanyrequests)[^\n]*",
        (
            "the image cannot be pulled: name, login, certificate or proxy of the registry",
            "镜像无法拉取：镜像名、登录、证书或代理问题",
        ),
        (
            hand(
                "give the full name (registry.example.com/name:tag); log in with podman login",
                "使用完整名称；podman login 登录",
            ),
            hand(
                "own certificate: /etc/containers/certs.d/HOST:PORT/ca.crt; HTTP only: [[registry]] insecure = true in registries.conf",
                "自有证书：/etc/containers/certs.d/HOST:PORT/ca.crt；仅 HTTP：registries.conf 设 insecure = true",
            ),
            do("env | grep -i proxy", "podman takes the proxy of the environment", "podman 使用环境中的代理"),
        ),
        hints=("x509", "registry", "short-name", "manifest unknown", "unauthorized", "https client", "toomany"),
        group="container",
        blocks=IMAGE,
        status=Status.WARN,
    ),
    symptom(
        "HOST-SHM-IPC",
        ("--shm-size with host IPC", "--shm-size 与 host IPC 冲突"),
        r"cannot set shmsize when running in the host IPC Namespace[^\n]*",
        ("--shm-size and --ipc=host exclude each other", "--shm-size 与 --ipc=host 互斥"),
        (hand("drop --ipc=host and keep --shm-size", "去掉 --ipc=host，保留 --shm-size"),),
        hints=("shmsize",),
        group="container",
        blocks=IMAGE,
    ),
)
