"""Every check of the table fires on a text of its kind and is quiet on one close to it; both languages are whole."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from bedplate.core.check import Manual, Status, do_text
from bedplate.host.checks import all_checks
from bedplate.host.doctor import diagnose
from bedplate.host.language import Both, translated
from bedplate.host.reduce import KEYS
from bedplate.host.snapshot import Snapshot

Text = str | dict[str, str]


def examples() -> dict[str, tuple[Text, Text]]:
    found: dict[str, tuple[Text, Text]] = {}
    for path in sorted((Path(__file__).parent / "examples").glob("[a-z]*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert not set(found) & set(module.EXAMPLES)
        found |= module.EXAMPLES
    return found


EXAMPLES = examples()
CHECKS = {check.code: check for check in all_checks()}
BAD = (Status.FAIL, Status.WARN, Status.INFO)


def found(code: str, text: Text):
    texts = {"log": text} if isinstance(text, str) else text
    findings = diagnose(Snapshot(texts))
    assert [finding.evidence for finding in findings if finding.status is Status.CRASH] == []
    return next((finding for finding in findings if finding.code == code), None)


def test_every_check_has_both_examples() -> None:
    assert sorted(EXAMPLES) == sorted(CHECKS)


@pytest.mark.parametrize("code", sorted(EXAMPLES))
def test_it_fires_with_evidence_and_remedy_in_both_languages(code: str) -> None:
    finding = found(code, EXAMPLES[code][0])
    assert finding is not None and finding.status in BAD, finding
    assert finding.evidence and all(text for _, text in finding.evidence)
    assert finding.remedy
    # nothing is left unfilled, and every text has a Chinese form
    assert not re.search(r"\{\w+\}", finding.summary), finding.summary
    for text in (finding.title, finding.summary, *(step.why for step in finding.remedy)):
        assert isinstance(text, Both), text
        assert re.search(r"[\u4e00-\u9fff]|^\W*[A-Z_]+\W*$", text.zh) or text == text.zh, text.zh
    chinese = translated(finding, "zh")
    assert chinese.summary != finding.summary or finding.summary == finding.summary.zh
    for step in chinese.remedy:
        assert do_text(step) and (not isinstance(step.do, Manual) or step.do.text)


@pytest.mark.parametrize("code", sorted(EXAMPLES))
def test_it_is_quiet_on_what_is_right(code: str) -> None:
    finding = found(code, EXAMPLES[code][1])
    assert finding is None or finding.status is Status.PASS, finding


def test_a_consequence_names_checks_that_exist() -> None:
    named = {code for check in CHECKS.values() for code in check.follows if code != "*"}
    assert named - set(CHECKS) == set()


@pytest.mark.parametrize("code", sorted(code for code, check in CHECKS.items() if check.group == "kernel"))
def test_a_line_of_the_kernel_log_survives_the_reduction_of_a_long_one(code: str) -> None:
    example = EXAMPLES[code][0]
    texts = {"log": example} if isinstance(example, str) else example
    finding = found(code, example)
    assert finding is not None
    for source, line in finding.evidence:
        if source in ("journal-kernel", "messages"):
            assert any(key in line.lower().encode() for key in KEYS), (line, texts)
