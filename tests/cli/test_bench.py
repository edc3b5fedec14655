"""`bedplate bench engine`: the owed ratios are a gate, and what is measured is the same work."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import bedplate
from bedplate.cli import bench
from bedplate.cli.app import run
from bedplate.tasks import TASKS

bench._find_benchmarks()

from benchmarks.engine import measure, ours, owed  # noqa: E402
from benchmarks.engine.contestant import steps_per_s  # noqa: E402

PAID = {
    owed.OURS: (40.0, 44.0, 42.0),
    owed.RAW: (43.0, 46.0, 44.0),
    owed.SUBPROC: (3.0, 3.1, 3.2),
    owed.ENVPOOL: (25.0, 26.0, 27.0),
    "EnvPool async(96/32)": (60.0, 60.0, 60.0),
}


def rows(results):
    return [measure.Row(name, "", rounds) for name, rounds in results.items()]


def test_ratios_are_taken_round_by_round():
    verdicts = {v.peer: v for v in owed.judge("half_cheetah", PAID)}
    assert set(verdicts) == {owed.RAW, owed.SUBPROC, owed.ENVPOOL}
    assert verdicts[owed.ENVPOOL].ratio == pytest.approx(1.6)
    assert verdicts[owed.RAW].ratio == pytest.approx(42 / 44)
    assert all(v.paid for v in verdicts.values())


@pytest.mark.parametrize(("peer", "rounds"), [(owed.RAW, (60.0,) * 3), (owed.ENVPOOL, (31.0,) * 3)])
def test_each_missed_ratio_is_noticed(peer, rounds):
    verdicts = owed.judge("half_cheetah", {**PAID, peer: rounds})
    assert [v.peer for v in verdicts if not v.paid] == [peer]


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_the_command_ends_with_0_or_1(monkeypatch, capsys, as_json):
    monkeypatch.setattr(measure, "measure", lambda *args: rows(PAID))
    assert run(["bench", "engine", "--task", "half_cheetah", *as_json]) == 0
    shown = capsys.readouterr().out
    if as_json:
        result = json.loads(shown)["tasks"]["half_cheetah"]
        assert [entry["paid"] for entry in result["owed"]] == [True] * 3
        assert result["contestants"][0]["median"] == 42.0
    else:
        assert owed.OURS in shown and "MISSED" not in shown

    monkeypatch.setattr(measure, "measure", lambda *args: rows({**PAID, owed.SUBPROC: (9.0,) * 3}))
    assert run(["bench", "engine", "--task", "half_cheetah", *as_json]) == 1
    captured = capsys.readouterr()
    assert "SubprocVecEnv" in captured.err
    if not as_json:
        assert "MISSED" in captured.out


def test_a_task_without_peers_is_refused(capsys):
    assert run(["bench", "engine", "--task", "nav_lidar"]) == 2
    assert "nav_lidar" in capsys.readouterr().err


def test_a_missing_peer_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "envpool", None)
    monkeypatch.delitem(sys.modules, "benchmarks.engine.peers", raising=False)
    assert run(["bench", "engine", "--task", "ant"]) == 2
    assert "[bench]" in capsys.readouterr().err


def test_an_installation_without_the_source_is_told_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(bedplate, "__file__", str(tmp_path / "lib" / "bedplate" / "__init__.py"))
    assert run(["bench", "engine"]) == 2
    assert "checkout" in capsys.readouterr().err


@pytest.mark.parametrize("name", list(owed.BENCHED))
def test_the_raw_batch_does_the_physics_that_our_engine_does(name):
    """From the same worlds under the same actions both are in the same states: the ratio compares equal work."""
    task = TASKS.load(name)()
    engine = ours.BedplateEngine(task, 8)
    raw = ours.RawBatch(task, engine)
    raw.prepare()
    for _ in range(3):
        engine.step()
        raw.step()
    np.testing.assert_array_equal(raw._batch.bind("qpos"), engine.env.state.qpos.numpy())
    ceiling = ours.Ceiling(task, engine, steps_per_call=4)
    # the others take their worlds from the engine, so it is closed last
    for contestant in (ceiling, raw, engine):
        assert steps_per_s(contestant, 0.05) > 0
        contestant.close()


def test_the_spread_is_half_the_distance_of_the_quartiles():
    assert measure.Row("x", "", (90.0, 100.0, 100.0, 110.0, 100.0)).spread == 0.0
    assert measure.Row("x", "", (80.0, 90.0, 100.0, 110.0, 120.0)).spread == pytest.approx(0.1)
