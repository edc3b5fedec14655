"""A plan as a POSIX sh script: a head of values, three functions a step, and an engine that runs them."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterable, Mapping
from datetime import date

from bedplate.host.plan.build import Plan
from bedplate.host.plan.engine import ENGINE, MARK, START, USAGE
from bedplate.host.plan.step import PlanHost, PlanStep
from bedplate.host.plan.steps.tuning import accepted
from bedplate.host.streams import flavour_of, kmod_of


def plan_script(plan: Plan) -> str:
    """The whole script; one without steps says so and ends well."""
    body = "".join(_functions(step) for step in plan.steps)
    calls = "".join(_call(step) for step in plan.steps if step.stage == 1)
    later = "".join(_call(step) for step in plan.steps if step.stage == 2)
    head = _comments(plan) + START + _values(plan.host, body)
    return head + ENGINE + body + '\nbegin "$@"\n' + calls + "barrier\n" + later + "barrier\nfinish\n"


def _comments(plan: Plan) -> str:
    lines = [
        "#!/bin/sh",
        MARK,
        f"# Made on {date.today().isoformat()} for kernel {plan.host.kernel or 'unknown'}, stream {plan.host.stream}.",
        *(f"# {line}" for line in USAGE),
    ]
    if not plan.steps:
        lines.append("# Nothing needs to be done.")
    if plan.by_hand:
        lines += ["#", "# Not mended by this plan; bedplate doctor has the remedies:"]
        lines += [f"#   {finding.code}: {' '.join(finding.summary.split())}" for finding in plan.by_hand]
    return "\n".join(lines) + "\n"


def values(host: PlanHost) -> dict[str, str]:
    """Variables that steps may read -> their value as shell text."""
    profiles = accepted(host)
    user = shlex.quote(host.wishes.user) if host.wishes.user else "${SUDO_USER:-}"
    return {
        "stream": f"'{host.stream}'",
        "kmod": f"'{kmod_of(host.stream)}'",
        "driver": "'nvidia-open'" if flavour_of(host.stream) == "open" else "'cuda-drivers'",
        "machine": host.machine,
        "repo_machine": "sbsa" if host.machine == "aarch64" else "x86_64",
        "user": user,
        "cuda": f"'{host.wishes.cuda.replace('.', '-')}'",
        "cudnn": host.wishes.cuda.split(".")[0],
        "folder": shlex.quote(host.wishes.offline),
        "profile": f"'{profiles[0]}'",
        "profiles": "'" + "|".join(profiles) + "'",
        "running": "$(uname -r)",
        "following": "$(next_kernel)",
    }


def assignments(variables: Mapping[str, str], text: str) -> str:
    """Lines that set those of the variables which a shell text reads."""
    used = (name for name in variables if re.search(rf"\$\{{?{name}\b", text))
    return "".join(f"{name}={variables[name]}\n" for name in used)


def _values(host: PlanHost, body: str) -> str:
    offline = " --disablerepo='*' --enablerepo=bedplate-offline" if host.wishes.offline else ""
    return f'{assignments(values(host), body)}\n# every change of packages\ndnf_() {{\n    dnf -y{offline} "$@"\n}}\n'


def _functions(step: PlanStep) -> str:
    why = "".join(f"# {line}\n" for line in _wrapped(step.why))
    codes = f"# turns to pass: {', '.join(step.mends)}\n" if step.mends else ""
    parts = [f"\n# {step.code}: {step.title}\n{why}{codes}"]
    parts += [_function("check", step.code, step.check), _function("do", step.code, step.do)]
    parts += [_function("verify", step.code, step.verify or (f"check_{step.code}",))]
    parts += [_function("undo", step.code, step.undo)]
    if step.reboot_if:
        parts.append(_function("reboot", step.code, (step.reboot_if,)))
    return "".join(parts)


def _function(kind: str, code: str, lines: Iterable[str]) -> str:
    body = "".join(f"    {line} || return 1\n" for line in lines)
    return f"{kind}_{code}() {{\n{body}}}\n"


def _call(step: PlanStep) -> str:
    return f"step {step.code} {shlex.quote(str(step.title))} {'reboot' if step.reboot_if else 'now'}\n"


def _wrapped(text: str, width: int = 110) -> list[str]:
    return textwrap.wrap(text, width)
