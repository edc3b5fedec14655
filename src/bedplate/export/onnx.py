"""policy.onnx: one file, one fixed operator set, batch of one, deterministic, named inputs and outputs."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence

import onnx
import torch
from torch.jit import TracerWarning  # type: ignore[attr-defined]

from bedplate.bundle.checks.graph import RANDOM_OPERATORS
from bedplate.bundle.contract import Contract
from bedplate.core.errors import BedplateError
from bedplate.export.actor import PolicyGraph

OPSET = 17
"""Operator set of every exported graph; ONNX Runtime reads it since 1.13."""


def to_onnx(graph: PolicyGraph, contract: Contract) -> bytes:
    """The content of policy.onnx.

    Args:
        graph: the policy.
        contract: written into the file's metadata by its hash.

    Raises:
        BedplateError: the graph holds something that ONNX has no operator for, or that depends on a sample's value.
    """
    example = tuple(torch.zeros(1, size) for size in graph.input_sizes)
    data = _trace(graph, example)
    model = onnx.load_model_from_string(data)
    model.producer_name = "bedplate"
    _restore_inputs(model, dict(zip(graph.input_names, graph.input_sizes, strict=True)))
    _add_metadata(model, contract)
    onnx.checker.check_model(model, full_check=True)
    check_onnx(model, contract)
    return model.SerializeToString()


def check_onnx(model: onnx.ModelProto, contract: Contract) -> None:
    """Check operators, names, shapes and that all data are inside.

    Raises:
        BedplateError: names the operator, input or output.
    """
    for node in model.graph.node:
        if node.op_type in RANDOM_OPERATORS:
            raise BedplateError(f"the policy graph holds the random operator {node.op_type}", "a deterministic policy")
        if node.domain not in ("", "ai.onnx"):
            raise BedplateError(f"the policy graph holds {node.domain}.{node.op_type}", "operators of ONNX itself")
    versions = {entry.domain: entry.version for entry in model.opset_import}
    if versions != {"": OPSET}:
        raise BedplateError(f"the policy graph uses the operator sets {versions}", f"only ONNX {OPSET}")
    for tensor in model.graph.initializer:
        if tensor.data_location != onnx.TensorProto.DEFAULT:
            raise BedplateError(f"the weights {tensor.name!r} lie in another file", "one file that holds all weights")
    # names and fixed shapes, in contract order
    inputs = {signal.name: signal.size for signal in contract.signals}
    inputs |= {f"memory.{term.name}": term.size for term in contract.memory}
    outputs = {"command": len(contract.channels)}
    outputs |= {f"memory.{term.name}.next": term.size for term in contract.memory}
    _check_values("inputs", model.graph.input, inputs)
    _check_values("outputs", model.graph.output, outputs)


def _trace(graph: PolicyGraph, example: tuple[torch.Tensor, ...]) -> bytes:
    buffer = io.BytesIO()
    try:
        with warnings.catch_warnings(record=True) as caught, torch.no_grad():
            warnings.simplefilter("always")
            # the tracing exporter: it needs no package beyond torch and writes one file
            torch.onnx.export(
                graph,
                example,
                buffer,  # type: ignore[arg-type]  # a file object is taken, the annotation is too narrow
                dynamo=False,
                opset_version=OPSET,
                input_names=list(graph.input_names),
                output_names=list(graph.output_names),
            )
    except (torch.onnx.errors.OnnxExporterError, RuntimeError) as error:
        raise BedplateError(
            f"task {graph.task.id!r}: the policy does not go into ONNX: {_first_line(error)}",
            f"torch operations that ONNX {OPSET} has",
            "write that feature with other torch operations",
        ) from error
    # a Python branch on a tensor's value would freeze one branch into the graph
    for warning in caught:
        if issubclass(warning.category, TracerWarning) and str(warning.message).startswith("Converting"):
            raise BedplateError(
                f"task {graph.task.id!r}: {warning.filename}:{warning.lineno} turns a tensor into a Python value",
                "torch operations only, such as torch.where instead of if",
            )
    return buffer.getvalue()


def _restore_inputs(model: onnx.ModelProto, sizes: dict[str, int]) -> None:
    # tracing drops what no feature reads; the robot feeds every signal of the contract all the same
    traced = {value.name for value in model.graph.input}
    for name, size in sizes.items():
        if name not in traced:
            model.graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, size]))
    place = {name: index for index, name in enumerate(sizes)}
    ordered = sorted(model.graph.input, key=lambda value: place.get(value.name, len(place)))
    del model.graph.input[:]
    model.graph.input.extend(ordered)


def _add_metadata(model: onnx.ModelProto, contract: Contract) -> None:
    model.metadata_props.add(key="bedplate.contract_hash", value=contract.hash)
    model.metadata_props.add(key="bedplate.channels", value=",".join(contract.channels))


def _check_values(kind: str, values: Sequence[onnx.ValueInfoProto], expected: dict[str, int]) -> None:
    found = {}
    for value in values:
        tensor = value.type.tensor_type
        dims = tuple(dim.dim_value or dim.dim_param or "?" for dim in tensor.shape.dim)
        found[value.name] = (onnx.TensorProto.DataType.Name(tensor.elem_type), dims)
    wanted = {name: ("FLOAT", (1, size)) for name, size in expected.items()}
    if list(found.items()) != list(wanted.items()):
        raise BedplateError(f"the policy graph has the {kind} {found}", f"{wanted}")


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0][:200]
