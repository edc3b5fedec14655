"""dnf and rpm: streams, conflicts, repositories, signatures."""

from __future__ import annotations

from bedplate.core.check import Safety
from bedplate.host.checks.kinds import GPU, do, hand, reboot, symptom

_ERASE = do(
    "dnf module reset nvidia-driver && dnf module remove --all nvidia-driver",
    "take the installed driver module and its stream away first",
    "先移除已装驱动模块及其流",
    Safety.DISRUPTIVE,
)
_STREAM = do(
    "dnf module enable nvidia-driver:{stream}",
    "a fixed branch; 580-open or newer NNN-open for Turing and later, 580-dkms for Maxwell, Pascal, Volta",
    "固定分支：Turing 及以后用 580-open 或更新的 NNN-open；Maxwell/Pascal/Volta 用 580-dkms",
)
_INSTALL = do(
    "dnf install nvidia-driver-cuda kmod-nvidia-open-dkms --allowerasing",
    "user space and module of one version; kmod-nvidia-latest-dkms for the proprietary one",
    "同版本的用户态与内核模块；闭源模块用 kmod-nvidia-latest-dkms",
    Safety.DISRUPTIVE,
)

CHECKS = (
    symptom(
        "HOST-DNF-KMOD-CONFLICT",
        ("precompiled and DKMS module collide", "预编译与 DKMS 模块冲突"),
        r"package (?P<old>kmod-nvidia\S+)[^\n]*conflicts with (?P<new>\S*(?:dkms|kmod|akmod)\S*)[^\n]*|(?P<old2>\S*nvidia\S*)[^\n]*(?:conflicts with|obsoletes)[^\n]*kmod-nvidia[^\n]*",
        (
            "a precompiled kmod-nvidia ({old}) is installed and the other kind of module ({new}, such as latest-dkms or open-dkms) cannot live beside it",
            "已安装预编译的 kmod-nvidia ({old})，另一种模块（{new}，如 latest-dkms、open-dkms）不能并存",
        ),
        (
            _ERASE,
            _STREAM,
            _INSTALL,
            reboot(
                "the old module stays loaded until then; --allowerasing lets dnf replace it",
                "旧模块直到重启才卸载；--allowerasing 允许 dnf 替换",
            ),
        ),
        hints=("kmod-nvidia",),
        group="package",
        blocks=GPU,
    ),
    symptom(
        "HOST-DNF-FILE-CONFLICT",
        ("packages of two repositories or a runfile collide", "两个仓库或 runfile 的文件冲突"),
        r"file \S+ (?:from install of|conflicts between attempted installs of) (?P<new>\S*nvidia\S*)[^\n]*|(?P<new2>nvidia\S+|xorg-x11-drv-nvidia\S*|akmod-nvidia\S*)[^\n]*conflicts with (?:file from package )?(?P<old>\S*nvidia\S*)[^\n]*",
        (
            "NVIDIA packages from two sources (CUDA repository, RPM Fusion, ELRepo, negativo17) own the same files: {new}",
            "来自两个来源（CUDA 仓库、RPM Fusion、ELRepo、negativo17）的 NVIDIA 软件包占用相同文件：{new}",
        ),
        (
            do(
                "dnf repolist; rpm -qa --qf '%{NAME} %{VENDOR}\\n' | grep -i nvidia",
                "see which repository each package came from",
                "查看各软件包来源",
            ),
            hand(
                "keep one source: remove the packages of the other and disable its repository (or exclude nvidia* there)",
                "只保留一个来源：移除另一来源的软件包并停用其仓库（或在其中 exclude nvidia*）",
            ),
            _INSTALL,
        ),
        hints=("conflict",),
        group="package",
        blocks=GPU,
    ),
    symptom(
        "HOST-DNF-STREAM",
        ("another module stream is enabled", "已启用另一模块流"),
        r"It is not possible to switch enabled streams of a module[^\n]*|Cannot enable multiple streams for module[^\n]*|cannot enable more streams from module[^\n]*|The operation would result in switching of module '(?P<module>[\w-]+)' stream '(?P<from>[\w.-]+)' to stream '(?P<to>[\w.-]+)'|Modular dependency problems?:?[^\n]*|无法切换[^\n]*流[^\n]*",
        (
            "a module can have one enabled stream only: dnf refuses to switch {module} from {from} to {to}",
            "一个模块只能启用一个流：dnf 拒绝把 {module} 从 {from} 切换到 {to}",
        ),
        (
            do(
                "dnf module reset nvidia-driver",
                "forget the enabled stream (use the module that the message names)",
                "清除已启用的流（用报错中的模块名）",
            ),
            _STREAM,
            do(
                "dnf module switch-to nvidia-driver:{stream} --allowerasing",
                "or in one command when packages are installed",
                "已安装软件包时可一步完成",
                Safety.DISRUPTIVE,
            ),
        ),
        hints=("stream", "modular dependency", "无法切换"),
        group="package",
        blocks=GPU,
    ),
    symptom(
        "HOST-DNF-MODULAR",
        ("filtered out by modular filtering", "被模块化过滤排除"),
        r"(?:package (?P<package>\S+)[^\n]*is filtered out by modular filtering|All matches were filtered out by modular filtering(?: for argument: (?P<argument>\S+))?)[^\n]*",
        (
            "dnf hides {package}{argument} by modular filtering: the enabled nvidia-driver stream does not hold that version, or the repository is a copy without modules.yaml",
            "dnf 的模块化过滤隐藏了 {package}{argument}：已启用的 nvidia-driver 流不含该版本，或仓库副本缺少 modules.yaml",
        ),
        (
            do("dnf module list nvidia-driver", "[e] marks the enabled stream", "[e] 为已启用的流"),
            do("dnf module reset nvidia-driver", "forget the old stream", "清除旧流"),
            _STREAM,
            hand(
                "a local mirror must carry modules.yaml (modifyrepo_c --mdtype=modules); module_hotfixes=1 in the .repo file is the way out",
                "本地镜像须带 modules.yaml (modifyrepo_c --mdtype=modules)；否则在 .repo 中设 module_hotfixes=1",
            ),
        ),
        hints=("modular filtering",),
        group="package",
        blocks=GPU,
    ),
    symptom(
        "HOST-DNF-NO-KMOD",
        ("no precompiled module for that kernel yet", "该内核尚无预编译模块"),
        r"(?:no kernel module package (?P<kmod>kmod-nvidia-\S+)|filtering kernel (?P<k>\S+?), no precompiled modules available(?: for version (?P<version>\S+))?|Skipping kernel installation since no kernel module package|package kernel-\S+ is filtered out by exclude filtering)[^\n]*",
        (
            "NVIDIA has no precompiled kmod-nvidia for kernel {k} and this driver yet; its dnf plugin holds that kernel back ({kmod})",
            "NVIDIA 尚未为内核 {k} 与此驱动发布预编译 kmod-nvidia；dnf 插件因此阻止该内核 ({kmod})",
        ),
        (
            hand(
                "stay on the kernel that has a kmod until the package arrives; that is what the plugin does",
                "在软件包发布前停留在已有 kmod 的内核；插件正是如此处理",
            ),
            do(
                "dnf module switch-to nvidia-driver:{stream} --allowerasing",
                "or change to a DKMS stream, which builds for every kernel (needs EPEL, kernel-devel, gcc)",
                "或改用 DKMS 流，可为任意内核构建（需要 EPEL、kernel-devel、gcc）",
                Safety.DISRUPTIVE,
            ),
        ),
        hints=("kernel module package", "precompiled modules", "exclude filtering"),
        group="package",
    ),
    symptom(
        "HOST-DNF-DKMS",
        ("dkms is not available", "没有 dkms"),
        r"nothing provides (?:dkms)\b[^\n]*|No match for argument: dkms|Unable to find a match: [^\n]*dkms\b[^\n]*|requires dkms[^\n]*none of the providers[^\n]*|未找到匹配的参数[:：]\s*dkms",
        (
            "dkms is not in RHEL: it comes from EPEL, which is not enabled",
            "RHEL 不含 dkms：它来自 EPEL，而 EPEL 未启用",
        ),
        (
            do(
                "subscription-manager repos --enable=codeready-builder-for-rhel-8-x86_64-rpms",
                "CodeReady Builder; on Rocky and Alma: dnf config-manager --set-enabled powertools",
                "CodeReady Builder 仓库；Rocky/Alma：dnf config-manager --set-enabled powertools",
            ),
            do(
                "dnf install https://dl.fedoraproject.org/pub/epel/epel-release-latest-8.noarch.rpm",
                "EPEL 8; the number is the system's major version",
                "EPEL 8；数字为系统主版本",
            ),
            do("dnf install dkms", "now it is there", "现在可安装"),
        ),
        hints=("dkms",),
        group="package",
        blocks=GPU,
    ),
    symptom(
        "HOST-DNF-NAME",
        ("no such package", "没有该软件包"),
        r"(?:No match for argument|Unable to find a match|未找到匹配的参数|无法找到匹配)[:：]\s*(?P<name>[^\n]*(?:nvidia|cuda|kmod|kernel-devel|cudnn|python|container)[^\n]*)",
        (
            "dnf knows no package {name}: its repository is not enabled, or the name belongs to another distribution",
            "dnf 找不到软件包 {name}：仓库未启用，或名称属于其他发行版",
        ),
        (
            do(
                "dnf config-manager --add-repo https://developer.download.nvidia.com/compute/cuda/repos/rhel8/x86_64/cuda-rhel8.repo",
                "NVIDIA's repository holds driver, CUDA and cuDNN",
                "NVIDIA 仓库提供驱动、CUDA 与 cuDNN",
            ),
            _STREAM,
            _INSTALL,
            do(
                "dnf --showduplicates list 'kernel-devel*'",
                "an old kernel-devel has left the repository: update the kernel too and reboot",
                "旧版 kernel-devel 已从仓库移除：请同时更新内核并重启",
            ),
        ),
        hints=("no match for", "unable to find", "未找到", "无法找到"),
        group="package",
        blocks=GPU,
        follows=("HOST-DNF-MODULAR", "HOST-DNF-DKMS", "HOST-DNF-REPO", "HOST-DNF-REGISTER"),
    ),
    symptom(
        "HOST-DNF-DEPENDS",
        ("a dependency cannot be met", "依赖无法满足"),
        r"(?:nothing provides (?P<need>[^\n]+?) needed by (?P<package>\S*(?:nvidia|cuda|kmod|container)\S*)|package (?P<package2>\S*(?:nvidia|cuda|kmod)\S*)[^\n]*requires (?P<need2>[^\n]+?), but none of the providers can be installed)[^\n]*",
        (
            "dnf cannot meet what {package} needs: {need}; versions of driver packages must all be equal and from one stream, helper packages come from EPEL and CodeReady Builder",
            "dnf 无法满足 {package} 的依赖：{need}；驱动各包须同版本同流，辅助包来自 EPEL 与 CodeReady Builder",
        ),
        (
            do(
                "dnf module list nvidia-driver; dnf repolist",
                "one enabled stream, and EPEL and CodeReady Builder among the repositories",
                "应只有一个启用的流，且含 EPEL 与 CodeReady Builder",
            ),
            do(
                "dnf install epel-release",
                "on Rocky and Alma; on RHEL the RPM from dl.fedoraproject.org",
                "Rocky/Alma；RHEL 从 dl.fedoraproject.org 安装",
            ),
            do(
                "dnf module reset nvidia-driver && dnf module enable nvidia-driver:{stream}",
                "then all packages of one version are visible",
                "随后可见同版本的全部软件包",
            ),
        ),
        hints=("nothing provides", "none of the providers"),
        group="package",
        blocks=GPU,
        follows=("HOST-DNF-MODULAR", "HOST-DNF-DKMS", "HOST-DNF-NO-KMOD", "HOST-DNF-KMOD-CONFLICT"),
    ),
)
