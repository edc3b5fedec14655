"""What the bytes of policy.onnx tell without an ONNX library: no random operator, no data in other files.

ONNX is protobuf: a node's operator is field 4 of its message, so it stands in the file as 0x22, length, name.
"""

from __future__ import annotations

from pathlib import Path

from bedplate.core.errors import ContractMismatch

_RANDOM = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli")

# first field of a TensorProto.external_data entry whose key is "location"
_EXTERNAL_LOCATION = b"\x0a\x08location"


def check_graph(data: bytes, path: Path) -> None:
    """Check that the policy can be deterministic and is one file.

    Raises:
        ContractMismatch: names the operator, or the external data.
    """
    for operator in _RANDOM:
        if bytes([0x22, len(operator)]) + operator.encode() in data:
            raise ContractMismatch(f"{path} holds the random operator {operator}", "a deterministic policy")
    if _EXTERNAL_LOCATION in data:
        raise ContractMismatch(f"{path} refers to data in another file", "one file that holds all weights")
