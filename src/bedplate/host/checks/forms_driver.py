"""Wrong forms of commands: driver, nouveau, Secure Boot, DKMS."""

from __future__ import annotations

from bedplate.host.checks.form import form

CHECKS = (
    form(
        "FORM-LATEST-DKMS",
        ("floating proprietary stream", "浮动的闭源流"),
        r"nvidia-driver:(?:latest-dkms|latest)\b",
        (
            "nvidia-driver:latest-dkms floats to the newest branch, whose proprietary module is gone: wrong for Blackwell, and from 590 on for Maxwell, Pascal and Volta",
            "nvidia-driver:latest-dkms 会浮动到最新分支，而其闭源模块已取消：不适合 Blackwell，590 起也不支持 Maxwell、Pascal、Volta",
        ),
        (
            "dnf module enable nvidia-driver:580-open (Turing and newer; or a newer NNN-open); nvidia-driver:580-dkms for Maxwell, Pascal, Volta",
            "dnf module enable nvidia-driver:580-open（Turing 及以后；或更新的 NNN-open）；Maxwell/Pascal/Volta 用 nvidia-driver:580-dkms",
        ),
        hints=("nvidia-driver:latest",),
    ),
    form(
        "FORM-RHEL7-NAMES",
        ("package names of other systems", "其他系统的软件包名"),
        r"install\b[^\n]*\b(?:nvidia-driver-latest(?:-dkms)?|nvidia-driver-NVML|nvidia-utils|nvidia-dkms|nvidia-driver-\d{3}\b|nvidia-cuda-toolkit)\b",
        (
            "nvidia-driver-latest is a RHEL 7 name, nvidia-driver-NVML is obsolete (libnvidia-ml), nvidia-utils belongs to other distributions; no kernel module is among them",
            "nvidia-driver-latest 是 RHEL 7 名称，nvidia-driver-NVML 已被 libnvidia-ml 取代，nvidia-utils 属其他发行版；且不含内核模块",
        ),
        "dnf module enable nvidia-driver:580-open && dnf install nvidia-driver-cuda kmod-nvidia-open-dkms",
        hints=("nvidia-driver-", "nvidia-utils", "nvidia-dkms", "nvidia-cuda-toolkit"),
    ),
    form(
        "FORM-APT",
        ("Debian command on RHEL", "在 RHEL 上用 Debian 命令"),
        r"\bapt(?:-get)?\s+(?:-y\s+)?install\b[^\n]*(?:nvidia|cuda|linux-headers)",
        (
            "apt and linux-headers are Debian's; RHEL has dnf and kernel-devel",
            "apt 与 linux-headers 属 Debian；RHEL 用 dnf 与 kernel-devel",
        ),
        "dnf install kernel-devel-$(uname -r) kernel-headers",
        hints=("apt",),
        breaks=False,
    ),
    form(
        "FORM-DKMS-NO-EPEL",
        ("dkms without EPEL", "未启用 EPEL 就装 dkms"),
        r"(?:dnf|yum)\b[^\n]*install\b[^\n]*\bdkms\b(?!-nvidia)",
        (
            "dkms is not in RHEL: EPEL 8 and CodeReady Builder come first",
            "RHEL 不含 dkms：须先启用 EPEL 8 与 CodeReady Builder",
        ),
        "subscription-manager repos --enable=codeready-builder-for-rhel-8-x86_64-rpms && dnf install https://dl.fedoraproject.org/pub/epel/epel-release-latest-8.noarch.rpm",
        hints=("dkms",),
        breaks=False,
        unless=r"epel",
    ),
    form(
        "FORM-DKMS-FORCE",
        ("dkms autoinstall --force", "dkms autoinstall --force"),
        r"dkms\s+autoinstall\b[^\n]*--force",
        (
            "dkms autoinstall --force skips what is already installed for the kernel",
            "dkms autoinstall --force 会跳过已安装的模块",
        ),
        "dkms install nvidia/$(modinfo -F version nvidia) -k $(uname -r) --force",
        hints=("autoinstall",),
    ),
    form(
        "FORM-DKMS-MISSING",
        ("dkms never says missing", "dkms 不会显示 missing"),
        r"dkms status[^\n]*\bmissing\b",
        (
            "dkms status knows added, built, installed, installed-weak and broken; a module it does not know has no line at all",
            "dkms status 只有 added、built、installed、installed-weak、broken；未知模块没有任何行",
        ),
        (
            "look for a line nvidia/VERSION, KERNEL, x86_64: installed",
            "查找 nvidia/VERSION, KERNEL, x86_64: installed 这一行",
        ),
        hints=("dkms status",),
        breaks=False,
    ),
    form(
        "FORM-NVML-DEVEL",
        ("version mismatch blamed on kernel-devel", "把版本不一致归咎于 kernel-devel"),
        r"(?:NVML|version mismatch)[^\n]*(?:kernel-devel|kernel headers|内核头)",
        (
            "Driver/library version mismatch is about user-space libraries and the loaded module, not about kernel-devel",
            "Driver/library version mismatch 指用户态库与已加载模块，与 kernel-devel 无关",
        ),
        (
            "bring all NVIDIA packages to one version, then reboot (or reload the modules)",
            "统一 NVIDIA 软件包版本后重启（或重新加载模块）",
        ),
        hints=("nvml", "mismatch"),
        breaks=False,
    ),
    form(
        "FORM-NOUVEAU-ECHO",
        ("blacklist line lost its redirection", "屏蔽行丢失重定向"),
        r"echo\s+[\"']?blacklist nouveau[\"']?\s+/etc/modprobe|options nouveau modeset0",
        (
            "without > the line only prints on the screen, and modeset0 lost its equals sign",
            "缺少 > 时只会打印到屏幕；modeset0 丢失了等号",
        ),
        "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' > /etc/modprobe.d/blacklist-nouveau.conf",
        hints=("nouveau",),
    ),
    form(
        "FORM-NOUVEAU-DRACUT",
        ("initramfs of the running kernel only", "只重建当前内核的 initramfs"),
        r"dracut\s+(?:--force|-f)\s*(?:$|&&|;)",
        (
            "dracut --force rebuilds the running kernel's initramfs only, and there is no boot argument",
            "dracut --force 只重建当前内核的 initramfs，且没有启动参数",
        ),
        "grubby --update-kernel=ALL --args='rd.driver.blacklist=nouveau modprobe.blacklist=nouveau' && dracut --force --regenerate-all",
        hints=("dracut",),
        breaks=False,
        unless=r"regenerate-all|grubby",
    ),
    form(
        "FORM-GRUB-MKCONFIG",
        ("boot arguments in the wrong place", "启动参数写错位置"),
        r"grub2-mkconfig|GRUB_CMDLINE_LINUX[^\n]*nouveau",
        (
            "RHEL 8 boots by BLS entries: edits of /etc/default/grub do not reach them",
            "RHEL 8 使用 BLS 启动项：修改 /etc/default/grub 不生效",
        ),
        "grubby --update-kernel=ALL --args='rd.driver.blacklist=nouveau modprobe.blacklist=nouveau'",
        hints=("grub2-mkconfig", "grub_cmdline"),
        breaks=False,
    ),
    form(
        "FORM-MOK-FILE",
        ("mokutil --import without a key", "mokutil --import 未给出密钥"),
        r"mokutil\s+--import\s*(?:$|[&;|])",
        (
            "mokutil --import needs the key file, a one-time password, and a reboot with Enroll MOK",
            "mokutil --import 需要密钥文件、一次性口令以及重启时 Enroll MOK",
        ),
        "mokutil --import /var/lib/dkms/mok.pub",
        hints=("mokutil",),
    ),
    form(
        "FORM-SB-OFF",
        ("Secure Boot switched off", "关闭 Secure Boot"),
        r"(?:disable|turn off|switch off|关闭|禁用)\s*(?:UEFI )?(?:Secure ?Boot|安全启动)|mokutil\s+--disable-validation",
        (
            "switching Secure Boot off weakens the machine: DKMS 3.0.4 and later sign by themselves",
            "关闭 Secure Boot 会降低安全性：DKMS 3.0.4 及以后会自动签名",
        ),
        "mokutil --import /var/lib/dkms/mok.pub",
        hints=("secure", "validation", "安全启动"),
        breaks=False,
    ),
    form(
        "FORM-PM1",
        ("legacy persistence mode", "旧式持久模式"),
        r"nvidia-smi\s+(?:-i\s*\d+\s+)?(?:-pm|--persistence-mode=)\s*1",
        ("nvidia-smi -pm 1 is the legacy way and does not survive a reboot", "nvidia-smi -pm 1 是旧方式，重启后失效"),
        "systemctl enable --now nvidia-persistenced",
        hints=("-pm", "persistence-mode"),
        breaks=False,
    ),
    form(
        "FORM-KILL9",
        ("kill -9 on every GPU process", "对所有 GPU 进程 kill -9"),
        r"kill\s+-9\s+[^\n]*(?:nvidia-smi|compute-apps|fuser)|(?:nvidia-smi|compute-apps|fuser)[^\n]*(?:xargs\s+)?(?:sudo\s+)?kill\s+-9|fuser\s+-k[^\n]*/dev/nvidia",
        ("kills other people's jobs, without grace", "会误杀他人任务，且没有善后机会"),
        "ps -o pid,user,etime,args -p PID && kill -TERM PID",
        hints=("kill", "fuser"),
        breaks=False,
    ),
)
