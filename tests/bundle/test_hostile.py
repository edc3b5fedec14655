"""A folder made to hurt its reader is refused in words, quickly, and without running anything of it."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest

from bedplate.bundle.bundle import BUNDLE_JSON, GOLDEN, POLICY_ONNX, read_bundle
from bedplate.bundle.checks.folder import MAX_FILE_BYTES, MAX_FILES, MAX_JSON_BYTES
from bedplate.core.errors import BedplateError, ContractMismatch


def refused(folder, message):
    with pytest.raises(ContractMismatch, match=message):
        read_bundle(folder)


@pytest.mark.parametrize("name", [BUNDLE_JSON, POLICY_ONNX, GOLDEN])
def test_a_link_is_refused_even_to_the_right_content(name, folder, tmp_path):
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    refused(folder, f"{name} is a symbolic link")


def test_a_dangling_link_is_refused(folder):
    (folder / "more").symlink_to("/nonexistent")
    refused(folder, "more is a symbolic link")


def test_a_named_pipe_does_not_block(folder):
    (folder / POLICY_ONNX).unlink()
    os.mkfifo(folder / POLICY_ONNX)
    refused(folder, "not a plain file")


def test_a_folder_inside_is_refused(folder):
    (folder / "more").mkdir()
    refused(folder, "more is not a plain file")


def test_a_file_instead_of_a_folder_is_refused(tmp_path):
    (tmp_path / "bundle").write_text("x")
    with pytest.raises(BedplateError, match="Not a directory"):
        read_bundle(tmp_path / "bundle")


@pytest.mark.parametrize(("name", "limit"), [(BUNDLE_JSON, MAX_JSON_BYTES), (POLICY_ONNX, MAX_FILE_BYTES)])
def test_a_huge_file_is_not_read(name, limit, folder):
    # sparse: it takes no space, and would take 1 TB of memory
    os.truncate(folder / name, 10**12)
    refused(folder, f"at most {limit} bytes|1000000000000 bytes")


def test_too_many_files_are_refused(folder):
    for index in range(MAX_FILES):
        (folder / f"{index}.bin").touch()
    refused(folder, "files")


JSON = {
    "NaN": ('"control_dt_s": 0.01', '"control_dt_s": NaN', "NaN"),
    "infinity": ('"control_dt_s": 0.01', '"control_dt_s": -Infinity', "Infinity"),
    "number that overflows": ('"control_dt_s": 0.01', '"control_dt_s": 1e999', "1e999"),
    "number as text": ('"control_dt_s": 0.01', '"control_dt_s": "0.01"', "line"),
    "number in another form": ('"control_dt_s": 0.01', '"control_dt_s": 1e-2', "line .*1e-2"),
    "key twice": ('"control_dt_s": 0.01', '"control_dt_s": 0.5, "control_dt_s": 0.01', "occurs twice"),
    "unknown key": ('"action_kind"', '"max_force": 3, "action_kind"', r"unknown key 'contract\.max_force'"),
    "unknown key in limits": (
        '"rate_per_s": 5.0',
        '"max_force": 3, "rate_per_s": 5.0',
        r"unknown key 'contract\.limits\.channels\.0\.max_force'",
    ),
    "missing key": ('"action_kind": "velocity",', "", r"contract\.action_kind"),
    "wrong type": ('"overrun_limit": 3', '"overrun_limit": []', r"guard\.overrun_limit"),
    "comment": ('"control_dt_s"', '/* fast */ "control_dt_s"', "not valid JSON"),
    "other line ends": ("\n", "\r\n", "changed after export"),
}


@pytest.mark.parametrize("name", JSON)
def test_bad_json_is_refused(name, folder):
    before, after, message = JSON[name]
    path = folder / BUNDLE_JSON
    text = path.read_bytes().decode()
    assert before in text
    path.write_bytes(text.replace(before, after).encode())
    refused(folder, message)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe\x00", "not valid JSON"),
        (b"[]", "holds a list"),
        (b"null", "holds a NoneType"),
        (b"{}", "schema is None"),
        (b"[" * 200_000, "not valid JSON"),
        (b'{"schema": ' + b"1" * 5000 + b"}", "not valid JSON"),
        (b'{"schema": 1, "evaluation": ' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}", "bundle.json"),
    ],
)
def test_documents_that_are_none(data, message, folder):
    (folder / BUNDLE_JSON).write_bytes(data)
    refused(folder, message)


def archive(arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def arrays_of(data):
    with np.load(io.BytesIO(data)) as loaded:
        return dict(loaded)


class Bomb:
    """Runs code when it is unpickled."""

    ran = False

    def __reduce__(self):
        return (exec, ("import bedplate; bedplate.bomb = True",))


def test_pickled_samples_are_refused_and_not_run(forge, info, files):
    import bedplate

    arrays = arrays_of(files[GOLDEN])
    arrays["command"] = np.array([Bomb(), Bomb()], dtype=object)
    refused(forge(info, files | {GOLDEN: archive(arrays)}), "pickle")
    assert not hasattr(bedplate, "bomb")


def test_a_pickle_instead_of_an_archive_is_refused(forge, info, files):
    refused(forge(info, files | {GOLDEN: pickle.dumps({"command": 1})}), "cannot be read")


GOLDENS = {
    "missing array": (lambda a: a.pop("command"), "holds the arrays"),
    "extra array": (lambda a: a.update(extra=np.zeros(3)), "holds the arrays"),
    "no contract": (lambda a: a.pop("contract"), "which contract"),
    "contract that is a number": (lambda a: a.update(contract=np.zeros(3)), "which contract"),
    "contract that is not JSON": (lambda a: a.update(contract=np.array("{")), "not JSON"),
    "float64": (lambda a: a.update(command=a["command"].astype(np.float64)), "command is float64"),
    "another width": (lambda a: a.update(command=a["command"][:, :1]), r"command is float32 \(8, 1\)"),
    "another length": (lambda a: a.update({"signal.effort": a["signal.effort"][:3]}), r"signal\.effort is float32"),
    "one dimension": (lambda a: a.update(command=a["command"][:, 0]), "command is"),
    "a scalar": (lambda a: a.update(command=np.float32(1)), "samples >= 1"),
    "NaN": (lambda a: a["command"].__setitem__((0, 0), np.nan), "command holds a number that is not finite"),
    "no sample": (lambda a: a.update({n: v[:0] for n, v in a.items() if n != "contract"}), "samples >= 1"),
}


@pytest.mark.parametrize("name", GOLDENS)
def test_bad_samples_are_refused(name, forge, info, files):
    change, message = GOLDENS[name]
    arrays = arrays_of(files[GOLDEN])
    change(arrays)
    refused(forge(info, files | {GOLDEN: archive(arrays)}), message)


def npy(header: bytes, body: bytes = b"") -> bytes:
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return buffer.getvalue()


MEMBERS = {
    "promises 8 TB": npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2000000000000,), }"),
    "negative shape": npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -1), }", b"0000"),
    "no header": b"\x93NUMPY",
    "header with code": npy(b"__import__('os').system('true')"),
    "unknown type": npy(b"{'descr': 'zzz', 'fortran_order': False, 'shape': (1,), }"),
    "text": b"hello",
    "deep header": npy(b"(" * 9000),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_a_hostile_array_is_refused(name, forge, info, files):
    refused(forge(info, files | {GOLDEN: zipped({"command.npy": MEMBERS[name]})}), r"golden\.npz cannot be read")


def test_an_archive_that_unpacks_to_too_much_is_refused(forge, info, files):
    bomb = zipped({"command.npy": bytes(MAX_FILE_BYTES + 1)})
    assert len(bomb) < MAX_FILE_BYTES // 100
    refused(forge(info, files | {GOLDEN: bomb}), "unpacks to")


def test_an_archive_that_lies_about_its_size_is_refused(forge, info, files):
    data = bytearray(zipped({"command.npy": bytes(1_000_000)}))
    # the uncompressed size stands in the central directory, 24 bytes after its signature
    place = data.index(b"PK\x01\x02") + 24
    data[place : place + 4] = (10).to_bytes(4, "little")
    refused(forge(info, files | {GOLDEN: bytes(data)}), r"golden\.npz cannot be read")


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (b"\x0a\x01x\x22\x0cRandomNormal", "random operator RandomNormal"),
        (b"\x22\x09Bernoulli", "random operator Bernoulli"),
        (b"\x22\x07Dropout", "random operator Dropout"),
        (b"\x6a\x18\x0a\x08location\x12\x0c/etc/passwd1", "another file"),
    ],
)
def test_a_graph_that_is_not_one_deterministic_file_is_refused(graph, message, forge, info, files, contract, make):
    refused(forge(info, files | {POLICY_ONNX: graph + make["stamp"](contract)}), message)


def test_a_graph_that_does_not_name_its_contract_is_refused(forge, info, files):
    refused(forge(info, files | {POLICY_ONNX: b"a graph from elsewhere"}), "does not say which contract")


def test_a_file_table_cannot_name_places_outside(folder):
    path = folder / BUNDLE_JSON
    raw = json.loads(path.read_text())
    raw["files"]["../../etc/passwd"] = "0" * 64
    path.write_text(json.dumps(raw, indent=2) + "\n")
    refused(folder, "lacks ../../etc/passwd")
