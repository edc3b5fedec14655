"""Files are whole or absent, whatever happens in the middle of a write."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bedplate.core import files
from bedplate.core.errors import BedplateError, StorageError

OLD = "what was there before"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "state.json"
    path.write_text(OLD)
    return path


def only(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_write_replaces_the_whole_file_and_leaves_nothing_else(target: Path) -> None:
    files.write_text(target, "new")
    assert target.read_text() == "new"
    assert only(target.parent) == ["state.json"]


def test_new_file_has_the_mode_that_open_gives(tmp_path: Path) -> None:
    earlier = os.umask(0o027)
    try:
        files.write_bytes(tmp_path / "a" / "b.bin", b"\x00\xff")
    finally:
        os.umask(earlier)
    assert (tmp_path / "a" / "b.bin").stat().st_mode & 0o777 == 0o640


def test_error_in_the_block_keeps_the_old_file_and_is_not_renamed(target: Path) -> None:
    with pytest.raises(ZeroDivisionError), files.atomic_open(target) as file:
        file.write("half")
        _ = 1 / 0
    assert target.read_text() == OLD
    assert only(target.parent) == ["state.json"]


def test_error_about_another_file_is_not_blamed_on_the_target(target: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), files.atomic_open(target):
        (tmp_path / "absent.txt").read_text()
    assert target.read_text() == OLD


def test_full_disk_keeps_the_old_file_and_says_so(target: Path) -> None:
    # a file size limit makes write() fail in the middle, as a full disk does
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    earlier = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(StorageError, match=r"cannot write .*state\.json") as caught:
            files.write_bytes(target, b"x" * 1_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, earlier)
    assert "df -h" in caught.value.next_step
    assert target.read_text() == OLD
    assert only(target.parent) == ["state.json"]


def test_folder_that_is_a_file_is_a_storage_error(target: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot write"):
        files.write_text(target / "below" / "x.txt", "text")
    assert target.read_text() == OLD


def test_folder_that_takes_no_files_is_a_storage_error() -> None:
    # not even root makes files there
    with pytest.raises(StorageError, match=r"cannot write /proc/self/x\.txt"):
        files.write_text(Path("/proc/self/x.txt"), "text")


def test_kill_in_mid_write_keeps_the_old_file(target: Path) -> None:
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from bedplate.core.files import atomic_open\n"
        "with atomic_open(Path(sys.argv[1])) as file:\n"
        "    file.write('half' * 10_000); file.flush(); print('writing', flush=True); time.sleep(30)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(target)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    process.kill()
    process.wait(10)
    process.stdout.close()
    assert target.read_text() == OLD


def test_readers_see_the_old_or_the_new_text_and_never_a_part(target: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from bedplate.core.files import write_text\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    for letter in 'ab':\n"
        "        write_text(Path(sys.argv[1]), letter * 50_000)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(target)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    seen = set()
    end_s = time.monotonic() + 0.5
    try:
        while time.monotonic() < end_s:
            seen.add(target.read_text())
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()
    assert seen <= {OLD, "a" * 50_000, "b" * 50_000}
    assert len(seen) > 1


def test_json_keeps_every_bit_of_a_number(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1e-300, 5e-324, 1.7976931348623157e308, -0.0]
    files.write_json(tmp_path / "n.json", {"values": values, "path": tmp_path})
    read = files.read_json(tmp_path / "n.json")
    assert [v.hex() for v in read["values"]] == [v.hex() for v in values]
    assert read["path"] == str(tmp_path)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_json_refuses_what_it_cannot_say(target: Path, value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        files.write_json(target, {"value": value})
    assert target.read_text() == OLD


def test_json_refuses_unknown_objects(target: Path) -> None:
    with pytest.raises(TypeError, match="object does not go into JSON"):
        files.write_json(target, {"value": object()})
    assert target.read_text() == OLD


@pytest.mark.parametrize("text", ["", "{", '{"a": NaN}', "[" * 100_000, "\udcff"])
def test_broken_json_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(BedplateError, match=r"broken\.json is not JSON"):
        files.read_json(path)


def test_absent_files_are_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BedplateError, match="cannot read"):
        files.read_json(tmp_path / "absent.json")
    with pytest.raises(BedplateError, match="cannot read"):
        files.sha256_file(tmp_path / "absent.bin")


def test_hashes_agree_and_one_byte_changes_them(tmp_path: Path) -> None:
    path = tmp_path / "data"
    files.write_text(path, "abc")
    assert files.sha256_file(path) == files.sha256_text("abc")
    files.write_text(path, "abd")
    assert files.sha256_file(path) != files.sha256_text("abc")


def test_canonical_json_does_not_depend_on_the_order_of_keys() -> None:
    assert (
        files.canonical_json({"b": 1, "a": [1.5]}) == files.canonical_json({"a": [1.5], "b": 1}) == '{"a":[1.5],"b":1}'
    )


def test_a_folder_or_a_link_to_one_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "runs").symlink_to("real")
    for name in ("real", "runs"):
        with pytest.raises(StorageError, match="it is a folder"):
            files.write_text(tmp_path / name, "x")
    assert (tmp_path / "runs").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["real", "runs"]
