"""One machine for every kind of check: host, task lint, run diagnosis, bundle, pre-flight.

A check reads facts and gives a finding. A fact that is not known is a value, `Unknown(reason)`: never None and never
a pass. A check that crashes is a finding too, so that one defect never hides the other answers.
"""

from __future__ import annotations

import dataclasses
import shlex
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bedplate.core.errors import BedplateError

SCHEMA = 1


class Status(StrEnum):
    """What a check says."""

    PASS = "pass"
    INFO = "info"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    CRASH = "crash"


class Safety(StrEnum):
    """What a remedy risks."""

    SAFE = "safe"
    DISRUPTIVE = "disruptive"
    REBOOT = "reboot"


@dataclass(frozen=True)
class Unknown:
    """A fact that could not be found out.

    Attributes:
        reason: why, such as "lspci is not installed".
    """

    reason: str


@dataclass(frozen=True)
class FileEdit:
    """A change of one file.

    Attributes:
        path: the file.
        text: the line or block it must hold.
    """

    path: str
    text: str


@dataclass(frozen=True)
class Manual:
    """Work that no command does, such as reseating a card or a setting of the firmware.

    Attributes:
        text: what to do.
    """

    text: str


@dataclass(frozen=True)
class Step:
    """One step of a remedy.

    Attributes:
        do: a command as its arguments (a pipe or a substitution as "sh", "-c", line), a file edit, or work by hand.
        why: one sentence.
        safety: what the step risks.
        undo: the command that takes it back, as its arguments; empty when nothing needs to be.
        turns: code of the check that this step turns to pass; empty when it only prepares.
    """

    do: tuple[str, ...] | FileEdit | Manual
    why: str
    safety: Safety = Safety.SAFE
    undo: tuple[str, ...] = ()
    turns: str = ""


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes:
        code: the check's code.
        status: the answer; SKIP means "cannot tell".
        summary: one sentence with the value that was found.
        evidence: (source, text) pairs that prove it.
        blocks: stages that cannot go on, such as "train".
        remedy: steps that mend it, in order.
        title: the check's title; filled in by run_checks.
        caused_by: code of the finding that this one follows from; empty for a root cause.
    """

    code: str
    status: Status
    summary: str
    evidence: tuple[tuple[str, str], ...] = ()
    blocks: frozenset[str] = frozenset()
    remedy: tuple[Step, ...] = ()
    title: str = ""
    caused_by: str = ""


@dataclass(frozen=True)
class Check:
    """A question with a code.

    Attributes:
        code: stable and unique, such as "HOST-NOUVEAU".
        title: what is asked, as a short noun phrase.
        needs: names of the facts that `run` reads; a missing or unknown one gives SKIP with the reason.
        run: facts -> one finding or several, all with this check's code.
    """

    code: str
    title: str
    needs: tuple[str, ...]
    run: Callable[[Mapping[str, Any]], Finding | Iterable[Finding]]


def run_checks(checks: Iterable[Check], facts: Mapping[str, Any]) -> list[Finding]:
    """Ask every check; the findings come in the checks' order, whatever any of them does.

    Raises:
        BedplateError: two checks have the same code.
    """
    checks = list(checks)
    codes = [check.code for check in checks]
    twice = sorted({code for code in codes if codes.count(code) > 1})
    if twice:
        raise BedplateError(f"check code {twice[0]!r} is used twice", "one check per code")
    return [finding for check in checks for finding in _run(check, facts)]


def _run(check: Check, facts: Mapping[str, Any]) -> list[Finding]:
    # what is not known cannot be judged
    for name in check.needs:
        fact = facts.get(name, Unknown(f"{name} was not collected"))
        if isinstance(fact, Unknown):
            summary = f"cannot tell: {fact.reason}"
            return [Finding(check.code, Status.SKIP, summary, title=check.title)]

    # a check sees only the facts that it declares, so that `needs` cannot lie
    try:
        answer = check.run({name: facts[name] for name in check.needs})
        findings = [answer] if isinstance(answer, Finding) else list(answer)
        return [_own(check, finding) for finding in findings] or [
            _crash(check, ValueError("the check gave no finding"))
        ]
    except Exception as error:
        return [_crash(check, error)]


def _own(check: Check, finding: Finding) -> Finding:
    if finding.code != check.code:
        raise ValueError(f"the check gave a finding with the code {finding.code!r}")
    return finding if finding.title else dataclasses.replace(finding, title=check.title)


def _crash(check: Check, error: Exception) -> Finding:
    text = "".join(traceback.format_exception(error)).rstrip()
    summary = f"the check itself failed: {type(error).__name__}: {error}"
    return Finding(check.code, Status.CRASH, summary, (("traceback", text),), title=check.title)


def verdict(findings: Sequence[Finding]) -> str:
    """The worst that is known: "fail", "warn", "unknown" (something could not be told or was not asked), "pass"."""
    statuses = {finding.status for finding in findings}
    if Status.FAIL in statuses or any(finding.blocks for finding in findings):
        return "fail"
    if Status.WARN in statuses:
        return "warn"
    if not statuses or statuses & {Status.SKIP, Status.CRASH}:
        return "unknown"
    return "pass"


def to_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """Findings in the form of `bedplate doctor --json`."""
    return {"schema": SCHEMA, "verdict": verdict(findings), "findings": [_finding_json(f) for f in findings]}


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "status": finding.status.value,
        "title": finding.title,
        "summary": finding.summary,
        "evidence": [{"source": source, "text": text} for source, text in finding.evidence],
        "blocks": sorted(finding.blocks),
        "remedy": [_step_json(step) for step in finding.remedy],
        "caused_by": finding.caused_by,
    }


def do_text(step: Step) -> str:
    """What a step does, as a line to read or to paste into a shell."""
    if isinstance(step.do, Manual):
        return step.do.text
    if isinstance(step.do, FileEdit):
        return f"edit {step.do.path}: {step.do.text}"
    return step.do[2] if step.do[:2] == ("sh", "-c") and len(step.do) == 3 else shlex.join(step.do)


def _step_json(step: Step) -> dict[str, str]:
    undo = do_text(Step(step.undo, "")) if step.undo else ""
    return {"do": do_text(step), "why": step.why, "safety": step.safety.value, "undo": undo, "turns": step.turns}
