"""The profile of tuned."""

from __future__ import annotations

from bedplate.host.checks.kinds import known
from bedplate.host.plan.step import PlanHost, PlanStep

TRAIN = ("throughput-performance", "hpc-compute", "accelerator-performance", "virtual-guest", "latency-performance")
"""Profiles that do for training."""

SERVE = ("latency-performance", "network-latency", "realtime", "realtime-virtual-guest", "cpu-partitioning")
"""Profiles that do for a control loop."""


def accepted(host: PlanHost) -> tuple[str, ...]:
    """Profiles that fit every stage asked for; the first is what a plan sets."""
    return SERVE if host.wishes.stages == {"serve"} else (*TRAIN, *SERVE[1:])


def _done(host: PlanHost) -> bool | None:
    text = known(host.facts.tuning, "")
    if "active profile" not in text:
        return None
    return any(line.rpartition(":")[2].strip() in accepted(host) for line in text.splitlines())


STEPS = (
    PlanStep(
        "tuned",
        "tuned keeps the processors fast",
        "The collecting of samples and a control loop both wait for one core; a saving governor slows each.",
        check=('tuned-adm active | grep -q -E ": ($profiles)\\$"',),
        do=("dnf_ install tuned", "systemctl enable --now tuned", 'tuned-adm profile "$profile"'),
        undo=('tuned-adm profile "$(tuned-adm recommend)"',),
        wanted=lambda host: bool(host.wishes.stages & {"train", "serve"}),
        done=_done,
        mends=("HOST-GOVERNOR",),
        packages=("tuned",),
        uses=frozenset({"offline"}),
    ),
)
