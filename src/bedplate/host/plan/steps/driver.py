"""The driver: leftovers of a runfile, module stream, packages, a module for each kernel that can boot."""

from __future__ import annotations

from bedplate.host.checks.kinds import known
from bedplate.host.plan.step import PlanHost, PlanStep, for_driver
from bedplate.host.streams import kmod_of

_SOURCES = frozenset({"offline", "plugins", "crb", "epel", "nvidia"})


def _has_runfile(host: PlanHost) -> bool:
    return for_driver(host) and "HOST-RUNFILE" in host.failed


def _online_driver(host: PlanHost) -> bool:
    return for_driver(host) and not host.wishes.offline


def _stream_done(host: PlanHost) -> bool | None:
    text = known(host.facts.stream, "")
    return (
        None if "stream=" not in text else f"stream={host.stream}" in text.split() and "state=enabled" in text.split()
    )


def _driver_done(host: PlanHost) -> bool | None:
    packages = known(host.facts.packages, None)
    if packages is None:
        return None
    return "nvidia-driver-cuda" in packages and kmod_of(host.stream) in packages


def _module_done(host: PlanHost) -> bool | None:
    kernels = known(host.facts.module_kernels, None)
    if kernels is None or not host.kernel:
        return None
    wanted = {known(host.facts.kernel, ""), known(host.facts.next_kernel, known(host.facts.kernel, ""))}
    return wanted <= set(kernels)


STEPS = (
    PlanStep(
        "runfile",
        "no driver of a runfile is left",
        "Its files belong to no package and shadow those of the RPMs.",
        check=('test ! -x "$root/usr/bin/nvidia-uninstall"',),
        do=('"$root/usr/bin/nvidia-uninstall" --silent',),
        undo=("say 'the runfile can be run again; the RPMs must go first'",),
        wanted=_has_runfile,
        mends=("HOST-RUNFILE",),
    ),
    PlanStep(
        "stream",
        "the module stream is that of the GPUs",
        "A stream with a number stays in its branch; latest and open-dkms float to branches that may drop the GPU.",
        check=(
            'grep -q -x "stream=$stream" "$root/etc/dnf/modules.d/nvidia-driver.module"',
            'grep -q -x "state=enabled" "$root/etc/dnf/modules.d/nvidia-driver.module"',
        ),
        do=(
            "if rpm -q --quiet nvidia-driver-cuda; then "
            'dnf_ module switch-to "nvidia-driver:$stream" --allowerasing; '
            'else dnf_ module reset nvidia-driver || return 1; dnf_ module enable "nvidia-driver:$stream"; fi',
        ),
        undo=("dnf -y module reset nvidia-driver",),
        wanted=_online_driver,
        done=_stream_done,
        mends=("HOST-DNF-STREAM", "HOST-DNF-MODULAR"),
        uses=_SOURCES,
    ),
    PlanStep(
        "driver",
        "driver packages of the right flavour are installed",
        "Open modules from Turing on, required on Blackwell; proprietary ones for Maxwell, Pascal and Volta.",
        check=('rpm -q --quiet nvidia-driver-cuda "$kmod"',),
        do=('dnf_ install --allowerasing "$driver"',),
        undo=("dnf -y module remove --all nvidia-driver", 'dnf -y remove "$driver" "$kmod" nvidia-driver-cuda'),
        wanted=for_driver,
        done=_driver_done,
        reboot_if="lsmod | grep -q -E '^(nouveau|nvidia) '",
        mends=(
            "HOST-DRIVER",
            "HOST-FLAVOUR",
            "HOST-CLOSED-NEW",
            "HOST-OPEN-OLD",
            "HOST-SMI-ABSENT",
            "HOST-MIXED-VERSIONS",
            "HOST-BRANCH-GPU",
            "HOST-DNF-NO-KMOD",
            "HOST-DNF-NAME",
        ),
        packages=('"$driver"',),
        uses=_SOURCES,
    ),
    PlanStep(
        "module",
        "the module is built for the running and the next kernel",
        "The package's own script ignores a failed build, and so does the hook of a kernel update; here it is an error.",
        check=('modinfo -k "$running" nvidia', 'modinfo -k "$following" nvidia'),
        do=(
            "version=$(rpm -q --qf '%{VERSION}' \"$kmod\")",
            'for kernel in "$running" "$following"; do '
            'modinfo -k "$kernel" nvidia >/dev/null 2>&1 || dkms install "nvidia/$version" -k "$kernel" --force || return 1; done',
        ),
        undo=("say 'dkms uninstall nvidia/VERSION -k KERNEL takes one module away'",),
        wanted=for_driver,
        done=_module_done,
        mends=(
            "HOST-DKMS",
            "HOST-MODULE-KERNEL",
            "HOST-MODULE-MISSING",
            "HOST-NEXT-KERNEL",
            "HOST-KMOD-KERNEL",
            "HOST-COMM",
        ),
    ),
)
