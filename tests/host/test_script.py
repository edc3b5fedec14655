"""The collect script: from the table, clean for shellcheck, the same under dash and bash, without secrets."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bedplate.host.redact import redact
from bedplate.host.script import collect_script
from bedplate.host.sources import SOURCES

SECRETS = {
    "GPU-2f68f999-7b41-e64a-3709-0c8c4fa756c0": "2f68f999",
    "Serial Number : 1324420058233": "1324420058233",
    "ether aa:bb:cc:dd:ee:ff": "bb:cc:dd",
    "from 192.168.17.4 port 22": "192.168.17.4",
    "inet6 fe80:0:0:0:1:2:3:4": "1:2:3:4",
    "/home/zhangwei/runs": "zhangwei",
    "password=hunter22": "hunter22",
    "https://bob:pw123@proxy.example": "pw123",
    "mail wei.zhang@example.org": "wei.zhang",
}
KEPT = [
    "4.18.0-553.5.1.el8_10.x86_64",
    "Driver Version: 580.95.05",
    "0000:2b:00.0",
    "10de:2204",
    "cuda 12.8.1.1-1",
    "/usr/local/cuda-12.6",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS.items())
def test_python_takes_secrets_out(text: str, secret: str) -> None:
    assert secret not in redact(text)


@pytest.mark.parametrize("text", KEPT)
def test_python_keeps_what_the_doctor_needs(text: str) -> None:
    assert redact(text) == text


def test_names_are_taken_out_as_words() -> None:
    assert redact("Dec 1 node7 kernel: node7x root", ("node7", "root")) == "Dec 1 NAME kernel: node7x root"


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_the_script_runs_and_redacts(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    # a fake nvidia-smi prints secrets
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "nvidia-smi").write_text("#!/bin/sh\ncat <<'END'\n" + "\n".join([*SECRETS, *KEPT]) + "\nEND\n")
    (fake / "nvidia-smi").chmod(0o755)
    (tmp_path / "collect.sh").write_text(collect_script())
    env = {**os.environ, "PATH": f"{fake}:{os.environ['PATH']}"}
    done = subprocess.run([shell, "collect.sh", "out"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out" / "nvidia-smi.txt").read_text()
    assert [secret for secret in SECRETS.values() if secret in text] == []
    assert [kept for kept in KEPT if kept not in text] == []
    assert (tmp_path / "out" / "uname.txt").read_text().strip() == os.uname().release
    # nothing is left where a command printed nothing
    assert all(path.stat().st_size for path in (tmp_path / "out").iterdir())


def test_every_source_with_a_command_is_in_the_script() -> None:
    script = collect_script()
    assert [source.name for source in SOURCES if source.command and f"source_ {source.name} " not in script] == []
    assert len({source.name for source in SOURCES}) == len(SOURCES)


def test_shellcheck_has_nothing_to_say(tmp_path: Path) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    path = tmp_path / "collect.sh"
    path.write_text(collect_script())
    done = subprocess.run(["shellcheck", "-s", "sh", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
