"""What needs the loaded driver: services, version lock, CDI."""

from __future__ import annotations

import re

from bedplate.host.checks.kinds import known
from bedplate.host.plan.step import PlanHost, PlanStep, for_containers, for_driver
from bedplate.host.plan.steps.containers import CDI_FLAG

_NVSWITCH = re.compile(r"nvswitch", re.IGNORECASE)
_ONLINE = frozenset({"offline", "plugins", "nvidia"})
_SPECS = '"$root"/etc/cdi/nvidia.yaml "$root"/var/run/cdi/nvidia.yaml'


def _service(name: str) -> tuple[str, ...]:
    return (f"systemctl is-enabled {name}", f"systemctl is-active {name}")


def has_nvswitch(host: PlanHost) -> bool:
    """NVSwitch on the bus, or GPUs that belong to a fabric."""
    states = known(host.facts.query, {}).get("Fabric/State", [])
    return bool(_NVSWITCH.search(host.texts.get("lspci", ""))) or any(s.lower() not in ("n/a", "") for s in states)


def _blackwell(host: PlanHost) -> bool:
    return any(gpu.generation == "blackwell" for gpu in known(host.facts.gpus, []))


def _loaded(host: PlanHost) -> bool | None:
    smi = known(host.facts.smi, "")
    if not smi or isinstance(host.facts.driver, str) is False:
        return None
    return "NVIDIA-SMI" in smi and "failed" not in smi and "No devices" not in smi


def _locked(host: PlanHost) -> bool | None:
    text = known(host.facts.stream, "")
    if not text:
        return None
    return bool(re.search(r"nvidia-driver|\*nvidia", text) and re.search(r"^!?[^#\n]*\bkernel", text, re.MULTILINE))


def _spec(host: PlanHost) -> bool | None:
    text = known(host.facts.cdi, "")
    if "nvidia.com/gpu" not in text:
        return None
    versions, driver = known(host.facts.cdi_drivers, []), known(host.facts.driver, "")
    return "additionalGids" not in text and (not versions or not driver or driver in versions)


STEPS = (
    PlanStep(
        "load",
        "the module is loaded, and nvidia-smi sees a GPU",
        "The loaded module and the libraries must have one version; after an update only a reboot brings that about.",
        check=(
            'test "$(cat "$root/sys/module/nvidia/version")" = "$(modinfo -F version nvidia)"',
            "nvidia-smi -L | grep -q GPU",
        ),
        do=('test -e "$root/sys/module/nvidia/version" || modprobe nvidia',),
        undo=("say 'modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia, when nothing uses the GPU'",),
        wanted=for_driver,
        done=_loaded,
        stage=2,
        reboot_if='test "$(cat "$root/sys/module/nvidia/version")" != "$(modinfo -F version nvidia)"',
        mends=("HOST-NVML-MISMATCH", "HOST-STALE-MODULE", "HOST-UVM", "HOST-LIBCUDA"),
    ),
    PlanStep(
        "persistence",
        "the persistence daemon runs",
        "Without a client the driver lets the GPU go, and each start costs seconds; nvidia-smi -pm 1 is the old way.",
        check=_service("nvidia-persistenced"),
        do=("systemctl enable --now nvidia-persistenced",),
        undo=("systemctl disable --now nvidia-persistenced",),
        wanted=for_driver,
        done=lambda host: host.running("nvidia-persistenced"),
        stage=2,
        mends=("HOST-PERSISTENCE",),
    ),
    PlanStep(
        "fabric",
        "fabric manager of the driver's version runs",
        "On NVSwitch machines CUDA waits for it (error 802); its version must equal the driver's to the last number.",
        check=(
            'test "$(rpm -q --qf \'%{VERSION}\' nvidia-fabricmanager)" = "$(modinfo -F version nvidia)"',
            *_service("nvidia-fabricmanager"),
        ),
        do=(
            'dnf_ install "nvidia-fabricmanager-$(modinfo -F version nvidia)"',
            "systemctl enable --now nvidia-fabricmanager",
        ),
        undo=("systemctl disable --now nvidia-fabricmanager", "dnf -y remove nvidia-fabricmanager"),
        wanted=lambda host: for_driver(host) and has_nvswitch(host),
        done=lambda host: host.running("nvidia-fabricmanager"),
        stage=2,
        mends=("HOST-FABRIC", "HOST-FABRIC-STATE", "HOST-FABRIC-VERSION"),
        packages=("nvidia-fabricmanager",),
        uses=_ONLINE,
    ),
    PlanStep(
        "subnet_manager",
        "the NVLink subnet manager is installed",
        "NVSwitch machines with Blackwell need nvlsm beside fabric manager.",
        check=("rpm -q --quiet nvlsm",),
        do=("dnf_ install nvlsm", "systemctl restart nvidia-fabricmanager"),
        undo=("dnf -y remove nvlsm",),
        wanted=lambda host: for_driver(host) and has_nvswitch(host) and _blackwell(host),
        done=lambda host: host.running("nvidia-fabricmanager"),
        stage=2,
        mends=("HOST-FABRIC-STATE",),
        packages=("nvlsm",),
        uses=_ONLINE,
    ),
    PlanStep(
        "lock",
        "kernel and driver stay at their versions",
        "An update of either without the other ends in a host without driver. This holds security fixes of the kernel back "
        "too: take the lock away (undo), update, reboot, and lock again.",
        check=(
            'grep -v "^#" "$root/etc/dnf/plugins/versionlock.list" | grep -q nvidia',
            'grep -v "^#" "$root/etc/dnf/plugins/versionlock.list" | grep -q kernel',
        ),
        do=(
            "dnf_ install python3-dnf-plugin-versionlock",
            "rpm -qa --qf '%{NAME}-%{EPOCHNUM}:%{VERSION}-%{RELEASE}.%{ARCH}\\n' 'nvidia-driver*' 'kmod-nvidia*' "
            "'libnvidia-ml*' 'nvidia-kmod-common*' 'nvidia-fabricmanager*' kernel kernel-core kernel-modules kernel-devel "
            "| sort | xargs -r dnf -y versionlock add",
        ),
        undo=("dnf -y versionlock delete '*nvidia*' 'kernel*'",),
        wanted=for_driver,
        done=_locked,
        stage=2,
        packages=("python3-dnf-plugin-versionlock",),
        uses=frozenset({"offline"}),
    ),
    PlanStep(
        "cdi",
        "a CDI specification of this driver is there",
        "The toolkit's service renews it at each boot where the systemd of this RHEL runs it; else one file is written, and "
        "must be written again after each driver update. Both folders are read: one bad file breaks both.",
        check=(
            f'cat {_SPECS} 2>/dev/null | grep -q "$(modinfo -F version nvidia)"',
            f"if cat {_SPECS} 2>/dev/null | grep -q additionalGids; then return 1; fi",
        ),
        do=(
            f"rm -f {_SPECS}",
            "if systemctl restart nvidia-cdi-refresh.service; then say 'written by nvidia-cdi-refresh'; fi",
            'if [ ! -s "$root/var/run/cdi/nvidia.yaml" ]; then mkdir -p "$root/etc/cdi"; '
            "if nvidia-ctk cdi generate --help 2>&1 | grep -q feature-flag; then "
            f'nvidia-ctk cdi generate --feature-flag {CDI_FLAG} --output="$root/etc/cdi/nvidia.yaml"; '
            'else nvidia-ctk cdi generate --output="$root/etc/cdi/nvidia.yaml"; fi; fi',
        ),
        undo=('rm -f "$root/etc/cdi/nvidia.yaml"',),
        wanted=for_containers,
        done=_spec,
        stage=2,
        mends=("HOST-CDI-STALE", "HOST-CDI-UNRESOLVABLE", "HOST-CDI-UNKNOWN-FIELD", "HOST-CDI-NEW", "HOST-CTK-PODMAN"),
    ),
)
