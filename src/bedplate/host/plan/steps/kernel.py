"""What a module build needs: development files of exactly the kernels that run and will boot."""

from __future__ import annotations

from bedplate.host.checks.kinds import known
from bedplate.host.plan.step import PlanHost, PlanStep, for_driver


def _done(host: PlanHost) -> bool | None:
    devel = known(host.facts.devel_kernels, None)
    if devel is None or not host.kernel:
        return None
    following = known(host.facts.next_kernel, host.kernel).removesuffix(f".{host.machine}")
    return {host.kernel, following} <= set(devel)


STEPS = (
    PlanStep(
        "kernel_devel",
        "development files of the running and the next kernel are installed",
        "DKMS compiles against them. If dnf no longer has those of the running kernel: dnf update kernel, reboot, and "
        "make the plan again.",
        check=('rpm -q --quiet "kernel-devel-$running" "kernel-devel-$following"',),
        do=(
            'dnf_ install "kernel-devel-$running" "kernel-devel-$following" kernel-headers gcc make elfutils-libelf-devel',
        ),
        undo=("say 'stays: removing it stops DKMS at the next driver update'",),
        wanted=for_driver,
        done=_done,
        mends=("HOST-DEVEL", "HOST-HEADERS"),
        packages=('"kernel-devel-$kernel"', "kernel-headers", "gcc", "make", "elfutils-libelf-devel"),
        uses=frozenset({"offline"}),
    ),
)
