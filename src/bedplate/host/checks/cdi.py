"""The GPU in the container by CDI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedplate.core.check import Finding, Status
from bedplate.host.checks.kinds import IMAGE, do, edit, passed, state, symptom
from bedplate.host.language import Both
from bedplate.host.versions import at_least

_GENERATE = (
    do(
        "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
        "regenerate after every driver or MIG change; toolkit 1.18 and later do it with nvidia-cdi-refresh",
        "驱动或 MIG 变化后重新生成；toolkit 1.18 及以后由 nvidia-cdi-refresh 完成",
    ),
    do(
        "rm -f /var/run/cdi/nvidia.yaml",
        "a stale copy in the other folder is read too; systemctl restart nvidia-cdi-refresh writes it anew",
        "另一目录的旧副本也会被读取；systemctl restart nvidia-cdi-refresh 会重新写入",
    ),
    do("nvidia-ctk cdi list", "must list nvidia.com/gpu=all", "应列出 nvidia.com/gpu=all"),
    do(
        "podman run --rm --device nvidia.com/gpu=all --security-opt label=disable IMAGE nvidia-smi -L",
        "recreate containers: an old one keeps the old paths",
        "重新创建容器：旧容器仍用旧路径",
    ),
)
_FLAG = (
    edit(
        "/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env",
        "NVIDIA_CTK_CDI_GENERATE_FEATURE_FLAGS=no-additional-gids-for-device-nodes",
        "podman before 5.1 cannot read additionalGids (CDI 0.7), which toolkit 1.19.1 and later write",
        "podman 5.1 之前无法解析 toolkit 1.19.1 及以后写入的 additionalGids (CDI 0.7)",
    ),
    do(
        "nvidia-ctk cdi generate --feature-flag no-additional-gids-for-device-nodes --output=/etc/cdi/nvidia.yaml",
        "the same for the file by hand",
        "手工生成同样加此标志",
    ),
    *_GENERATE[1:],
)


def _podman(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-PODMAN-OLD"
    if at_least(facts["podman"], "4.1.0"):
        return passed(code, f"podman {facts['podman']} knows CDI", f"podman {facts['podman']} 支持 CDI")
    summary = Both(
        f"podman {facts['podman']} predates CDI support (needs at least 4.1.0): --device nvidia.com/gpu=all is read as a path",
        f"podman {facts['podman']} 早于 CDI 支持（至少 4.1.0）：--device nvidia.com/gpu=all 会被当作路径",
    )
    steps = (
        do(
            "dnf module reset container-tools && dnf module enable container-tools:rhel8 && dnf update podman",
            "RHEL 8.8 and later bring podman 4.4 to 4.9; a fixed stream such as 4.0 or 3.0 stays old",
            "RHEL 8.8 及以后提供 podman 4.4 至 4.9；固定流 4.0/3.0 不会更新",
        ),
        edit(
            "/etc/nvidia-container-runtime/config.toml",
            '[nvidia-container-runtime]\nmode = "cdi"',
            "where podman cannot be updated: run through nvidia-container-runtime",
            "无法更新 podman 时：通过 nvidia-container-runtime 运行",
        ),
    )
    return Finding(code, Status.FAIL, summary, (("podman", f"podman version {facts['podman']}"),), IMAGE, steps)


def _stale(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-CDI-STALE"
    named, driver = facts["cdi_drivers"], facts["driver"]
    old = [version for version in named if version != driver]
    if not old:
        return passed(code, f"the CDI specification is of driver {driver}", f"CDI 规范对应驱动 {driver}")
    summary = Both(
        f"the CDI specification is stale: it names libraries of driver {', '.join(old)}; the host has {driver}",
        f"CDI 规范已过期 (stale)：其中为驱动 {', '.join(old)} 的库；主机为 {driver}",
    )
    return Finding(
        code,
        Status.FAIL,
        summary,
        (("cdi", f"libraries of {', '.join(old)}"), ("nvidia-smi", driver)),
        IMAGE,
        _GENERATE,
    )


def _too_new(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-CDI-NEW"
    if "additionalGids" not in facts["cdi"] or at_least(facts["podman"], "5.1.0"):
        return passed(code, "podman can read the CDI specification", "podman 能读取该 CDI 规范")
    summary = Both(
        f"the CDI specification has additionalGids (CDI 0.7), which podman {facts['podman']} cannot parse: every GPU becomes unresolvable",
        f"CDI 规范含 additionalGids (CDI 0.7)，podman {facts['podman']} 无法解析：所有 GPU 均 unresolvable",
    )
    return Finding(code, Status.FAIL, summary, (("cdi", "additionalGids"), ("podman", facts["podman"])), IMAGE, _FLAG)


CHECKS = (
    state("HOST-PODMAN-OLD", ("podman and CDI", "podman 与 CDI"), ("podman",), _podman),
    state("HOST-CDI-STALE", ("CDI specification and driver", "CDI 规范与驱动"), ("cdi_drivers", "driver"), _stale),
    state("HOST-CDI-NEW", ("CDI specification and podman", "CDI 规范与 podman"), ("cdi", "podman"), _too_new),
    symptom(
        "HOST-CDI-UNKNOWN-FIELD",
        ("CDI specification too new for podman", "CDI 规范对 podman 过新"),
        r"unknown field \"?additionalGids\"?[^\n]*|(?:cdi|spec)[^\n]*(?:invalid|unsupported|unknown) (?:CDI )?version[^\n]*|failed to (?:load|parse) CDI [Ss]pec[^\n]*",
        (
            "podman cannot parse the CDI specification (additionalGids, CDI 0.7): the container toolkit is newer than podman understands",
            "podman 无法解析 CDI 规范（additionalGids、CDI 0.7）：容器 toolkit 比 podman 新",
        ),
        _FLAG,
        hints=("additionalgids", "cdi"),
        group="container",
        blocks=IMAGE,
        follows=("HOST-CDI-NEW",),
    ),
    symptom(
        "HOST-CDI-PATH",
        ("CDI specification names what is gone", "CDI 规范指向已不存在的文件"),
        r"(?:error stat'ing file|failed to stat CDI host device|stat)[^\n]*\"?(?P<path>/[^\s\":]*(?:nvidia|cuda|dri/|EGL|GL)[^\s\":]*)\"?[^\n]*(?:[Nn]o such file|没有那个文件)[^\n]*|(?:error mounting|mount) \"?(?P<p2>/\S*(?:nvidia|libcuda)[^\s\"]*)[^\n]*no such file[^\n]*",
        (
            "the CDI specification is stale: it names {path}, which is gone since a driver update, or a device node that has vanished",
            "CDI 规范已过期 (stale)：其中的 {path} 在驱动更新后已不存在，或设备节点已消失",
        ),
        _GENERATE,
        hints=("stat", "mount"),
        group="container",
        blocks=IMAGE,
        follows=("HOST-CDI-STALE", "HOST-PODMAN-OLD"),
        unless=r"stat nvidia\.com/gpu",
    ),
    symptom(
        "HOST-CDI-AS-PATH",
        ("CDI name was read as a path", "CDI 名称被当作路径"),
        r"(?:stat|lstat|device) \"?nvidia\.com/gpu\S*[^\n]*(?:no such file|not found)[^\n]*|nvidia\.com/gpu=\S+ is not an absolute path[^\n]*|bad format[^\n]*nvidia\.com/gpu[^\n]*",
        (
            "this podman (or docker) does not know CDI: it reads nvidia.com/gpu=... as a path; podman 4.1 is the first that does",
            "该 podman（或 docker）不支持 CDI：把 nvidia.com/gpu=... 当作路径；podman 4.1 起支持",
        ),
        (
            do("podman --version", "must be 4.1 or newer", "须 4.1 或更新"),
            do(
                "dnf module reset container-tools && dnf module enable container-tools:rhel8 && dnf update podman",
                "RHEL 8's newest podman",
                "RHEL 8 最新的 podman",
            ),
            *_GENERATE[:1],
        ),
        hints=("nvidia.com/gpu",),
        group="container",
        blocks=IMAGE,
        follows=("HOST-PODMAN-OLD",),
    ),
    symptom(
        "HOST-CDI-UNRESOLVABLE",
        ("CDI device cannot be resolved", "CDI 设备无法解析"),
        r"unresolvable CDI devices? (?P<device>[^\n:]+)[^\n]*|could not resolve the following CDI devices[^\n]*|no CDI (?:spec|device)s? (?:found|directories)[^\n]*|Found 0 CDI devices[^\n]*",
        (
            "podman finds no CDI device {device}: the specification in /etc/cdi or /var/run/cdi is missing, unreadable for the user, or (toolkit 1.19.1 with podman 4.9) in a format it cannot parse",
            "podman 找不到 CDI 设备 {device}：/etc/cdi 或 /var/run/cdi 中的规范缺失、用户不可读，或（toolkit 1.19.1 配 podman 4.9）格式无法解析",
        ),
        (
            do(
                "nvidia-ctk cdi list; ls -l /etc/cdi /var/run/cdi",
                "what is there, and readable (0644)",
                "查看是否存在且可读 (0644)",
            ),
            *_GENERATE[:1],
            do(
                "podman --log-level debug run --rm --device nvidia.com/gpu=all IMAGE true 2>&1 | grep -i cdi",
                "json: unknown field additionalGids means the format",
                "出现 json: unknown field additionalGids 即格式问题",
            ),
            *_FLAG[:2],
        ),
        hints=("unresolvable", "cdi device", "no cdi"),
        group="container",
        blocks=IMAGE,
        follows=("HOST-CDI-NEW", "HOST-CDI-UNKNOWN-FIELD", "HOST-CDI-STALE"),
    ),
)
