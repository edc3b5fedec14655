"""Which kernel runs, which one has a module, which one comes next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedplate.core.check import Finding, Safety, Status, Step
from bedplate.host.checks.kinds import GPU, NOTHING, do, filled_steps, hand, passed, state, symptom
from bedplate.host.language import Both
from bedplate.host.parsers.rpm import short

_DEVEL = (
    do(
        "dnf install kernel-devel-{kernel} kernel-headers",
        "kernel headers and build files of exactly the running kernel; the message's Debian name linux-headers is wrong here",
        "安装与运行内核完全一致的开发包 (kernel headers)；报错中的 linux-headers 是 Debian 名称",
    ),
    do("dkms autoinstall -k {kernel}", "build and install the module for it", "为其构建并安装模块"),
    do("modprobe nvidia && nvidia-smi", "prove it", "验证"),
)
_UEK = (
    do(
        "dnf install kernel-uek-devel-{kernel}",
        "the running kernel is Oracle's UEK: plain kernel-devel does not serve it",
        "运行的是 Oracle UEK 内核：普通 kernel-devel 不适用",
    ),
    hand(
        "or boot the standard el kernel (grubby --set-default) and install its own kernel-devel",
        "或启动标准 el 内核 (grubby --set-default) 并安装其 kernel-devel",
    ),
    *_DEVEL[1:],
)


def _precompiled(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-KMOD-KERNEL"
    kernel, built = facts["kernel"], facts["precompiled"]
    if not built or short(kernel) in built:
        return passed(
            code,
            "the running kernel has its kmod, or no precompiled kmod is used",
            "运行内核有对应 kmod，或未使用预编译 kmod",
        )
    dkms = [name for name in facts["packages"] if "dkms" in name or name.startswith("akmod")]
    if dkms:
        return passed(code, f"{dkms[0]} builds for every kernel", f"{dkms[0]} 会为每个内核构建")
    # a module of another kernel of the same minor release may serve as a weak module
    summary = Both(
        f"the precompiled kmod-nvidia was built for kernel {', '.join(built)}; the running kernel {short(kernel)} has no nvidia module, and no DKMS is there to build one",
        f"预编译 kmod-nvidia 针对内核 {', '.join(built)}；运行内核 {short(kernel)} 没有 nvidia 模块，也没有 DKMS 可构建",
    )
    steps = (
        do(
            f"grubby --set-default /boot/vmlinuz-{built[-1]}*",
            "boot the last kernel that has a kmod",
            "启动最后一个有 kmod 的内核",
            Safety.REBOOT,
        ),
        do(
            "dnf versionlock add 'kernel*'",
            "hold the kernel until a matching kmod arrives",
            "在匹配的 kmod 发布前锁定内核",
            undo="dnf versionlock delete 'kernel*'",
        ),
        do(
            "dnf module switch-to nvidia-driver:{stream} --allowerasing",
            "or change to a DKMS driver package, which builds for every kernel",
            "或改用 DKMS 驱动包，可为任意内核构建",
            Safety.DISRUPTIVE,
        ),
    )
    evidence = (("rpm-kernel", f"kmod for {', '.join(built)}"), ("uname", kernel))
    return Finding(code, Status.FAIL, summary, evidence, GPU, filled_steps(steps, {"stream": "580-open"}))


def _devel(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-DEVEL"
    kernel = facts["kernel"].removesuffix(".x86_64").removesuffix(".aarch64")
    building = [name for name in facts["packages"] if "dkms" in name or name.startswith("akmod")]
    if not building:
        return passed(code, "no driver package builds modules here", "没有需要构建模块的驱动包")
    if any(kernel == devel or kernel.startswith(devel) for devel in facts["devel_kernels"]):
        return passed(code, f"kernel-devel for {kernel} is installed", f"已安装 {kernel} 的 kernel-devel")
    have = ", ".join(facts["devel_kernels"]) or "none"
    summary = Both(
        f"{building[0]} needs kernel-devel of the running kernel {kernel}; installed: {have}",
        f"{building[0]} 需要运行内核 {kernel} 的 kernel-devel；已安装：{have}",
    )
    return Finding(
        code,
        Status.FAIL,
        summary,
        (("rpm-kernel", f"kernel-devel: {have}"), ("uname", kernel)),
        GPU,
        filled_steps(_UEK if "uek" in kernel else _DEVEL, {"kernel": facts["kernel"]}),
    )


def _dkms(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-DKMS"
    lines = [line for line in facts["dkms"] if line.module.startswith("nvidia")]
    kernel = facts["kernel"]
    if not lines:
        return passed(
            code, "DKMS has no nvidia module: another way of installing is used", "DKMS 中没有 nvidia：使用其他安装方式"
        )
    broken = [line for line in lines if line.state == "broken"]
    mine = [line for line in lines if line.kernel == kernel and line.state.startswith("installed")]
    values = {"kernel": kernel, "driver": lines[-1].version}
    if broken:
        summary = Both(
            f"DKMS tree of nvidia/{broken[0].version} is broken: its source in /usr/src is gone",
            f"DKMS 中 nvidia/{broken[0].version} 为 broken：/usr/src 中的源码缺失",
        )
        steps: tuple[Step, ...] = (
            do("rm -r /var/lib/dkms/nvidia/{driver}", "forget the stale tree", "清除失效的目录", Safety.DISRUPTIVE),
            do(
                "dnf reinstall kmod-nvidia-open-dkms",
                "brings source and build back (kmod-nvidia-latest-dkms for the proprietary one)",
                "恢复源码并重新构建（闭源用 kmod-nvidia-latest-dkms）",
                Safety.DISRUPTIVE,
            ),
        )
        return Finding(
            code,
            Status.FAIL,
            summary,
            (("dkms-status", f"nvidia/{broken[0].version}: broken"),),
            GPU,
            filled_steps(steps, {**values, "driver": broken[0].version}),
        )
    if not mine:
        shown = tuple(
            ("dkms-status", f"nvidia/{line.version}, {line.kernel or '-'}: {line.state}") for line in lines[:4]
        )
        summary = Both(
            f"DKMS has not installed nvidia {lines[-1].version} for the running kernel {kernel}: only {', '.join(line.kernel or line.state for line in lines)}",
            f"DKMS 未为运行内核 {kernel} 安装 nvidia {lines[-1].version}：仅有 {', '.join(line.kernel or line.state for line in lines)}",
        )
        steps = (
            *(_UEK[:1] if "uek" in kernel else _DEVEL[:1]),
            do(
                "dkms install nvidia/{driver} -k {kernel} --force",
                "build for this kernel; read make.log when it fails",
                "为该内核构建；失败时查看 make.log",
            ),
            do("modprobe nvidia && nvidia-smi", "prove it", "验证"),
        )
        return Finding(code, Status.FAIL, summary, shown, GPU, filled_steps(steps, values))
    noted = [line for line in mine if "iff" in line.note or "issing" in line.note]
    if noted:
        summary = Both(
            f"DKMS: the installed module is not the one that was built ({noted[0].note.strip('() ')})",
            f"DKMS：已安装模块与构建结果不一致 ({noted[0].note.strip('() ')})",
        )
        steps = filled_steps(
            (
                do(
                    "dkms install nvidia/{driver} -k {kernel} --force",
                    "install the built one again",
                    "重新安装构建结果",
                ),
            ),
            values,
        )
        return Finding(code, Status.WARN, summary, (("dkms-status", noted[0].note),), NOTHING, steps)
    return passed(
        code, f"nvidia {mine[0].version} is installed for {kernel}", f"已为 {kernel} 安装 nvidia {mine[0].version}"
    )


def _next(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-NEXT-KERNEL"
    kernel, ready = facts["next_kernel"], facts["module_kernels"]
    if kernel == facts["kernel"] or kernel in ready or not ready:
        return passed(code, f"the next boot takes {kernel}", f"下次启动使用 {kernel}")
    summary = Both(
        f"the next boot takes kernel {kernel}, which has no nvidia module; there are modules for {', '.join(ready)}",
        f"下次启动将使用内核 {kernel}，它没有 nvidia 模块；已有模块的内核：{', '.join(ready)}",
    )
    steps = filled_steps(
        (
            do("dnf install kernel-devel-{next}", "headers of the next kernel", "下一内核的开发包"),
            do("dkms autoinstall -k {next}", "build before the reboot", "重启前构建"),
            do("grubby --set-default /boot/vmlinuz-{kernel}", "or stay on this kernel", "或停留在当前内核"),
        ),
        {"next": kernel, "kernel": facts["kernel"]},
    )
    return Finding(
        code, Status.WARN, summary, (("next-kernel", kernel), ("module-files", ", ".join(ready))), NOTHING, steps
    )


CHECKS = (
    symptom(
        "HOST-HEADERS",
        ("kernel headers of the running kernel are missing", "缺少运行内核的 kernel headers"),
        r"Your kernel headers for kernel (?P<kernel>\S+) cannot be found[^\n]*|(?:Unable to find|could not locate|ERROR:[^\n]*find) the (?:kernel source|development tools|kernel header)[^\n]*|(?:kernel source path|kernel headers?)[^\n]*(?:is invalid|not found|cannot be found|do(?:es)? not exist)[^\n]*|/lib/modules/(?P<k2>\S+?)/build: No such file or directory[^\n]*|Kernel devel(?:opment)? (?:files|package)[^\n]*not (?:found|installed)[^\n]*|No package kernel-devel-(?P<k3>\S+) available[^\n]*|Module build for kernel (?P<k4>\S+) was skipped since the kernel headers[^\n]*",
        (
            "no development package (kernel headers, kernel-devel; on Oracle's uek kernel: kernel-uek-devel) of the running kernel {kernel} is installed, so no module can be built",
            "未安装运行内核 {kernel} 的开发包（kernel headers，kernel-devel；Oracle uek 内核为 kernel-uek-devel），无法构建模块",
        ),
        (
            *_DEVEL[:1],
            do(
                "dnf install kernel-uek-devel-{kernel}",
                "only when uname -r says uek: plain kernel-devel does not serve that flavour",
                "仅当 uname -r 含 uek：普通 kernel-devel 不适用该内核",
            ),
            *_DEVEL[1:],
            hand(
                "not in the repository any more: dnf update kernel kernel-devel, reboot, and build for the new one",
                "仓库已无该版本：dnf update kernel kernel-devel，重启后为新内核构建",
            ),
        ),
        hints=("kernel header", "kernel source", "/build", "kernel devel", "kernel-devel", "development tools"),
        group="build",
        blocks=GPU,
    ),
    state(
        "HOST-KMOD-KERNEL",
        ("precompiled module and running kernel", "预编译模块与运行内核"),
        ("kernel", "precompiled", "packages"),
        _precompiled,
    ),
    state(
        "HOST-DEVEL",
        ("kernel-devel of the running kernel", "运行内核的 kernel-devel"),
        ("kernel", "devel_kernels", "packages"),
        _devel,
        follows=("HOST-HEADERS",),
    ),
    state(
        "HOST-DKMS",
        ("DKMS and the running kernel", "DKMS 与运行内核"),
        ("kernel", "dkms"),
        _dkms,
        follows=("HOST-HEADERS", "HOST-DEVEL", "HOST-COMPILE", "HOST-COMPILER"),
    ),
    symptom(
        "HOST-MODULE-MISSING",
        ("no nvidia module for the running kernel", "运行内核没有 nvidia 模块"),
        r"modprobe: FATAL: Module nvidia\S* not found(?: in directory /lib/modules/(?P<kernel>\S+))?[^\n]*|modinfo: ERROR: Module nvidia not found[^\n]*|insmod: (?:error|ERROR)[^\n]*nvidia[^\n]*No such file[^\n]*",
        (
            "no nvidia kernel module exists for the running kernel {kernel}: the driver was not built for it, or only user space is installed; a kernel update does this",
            "运行内核 {kernel} 没有 nvidia 模块：驱动未为其构建，或只装了用户态；内核更新后常见",
        ),
        (
            do("dkms status; rpm -qa 'kmod-nvidia*'", "what is there, and for which kernel", "查看已有模块及对应内核"),
            *_DEVEL,
            hand(
                "nothing listed: dnf install kmod-nvidia-open-dkms nvidia-driver-cuda; or boot the previous kernel meanwhile",
                "若为空：dnf install kmod-nvidia-open-dkms nvidia-driver-cuda；或先启动旧内核",
            ),
        ),
        hints=("module nvidia", "insmod"),
        group="any",
        only=frozenset({"log", "app-error", "modprobe", "modinfo", "installer", "journal-kernel", "messages"}),
        blocks=GPU,
        follows=("HOST-HEADERS", "HOST-KMOD-KERNEL", "HOST-DEVEL", "HOST-DKMS", "HOST-COMPILE", "HOST-COMPILER"),
    ),
    symptom(
        "HOST-MODULE-KERNEL",
        ("module of another kernel", "其他内核的模块"),
        r"nvidia\S*: (?:disagrees about version of symbol|Unknown symbol|version magic)[^\n]*|could not insert .?nvidia.*(?:Exec format error|Invalid module format)[^\n]*|version magic '[^']+' should be '(?P<kernel>\S+)[^\n]*",
        (
            "the nvidia module was built for another kernel (version magic, unknown symbol) than the running {kernel}",
            "nvidia 模块是为其他内核构建的（version magic、unknown symbol），与运行内核 {kernel} 不符",
        ),
        (
            do(
                "dkms install nvidia/{driver} -k {kernel} --force",
                "build it again for this kernel",
                "为当前内核重新构建",
            ),
            do(
                "depmod -a {kernel}",
                "refresh the module list; weak-updates may point to an old module",
                "刷新模块列表；weak-updates 可能指向旧模块",
            ),
            do(
                "dnf reinstall 'kmod-nvidia*'",
                "precompiled modules: take the one of this kernel",
                "预编译模块：安装对应内核的版本",
                Safety.DISRUPTIVE,
            ),
        ),
        hints=("disagrees", "unknown symbol", "version magic", "exec format", "invalid module format"),
        blocks=GPU,
    ),
    state(
        "HOST-NEXT-KERNEL",
        ("kernel of the next boot", "下次启动的内核"),
        ("kernel", "next_kernel", "module_kernels"),
        _next,
    ),
)
