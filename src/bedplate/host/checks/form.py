"""Wrong forms that guides carry: a line as people paste it, and the form that is right."""

from __future__ import annotations

from bedplate.core.check import Manual, Status, Step
from bedplate.host.checks.kinds import NOTHING, TRAIN, HostCheck, symptom
from bedplate.host.language import Both

PASTED_TEXTS = frozenset({"log", "app-error", "installer"})


def form(
    code: str,
    title: tuple[str, str],
    wrong: str,
    why: tuple[str, str],
    right: str | tuple[str, str],
    *,
    hints: tuple[str, ...],
    breaks: bool = True,
    unless: str = "",
) -> HostCheck:
    """A check for a line of a command, Containerfile, shell or Python file; comment lines are not judged.

    Args:
        code: begins with "FORM-".
        title: in both languages.
        wrong: regular expression of the wrong form within one line.
        why: what it does, in both languages.
        right: the right form: a line to type, or a sentence in both languages.
        hints: lower-case words, one of which every wrong form has.
        breaks: it fails or trains wrongly; otherwise it is a warning.
        unless: what takes the finding back.
    """
    reason = Both("the right form", "正确写法")
    step = Step(Manual(Both(*right)), reason) if isinstance(right, tuple) else Step(("sh", "-c", right), reason)
    return symptom(
        code,
        title,
        rf"^(?![ \t]*#)[^\n]*?(?:{wrong})[^\n]*",
        why,
        (step,),
        hints=hints,
        group="app",
        blocks=TRAIN if breaks else NOTHING,
        status=Status.FAIL if breaks else Status.WARN,
        only=PASTED_TEXTS,
        unless=unless,
    )
