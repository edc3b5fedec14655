"""The driver itself: absent, of two versions, of the wrong kind for the card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedplate.core.check import Finding, Safety, Status
from bedplate.host.checks.driver_kind import CLOSED, ONE_VERSION, OPEN, WITHOUT_GSP, for_cards
from bedplate.host.checks.kinds import GPU, NOTHING, do, filled_steps, passed, reboot, state
from bedplate.host.language import Both
from bedplate.host.versions import branch


def _versions(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-MIXED-VERSIONS"
    packages = facts["packages"]
    # precompiled modules of other kernels may be old; user space must be of one version
    by_version: dict[str, list[str]] = {}
    for name, value in packages.items():
        by_version.setdefault(value, []).append(name)
    if len(by_version) < 2:
        return passed(
            code,
            f"all driver packages are {next(iter(by_version), 'absent')}",
            f"驱动软件包版本一致：{next(iter(by_version), '无')}",
        )
    shown = "; ".join(f"{version}: {', '.join(sorted(names)[:3])}" for version, names in sorted(by_version.items()))
    summary = Both(
        f"NVIDIA packages of different versions are installed (partial upgrade, driver/library mismatch): {shown}",
        f"安装了不同版本的 NVIDIA 软件包（升级不完整，驱动/库版本 mismatch）：{shown}",
    )
    return Finding(
        code,
        Status.FAIL,
        summary,
        (("rpm-kernel", shown),),
        GPU,
        filled_steps(ONE_VERSION, {"kernel": "$(uname -r)", "driver": max(by_version)}),
    )


def _loaded(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-STALE-MODULE"
    loaded, disk = facts["driver"], facts["module_version"]
    if loaded == disk:
        return passed(code, f"module {loaded} is loaded and on disk", f"加载与磁盘上的模块均为 {loaded}")
    summary = Both(
        f"the loaded module or banner says {loaded}, the module on disk is {disk}: the driver was updated without a reboot (version mismatch)",
        f"已加载模块为 {loaded}，磁盘上为 {disk}：驱动已更新但未重启（版本 mismatch）",
    )
    return Finding(
        code,
        Status.FAIL,
        summary,
        (("nvidia-smi", loaded), ("modinfo", disk)),
        GPU,
        filled_steps(ONE_VERSION, {"kernel": "$(uname -r)", "driver": disk}),
    )


def _flavour(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-FLAVOUR"
    flavour, gpus = facts["module_flavour"], facts["gpus"]
    old = [gpu for gpu in gpus if gpu.generation in {*WITHOUT_GSP, "kepler"}]
    new = [gpu for gpu in gpus if gpu.generation == "blackwell"]
    if flavour == "open" and old:
        summary = Both(
            f"the open kernel module is installed, and {old[0].name} ({old[0].generation}) has no GSP: it needs the proprietary one",
            f"安装的是开源内核模块，而 {old[0].name}（{old[0].generation}）没有 GSP：需要闭源 (proprietary) 模块",
        )
        return Finding(
            code, Status.FAIL, summary, (("lspci", old[0].name), ("modinfo", flavour)), GPU, for_cards(old, CLOSED)
        )
    if flavour == "proprietary" and new:
        summary = Both(
            f"the proprietary kernel module is installed, and {new[0].name} (Blackwell) needs the open one",
            f"安装的是闭源内核模块，而 {new[0].name} (Blackwell) 需要开源模块",
        )
        return Finding(code, Status.FAIL, summary, (("lspci", new[0].name), ("modinfo", flavour)), GPU, OPEN)
    return passed(code, f"the {flavour} module fits the GPUs", f"{flavour} 模块适合这些 GPU")


def _last_branch(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-BRANCH-GPU"
    old = [gpu for gpu in facts["gpus"] if gpu.generation in WITHOUT_GSP]
    new = [gpu for gpu in facts["gpus"] if gpu.generation == "blackwell"]
    number = branch(facts["module_version"])
    if old and number > 580:
        summary = Both(
            f"driver {facts['module_version']} no longer supports {old[0].name} ({old[0].generation}): 580 is its last branch",
            f"驱动 {facts['module_version']} 不再支持 {old[0].name}（{old[0].generation}）：最后分支是 580",
        )
        return Finding(
            code,
            Status.FAIL,
            summary,
            (("modinfo", facts["module_version"]), ("lspci", old[0].name)),
            GPU,
            for_cards(old, CLOSED),
        )
    if new and number < 570:
        summary = Both(
            f"driver {facts['module_version']} is older than {new[0].name} (Blackwell), which needs branch 570 or newer",
            f"驱动 {facts['module_version']} 早于 {new[0].name} (Blackwell)，后者需要 570 或更新",
        )
        return Finding(
            code, Status.FAIL, summary, (("modinfo", facts["module_version"]), ("lspci", new[0].name)), GPU, OPEN
        )
    return passed(code, "the driver's branch supports the GPUs", "驱动分支支持这些 GPU")


def _installed(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-DRIVER"
    packages, gpus = facts["packages"], facts["gpus"]
    modules = [name for name in packages if name.startswith(("kmod-nvidia", "akmod-nvidia", "dkms-nvidia"))] or facts[
        "precompiled"
    ]
    if not gpus or "nvidia" in facts["modules"]:
        return passed(code, "the nvidia module is loaded, or no GPU needs it", "nvidia 模块已加载，或没有 GPU 需要它")
    if not packages:
        summary = Both(
            f"no NVIDIA driver is installed for {gpus[0].name}: neither a package nor a loaded module",
            f"没有为 {gpus[0].name} 安装 NVIDIA 驱动：既无软件包也无已加载模块",
        )
    elif not modules:
        summary = Both(
            f"user space of the driver is installed ({next(iter(packages))}) without any kernel module package",
            f"只装了驱动用户态 ({next(iter(packages))})，没有内核模块软件包",
        )
    else:
        return passed(code, f"{modules[0]} is installed", f"已安装 {modules[0]}")
    steps = (
        do(
            "dnf config-manager --add-repo https://developer.download.nvidia.com/compute/cuda/repos/rhel8/x86_64/cuda-rhel8.repo",
            "NVIDIA's repository",
            "NVIDIA 仓库",
        ),
        do("dnf install kernel-devel-$(uname -r) kernel-headers gcc make", "to build the module", "用于构建模块"),
        do(
            "dnf install https://dl.fedoraproject.org/pub/epel/epel-release-latest-8.noarch.rpm",
            "EPEL brings dkms, which builds the module",
            "EPEL 提供构建模块所需的 dkms",
        ),
        do(
            "dnf module reset nvidia-driver && dnf module enable nvidia-driver:{stream}",
            "the fixed long-term branch for this card",
            "适合该显卡的固定长期分支",
        ),
        do(
            "dnf install nvidia-driver-cuda {kmod}",
            "user space and module; then dkms status must say installed",
            "用户态与模块；随后 dkms status 应为 installed",
            Safety.DISRUPTIVE,
        ),
        reboot(),
    )
    return Finding(
        code,
        Status.FAIL,
        summary,
        (("rpm-kernel", ", ".join(list(packages)[:4]) or "no nvidia package"), ("lspci", gpus[0].name)),
        GPU,
        for_cards(gpus, steps),
    )


def _life(facts: Mapping[str, Any]) -> Finding:
    from bedplate.host.matrix import driver_branch

    code = "HOST-BRANCH-LIFE"
    row = driver_branch(branch(facts["driver"]))
    if row is None:
        said = Both(
            f"the end of driver {facts['driver']}'s branch is not known here",
            f"驱动 {facts['driver']} 分支的支持期未知",
        )
        return Finding(code, Status.SKIP, said)
    if not row.ended:
        return passed(code, f"driver {facts['driver']} has no end date behind it", f"驱动 {facts['driver']} 未过支持期")
    summary = Both(
        f"driver branch R{row.branch} ended in {row.end}: no fixes, and new kernels may not compile it",
        f"驱动分支 R{row.branch} 已于 {row.end} 停止支持：无修复，新内核可能无法编译",
    )
    step = do(
        "dnf module list nvidia-driver",
        "then dnf module switch-to a long-term stream: 580-open, or 580-dkms for Maxwell, Pascal, Volta",
        "然后用 dnf module switch-to 换到长期支持流：580-open；Maxwell/Pascal/Volta 用 580-dkms",
    )
    return Finding(code, Status.INFO, summary, (("nvidia-smi", facts["driver"]),), NOTHING, (step,))


CHECKS = (
    state(
        "HOST-MIXED-VERSIONS",
        ("one version of all driver packages", "驱动软件包版本一致"),
        ("packages",),
        _versions,
        follows=("HOST-NVML-MISMATCH",),
    ),
    state(
        "HOST-STALE-MODULE",
        ("loaded module and module on disk", "已加载模块与磁盘模块"),
        ("driver", "module_version"),
        _loaded,
        follows=("HOST-NVML-MISMATCH", "HOST-MIXED-VERSIONS"),
    ),
    state(
        "HOST-FLAVOUR",
        ("open or proprietary module", "开源或闭源模块"),
        ("module_flavour", "gpus"),
        _flavour,
        follows=("HOST-OPEN-OLD", "HOST-CLOSED-NEW"),
    ),
    state(
        "HOST-BRANCH-GPU",
        ("driver branch and GPU", "驱动分支与 GPU"),
        ("module_version", "gpus"),
        _last_branch,
        follows=("HOST-FLAVOUR", "HOST-OPEN-OLD", "HOST-CLOSED-NEW"),
    ),
    state(
        "HOST-DRIVER",
        ("driver installed", "驱动已安装"),
        ("packages", "precompiled", "gpus", "modules"),
        _installed,
        follows=("HOST-NOUVEAU", "HOST-NOUVEAU-LOADED"),
    ),
    state("HOST-BRANCH-LIFE", ("support of the driver branch", "驱动分支支持期"), ("driver",), _life),
)
