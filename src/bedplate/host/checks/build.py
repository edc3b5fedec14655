"""The module does not compile."""

from __future__ import annotations

from bedplate.core.check import Safety, Status
from bedplate.host.checks.kinds import GPU, NOTHING, do, hand, reboot, symptom

CHECKS = (
    symptom(
        "HOST-COMPILER",
        ("compiler or build tool missing, or of another version", "缺少编译器/构建工具，或版本不符"),
        r"(?<![\w-])(?P<tool>gcc|g\+\+|cc|make|ld|perl|bison|flex): (?:command not found|No such file)[^\n]*|(?:sh|make)[^\n]*: (?P<tool2>gcc|g\+\+|cc|make): [^\n]*not found[^\n]*|Unable to find[^\n]*(?P<tool3>make|gcc|cc)[^\n]*PATH[^\n]*|unrecognized command[- ]line option[^\n]*|[Cc]ompiler version check failed[^\n]*|The (?:compiler|kernel)[^\n]*(?:was built|used to compile)[^\n]*(?:gcc|GCC)[^\n]*|Cannot generate (?:ORC metadata|__mcount_loc)[^\n]*|[Pp]lease install libelf-dev[^\n]*|CC version check[^\n]*(?:fail|mismatch)[^\n]*",
        (
            "the module cannot be built: a build tool is missing or its version is not the one that built the kernel ({tool}); the kernel needs gcc, g++, make and elfutils-libelf-devel",
            "无法构建模块：缺少构建工具或与编译内核的版本不同 ({tool})；需要 gcc、g++、make、elfutils-libelf-devel",
        ),
        (
            do(
                "dnf install gcc gcc-c++ make elfutils-libelf-devel",
                "the distribution's own compiler, the one that built the kernel",
                "使用发行版自带编译器（与内核一致）",
            ),
            hand(
                "a gcc-toolset, conda or module gcc earlier in PATH: leave it, DKMS needs /usr/bin/gcc",
                "PATH 中若有 gcc-toolset、conda 或 module 的 gcc 请退出：DKMS 需要 /usr/bin/gcc",
            ),
            do("dkms autoinstall -k {kernel}", "build again", "重新构建"),
        ),
        hints=(
            "not found",
            "unable to find",
            "unrecognized command",
            "version check",
            "compile",
            "orc metadata",
            "libelf",
            "no such file",
        ),
        group="build",
        blocks=GPU,
        only=frozenset({"log", "dkms-build", "installer", "app-error", "dnf"}),
    ),
    symptom(
        "HOST-COMPILE",
        ("driver does not compile on this kernel", "驱动无法在该内核上编译"),
        r"(?:/|^|\s)nvidia-?(?:(?P<driver>\d{3}\.[\d.]+)/)?[^\n:]*\.(?:c|h):\d+(?::\d+)?: error: (?P<error>[^\n]*)|nv[\w-]*\.(?:c|h):\d+(?::\d+)?: error: (?P<e2>[^\n]*)|ERROR: modpost: (?P<e3>GPL-incompatible[^\n]*|\"[^\n]*nvidia[^\n]*)|error: (?P<e4>[^\n]*(?:drm_|drm\b|vm_operations|get_user_pages|dma_|pci_|timer|mmu)[^\n]*)|conftest[^\n]*(?:fail|error)[^\n]*",
        (
            "the source of driver {driver} no longer fits kernel {kernel}: {error}; an older driver release predates what this kernel has backported (DRM, memory management)",
            "驱动 {driver} 的源码与内核 {kernel} 不再兼容：{error}；旧驱动早于该内核回移植的接口（DRM、内存管理）",
        ),
        (
            do(
                "dnf module reset nvidia-driver && dnf module enable nvidia-driver:{stream}",
                "a driver branch that still gets updates for this kernel, instead of fighting the compile error",
                "改用仍在为该内核更新的驱动分支，而不是修编译错误",
            ),
            do(
                "dnf install nvidia-driver-cuda kmod-nvidia-open-dkms",
                "install it; kmod-nvidia-latest-dkms for Pascal, Volta and older GPUs",
                "安装；Pascal、Volta 及更旧 GPU 用 kmod-nvidia-latest-dkms",
                Safety.DISRUPTIVE,
            ),
            hand(
                "meanwhile boot the kernel that the old driver compiled on; branches out of support get no kernel fixes",
                "过渡期可启动旧驱动能编译的内核；停止支持的分支不会再有内核修复",
            ),
            reboot(),
        ),
        hints=("error:", "modpost", "conftest"),
        group="build",
        blocks=GPU,
        only=frozenset({"log", "dkms-build", "installer", "app-error", "journal-kernel"}),
    ),
    symptom(
        "HOST-BUILD-FAILED",
        ("module build failed", "模块构建失败"),
        r"Bad return status for module build on kernel: (?P<kernel>\S+)[^\n]*|bad exit status: \d+[^\n]*|ERROR: Failed to run `\S*dkms[^\n]*|An error occurred while performing the step: \"?(?P<step>Building kernel modules|Checking to see)[^\n]*|Failed to install the kernel module through DKMS[^\n]*|dkms autoinstall on \S+ failed[^\n]*",
        (
            "DKMS failed to build the nvidia module for kernel {kernel}; the reason is in make.log",
            "DKMS 未能为内核 {kernel} 构建 nvidia 模块；原因在 make.log 中",
        ),
        (
            do(
                "grep -n -m5 -E 'error|Error|not found' /var/lib/dkms/nvidia/*/build/make.log",
                "the first error decides; give it to bedplate doctor --log",
                "第一条错误为准；可交给 bedplate doctor --log",
            ),
            do(
                "rpm -q kernel-devel-{kernel} gcc make elfutils-libelf-devel",
                "all four must be there",
                "四者都须已安装",
            ),
            hand(
                "a compile error in the driver's own source means: the driver branch is too old for this kernel, take a newer one",
                "若错误在驱动源码中：该驱动分支对此内核过旧，请换新分支",
            ),
        ),
        hints=(
            "bad return status",
            "bad exit status",
            "failed to run",
            "an error occurred",
            "through dkms",
            "autoinstall on",
        ),
        group="build",
        blocks=GPU,
        follows=("HOST-HEADERS", "HOST-COMPILER", "HOST-COMPILE", "HOST-DISK-FULL", "HOST-DEVEL"),
    ),
    symptom(
        "HOST-RUNFILE",
        ("runfile installation problem", "runfile 安装问题"),
        r"(?:An NVIDIA kernel module '?nvidia\S*'? appears to already be loaded|You appear to be running an X server|already (?:installed|present)[^\n]*(?:alternate|package)[^\n]*driver|installed via (?:a )?package manager|The distribution-provided pre-install script failed|existing driver[^\n]*(?:runfile|conflict)|alternate (?:driver )?installation)[^\n]*",
        (
            "the NVIDIA .run installer meets a running or packaged driver: two ways of installing on one host",
            "NVIDIA .run 安装程序遇到正在运行或由软件包安装的驱动：同一主机混用两种安装方式",
        ),
        (
            hand(
                "choose one way: on RHEL the RPM module stream, which survives kernel updates",
                "只用一种方式：RHEL 上用 RPM 模块流，内核更新后仍有效",
            ),
            do(
                "nvidia-uninstall",
                "removes what an earlier runfile left, which no RPM owns",
                "清除此前 runfile 留下的、不属于任何 RPM 的文件",
                Safety.DISRUPTIVE,
            ),
            do(
                "systemctl isolate multi-user.target",
                "stops the display server that uses the module",
                "停止占用模块的显示服务",
                Safety.DISRUPTIVE,
                "systemctl isolate graphical.target",
            ),
        ),
        hints=("nvidia", "x server"),
        group="build",
        status=Status.WARN,
        blocks=NOTHING,
        only=frozenset({"log", "installer", "app-error"}),
    ),
)
