"""`bedplate bench native`: the owed ratio is a gate in both directions."""

from __future__ import annotations

import json

import pytest

from bedplate.cli import bench
from bedplate.cli.app import run

bench._find_benchmarks()

from benchmarks.native import measure  # noqa: E402


@pytest.mark.parametrize(
    ("ours", "p99", "peer", "code"),
    [(2.0, 4.0, 6.1, 0), (2.0, 4.0, 5.9, 1), (2.0, 10.5, 9.0, 1), (float("nan"), 4.0, 9.0, 1)],
)
def test_the_gate_says_yes_and_no(monkeypatch, capsys, ours, p99, peer, code):
    rows = [measure.Row("native", ours, p99, (ours,)), measure.Row("ONNX Runtime", peer, 20.0, (peer,))]
    monkeypatch.setattr(measure, "measure", lambda rounds: (rows, 1e-7))
    assert run(["bench", "native"]) == code
    text = capsys.readouterr()
    assert "native" in text.out
    assert ("at least 3 x" in text.err) == (code == 1)


def test_both_contestants_compute_the_same(monkeypatch):
    from bedplate.runtime.native.library import available

    if available():
        pytest.skip(available())
    monkeypatch.setattr(measure, "CALLS", 20)
    rows, difference = measure.measure(1)
    assert [row.name for row in rows] == ["native", "ONNX Runtime"]
    assert difference <= 1e-5
    assert json.dumps(rows[0].rounds_us)
