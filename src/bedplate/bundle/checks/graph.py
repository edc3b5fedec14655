"""What the bytes of policy.onnx tell without an ONNX library: no random operator, no data in other files.

ONNX is protobuf: a node's operator is field 4 of its message, so it stands in the file as 0x22, length, name.
"""

from __future__ import annotations

from pathlib import Path

from bedplate.core.errors import ContractMismatch

RANDOM_OPERATORS = (
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Multinomial",
    "Bernoulli",
    "Dropout",
)
"""Operators that no policy may hold; the exporter refuses the same ones."""

# first field of a TensorProto.external_data entry whose key is "location"
_EXTERNAL_LOCATION = b"\x0a\x08location"


# the exporter writes this metadata key; its value is a text of 64 (0x40) digits, field 2 of the entry
_CONTRACT_KEY = b"bedplate.contract_hash\x12\x40"


def check_graph(data: bytes, contract_hash: str, path: Path) -> None:
    """Check that the policy can be deterministic, is one file, and was exported for this contract.

    Raises:
        ContractMismatch: names the operator, the external data, or the other contract.
    """
    _, key, rest = data.partition(_CONTRACT_KEY)
    if not key:
        raise ContractMismatch(
            f"{path} does not say which contract it was exported for",
            f"the metadata bedplate.contract_hash = {contract_hash}",
            "export the bundle again with: bedplate export RUN",
        )
    if rest[:64] != contract_hash.encode():
        found = rest[:64].decode("ascii", "replace")
        raise ContractMismatch(f"{path} was exported for the contract {found}", f"{contract_hash}, as in bundle.json")
    for operator in RANDOM_OPERATORS:
        if bytes([0x22, len(operator)]) + operator.encode() in data:
            raise ContractMismatch(f"{path} holds the random operator {operator}", "a deterministic policy")
    if _EXTERNAL_LOCATION in data:
        raise ContractMismatch(f"{path} refers to data in another file", "one file that holds all weights")
