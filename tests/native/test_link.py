"""The shared-memory link: no torn record under kills, one process per place, and a controller that needs no policy."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from tests.native.networks import contract_for, mlp

from bedplate.bundle.contract import GuardSettings
from bedplate.export.native.lower import to_bpw

RECORDS = 10_000_000 if os.environ.get("BEDPLATE_FULL") else 300_000
FLAGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]


@pytest.fixture(scope="module")
def programs(compiler, source, tmp_path_factory):
    """Name -> a program that is linked with the library's sources."""
    folder = tmp_path_factory.mktemp("programs")
    files = [str(file) for file in sorted((source / "src").glob("*.c"))]
    result = {}
    for main in ("tests/link.c", "examples/controller.c", "examples/policy_process.c"):
        result[Path(main).stem] = str(folder / Path(main).stem)
        command = [compiler, *FLAGS, f"-I{source}/include", str(source / main), *files, "-lm", "-lrt"]
        done = subprocess.run([*command, "-o", result[Path(main).stem]], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return result


@pytest.fixture
def segment():
    """A name of shared memory that is taken away afterwards."""
    name = f"/bedplate-test-{uuid.uuid4().hex[:12]}"
    yield name
    Path(f"/dev/shm{name}").unlink(missing_ok=True)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("policy") / "policy.bpw"
    path.write_bytes(to_bpw(mlp((40, 9, 12)), contract_for(40, 12), GuardSettings()))
    return str(path)


def start(*command):
    return subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True)


def end(process):
    """Kill and collect."""
    process.kill()
    process.communicate()


def test_no_record_is_torn_while_the_other_side_is_killed(programs, file, segment):
    controller = start(programs["link"], file, segment, "state", RECORDS)
    kills, rng = 0, random.Random(0)
    while controller.poll() is None:
        policy = start(programs["link"], file, segment, "action", 0)
        time.sleep(rng.uniform(0.005, 0.05))
        if rng.random() < 0.3:
            policy.send_signal(signal.SIGSTOP)
        end(policy)
        kills += 1
    words = controller.stdout.read().split()
    controller.stdout.close()
    read, torn, back = int(words[1]), int(words[3]), int(words[5])
    assert (torn, back) == (0, 0)
    assert kills >= 1
    assert read > 0


def test_a_successor_continues_the_sequence(programs, file, segment):
    for _ in range(2):
        subprocess.run([programs["link"], file, segment, "state", "100"], check=True, capture_output=True)
    done = subprocess.run([programs["link"], file, segment, "action", "1"], check=True, capture_output=True, text=True)
    assert done.stdout == "read 1 torn 0 back 0 last 400\n"


def test_a_writer_that_died_in_the_middle_blocks_nobody(programs, file, segment):
    subprocess.run([programs["link"], file, segment, "state", "10"], check=True, capture_output=True)
    # the state's sequence is the ninth word: odd means that a write was never finished
    with open(f"/dev/shm{segment}", "r+b") as memory:
        memory.seek(64)
        memory.write((21).to_bytes(8, "little"))
    read = [programs["link"], file, segment, "action", "5"]
    assert subprocess.run(read, check=True, capture_output=True, text=True).stdout.startswith("read 0 torn 0")
    subprocess.run([programs["link"], file, segment, "state", "1"], check=True, capture_output=True)
    done = subprocess.run(read, check=True, capture_output=True, text=True)
    assert done.stdout == "read 5 torn 0 back 0 last 22\n"


def test_a_damaged_record_is_not_believed(programs, file, segment):
    subprocess.run([programs["link"], file, segment, "state", "10"], check=True, capture_output=True)
    with open(f"/dev/shm{segment}", "r+b") as memory:
        memory.seek(64 + 8 * 10)
        memory.write(b"\1")
    done = subprocess.run([programs["link"], file, segment, "action", "5"], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("read 0 torn 0")


def test_each_place_is_taken_once(programs, file, segment):
    first = start(programs["link"], file, segment, "state", 0)
    time.sleep(0.2)
    done = subprocess.run([programs["link"], file, segment, "state", "1"], check=False, capture_output=True, text=True)
    end(first)
    assert done.returncode == 3
    assert "another controller" in done.stdout
    # the lock goes with its process
    subprocess.run([programs["link"], file, segment, "state", "1"], check=True, capture_output=True)


def test_another_bundle_is_refused(programs, file, segment, tmp_path):
    subprocess.run([programs["link"], file, segment, "state", "1"], check=True, capture_output=True)
    other = tmp_path / "other.bpw"
    contract = contract_for(40, 12).model_copy(update={"control_dt_s": 0.004})
    other.write_bytes(to_bpw(mlp((40, 9, 12)), contract, GuardSettings()))
    done = subprocess.run(
        [programs["link"], other, segment, "action", "1"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 3
    assert "another contract" in done.stdout


def test_a_symbolic_link_or_a_mode_for_others_is_refused(programs, file, segment, tmp_path):
    place, target = Path(f"/dev/shm{segment}"), tmp_path / "target"
    target.write_bytes(b"precious")
    place.symlink_to(target)
    link = [programs["link"], file, segment, "state", "1"]
    assert subprocess.run(link, check=False, capture_output=True).returncode == 3
    assert target.read_bytes() == b"precious"
    place.unlink()
    place.touch(mode=0o600)
    place.chmod(0o666)
    assert subprocess.run(link, check=False, capture_output=True).returncode == 3


def test_the_controller_survives_without_a_policy_and_when_it_is_killed(programs, file, segment):
    alone = subprocess.run([programs["controller"], file, segment, "200"], check=True, capture_output=True, text=True)
    assert alone.stdout == "ticks 200 driven 0 faults 0\n"
    # with one that is killed: the guard takes over, and the controller goes on to its end
    controller = start(programs["controller"], file, segment, 1500)
    policy = start(programs["policy_process"], file, segment)
    time.sleep(0.7)
    end(policy)
    output, _ = controller.communicate(timeout=60)
    assert controller.returncode == 0
    assert "fault" in output
    words = output.splitlines()[-1].split()
    assert words[1] == "1500"
    assert 0 < int(words[3]) < 1500
