"""How checks are written: a symptom is a kind of line with what it means; a state check is a function of facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bedplate.core.check import Check, FileEdit, Finding, Manual, Safety, Status, Step, Unknown
from bedplate.host.language import Both, fill
from bedplate.host.sources import GROUPS

TRAIN = frozenset({"train"})
IMAGE = frozenset({"image"})
SERVE = frozenset({"serve"})
GPU = frozenset({"train", "image", "serve"})
NOTHING: frozenset[str] = frozenset()

MAX_EVIDENCE = 4
MAX_WIDTH = 300


@dataclass(frozen=True)
class HostCheck(Check):
    """A check of the host.

    Attributes:
        follows: codes of findings that explain this one: it is their consequence when one of them failed.
        group: kind of text that it is asked of (`sources.GROUPS`); empty for facts.
        hints: lower-case words, one of which is in every text that can hold the symptom.
    """

    follows: tuple[str, ...] = ()
    group: str = ""
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Texts:
    """All texts with their lower-case forms, and values for messages such as the running kernel."""

    texts: Mapping[str, str]
    values: Mapping[str, Any] = field(default_factory=dict)
    lower: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Mapping[str, str], values: Mapping[str, Any]) -> Texts:
        """Prepare texts for the checks."""
        return cls(texts, values, {name: text.lower() for name, text in texts.items()})


def do(command: str, en: str, zh: str, safety: Safety = Safety.SAFE, undo: str = "", turns: str = "") -> Step:
    """A step that runs a shell line."""
    return Step(("sh", "-c", command), Both(en, zh), safety, ("sh", "-c", undo) if undo else (), turns)


def reboot(en: str = "the change acts after a reboot", zh: str = "重启后生效") -> Step:
    """A reboot."""
    return Step(("systemctl", "reboot"), Both(en, zh), Safety.REBOOT)


def hand(en: str, zh: str, why_en: str = "", why_zh: str = "", safety: Safety = Safety.SAFE) -> Step:
    """Work by hand."""
    return Step(Manual(Both(en, zh)), Both(why_en or "no command does this", why_zh or "没有命令可代劳"), safety)


def edit(path: str, text: str, en: str, zh: str) -> Step:
    """A file that must hold a text."""
    return Step(FileEdit(path, text), Both(en, zh))


def filled_steps(steps: Iterable[Step], values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Steps with `{name}` replaced in commands and texts."""
    return tuple(_filled_step(step, values) for step in steps)


def _filled_step(step: Step, values: Mapping[str, Any]) -> Step:
    done = step.do
    if isinstance(done, Manual):
        done = Manual(fill(done.text, values))
    elif isinstance(done, tuple):
        done = tuple(_fill_command(word, values) for word in done)
    return Step(done, fill(step.why, values), step.safety, step.undo, step.turns)


def _fill_command(word: str, values: Mapping[str, Any]) -> str:
    # shell lines use braces themselves: only known names are replaced
    return re.sub(r"\{(\w+)\}", lambda found: str(values.get(found[1], found[0])), word)


def symptom(
    code: str,
    title: tuple[str, str],
    pattern: str,
    found: tuple[str, str],
    remedy: tuple[Step, ...],
    *,
    hints: tuple[str, ...],
    group: str = "kernel",
    blocks: frozenset[str] = TRAIN,
    status: Status = Status.FAIL,
    follows: tuple[str, ...] = (),
    unless: str = "",
    only: frozenset[str] = frozenset(),
) -> HostCheck:
    """A check for a kind of line.

    Args:
        code: of the check.
        title: in English and Chinese.
        pattern: regular expression, multi-line, without regard to case; its named groups fill the messages.
        found: the summary, in both languages.
        remedy: steps.
        hints: lower-case words; a text without any of them is not searched.
        group: the kind of text that must be there before a "no" means anything.
        blocks: what cannot go on.
        status: of a hit.
        follows: codes that explain this one.
        unless: a pattern that takes the hit back when it is anywhere in the texts.
        only: names of the texts to search, when not all.
    """
    heading, summary = Both(*title), Both(*found)

    def run(facts: Mapping[str, Any]) -> Finding:
        texts: Texts = facts["texts"]
        match, evidence = _search(texts, pattern, hints, only)
        if match is not None and not (unless and _anywhere(texts, unless)):
            values = _values(summary, texts.values, match)
            steps = filled_steps(remedy, values)
            return Finding(code, status, fill(summary, values), evidence, blocks, steps, heading)
        if not _was_read(texts, group):
            names = ", ".join(sorted(GROUPS[group]))
            reason = Both(f"cannot tell: none of {names} was collected", f"无法判断：未采集 {names}")
            return Finding(code, Status.SKIP, reason, title=heading)
        said = Both("no such line in the texts that were read", "已读文本中没有这种行")
        return Finding(code, Status.PASS, said, title=heading)

    return HostCheck(code, heading, ("texts",), run, follows, group, hints)


def state(
    code: str,
    title: tuple[str, str],
    needs: tuple[str, ...],
    run: Callable[[Mapping[str, Any]], Finding],
    *,
    follows: tuple[str, ...] = (),
) -> HostCheck:
    """A check of facts; `run` may leave the title to the runner."""
    return HostCheck(code, Both(*title), needs, run, follows)


def passed(code: str, en: str, zh: str) -> Finding:
    """A pass."""
    return Finding(code, Status.PASS, Both(en, zh))


def known(value: Any, default: Any) -> Any:
    """A fact, or what stands for it where it is unknown; only for messages and for facts that merely refine."""
    return default if isinstance(value, Unknown) else value


def _values(summary: str, known_values: Mapping[str, Any], match: re.Match[str]) -> dict[str, Any]:
    """Values for the messages: facts, then groups; what only another branch of the pattern names comes from this one's."""
    groups = {name: text.strip() for name, text in match.groupdict().items() if text}
    values = {**known_values, **groups}
    wanted = re.findall(r"\{(\w+)\}", summary)
    spare = [text for name, text in groups.items() if name not in wanted]
    missing = [name for name in dict.fromkeys(wanted) if name not in values]
    return {**values, **dict.fromkeys(missing, "?"), **dict(zip(missing, spare, strict=False))}


def _was_read(texts: Texts, group: str) -> bool:
    return group == "any" or "log" in texts.texts or any(name in texts.texts for name in GROUPS[group])


def _search(
    texts: Texts, pattern: str, hints: tuple[str, ...], only: frozenset[str]
) -> tuple[re.Match[str] | None, tuple[tuple[str, str], ...]]:
    first: re.Match[str] | None = None
    evidence: list[tuple[str, str]] = []
    for name, lower in texts.lower.items():
        if (only and name not in only) or not any(hint in lower for hint in hints):
            continue
        text = texts.texts[name]
        for match in re.finditer(pattern, text, re.IGNORECASE | re.MULTILINE):
            first = first or match
            line = _line_around(text, match)
            if (name, line) not in evidence:
                evidence.append((name, line))
            if len(evidence) >= MAX_EVIDENCE:
                return first, tuple(evidence)
    return first, tuple(evidence)


def _line_around(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    line = text[start : end if end >= 0 else len(text)].strip()
    return line if len(line) <= MAX_WIDTH else line[: MAX_WIDTH - 3] + "..."


def _anywhere(texts: Texts, pattern: str) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE | re.MULTILINE) for text in texts.texts.values())
