"""podman and NVIDIA's container toolkit by CDI: no hook, no runtime, no --gpus."""

from __future__ import annotations

from bedplate.host.checks.kinds import known
from bedplate.host.plan.step import PlanHost, PlanStep, for_containers
from bedplate.host.versions import at_least

_BASE = frozenset({"offline"})
_ENV = '"$root/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env"'
_HOOK = '"$root/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json"'
CDI_FLAG = "no-additional-gids-for-device-nodes"
"""podman before 5.1 cannot read what toolkits from 1.19.1 on write without it."""


def _podman_done(host: PlanHost) -> bool | None:
    version = known(host.facts.podman, "")
    return at_least(version, "4.1") if version else None


def _old_podman(host: PlanHost) -> bool:
    return for_containers(host) and not at_least(known(host.facts.podman, "4.9.4"), "5.1")


def _trap_done(host: PlanHost) -> bool | None:
    # a specification that this podman can read needs no change today
    text = known(host.facts.cdi, "")
    return "additionalGids" not in text if "nvidia.com/gpu" in text else None


def _has_hook(host: PlanHost) -> bool:
    return for_containers(host) and "oci-nvidia-hook.json" in host.texts.get("hooks-dir", "")


def _enforcing(host: PlanHost) -> bool:
    text = host.texts.get("selinux", "").lower()
    return for_containers(host) and not ("disabled" in text and "enabled" not in text)


def _boolean_done(host: PlanHost) -> bool | None:
    text = host.texts.get("selinux", "")
    return "container_use_devices --> on" in text if "container_use_devices" in text else None


def _ids_done(host: PlanHost) -> bool | None:
    text = known(host.facts.subuid, "")
    counts = [line.rpartition(":")[2].strip() for line in text.splitlines() if line.startswith("/etc/sub")]
    # a snapshot tells of the user who took it only
    return None if len(counts) < 2 or host.wishes.user else "0" not in counts


STEPS = (
    PlanStep(
        "podman",
        "podman knows CDI",
        "Devices by CDI need podman 4.1; the module stream container-tools:4.0 stays at 4.0.2 for ever.",
        check=(
            "podman --version",
            "test \"$(printf '%s\\n' 4.1 \"$(podman --version | awk '{print $3}')\" | sort -V | head -n 1)\" = 4.1",
        ),
        do=(
            'if rpm -q --quiet podman && [ -z "$folder" ]; then dnf_ module reset container-tools || return 1; '
            "dnf_ module enable container-tools:rhel8 || return 1; dnf_ update podman; else dnf_ install podman; fi",
        ),
        undo=("say 'dnf remove podman takes it away; its images stay in the home folders'",),
        wanted=for_containers,
        done=_podman_done,
        mends=("HOST-PODMAN-OLD",),
        packages=("podman",),
        uses=_BASE,
    ),
    PlanStep(
        "toolkit",
        "the container toolkit's CDI tool is installed",
        "The base package is enough for CDI; it has no hook and touches no runtime.",
        check=("rpm -q --quiet nvidia-container-toolkit-base",),
        do=("dnf_ install nvidia-container-toolkit-base",),
        undo=("dnf -y remove nvidia-container-toolkit-base",),
        wanted=for_containers,
        done=lambda host: host.has_package("nvidia-container-toolkit-base"),
        mends=("HOST-CDI-UNRESOLVABLE", "HOST-RUNTIME"),
        packages=("nvidia-container-toolkit-base",),
        uses=frozenset({"offline", "plugins", "toolkit"}),
    ),
    PlanStep(
        "cdi_format",
        "CDI specifications are written in the form that podman 4.9 reads",
        "Toolkit 1.19.1 and later write additionalGids, which podman before 5.1 rejects: unresolvable CDI devices.",
        check=(f"grep -q '{CDI_FLAG}' {_ENV}",),
        do=(
            'mkdir -p "$root/etc/nvidia-container-toolkit"',
            f"printf '%s\\n' 'NVIDIA_CTK_CDI_GENERATE_FEATURE_FLAGS={CDI_FLAG}' >>{_ENV}",
        ),
        undo=(f"sed -i '/{CDI_FLAG}/d' {_ENV}",),
        wanted=_old_podman,
        done=_trap_done,
        mends=("HOST-CTK-PODMAN", "HOST-CDI-NEW", "HOST-CDI-UNKNOWN-FIELD"),
    ),
    PlanStep(
        "hook",
        "the old OCI hook is out of the way",
        "Hook and CDI inject the same devices twice.",
        check=(f"test ! -e {_HOOK}",),
        do=(f"mv {_HOOK} {_HOOK}.disabled",),
        undo=(f"mv {_HOOK}.disabled {_HOOK}",),
        wanted=_has_hook,
        mends=("HOST-HOOK-LEFT", "HOST-HOOK-DRIVER"),
    ),
    PlanStep(
        "selinux",
        "SELinux lets containers use devices",
        "Narrower than label=disable, which takes the whole confinement away.",
        check=("if getenforce | grep -q -i enforcing; then getsebool container_use_devices | grep -q -w on; fi",),
        do=("setsebool -P container_use_devices=true",),
        undo=("setsebool -P container_use_devices=false",),
        wanted=_enforcing,
        done=_boolean_done,
        mends=("HOST-SELINUX",),
    ),
    PlanStep(
        "subuid",
        "the user has sub-ids",
        "Containers of ordinary users map their ids into a range of their own; the first free one is taken.",
        check=(
            'if [ -n "$user" ]; then grep -q "^$user:" "$root/etc/subuid" || return 1; '
            'grep -q "^$user:" "$root/etc/subgid"; fi',
        ),
        do=(
            'first=$(cat "$root/etc/subuid" "$root/etc/subgid" 2>/dev/null | '
            "awk -F: '$2 + $3 > m {m = $2 + $3} END {print m < 100000 ? 100000 : m}')",
            'usermod --add-subuids "$first-$((first + 65535))" --add-subgids "$first-$((first + 65535))" "$user"',
        ),
        undo=(
            "say 'usermod --del-subuids and --del-subgids take the range away; images of the user become unreadable'",
        ),
        wanted=for_containers,
        done=_ids_done,
        mends=("HOST-SUBUID", "HOST-USERNS"),
    ),
)
