"""The binary frame of every byte link: states one way, commands the other.

Little endian, 88 bytes of header, then the payload:
magic, version, kind, contract hash (32 bytes), sequence, CLOCK_MONOTONIC stamp in ns, sequence and stamp of the state
that a command answers, episode, payload size in bytes, CRC32 of everything else, 4 unused bytes.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np

from bedplate.bundle.contract import Contract

MAGIC = b"BEDP"
VERSION = 1
STATE, COMMAND, HELLO, REFUSAL = 1, 2, 3, 4
_HEADER = struct.Struct("<4sHH32sQqQqIII4x")
HEADER_BYTES = _HEADER.size
LONGEST_REASON_BYTES = 2000
_CRC = struct.Struct("<I")
_CRC_OFFSET = HEADER_BYTES - 8


class FrameRefused(Exception):
    """A frame that is not used.

    Args:
        reason: one word: "short", "magic", "version", "kind", "contract", "length", "crc" or "sequence".
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True, eq=False)
class StateMessage:
    """What a robot measured.

    Attributes:
        sequence: from 1, grows by one with every state.
        stamp_ns: when it was sent, CLOCK_MONOTONIC.
        episode: changes when the robot was put somewhere else and its past no longer counts.
        values: (num_values,) float64: all signals in contract order, in physical units.
        ages_s: (num_signals,) float64: how old each signal was when the state was sent.
    """

    sequence: int
    stamp_ns: int
    episode: int
    values: np.ndarray
    ages_s: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class CommandMessage:
    """What a robot shall do.

    Attributes:
        sequence: grows by one with every command.
        stamp_ns: when it was sent, CLOCK_MONOTONIC.
        state_sequence, state_stamp_ns: of the newest state that the policy answered; 0 before its first answer.
        values: (num_channels,) float64, in physical units.
    """

    sequence: int
    stamp_ns: int
    state_sequence: int
    state_stamp_ns: int
    values: np.ndarray


@dataclass(frozen=True, slots=True)
class TextMessage:
    """A sentence of the handshake.

    Attributes:
        kind: HELLO, whose text is the sender's contract as JSON, or REFUSAL, whose text says why.
        text: see there.
    """

    kind: int
    text: str


Message = StateMessage | CommandMessage | TextMessage


class FrameCodec:
    """Frames of one contract.

    Args:
        contract: both sides' contract; frames that carry another hash are refused.
    """

    def __init__(self, contract: Contract) -> None:
        self._hash = bytes.fromhex(contract.hash)
        self._num_values = sum(signal.size for signal in contract.signals)
        self._num_signals = len(contract.signals)
        self._num_channels = len(contract.channels)

    @property
    def largest_bytes(self) -> int:
        """Size of the larger of a state and a command."""
        return HEADER_BYTES + 8 * max(self._num_values + self._num_signals, self._num_channels)

    def encode_state(self, message: StateMessage) -> bytes:
        """Bytes of a state."""
        payload = message.values.tobytes() + message.ages_s.tobytes()
        return self._encode(STATE, payload, message.sequence, message.stamp_ns, episode=message.episode)

    def encode_command(self, message: CommandMessage) -> bytes:
        """Bytes of a command."""
        answered = (message.state_sequence, message.state_stamp_ns)
        return self._encode(COMMAND, message.values.tobytes(), message.sequence, message.stamp_ns, answered)

    def encode_text(self, message: TextMessage) -> bytes:
        """Bytes of a sentence of the handshake; a long reason is cut, so that it fits into the reader's buffer."""
        data = message.text.encode(errors="replace")
        return self._encode(message.kind, data[:LONGEST_REASON_BYTES] if message.kind == REFUSAL else data, 0, 0)

    def decode(self, data: bytes) -> Message:
        """Check and read a frame.

        Raises:
            FrameRefused: the frame is torn, damaged, of another version or of another contract.
        """
        if len(data) < HEADER_BYTES:
            raise FrameRefused("short")
        magic, version, kind, contract, sequence, stamp_ns, state_sequence, state_stamp_ns, episode, size, crc = (
            _HEADER.unpack_from(data)
        )
        if magic != MAGIC:
            raise FrameRefused("magic")
        if version != VERSION:
            raise FrameRefused("version")
        if size != len(data) - HEADER_BYTES:
            raise FrameRefused("length")
        if crc != _crc(data):
            raise FrameRefused("crc")
        # the handshake carries any contract: it is there to compare them
        if kind == HELLO:
            return TextMessage(kind, data[HEADER_BYTES:].decode(errors="replace"))
        if kind == REFUSAL:
            return TextMessage(kind, _plain_text(data[HEADER_BYTES:]))
        if contract != self._hash:
            raise FrameRefused("contract")
        if kind == STATE:
            split = self._num_values
            values = self._floats(data, split + self._num_signals)
            return StateMessage(sequence, stamp_ns, episode, values[:split], values[split:])
        if kind == COMMAND:
            values = self._floats(data, self._num_channels)
            return CommandMessage(sequence, stamp_ns, state_sequence, state_stamp_ns, values)
        raise FrameRefused("kind")

    def _floats(self, data: bytes, count: int) -> np.ndarray:
        if len(data) - HEADER_BYTES != 8 * count:
            raise FrameRefused("length")
        return np.frombuffer(data, np.float64, count, HEADER_BYTES)

    def _encode(
        self,
        kind: int,
        payload: bytes,
        sequence: int,
        stamp_ns: int,
        answered: tuple[int, int] = (0, 0),
        episode: int = 0,
    ) -> bytes:
        frame = bytearray(
            _HEADER.pack(MAGIC, VERSION, kind, self._hash, sequence, stamp_ns, *answered, episode, len(payload), 0)
        )
        frame += payload
        _CRC.pack_into(frame, _CRC_OFFSET, _crc(frame))
        return bytes(frame)


def _plain_text(data: bytes) -> str:
    """What a peer said, fit for a terminal: of bounded length, and without control characters."""
    text = data[:LONGEST_REASON_BYTES].decode(errors="replace")
    return "".join(character if character.isprintable() or character == "\n" else "?" for character in text)


def _crc(frame: bytes | bytearray) -> int:
    """CRC32 of a frame without its own CRC field."""
    view = memoryview(frame)
    return zlib.crc32(view[_CRC_OFFSET + 4 :], zlib.crc32(view[:_CRC_OFFSET]))
