"""Clocks that are held down: heat, power, airflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedplate.core.check import Finding, Safety, Status
from bedplate.host.checks.kinds import NOTHING, do, hand, passed, state
from bedplate.host.language import Both

_THERMAL = (
    "SW Thermal Slowdown",
    "HW Thermal Slowdown",
    "clocks_event_reasons.sw_thermal_slowdown",
    "clocks_event_reasons.hw_thermal_slowdown",
)
_POWER = (
    "SW Power Cap",
    "HW Power Brake Slowdown",
    "clocks_event_reasons.sw_power_cap",
    "clocks_event_reasons.hw_power_brake_slowdown",
)


def _active(facts: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    query, rows = facts["query"], facts["query_rows"]
    return [name for name in names if "Active" in query.get(name, []) or any(row.get(name) == "Active" for row in rows)]


def _values(facts: Mapping[str, Any]) -> str:
    query = facts["query"]
    names = ("SM", "GPU Current Temp", "Requested Power Limit", "Current Power Limit", "Power Draw", "Fan Speed")
    shown = [f"{name} {query[name][0]}" for name in names if query.get(name)]
    return ", ".join(shown)


def _thermal(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-THERMAL"
    active = _active(facts, _THERMAL)
    if not active:
        return passed(code, "no thermal slowdown is active", "没有热降频")
    summary = Both(
        f"the card is thermally limited: {', '.join(active)} is active ({_values(facts)}): the clock sinks for heat, so lowering the power limit alone is no remedy",
        f"显卡受热限制 (thermal)：{', '.join(active)} 处于 Active（{_values(facts)}）：因过热降频，仅降低功耗上限无效",
    )
    steps = (
        hand(
            "improve airflow: slot spacing, case fans, blocked or passive coolers, dust, inlet temperature",
            "改善风道 (airflow)：插槽间距、机箱风扇、被动散热、灰尘、进风温度",
        ),
        do(
            "nvidia-smi -q -d TEMPERATURE,CLOCK,PERFORMANCE,POWER",
            "measure again under load; read the power limit back after nvidia-smi -pl, whether it took effect",
            "负载下重新测量；nvidia-smi -pl 后读回功耗上限确认生效",
        ),
    )
    return Finding(
        code, Status.FAIL, summary, tuple(("nvidia-smi-query", f"{name}: Active") for name in active), NOTHING, steps
    )


def _power(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-POWER"
    active = _active(facts, _POWER)
    if not active:
        return passed(code, "no power cap is active", "没有功耗限制")
    brake = any("rake" in name for name in active)
    summary = Both(
        f"clocks are held by power, not heat: {', '.join(active)} ({_values(facts)})",
        f"时钟受功耗而非温度限制：{', '.join(active)}（{_values(facts)}）",
    )
    steps = (
        do("nvidia-smi -q -d POWER,PERFORMANCE", "the limit and what the card may have", "查看上限与允许范围"),
        do(
            "nvidia-smi -pl 300",
            "a higher limit, within Max Power Limit; not on a hot card",
            "在 Max Power Limit 内提高；过热时不要",
            Safety.DISRUPTIVE,
        ),
        hand(
            "power brake: the server's supply or BMC asks for it; look there",
            "power brake：由服务器电源或 BMC 触发，请检查",
        ),
    )
    return Finding(
        code,
        Status.WARN if brake else Status.INFO,
        summary,
        tuple(("nvidia-smi-query", f"{name}: Active") for name in active),
        NOTHING,
        steps,
    )


CHECKS = (
    state("HOST-THERMAL", ("thermal slowdown", "热降频"), ("query", "query_rows"), _thermal),
    state("HOST-POWER", ("power limit", "功耗限制"), ("query", "query_rows"), _power, follows=("HOST-THERMAL",)),
)
