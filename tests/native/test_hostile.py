"""Files that a robot must refuse: never a crash, never an access outside an array (ASan and UBSan watch)."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import zlib

import numpy as np
import pytest
from tests.native.networks import chooser, contract_for, mlp

from bedplate.bundle.contract import GuardSettings
from bedplate.export.native.lower import to_bpw

COUNT = 20000 if os.environ.get("BEDPLATE_FULL") else 1500
SANITIZERS = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-D_GNU_SOURCE"]


def build(compiler, source, output, main, flags):
    """Compile the library's sources with one main program."""
    files = [str(file) for file in sorted((source / "src").glob("*.c"))]
    command = [compiler, *flags, f"-I{source}/include", str(source / main), *files, "-o", str(output), "-lm", "-lrt"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "fsanitize" in " ".join(flags) and "cannot find" in done.stderr:
        pytest.skip("no sanitizer library on this machine")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def loader(compiler, source, tmp_path_factory):
    """Runs files through the library under the sanitizers; gives one line per file."""
    program = tmp_path_factory.mktemp("loader") / "load"
    build(compiler, source, program, "tests/load.c", SANITIZERS)

    def load(paths):
        # a changed name need not be UTF-8
        done = subprocess.run([str(program), *map(str, paths)], capture_output=True, errors="replace", check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        lines = done.stdout.split("\n")[:-1]
        assert len(lines) == len(paths)
        return lines

    return load


@pytest.fixture(scope="module", params=["floats", "doubles"])
def good(request) -> bytes:
    """A whole file."""
    data = mlp((4, 9, 2)) if request.param == "floats" else chooser()
    return to_bpw(data, contract_for(4, 2), GuardSettings())


def sealed(content: bytes, head: bytes) -> bytes:
    """The content under a header whose hashes fit, as somebody would make it who wants to be believed."""
    head = (
        head[:16] + struct.pack("<Q", 128 + len(content)) + head[24:56] + hashlib.sha256(content).digest() + head[88:]
    )
    return head[:124] + struct.pack("<I", zlib.crc32(head[:124])) + content


def write(folder, files):
    paths = [folder / f"{index}.bpw" for index in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    return paths


def test_a_whole_file_runs(loader, good, tmp_path):
    assert loader(write(tmp_path, [good, sealed(good[128:], good[:128])])) == ["0 ", "0 "]


def test_every_cut_is_refused(loader, good, tmp_path):
    cuts = [good[:length] for length in range(0, len(good), 7)]
    assert not [line for line in loader(write(tmp_path, cuts)) if line.startswith("0 ")]


def test_changed_bytes_are_refused(loader, good, tmp_path):
    rng = np.random.default_rng(0)
    files = []
    for place in rng.integers(0, len(good), 300):
        data = bytearray(good)
        data[place] ^= 1 << rng.integers(8)
        files.append(bytes(data))
    assert not [line for line in loader(write(tmp_path, files)) if line.startswith("0 ")]


def test_changes_under_fitting_hashes_never_leave_an_array(loader, good, tmp_path):
    rng = np.random.default_rng(1)
    content, files = good[128:], []
    words = (0, 1, 2, 7, 255, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 8, 2**32 - 1)
    for _ in range(COUNT):
        data = bytearray(content)
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(0, len(data) - 4))
            struct.pack_into("<I", data, place, int(rng.choice(words)))
        files.append(sealed(bytes(data), good[:128]))
    lines = loader(write(tmp_path, files))
    # some changes are harmless (a weight, a bound), most are refused with a reason
    refused = [line for line in lines if not line.startswith("0 ")]
    assert len(refused) > COUNT // 10
    assert all(len(line) > 5 for line in refused)


def _text(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode() + b"\0"


def test_memory_that_no_policy_has_is_refused(loader, good, tmp_path):
    # 17 terms of the largest size: more than the policy's own arrays may hold
    terms = b"".join(_text(f"m{i}") + struct.pack("<Id", 1 << 20, 1.0) + _text("") for i in range(17))
    channel = _text("c") + _text("u") + struct.pack("<4d", -1, 1, 1, 0)
    channel += _text("") + struct.pack("<I", 0) + struct.pack("<2d", 0, 0) + _text("") + struct.pack("<Id", 0, 0)
    contract = _text("t") + _text("velocity") + _text("ramp") + struct.pack("<2d4I", 0.01, 3, 3, 5, 0, 0)
    contract += struct.pack("<I", 17) + terms + struct.pack("<I", 1) + channel
    program = struct.pack("<7I", 1 << 24, 0, 1 << 24, 0, 0, 0, 0)
    head = bytearray(good[:128])
    struct.pack_into("<2Q", head, 88, len(contract), len(program))
    (line,) = loader(write(tmp_path, [sealed(contract + program, bytes(head))]))
    assert "memory is too large" in line


def test_a_link_or_a_folder_is_not_read(loader, good, tmp_path):
    (tmp_path / "real.bpw").write_bytes(good)
    (tmp_path / "link.bpw").symlink_to(tmp_path / "real.bpw")
    lines = loader([tmp_path / "link.bpw", tmp_path, tmp_path / "absent"])
    assert [line[0] for line in lines] == ["1", "1", "1"]


def test_the_standalone_example_drives_without_python(compiler, source, good, tmp_path):
    program, file = tmp_path / "standalone", tmp_path / "policy.bpw"
    build(compiler, source, program, "examples/standalone.c", ["-std=c11", "-O2", "-Wall", "-Werror", "-D_GNU_SOURCE"])
    file.write_bytes(good)
    done = subprocess.run([str(program), str(file), "5"], capture_output=True, text=True, check=False)
    assert done.stdout.count("axis_1=") == 5, done.stderr
    done = subprocess.run([str(program), str(tmp_path / "absent")], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "cannot open" in done.stderr


def test_nothing_is_allocated_after_creation(compiler, source, good, tmp_path):
    program, file = tmp_path / "allocations", tmp_path / "policy.bpw"
    build(compiler, source, program, "tests/allocations.c", ["-std=c11", "-O2", "-Wall", "-Werror", "-D_GNU_SOURCE"])
    file.write_bytes(good)
    # 20 faults with their words among them
    assert subprocess.run([str(program), str(file)], capture_output=True, text=True, check=True).stdout == "0\n"
