"""apply: asks, journals, stops, resumes after a reboot, and refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.host.fake_host import FakeHost
from tests.host.plan_hosts import BARE, HEALTHY, snapshot

from bedplate.cli import app
from bedplate.host.plan.build import make_plan
from bedplate.host.plan.script import plan_script
from bedplate.host.plan.step import Wishes
from bedplate.host.snapshot import Snapshot


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    host = FakeHost(tmp_path / "host")
    for name in ("PATH", "FAKE", "BEDPLATE_ROOT"):
        monkeypatch.setenv(name, host.env[name])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("bedplate.host.snapshot.read_live", lambda: Snapshot(HEALTHY, live=True))
    return host


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "plan.sh"
    path.write_text(plan_script(make_plan(snapshot(BARE), Wishes(user="trainer"))))
    return path


def records(script: Path) -> list[dict[str, str]]:
    path = script.with_name("plan.sh.journal.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_reboot_resumes_and_every_command_is_in_the_journal(
    host: FakeHost, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["apply", str(script), "--yes", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["state"] == "reboot"
    host.boot()
    assert app.run(["apply", str(script), "--yes", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["state"], answer["last"], answer["doctor"]["schema"]) == ("done", "all is done", 1)
    journal = records(script)
    commands = [record["command"] for record in journal if record.get("command")]
    # what the host saw stands in the journal
    assert [line for line in ("dracut --force --regenerate-all", "modprobe nvidia") if line not in commands] == []
    assert {record["step"] for record in journal if "step" in record} >= {"driver", "mok", "load", "cdi"}
    assert all(record["time"] for record in journal)


def test_a_failure_stops_with_its_output_in_the_journal(host: FakeHost, script: Path) -> None:
    (host.db / "break-dracut").touch()
    assert app.run(["apply", str(script), "--yes"]) == 1
    (record,) = [r for r in records(script) if r.get("command", "").startswith("dracut")]
    assert record["output"] == "dracut: broken on purpose"
    assert record["step"] == "nouveau"
    assert not any("mokutil --import" in line for line in host.log())


@pytest.mark.parametrize("kind", ["user", "host", "file", "absent", "nobody"])
def test_refusals_change_nothing(
    kind: str, host: FakeHost, script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    says = {"user": "not root", "host": "no RHEL 8", "file": "is no plan", "absent": "No such file", "nobody": "--yes"}
    options = [] if kind == "nobody" else ["--yes"]
    if kind == "user":
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
    if kind == "host":
        (host.root / "etc/os-release").write_text("ID=ubuntu\nVERSION_ID=22.04\n")
    if kind == "file":
        script.write_text("#!/bin/sh\nrm -rf x\n")
    if kind == "absent":
        script.unlink()
    assert app.run(["apply", str(script), *options]) == 2
    assert says[kind] in capsys.readouterr().err.replace("\n", " ")
    assert host.log() == []


def test_a_no_changes_nothing(host: FakeHost, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    asked: list[str] = []
    monkeypatch.setattr("typer.confirm", lambda text, **_: bool(asked.append(text)))
    assert app.run(["apply", str(script)]) == 1
    assert "steps on this host" in asked[0]
    assert host.log() == []
