"""Snapshot to findings: every check is asked, consequences are tied to their causes, root causes come first."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from bedplate.core.check import Finding, Status, Step, run_checks
from bedplate.host.checks import all_checks
from bedplate.host.checks.driver_kind import stream
from bedplate.host.checks.kinds import HostCheck, Texts, known
from bedplate.host.facts import HostFacts, derive
from bedplate.host.language import Both
from bedplate.host.snapshot import Snapshot
from bedplate.host.sources import GROUPS, PASTED

STAGES = ("train", "image", "serve")
MORE = "HOST-MORE"

_RANK = {Status.FAIL: 0, Status.WARN: 1, Status.CRASH: 2, Status.SKIP: 3, Status.INFO: 4, Status.PASS: 5}

_NEXT = (
    ("journal-kernel", "journalctl -k -b --no-pager | grep -i -E 'nvrm|nvidia|nouveau|secure|signed'"),
    ("lspci", "lspci -nn | grep -i nvidia"),
    ("nvidia-smi", "nvidia-smi"),
    ("rpm-kernel", "rpm -qa | grep -i -E 'kernel|nvidia|dkms' | sort"),
    ("dkms-status", "dkms status"),
    ("sb-state", "mokutil --sb-state"),
)
"""What decides most cases, in the order of asking."""


def diagnose(snapshot: Snapshot, stage: str = "") -> list[Finding]:
    """Findings of a snapshot, the most important root cause first.

    Args:
        snapshot: texts of a host.
        stage: "train", "image" or "serve": what blocks only other stages becomes a warning; "" is all of them.
    """
    facts = derive(snapshot)
    texts = Texts.of(snapshot.texts, _values(facts))
    checks = [check for check in all_checks() if _asked(check, snapshot)]
    findings = run_checks(checks, {**facts.mapping(), "texts": texts})
    tied = _tie(findings, checks)
    if stage:
        tied = [_for_stage(finding, stage) for finding in tied]
    ordered = _ordered(tied, [check.code for check in checks])
    if not any(finding.status in (Status.FAIL, Status.WARN) for finding in ordered) and not snapshot.live:
        ordered = _with_next_step(ordered, snapshot)
    return ordered


def _asked(check: HostCheck, snapshot: Snapshot) -> bool:
    # what only a user can paste is not asked of a host that nobody complains about
    if check.group not in PASTED and not check.code.startswith("FORM-"):
        return True
    if "log" in snapshot.texts:
        return True
    return any(name in snapshot.texts for name in GROUPS["app"] | GROUPS["package"]) and not snapshot.live


def _values(facts: HostFacts) -> dict[str, Any]:
    gpus = known(facts.gpus, [])
    return {
        "kernel": known(facts.kernel, "$(uname -r)"),
        "driver": known(facts.driver, known(facts.module_version, "?")),
        "library": known(facts.library, "?"),
        "module": known(facts.module_version, known(facts.driver, "?")),
        "gpu": gpus[0].name if gpus else "the GPU",
        "bus": gpus[0].bus if gpus and gpus[0].bus else "?",
        **stream(gpus),
    }


def _tie(findings: Sequence[Finding], checks: Iterable[HostCheck]) -> list[Finding]:
    """Mark what follows from something else that failed."""
    follows = {check.code: check.follows for check in checks}
    order = {code: index for index, code in enumerate(follows)}
    failed = {f.code for f in findings if f.status is Status.FAIL}
    generic = {code for code, causes in follows.items() if "*" in causes}

    def cause_of(finding: Finding) -> str:
        if finding.status not in (Status.FAIL, Status.WARN):
            return ""
        causes = [code for code in follows.get(finding.code, ()) if code in failed]
        if "*" in follows.get(finding.code, ()):
            causes += sorted(failed - generic - {finding.code}, key=lambda code: order[code])
        return next((code for code in causes if code != finding.code), "")

    tied = [dataclasses.replace(finding, caused_by=cause_of(finding)) for finding in findings]
    # a ring has no root: its first member is one
    caused = {finding.code: finding.caused_by for finding in tied}
    return [_without_ring(finding, caused) for finding in tied]


def _without_ring(finding: Finding, caused: dict[str, str]) -> Finding:
    seen = {finding.code}
    code = finding.caused_by
    while code and code not in seen:
        seen.add(code)
        code = caused.get(code, "")
    if code == finding.code:
        caused[finding.code] = ""
        return dataclasses.replace(finding, caused_by="")
    return finding


def _for_stage(finding: Finding, stage: str) -> Finding:
    if finding.status is not Status.FAIL or not finding.blocks or stage in finding.blocks:
        return finding
    return dataclasses.replace(finding, status=Status.WARN, blocks=frozenset())


def _ordered(findings: Sequence[Finding], codes: Sequence[str]) -> list[Finding]:
    order = {code: index for index, code in enumerate(codes)}
    return sorted(findings, key=lambda f: (_RANK[f.status], bool(f.caused_by), order.get(f.code, len(order))))


def _with_next_step(findings: list[Finding], snapshot: Snapshot) -> list[Finding]:
    missing = [(name, command) for name, command in _NEXT if name not in snapshot.texts]
    if not missing:
        return findings
    name, command = missing[0]
    given = ", ".join(sorted(snapshot.texts))
    summary = Both(
        f"nothing wrong in what was given ({given}); {name} is not there, and would tell more",
        f"所给内容（{given}）中没有发现问题；缺少 {name}，它能说明更多",
    )
    steps = (
        Step(("sh", "-c", command), Both("run this next and add its output", "下一步运行它，并附上输出")),
        Step(
            ("sh", "-c", "bedplate collect --script > collect.sh"), Both("or collect all at once", "或者一次采集全部")
        ),
    )
    title = Both("not enough to tell", "信息不足")
    return [Finding(MORE, Status.SKIP, summary, remedy=steps, title=title), *findings]
