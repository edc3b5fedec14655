"""The runner never loses an answer, and never makes a pass of something unknown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bedplate.core.check import (
    Check,
    FileEdit,
    Finding,
    Manual,
    Safety,
    Status,
    Step,
    Unknown,
    do_text,
    run_checks,
    to_json,
    verdict,
)
from bedplate.core.errors import BedplateError


def answer(status: Status, code: str = "A-1", **more: object) -> Finding:
    return Finding(code, status, "a summary", **more)


def memory_check(code: str = "A-1") -> Check:
    def run(facts):
        return answer(Status.PASS if facts["memory_bytes"] > 10 else Status.FAIL, code)

    return Check(code, "memory", ("memory_bytes",), run)


@pytest.mark.parametrize(("value", "status"), [(20, Status.PASS), (5, Status.FAIL), (Unknown("no /proc"), Status.SKIP)])
def test_status_follows_the_fact(value: object, status: Status) -> None:
    (finding,) = run_checks([memory_check()], {"memory_bytes": value})
    assert finding.status is status
    assert finding.title == "memory"


def test_skip_gives_the_reason() -> None:
    (unknown,) = run_checks([memory_check()], {"memory_bytes": Unknown("no /proc")})
    (absent,) = run_checks([memory_check()], {})
    assert unknown.summary == "cannot tell: no /proc"
    assert absent.summary == "cannot tell: memory_bytes was not collected"


def test_a_crash_is_a_finding_and_the_next_check_still_runs() -> None:
    broken = Check("A-0", "broken", (), lambda facts: 1 / 0)
    first, second = run_checks([broken, memory_check()], {"memory_bytes": 20})
    assert first.status is Status.CRASH
    assert "ZeroDivisionError" in first.summary
    assert "Traceback" in first.evidence[0][1]
    assert second.status is Status.PASS


def test_a_generator_that_crashes_half_way_is_a_crash() -> None:
    def run(facts) -> Iterator[Finding]:
        yield answer(Status.PASS)
        raise RuntimeError("half way")

    (finding,) = run_checks([Check("A-1", "t", (), run)], {})
    assert finding.status is Status.CRASH


@pytest.mark.parametrize("result", [[], None, answer(Status.PASS, "OTHER-1")])
def test_a_check_that_answers_nothing_or_for_another_is_a_crash(result: object) -> None:
    (finding,) = run_checks([Check("A-1", "t", (), lambda facts: result)], {})
    assert finding.status is Status.CRASH


def test_reading_an_undeclared_fact_is_a_crash() -> None:
    (finding,) = run_checks([Check("A-1", "t", (), lambda facts: answer(facts["memory_bytes"]))], {"memory_bytes": 20})
    assert finding.status is Status.CRASH
    assert "memory_bytes" in finding.summary


def test_two_checks_of_one_code_are_refused() -> None:
    with pytest.raises(BedplateError, match="'A-1' is used twice"):
        run_checks([memory_check(), memory_check()], {"memory_bytes": 20})


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ((), "unknown"),
        ((Status.PASS,), "pass"),
        ((Status.PASS, Status.INFO), "pass"),
        ((Status.PASS, Status.SKIP), "unknown"),
        ((Status.PASS, Status.CRASH), "unknown"),
        ((Status.SKIP, Status.WARN), "warn"),
        ((Status.SKIP, Status.WARN, Status.FAIL), "fail"),
    ],
)
def test_verdict(statuses: tuple[Status, ...], expected: str) -> None:
    assert verdict([answer(status) for status in statuses]) == expected


def test_a_finding_that_blocks_fails_whatever_its_status() -> None:
    assert verdict([replace(answer(Status.WARN), blocks=frozenset({"train"}))]) == "fail"


def test_json_has_the_agreed_form() -> None:
    remedy = (
        Step(("dnf", "install", "my pkg"), "it is absent", Safety.DISRUPTIVE, ("dnf", "remove", "my pkg"), "A-1"),
        Step(FileEdit("/etc/x.conf", "a=1"), "it is needed"),
    )
    finding = answer(Status.FAIL, evidence=(("lspci", "text"),), blocks=frozenset({"train", "image"}), remedy=remedy)
    value = json.loads(json.dumps(to_json([finding])))
    assert value == {
        "schema": 1,
        "verdict": "fail",
        "findings": [
            {
                "code": "A-1",
                "status": "fail",
                "title": "",
                "summary": "a summary",
                "evidence": [{"source": "lspci", "text": "text"}],
                "blocks": ["image", "train"],
                "remedy": [
                    {
                        "do": "dnf install 'my pkg'",
                        "why": "it is absent",
                        "safety": "disruptive",
                        "undo": "dnf remove 'my pkg'",
                        "turns": "A-1",
                    },
                    {"do": "edit /etc/x.conf: a=1", "why": "it is needed", "safety": "safe", "undo": "", "turns": ""},
                ],
                "caused_by": "",
            }
        ],
    }


def test_a_step_is_shown_as_the_line_to_paste() -> None:
    assert do_text(Step(("sh", "-c", "lsmod | grep nvidia"), "why")) == "lsmod | grep nvidia"
    assert do_text(Step(("echo", "a b"), "why")) == "echo 'a b'"
    assert do_text(Step(Manual("reseat the card"), "why")) == "reseat the card"
