from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from bedplate.bundle.contract import Contract
from bedplate.runtime.links.frame import (
    HEADER_BYTES,
    HELLO,
    CommandMessage,
    FrameCodec,
    FrameRefused,
    StateMessage,
    TextMessage,
)

VALUES = np.array([0.1, -0.0, 1e300, 5e-324, np.inf, np.nan])
AGES = np.array([0.0, 0.001, 2.0])


@pytest.fixture
def codec(contract_with: Callable[..., Contract]) -> FrameCodec:
    return FrameCodec(contract_with())


def refusal(codec: FrameCodec, data: bytes) -> str:
    with pytest.raises(FrameRefused) as refused:
        codec.decode(data)
    return refused.value.reason


def test_a_state_comes_back_bit_for_bit(codec: FrameCodec) -> None:
    sent = StateMessage(2**63, 2**62, 7, VALUES, AGES)
    read = codec.decode(codec.encode_state(sent))
    assert isinstance(read, StateMessage)
    assert (read.sequence, read.stamp_ns, read.episode) == (2**63, 2**62, 7)
    assert read.values.tobytes() == VALUES.tobytes() and read.ages_s.tobytes() == AGES.tobytes()


def test_a_command_comes_back_bit_for_bit(codec: FrameCodec) -> None:
    read = codec.decode(codec.encode_command(CommandMessage(1, 2, 3, 4, VALUES[:2])))
    assert isinstance(read, CommandMessage)
    assert (read.sequence, read.stamp_ns, read.state_sequence, read.state_stamp_ns) == (1, 2, 3, 4)
    assert read.values.tobytes() == VALUES[:2].tobytes()


def test_a_text_comes_back(codec: FrameCodec) -> None:
    sent = TextMessage(HELLO, "grüß dich")
    assert codec.decode(codec.encode_text(sent)) == sent


def test_every_torn_frame_is_refused(codec: FrameCodec) -> None:
    data = codec.encode_state(StateMessage(1, 2, 0, VALUES, AGES))
    for size in range(len(data)):
        assert refusal(codec, data[:size]) == ("short" if size < HEADER_BYTES else "length")
    assert refusal(codec, data + b"\0") == "length"


def test_every_flipped_bit_is_refused(codec: FrameCodec) -> None:
    data = codec.encode_command(CommandMessage(1, 2, 3, 4, VALUES[:2]))
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        assert refusal(codec, bytes(damaged)) in {"magic", "version", "length", "crc"}


def test_half_of_one_frame_and_half_of_the_next_are_refused(codec: FrameCodec) -> None:
    one = codec.encode_command(CommandMessage(1, 2, 3, 4, np.array([0.25, 0.5])))
    two = codec.encode_command(CommandMessage(2, 3, 4, 5, np.array([0.75, 1.0])))
    for cut in range(12, len(one) - 1):
        torn = one[:cut] + two[cut:]
        if torn not in (one, two):
            assert refusal(codec, torn) == "crc"


def test_a_frame_of_another_contract_is_refused(codec: FrameCodec, contract_with: Callable[..., Contract]) -> None:
    other = FrameCodec(contract_with(task="other"))
    assert refusal(codec, other.encode_command(CommandMessage(1, 2, 3, 4, VALUES[:2]))) == "contract"


def test_a_command_with_a_channel_too_many_is_refused(codec: FrameCodec) -> None:
    assert refusal(codec, codec.encode_command(CommandMessage(1, 2, 3, 4, VALUES[:3]))) == "length"


@given(st.binary(max_size=300))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_noise_is_refused(codec: FrameCodec, data: bytes) -> None:
    refusal(codec, data)
