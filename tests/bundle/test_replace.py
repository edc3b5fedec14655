"""Writing a bundle is whole or nothing, also over an earlier one and on a full disk."""

from __future__ import annotations

import ctypes
import errno
import os

import pytest

from bedplate.bundle import replace
from bedplate.bundle.bundle import BUNDLE_JSON, read_bundle, write_bundle
from bedplate.core.errors import BedplateError, StorageError


@pytest.fixture
def second(contract, make):
    return make["info"](contract, provenance={"run": "second"})


def test_an_earlier_bundle_is_replaced(folder, second, files):
    inode = folder.stat().st_ino
    write_bundle(folder, second, files)
    assert read_bundle(folder).info.provenance == {"run": "second"}
    assert folder.stat().st_ino != inode
    assert os.listdir(folder.parent) == ["bundle"]


def test_replaced_without_an_atomic_exchange(folder, second, files, monkeypatch):
    monkeypatch.setattr(replace, "_exchange", lambda first, second: False)
    write_bundle(folder, second, files)
    assert read_bundle(folder).info.provenance == {"run": "second"}
    assert os.listdir(folder.parent) == ["bundle"]


def test_exchange_works_here(tmp_path):
    if not hasattr(ctypes.CDLL(None), "renameat2"):
        pytest.skip("this C library has no renameat2")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert replace._exchange(tmp_path / "a", tmp_path / "b")
    assert os.listdir(tmp_path / "a") == ["b"]


def test_a_reader_never_sees_half_a_bundle(folder, info, second, files, monkeypatch):
    seen = []
    swap = replace._swap

    def watched(new, old):
        seen.append(read_bundle(old).info.provenance["run"])
        swap(new, old)
        seen.append(read_bundle(old).info.provenance["run"])

    monkeypatch.setattr(replace, "_swap", watched)
    write_bundle(folder, second, files)
    assert seen == ["demo", "second"]


@pytest.mark.parametrize("step", ["_write_synced", "_swap"])
def test_a_full_disk_leaves_the_earlier_bundle(step, folder, second, files, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(replace, step, full)
    with pytest.raises(StorageError, match="No space left"):
        write_bundle(folder, second, files)
    assert read_bundle(folder).info.provenance["run"] == "demo"
    assert os.listdir(folder.parent) == ["bundle"]


def test_a_swap_that_fails_half_way_is_undone(folder, second, files, monkeypatch):
    monkeypatch.setattr(replace, "_exchange", lambda first, second: False)
    rename = os.rename

    def failing(source, target):
        if str(source).endswith(".tmp"):
            raise OSError(errno.EIO, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(replace.os, "rename", failing)
    with pytest.raises(StorageError, match="Input/output"):
        write_bundle(folder, second, files)
    assert read_bundle(folder).info.provenance["run"] == "demo"
    assert os.listdir(folder.parent) == ["bundle"]


def test_a_folder_that_is_not_a_bundle_is_kept(tmp_path, info, files):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(BedplateError, match="not a bundle"):
        write_bundle(tmp_path / "photos", info, files)
    assert os.listdir(tmp_path / "photos") == ["cat.jpg"]


@pytest.mark.parametrize("text", [None, "{}", "no json", "[]", '{"files": 3}'])
def test_files_that_are_not_the_bundles_own_are_kept(text, folder, second, files):
    (folder / "notes.txt").write_text("mine")
    if text is not None:
        (folder / BUNDLE_JSON).write_text(text)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(BedplateError, match="not a bundle"):
        write_bundle(folder, second, files)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_damaged_bundle_is_replaced(folder, second, files):
    (folder / "policy.onnx").unlink()
    write_bundle(folder, second, files)
    assert read_bundle(folder).info.provenance == {"run": "second"}


def test_a_file_in_the_place_is_kept(tmp_path, info, files):
    (tmp_path / "bundle").write_text("mine")
    with pytest.raises(BedplateError, match="not a bundle"):
        write_bundle(tmp_path / "bundle", info, files)
    assert (tmp_path / "bundle").read_text() == "mine"


def test_a_link_to_a_folder_is_followed(tmp_path, folder, second, files):
    (tmp_path / "current").symlink_to(folder)
    write_bundle(tmp_path / "current", second, files)
    assert (tmp_path / "current").is_symlink()
    assert read_bundle(folder).info.provenance["run"] == "second"


@pytest.mark.parametrize("name", ["../escape", "a/b", "", ".."])
def test_file_names_stay_inside(name, tmp_path, info, files):
    with pytest.raises(BedplateError, match="plain file name"):
        write_bundle(tmp_path / "bundle", info, files | {name: b"x"})
    assert os.listdir(tmp_path) == []


def test_files_are_readable_by_others_as_the_umask_says(folder):
    mask = os.umask(0)
    os.umask(mask)
    assert (folder / BUNDLE_JSON).stat().st_mode & 0o777 == 0o666 & ~mask
    assert folder.stat().st_mode & 0o777 == 0o777 & ~mask


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_values_that_json_cannot_say_are_refused(value, tmp_path, contract, make, files):
    with pytest.raises(BedplateError, match="cannot be written"):
        write_bundle(tmp_path / "bundle", make["info"](contract, evaluation={"success": value}), files)
    assert os.listdir(tmp_path) == []
