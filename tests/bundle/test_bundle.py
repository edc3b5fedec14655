"""A bundle comes back as it was written; whatever was changed since is refused by name."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from bedplate.bundle.bundle import BUNDLE_JSON, GOLDEN, POLICY_ONNX, read_bundle, write_bundle
from bedplate.core.errors import BedplateError, ContractMismatch
from bedplate.core.limits import ChannelLimits, Limits


def test_comes_back_as_written(folder, info, files):
    bundle = read_bundle(folder)
    assert bundle.contract == info.contract
    assert bundle.info.evaluation == info.evaluation
    assert bundle.info.guard == info.guard
    assert bundle.policy_onnx == files[POLICY_ONNX]
    assert set(bundle.info.files) == {POLICY_ONNX, GOLDEN}
    assert bundle.golden.num_samples == 8


def test_the_schema_is_the_key_schema(folder):
    assert json.loads((folder / BUNDLE_JSON).read_text())["schema"] == 1


def test_golden_comes_back_bit_for_bit(folder, contract, make):
    golden, expected = read_bundle(folder).golden, make["golden"](contract)
    for name, values in {**expected.inputs(), **expected.outputs()}.items():
        np.testing.assert_array_equal({**golden.inputs(), **golden.outputs()}[name], values)


def test_equal_input_gives_equal_bytes(tmp_path, info, files):
    for name in ("a", "b"):
        write_bundle(tmp_path / name, info, files)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_absent_folder(tmp_path):
    with pytest.raises(BedplateError, match="No such file"):
        read_bundle(tmp_path / "nothing")


@pytest.mark.parametrize("name", [BUNDLE_JSON, POLICY_ONNX, GOLDEN])
def test_any_changed_byte_is_refused(name, folder, full):
    path = folder / name
    data = path.read_bytes()
    for index in range(0, len(data), 1 if full else max(1, len(data) // 500)):
        changed = bytearray(data)
        changed[index] ^= 0x01 if index % 2 else 0x20
        path.write_bytes(changed)
        with pytest.raises(ContractMismatch) as refusal:
            read_bundle(folder)
        # the file is named; a changed file name in bundle.json shows as a missing file
        assert name in str(refusal.value) or "lacks" in str(refusal.value)
    path.write_bytes(data)
    read_bundle(folder)


@pytest.mark.parametrize("name", [BUNDLE_JSON, POLICY_ONNX, GOLDEN])
def test_added_and_lost_bytes_are_refused(name, folder):
    path = folder / name
    data = path.read_bytes()
    for changed in (data + b" ", data[:-1], b""):
        path.write_bytes(changed)
        with pytest.raises(ContractMismatch, match=name):
            read_bundle(folder)


@pytest.mark.parametrize("name", [BUNDLE_JSON, POLICY_ONNX, GOLDEN])
def test_a_missing_file_is_named(name, folder):
    (folder / name).unlink()
    with pytest.raises(ContractMismatch, match=f"lacks {name}"):
        read_bundle(folder)


def test_an_extra_file_is_named(folder):
    (folder / "notes.txt").write_text("hello")
    with pytest.raises(ContractMismatch, match=r"also holds notes\.txt"):
        read_bundle(folder)


def swap(text: str) -> str:
    return (
        text.replace('"channel": "shoulder"', '"channel": "?"')
        .replace('"elbow"', '"shoulder"')
        .replace('"?"', '"elbow"')
    )


EDITS = {
    "swapped joint": (swap, r"contract.*(channel|components)"),
    "renamed joint": (lambda text: text.replace('"channel": "elbow"', '"channel": "wrist"'), "'wrist'.*\n.*'elbow'"),
    "another period": (
        lambda text: text.replace('"control_dt_s": 0.01', '"control_dt_s": 0.02'),
        r"control_dt_s is 0\.02",
    ),
    "another kind": (
        lambda text: text.replace('"action_kind": "', '"action_kind": "un'),
        r"contract\.action_kind is un",
    ),
    "another unit": (lambda text: text.replace('"unit": "rad"', '"unit": "deg"'), r"signals\[0\]\.unit is 'deg'"),
    "another limit": (lambda text: text.replace('"high": 1.0', '"high": 9.0'), r"channels\[0\]\.high is 9\.0"),
    "another rate": (lambda text: text.replace('"rate_per_s": 5.0', '"rate_per_s": 50.0'), "rate_per_s"),
    "another safe action": (lambda text: text.replace('"mode": "ramp"', '"mode": "hold"'), r"safe_action\.mode"),
    "another guard": (lambda text: text.replace('"overrun_limit": 3', '"overrun_limit": 300'), "bundle_hash"),
    "better evaluation": (lambda text: text.replace("0.97", "0.99"), "bundle_hash"),
    "another hash": (lambda text: text.replace('"contract_hash": "', '"contract_hash": "0'), "contract_hash"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_contract_is_refused_by_field(edit, folder):
    change, message = EDITS[edit]
    path = folder / BUNDLE_JSON
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))
    with pytest.raises(ContractMismatch, match=message):
        read_bundle(folder)


def test_a_robot_with_another_contract_is_refused_by_field(folder, contract, make):
    assert read_bundle(folder, expected=contract).contract == contract
    with pytest.raises(ContractMismatch, match=r"control_dt_s = 0\.01.*\n.*0\.02, as the robot has it"):
        read_bundle(folder, expected=make["contract"](control_dt_s=0.02))
    channels = contract.limits.channels
    renamed = (dataclasses.replace(channels[0], channel="hip"), channels[1])
    with pytest.raises(ContractMismatch, match=r"channels\[0\]\.channel = 'shoulder'.*\n.*'hip'"):
        read_bundle(folder, expected=make["contract"](limits=Limits(renamed, contract.limits.safe_action)))


def test_samples_of_another_contract_are_refused(forge, info, make):
    other = make["contract"](control_dt_s=0.02)
    with pytest.raises(ContractMismatch, match=r"control_dt_s is 0\.01.*\n.*0\.02, with which golden"):
        read_bundle(forge(info, make["files"](other)))


def test_a_graph_of_another_contract_is_refused(forge, info, files):
    entry = b"\x0a\x16bedplate.contract_hash\x12\x40"
    read_bundle_from = forge(info, files | {POLICY_ONNX: entry + b"0" * 64})
    with pytest.raises(ContractMismatch, match="exported for the contract 000"):
        read_bundle(read_bundle_from)


def channel(contract, **changes):
    first = dataclasses.replace(contract.limits.channels[0], **changes)
    return {"limits": Limits((first, *contract.limits.channels[1:]), contract.limits.safe_action)}


def signal(contract, **changes):
    return {"signals": (contract.signals[0].model_copy(update=changes), *contract.signals[1:])}


# consistent in every hash, and still not to be believed
UNSOUND = {
    "period of zero": (lambda c: {"control_dt_s": 0.0}, "control_dt_s is 0"),
    "bounds the wrong way round": (lambda c: channel(c, low=2.0), "command bounds of 'shoulder'"),
    "negative rate": (lambda c: channel(c, rate_per_s=-5.0), "rate_per_s of 'shoulder'"),
    "channel named twice": (lambda c: channel(c, channel="elbow"), r"\['elbow', 'elbow'\]"),
    "signal bounds": (lambda c: signal(c, low=60.0), "bounds of signal 'position'"),
    "signal without age": (lambda c: signal(c, max_age_s=0.0), "max_age_s of signal 'position'"),
    "signal named like an output": (lambda c: signal(c, name="command"), "'command' is named twice"),
    "watched element": (
        lambda c: channel(c, position=dataclasses.replace(c.limits.channels[0].position, index=2)),
        r"watches 'position'\[2\]",
    ),
    "memory from nowhere": (
        lambda c: {"memory": (c.memory[0].model_copy(update={"initial_signal": "odometry"}),)},
        "starts from 'odometry'",
    ),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_an_unsound_contract_is_refused(name, forge, contract, make, tmp_path):
    change, message = UNSOUND[name]
    bad = make["contract"](**change(contract))
    info, files = make["info"](bad), make["files"](bad)
    with pytest.raises(ContractMismatch, match=message):
        read_bundle(forge(info, files))
    # nor would we write it
    with pytest.raises(ContractMismatch, match=message):
        write_bundle(tmp_path / "new", info, files)
    assert not (tmp_path / "new").exists()


def test_limits_have_the_fields_that_the_hash_covers(contract):
    # a new limit field must enter the hash: model_dump takes every field
    limits = contract.model_dump(mode="json")["limits"]["channels"][0]
    assert set(limits) == {field.name for field in dataclasses.fields(ChannelLimits)}


def test_features_with_a_gap_are_refused(forge, contract, make, files):
    info = make["info"](contract)
    gap = (info.features[0], info.features[1].model_copy(update={"start": 3}))
    with pytest.raises(ContractMismatch, match=r"feature 'effort' spans \[3, 4\)"):
        read_bundle(forge(info.model_copy(update={"features": gap}), files))


@pytest.mark.parametrize("version", [2, 99])
def test_a_later_schema_says_update(version, folder):
    path = folder / BUNDLE_JSON
    raw = json.loads(path.read_text())
    # a later schema has keys that we cannot know
    path.write_text(json.dumps({**raw, "schema": version, "stages": {}}, indent=2))
    with pytest.raises(ContractMismatch, match=f"schema is {version}") as refusal:
        read_bundle(folder)
    assert "update Bedplate" in refusal.value.next_step


@pytest.mark.parametrize("version", [0, "1", 1.0, True, None])
def test_a_schema_that_is_none_is_refused(version, folder):
    path = folder / BUNDLE_JSON
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": version}, indent=2))
    with pytest.raises(ContractMismatch, match="schema"):
        read_bundle(folder)
