"""RHEL 8 as the edge host of a control loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedplate.core.check import Finding, Status
from bedplate.host.checks.kinds import NOTHING, do, passed, state
from bedplate.host.language import Both


def _governor(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-GOVERNOR"
    text = facts["tuning"]
    slow = next((word for word in ("powersave", "ondemand", "conservative", "schedutil") if word in text.split()), "")
    if not slow:
        return passed(code, "no slow frequency governor", "没有低速调频策略")
    summary = Both(
        f"the CPU governor is {slow}: the first ticks after a pause are late",
        f"CPU 调频策略为 {slow}：停顿后的首个周期会迟到",
    )
    return Finding(
        code,
        Status.INFO,
        summary,
        (("tuned", slow),),
        NOTHING,
        (
            do(
                "tuned-adm profile latency-performance",
                "for control loops; throughput-performance for training",
                "控制回路用；训练用 throughput-performance",
                undo="tuned-adm profile balanced",
            ),
        ),
    )


CHECKS = (state("HOST-GOVERNOR", ("frequency governor", "调频策略"), ("tuning",), _governor),)
