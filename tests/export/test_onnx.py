"""policy.onnx is one deterministic file with named, fixed inputs and outputs; each gate has a graph that fails it."""

from __future__ import annotations

import dataclasses

import onnx
import pytest
import torch
from onnx import helper

from bedplate.core.errors import BedplateError
from bedplate.export.actor import PolicyGraph, deterministic_actor
from bedplate.export.onnx import OPSET, check_onnx, to_onnx
from bedplate.tasks.contract import contract_of
from bedplate.tasks.spec import Feature


def graph_of(task, models, normalizers):
    return PolicyGraph(task, normalizers(task), deterministic_actor(models(task), task))


@pytest.fixture(scope="module")
def model_and_contract(tasks, models, normalizers):
    task = tasks("commanded")
    contract = contract_of(task)
    data = to_onnx(graph_of(task, models, normalizers), contract)
    return onnx.load_model_from_string(data), contract


def test_names_shapes_and_operator_set(model_and_contract):
    model, _ = model_and_contract
    assert [value.name for value in model.graph.input] == [
        "position", "bearing", "memory.previous_action", "memory.commanded"
    ]  # fmt: skip
    assert [value.name for value in model.graph.output] == [
        "command", "memory.previous_action.next", "memory.commanded.next"
    ]  # fmt: skip
    for value in [*model.graph.input, *model.graph.output]:
        assert value.type.tensor_type.shape.dim[0].dim_value == 1
    assert model.opset_import[0].version == OPSET


def test_an_input_that_no_feature_reads_stays_an_input(tasks, models, normalizers):
    task = tasks()
    task = dataclasses.replace(task, features=tuple(f for f in task.features if f.name not in ("angle", "near")))
    model = onnx.load_model_from_string(to_onnx(graph_of(task, models, normalizers), contract_of(task)))
    assert "bearing" in [value.name for value in model.graph.input]


def test_export_is_repeatable(tasks, models, normalizers):
    task = tasks()
    graph = graph_of(task, models, normalizers)
    assert to_onnx(graph, contract_of(task)) == to_onnx(graph, contract_of(task))


def damaged(model):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def test_refuses_a_random_operator(model_and_contract):
    model, contract = model_and_contract
    bad = damaged(model)
    bad.graph.node.append(helper.make_node("RandomNormal", [], ["noise"], shape=[1]))
    with pytest.raises(BedplateError, match="RandomNormal"):
        check_onnx(bad, contract)


def test_refuses_operators_that_are_not_of_onnx(model_and_contract):
    model, contract = model_and_contract
    bad = damaged(model)
    bad.graph.node.append(helper.make_node("Mystery", [], ["x"], domain="com.example"))
    with pytest.raises(BedplateError, match=r"com\.example\.Mystery"):
        check_onnx(bad, contract)


def test_refuses_external_data(model_and_contract):
    model, contract = model_and_contract
    bad = damaged(model)
    bad.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL
    with pytest.raises(BedplateError, match="another file"):
        check_onnx(bad, contract)


def test_refuses_another_operator_set(model_and_contract):
    model, contract = model_and_contract
    bad = damaged(model)
    bad.opset_import[0].version = 11
    with pytest.raises(BedplateError, match="11"):
        check_onnx(bad, contract)


def test_refuses_a_batch_that_is_not_one(model_and_contract):
    model, contract = model_and_contract
    bad = damaged(model)
    bad.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    with pytest.raises(BedplateError, match="batch"):
        check_onnx(bad, contract)


def test_refuses_a_renamed_output(model_and_contract):
    model, contract = model_and_contract
    bad = damaged(model)
    bad.graph.output[0].name = "actions"
    with pytest.raises(BedplateError, match="actions"):
        check_onnx(bad, contract)


def with_feature(task, func):
    return dataclasses.replace(task, features=(Feature("bad", 2, func), *task.features))


def test_refuses_a_feature_that_samples(tasks, models, normalizers):
    task = with_feature(tasks(), lambda s, m: s["position"] + torch.randn_like(s["position"]))
    with pytest.raises(BedplateError, match="RandomNormal"):
        to_onnx(graph_of(task, models, normalizers), contract_of(task))


def test_refuses_a_feature_that_branches_on_a_value(tasks, models, normalizers):
    task = with_feature(tasks(), lambda s, m: s["position"] if s["position"][0, 0] > 0 else -s["position"])
    with pytest.raises(BedplateError, match=r"test_onnx\.py:\d+ turns a tensor into a Python value"):
        to_onnx(graph_of(task, models, normalizers), contract_of(task))


def test_refuses_a_feature_that_onnx_has_no_operator_for(tasks, models, normalizers):
    task = with_feature(tasks(), lambda s, m: torch.special.bessel_j0(s["position"]))
    with pytest.raises(BedplateError, match="bessel"):
        to_onnx(graph_of(task, models, normalizers), contract_of(task))
