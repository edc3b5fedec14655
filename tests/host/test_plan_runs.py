"""A plan run whole on a fake host: reboots, second runs, failures, refusals, undo."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.host.fake_host import FakeHost
from tests.host.plan_hosts import BARE, snapshot

from bedplate.host.plan.build import make_plan
from bedplate.host.plan.script import plan_script
from bedplate.host.plan.step import Wishes


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    return FakeHost(tmp_path / "host")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "plan.sh"
    path.write_text(plan_script(make_plan(snapshot(BARE), Wishes(user="trainer"))))
    return path


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_bare_host_two_runs_one_reboot_and_then_nothing(host: FakeHost, script: Path, shell: str) -> None:
    first = host.run(script, shell=shell)
    assert first.returncode == 10, first.stdout + first.stderr
    assert "== reboot needed mok" in first.stdout
    # one reboot for everything, and nothing that needs the driver before it
    assert first.stdout.count("== reboot the host") == 1
    assert "modprobe nvidia" not in host.log()

    # without the reboot it waits, and changes nothing
    before = host.log()
    waiting = host.run(script, shell=shell)
    assert waiting.returncode == 10
    assert host.log() == before

    host.boot()
    second = host.run(script, shell=shell)
    assert second.returncode == 0, second.stdout + second.stderr
    assert "modprobe nvidia" in host.log()
    assert "no-additional-gids" in (host.root / "etc/cdi/nvidia.yaml").read_text()
    assert "nvidia-driver-cuda" in (host.root / "etc/dnf/plugins/versionlock.list").read_text()

    # and again: nothing
    before = host.log()
    third = host.run(script, shell=shell)
    assert third.returncode == 0
    assert host.log() == before
    assert "== do" not in third.stdout
    assert "== needed" not in host.run(script, "--check", shell=shell).stdout


def test_a_failing_step_stops_and_the_next_run_goes_on_there(host: FakeHost, script: Path) -> None:
    (host.db / "break-dracut").touch()
    done = host.run(script)
    assert done.returncode == 1
    assert "dracut: broken on purpose" in done.stdout
    assert "== failed nouveau" in done.stdout
    assert "mokutil --import" not in "\n".join(host.log())
    (host.db / "break-dracut").unlink()
    assert host.run(script).returncode == 10


def test_a_step_that_ran_and_did_not_help_is_a_failure(host: FakeHost, script: Path) -> None:
    # dkms gives 0 and builds nothing, as the package's script does
    (host.bin / "dkms").unlink()
    (host.bin / "dkms").write_text("#!/bin/sh\nexit 0\n")
    (host.bin / "dkms").chmod(0o755)
    done = host.run(script)
    assert done.returncode == 1
    assert "== failed module: its commands ran, and yet it is not so" in done.stdout


def test_a_key_that_nobody_confirmed_is_said_after_the_reboot(host: FakeHost, script: Path) -> None:
    host.run(script)
    (host.db / "asked").unlink()
    host.boot()
    done = host.run(script)
    assert done.returncode == 1
    assert "== failed mok: a reboot did not bring it about" in done.stdout


@pytest.mark.parametrize(
    ("release", "uid", "says"),
    [("ID=ubuntu\nVERSION_ID=22.04\n", "0", "no RHEL 8"), ('ID="rhel"\nVERSION_ID="8.10"\n', "1000", "not root")],
)
def test_other_hosts_and_users_are_refused(host: FakeHost, script: Path, release: str, uid: str, says: str) -> None:
    (host.root / "etc/os-release").write_text(release)
    (host.db / "uid").write_text(uid)
    done = host.run(script)
    assert done.returncode == 2
    assert says in done.stderr
    assert host.log() == []


def test_check_list_and_undo(host: FakeHost, script: Path) -> None:
    assert "nouveau: " in host.run(script, "--list").stdout
    assert "== needed driver" in host.run(script, "--check").stdout
    assert host.log() == []
    host.run(script)
    blacklist = host.root / "etc/modprobe.d/blacklist-nouveau.conf"
    assert blacklist.exists()
    assert host.run(script, "--undo", "nouveau").returncode == 0
    assert not blacklist.exists()
    assert host.run(script, "--undo", "no_such").returncode == 2
    assert host.run(script, "--no-such").returncode == 2


def test_reboot_on_request(host: FakeHost, script: Path) -> None:
    assert host.run(script, "--reboot").returncode == 10
    assert host.log()[-1].strip() == "reboot"
