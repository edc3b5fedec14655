"""unix://PATH: a SOCK_SEQPACKET socket in the file system, mode 0600; one packet is one frame."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections import Counter

from bedplate.bundle.checks.contract import check_same_contract
from bedplate.bundle.contract import Contract
from bedplate.core.errors import BedplateError, ContractMismatch
from bedplate.runtime.links.frame import (
    HELLO,
    REFUSAL,
    CommandMessage,
    FrameCodec,
    FrameRefused,
    StateMessage,
    TextMessage,
)
from bedplate.runtime.links.unix_path import (
    HANDSHAKE_TIMEOUT_S,
    bind_error,
    check_length,
    connect_error,
    new_socket,
)

LARGEST_HELLO_BYTES = 1 << 20
LONGEST_DRAIN = 4096
MOST_KNOCKING = 16
"""Connections that may wait with their greeting at the same time; the one that has waited longest makes room."""


class UnixLink:
    """One end of a connected socket; see `Link`.

    Args:
        sock: a connected SOCK_SEQPACKET socket; it is closed by close().
        contract: both sides' contract.
    """

    def __init__(self, sock: socket.socket, contract: Contract) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._codec = FrameCodec(contract)
        # one byte more than any frame: a longer packet is cut there and refused by its length
        self._buffer_bytes = max(self._codec.largest_bytes, 4096) + 1
        self._newest = {StateMessage: -1, CommandMessage: -1}
        self.refused: Counter[str] = Counter()
        self.dropped = 0
        self.peer_gone = False
        self.peer_reason = ""

    def fileno(self) -> int:
        """The socket's file descriptor."""
        return self._sock.fileno()

    def send(self, message: StateMessage | CommandMessage | TextMessage) -> bool:
        """Send a message; False when the other side is gone or does not read."""
        if isinstance(message, StateMessage):
            data = self._codec.encode_state(message)
        elif isinstance(message, CommandMessage):
            data = self._codec.encode_command(message)
        else:
            data = self._codec.encode_text(message)
        try:
            self._sock.send(data, socket.MSG_NOSIGNAL)
        except BlockingIOError:
            self.dropped += 1
            return False
        except OSError:
            self.peer_gone = True
            return False
        return True

    def drain(self) -> list[StateMessage | CommandMessage]:
        """Every message that has arrived, oldest first; damaged and repeated ones are counted and left out."""
        messages: list[StateMessage | CommandMessage] = []
        # a peer that is gone may have said why; one that never stops talking is read on in the next call
        for _ in range(LONGEST_DRAIN):
            try:
                data = self._sock.recv(self._buffer_bytes)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                self.peer_gone = True
                break
            try:
                message = self._codec.decode(data)
                if isinstance(message, TextMessage):
                    self._hear(message)
                elif message.sequence <= self._newest[type(message)]:
                    raise FrameRefused("sequence")
                else:
                    self._newest[type(message)] = message.sequence
                    messages.append(message)
            except FrameRefused as refused:
                self.refused[refused.reason] += 1
        return messages

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until something has arrived or the other side is gone; False after `timeout_s`."""
        # select counts microseconds; poll would round the deadline to milliseconds
        return bool(select.select((self._sock,), (), (), None if timeout_s is None else max(timeout_s, 0.0))[0])

    def close(self) -> None:
        """Close this end."""
        self._sock.close()

    def _hear(self, message: TextMessage) -> None:
        if message.kind == REFUSAL:
            self.peer_reason = message.text
            self.peer_gone = True
        else:
            raise FrameRefused("kind")


class UnixListener:
    """A listening socket; see `Listener`.

    Args:
        path: of the socket; it is created here and removed by close().
        contract: of the robot.

    Raises:
        BedplateError: the path is too long, taken or cannot be made; nothing there was changed.
    """

    def __init__(self, path: str, contract: Contract) -> None:
        check_length(path)
        self._path = path
        self._contract = contract
        self._codec = FrameCodec(contract)
        self._knocking: list[tuple[socket.socket, float]] = []
        self._link: UnixLink | None = None
        self.refusals: list[str] = []
        self._sock = new_socket()
        # the mode must be right from the first moment
        mask = os.umask(0o177)
        try:
            self._sock.bind(path)
        except OSError as error:
            self._sock.close()
            raise bind_error(path, error) from error
        finally:
            os.umask(mask)
        self._sock.listen(4)
        self._sock.setblocking(False)
        self._inode = os.stat(path).st_ino

    def accept(self) -> UnixLink | None:
        """A writer that agrees on the contract, if one has come; never blocks."""
        # none waits, or this process has no file descriptor left for it: then it is looked after in a later call
        with contextlib.suppress(OSError):
            for _ in range(MOST_KNOCKING):
                knocking, _ = self._sock.accept()
                knocking.setblocking(False)
                self._knocking.append((knocking, time.monotonic() + HANDSHAKE_TIMEOUT_S))
        for silent, _ in self._knocking[:-MOST_KNOCKING]:
            silent.close()
        del self._knocking[:-MOST_KNOCKING]
        for entry in list(self._knocking):
            knocking, until_s = entry
            try:
                data = knocking.recv(LARGEST_HELLO_BYTES)
            except BlockingIOError:
                if time.monotonic() < until_s:
                    continue
                data = b""
            except OSError:
                data = b""
            self._knocking.remove(entry)
            link = self._greet(knocking, data)
            if link is not None:
                return link
            knocking.close()
        return None

    def wait(self, timeout_s: float) -> bool:
        """Wait until a writer knocks; False after `timeout_s`."""
        waiting = [self._sock, *(knocking for knocking, _ in self._knocking)]
        return bool(select.select(waiting, (), (), max(timeout_s, 0.0))[0])

    def close(self) -> None:
        """Stop listening and remove the socket from the file system, if it is still ours."""
        for knocking, _ in self._knocking:
            knocking.close()
        self._sock.close()
        with contextlib.suppress(OSError):
            if os.stat(self._path).st_ino == self._inode:
                os.unlink(self._path)

    def _greet(self, knocking: socket.socket, data: bytes) -> UnixLink | None:
        """Answer a writer's greeting; None when it was turned away."""
        try:
            hello = self._codec.decode(data)
        except FrameRefused as refused:
            if data:
                self._turn_away(knocking, f"the greeting is not one of this version of bedplate ({refused.reason})")
            return None
        if not isinstance(hello, TextMessage) or hello.kind != HELLO:
            self._turn_away(knocking, "a writer must send its contract first")
            return None
        if self._link is not None and not self._link.peer_gone:
            self._turn_away(knocking, "another writer drives this robot")
            return None
        # both sides compare, and each says what differs
        with contextlib.suppress(OSError):
            knocking.send(self._codec.encode_text(_hello(self._contract)), socket.MSG_NOSIGNAL)
        try:
            check_same_contract(_read_hello(hello, "the writer"), self._contract, "this robot")
        except ContractMismatch as mismatch:
            self.refusals.append(f"{mismatch.found}; expected {mismatch.expected}")
            return None
        self._link = UnixLink(knocking, self._contract)
        return self._link

    def _turn_away(self, knocking: socket.socket, why: str) -> None:
        self.refusals.append(why)
        with contextlib.suppress(OSError):
            knocking.send(self._codec.encode_text(TextMessage(REFUSAL, why)), socket.MSG_NOSIGNAL)


class UnixScheme:
    """unix://PATH as a member of LINKS."""

    @staticmethod
    def connect(address: str, contract: Contract) -> UnixLink:
        """Reach the robot that listens at the path `address`; see `LinkScheme.connect`."""
        url = f"unix://{address}"
        check_length(address)
        sock = new_socket()
        try:
            sock.settimeout(HANDSHAKE_TIMEOUT_S)
            sock.connect(address)
            sock.send(FrameCodec(contract).encode_text(_hello(contract)), socket.MSG_NOSIGNAL)
            answer = FrameCodec(contract).decode(sock.recv(LARGEST_HELLO_BYTES))
            if not isinstance(answer, TextMessage):
                raise FrameRefused("kind")
            if answer.kind == REFUSAL:
                raise BedplateError(
                    f"the robot on {url} refused: {answer.text}", "a robot without a writer", "end the other writer"
                )
            check_same_contract(contract, _read_hello(answer, url), f"the robot on {url}")
        except FrameRefused as refused:
            sock.close()
            raise BedplateError(
                f"what listens on {url} does not speak this version of bedplate's frames ({refused.reason})",
                "bedplate robot, or a robot that speaks frame version 1",
            ) from None
        except OSError as error:
            sock.close()
            raise connect_error(address, error) from error
        except BedplateError:
            sock.close()
            raise
        return UnixLink(sock, contract)

    @staticmethod
    def listen(address: str, contract: Contract) -> UnixListener:
        """Listen at the path `address`; see `LinkScheme.listen`."""
        return UnixListener(address, contract)


def _hello(contract: Contract) -> TextMessage:
    return TextMessage(HELLO, contract.model_dump_json())


def _read_hello(hello: TextMessage, whose: str) -> Contract:
    try:
        contract = Contract.model_validate_json(hello.text)
        # a number that is not finite can be read, and has no place in a hash
        _ = contract.hash
        return contract
    except ValueError:
        raise ContractMismatch(
            f"{whose} sent a contract that this version of bedplate cannot read", "the same version on both sides"
        ) from None
