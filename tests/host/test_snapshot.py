"""Any folder, any log: a clear answer, nothing outside of the folder, no crash."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from bedplate.core.check import Status
from bedplate.core.errors import BedplateError
from bedplate.host.doctor import diagnose
from bedplate.host.reduce import SMALL_BYTES, read_reduced
from bedplate.host.snapshot import MAX_LINE, Snapshot, clean, read_folder, read_log
from bedplate.host.sources import SOURCES

XID = "NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus."


def test_a_link_that_leaves_the_folder_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text(XID)
    folder = tmp_path / "snapshot"
    folder.mkdir()
    (folder / "uname.txt").write_text("4.18.0-553.el8_10.x86_64\n")
    (folder / "journal-kernel.txt").symlink_to(outside)
    snapshot = read_folder(folder)
    assert set(snapshot.texts) == {"uname"}
    assert "journal-kernel.txt" in snapshot.notes[0]


def test_other_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text(XID)
    (tmp_path / "sub").mkdir()
    (tmp_path / "uname.txt").write_text("4.18.0\n")
    assert set(read_folder(tmp_path).texts) == {"uname"}


@pytest.mark.parametrize("name", ["absent", "file.tar", "empty"])
def test_what_is_no_snapshot_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "file.tar":
        path.write_bytes(b"x")
    if name == "empty":
        path.mkdir()
    with pytest.raises(BedplateError) as caught:
        read_folder(path)
    assert caught.value.next_step


@pytest.mark.parametrize(
    "raw",
    [
        XID.replace("\n", "\r\n").encode() + b"\r\n",
        XID.encode("utf-16"),
        b"\xff\xfa\x00\x01 rubbish\n" + XID.encode() + b"\n\x80\x81",
        b"\x1b[31m" + XID.encode() + b"\x1b[0m",
        b"\xef\xbb\xbf" + XID.encode(),
        "错误 ".encode("gb18030") + XID.encode(),
    ],
)
def test_any_encoding_is_read(raw: bytes) -> None:
    first = diagnose(Snapshot({"journal-kernel": clean(raw)}))[0]
    assert first.code == "HOST-GPU-LOST"


def test_an_empty_log_is_refused() -> None:
    with pytest.raises(BedplateError, match="is empty"):
        read_log(io.BytesIO(b" \n"), "x")


def test_a_long_log_is_reduced_to_its_kinds_of_lines() -> None:
    noise = b"Dec  1 10:00:00 host systemd[1]: Started session 12 of user x.\n" * 20000
    storm = b"".join(b"Dec  1 10:00:00 host kernel: NVRM: heartbeat %d\n" % n for n in range(20000))
    kept = read_reduced(io.BytesIO(noise + storm + XID.encode() + b"\n" + noise))
    assert XID.encode() in kept
    assert len(kept) < SMALL_BYTES
    assert diagnose(Snapshot({"log": clean(kept)}))[0].code == "HOST-GPU-LOST"


def test_a_block_that_ends_with_a_line_is_not_the_end() -> None:
    # the first two blocks hold whole lines only
    noise = (b"x" * 63 + b"\n") * (2 * (SMALL_BYTES + 1) // 64 + 2)
    for shift in range(64):
        log = b"y" * shift + b"\n" + noise + noise + XID.encode() + b"\n"
        assert XID.encode() in read_reduced(io.BytesIO(log))


def test_a_long_line_without_end_is_cut() -> None:
    assert len(read_reduced(io.BytesIO(b"nvidia " * 200000))) < SMALL_BYTES


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([source.name for source in SOURCES]),
        st.text(max_size=200) | st.binary(max_size=200),
        max_size=6,
    )
)
def test_no_text_crashes_a_check(texts: dict[str, str | bytes]) -> None:
    snapshot = Snapshot({name: text if isinstance(text, str) else clean(text) for name, text in texts.items()})
    assert [finding for finding in diagnose(snapshot) if finding.status is Status.CRASH] == []


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="NVRMXidnvidia:,.=()/\n 0123456789abcdef[]{}+%", max_size=400))
def test_near_misses_crash_nothing(text: str) -> None:
    snapshot = Snapshot(dict.fromkeys([source.name for source in SOURCES], text))
    assert [finding for finding in diagnose(snapshot) if finding.status is Status.CRASH] == []


def test_a_long_line_of_a_small_text_is_cut() -> None:
    text = clean(b"error: " * 30000 + b"\nnext")
    assert max(map(len, text.split("\n"))) == MAX_LINE
    assert text.endswith("\nnext")


def test_thousands_of_empty_lines_become_one() -> None:
    assert clean(b"a\n" + b" \n" * 50000 + b"b") == "a\n \nb"
