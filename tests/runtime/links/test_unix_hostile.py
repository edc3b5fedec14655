"""What a hostile or broken peer may do to either end of a Unix link."""

from __future__ import annotations

import os
import resource
import socket
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.links.conftest import ContractWith, Knock, accept

from bedplate.core.errors import BedplateError
from bedplate.runtime.links import connect
from bedplate.runtime.links.frame import HELLO, REFUSAL, CommandMessage, FrameCodec, StateMessage, TextMessage
from bedplate.runtime.links.unix import MOST_KNOCKING, UnixLink, UnixListener

VALUES, AGES = np.arange(6.0), np.zeros(3)


def greet(listener: UnixListener, url: str, data: bytes) -> str:
    """Send `data` as a greeting; returns the answer, "" when the door was closed without one."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
        stranger.connect(url.removeprefix("unix://"))
        stranger.send(data)
        listener.wait(1.0)
        assert listener.accept() is None
        stranger.settimeout(1.0)
        return stranger.recv(1 << 20).decode(errors="replace")


@pytest.mark.parametrize("kind", ["state", "command", "refusal"])
def test_a_greeting_that_is_no_hello_is_turned_away(
    listener: UnixListener, url: str, contract_with: ContractWith, kind: str
) -> None:
    codec = FrameCodec(contract_with())
    greeting = {
        "state": codec.encode_state(StateMessage(1, 0, 0, VALUES, AGES)),
        "command": codec.encode_command(CommandMessage(1, 0, 0, 0, np.zeros(2))),
        "refusal": codec.encode_text(TextMessage(REFUSAL, "go away")),
    }[kind]
    assert "must send its contract first" in greet(listener, url, greeting)
    assert listener.refusals == ["a writer must send its contract first"]
    # and the door is still open
    knock = Knock(url, contract_with())
    assert accept(listener, knock) is not None
    assert knock.link is not None
    knock.link.close()


@pytest.mark.parametrize("text", ["", "[" * 50_000, '{"task": 1}', "NaN period", "infinite limit"])
def test_a_contract_that_cannot_be_read_is_turned_away(
    listener: UnixListener, url: str, contract_with: ContractWith, text: str
) -> None:
    contract = contract_with()
    if text == "NaN period":
        text = contract.model_dump_json().replace('"control_dt_s":0.02', '"control_dt_s":NaN')
        assert "NaN" in text
    elif text == "infinite limit":
        text = contract.model_dump_json().replace('"high":50.0', '"high":Infinity')
        assert "Infinity" in text
    greet(listener, url, FrameCodec(contract).encode_text(TextMessage(HELLO, text)))
    assert "cannot read" in listener.refusals[0]


def test_many_silent_strangers_leave_room_for_a_writer(
    listener: UnixListener, url: str, contract_with: ContractWith
) -> None:
    strangers = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(100)]
    try:
        for stranger in strangers:
            stranger.connect(url.removeprefix("unix://"))
            assert listener.accept() is None
        assert len(listener._knocking) == MOST_KNOCKING
        knock = Knock(url, contract_with())
        assert accept(listener, knock) is not None
        assert knock.link is not None
        knock.link.close()
    finally:
        for stranger in strangers:
            stranger.close()


def test_a_process_without_file_descriptors_keeps_its_links(
    ends: tuple[UnixLink, UnixLink], listener: UnixListener, url: str
) -> None:
    robot, writer = ends
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
        stranger.connect(url.removeprefix("unix://"))
        # descriptors below the limit may be used, so the limit is set below the next one
        lowest_free = os.dup(0)
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
        try:
            assert listener.accept() is None
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert robot.send(StateMessage(1, 0, 0, VALUES, AGES)) and len(writer.drain()) == 1


def test_what_a_peer_says_cannot_steer_the_terminal(ends: tuple[UnixLink, UnixLink]) -> None:
    robot, writer = ends
    robot.send(TextMessage(REFUSAL, "\x1b[2Jgone\r\n" + 10_000 * "x"))
    assert writer.drain() == []
    assert writer.peer_reason.startswith("?[2Jgone?\n") and len(writer.peer_reason) <= 2000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may use every socket")
def test_a_socket_of_somebody_else_is_named(listener: UnixListener, url: str, contract_with: ContractWith) -> None:
    os.chmod(url.removeprefix("unix://"), 0)
    with pytest.raises(BedplateError, match="Permission denied") as error:
        connect(url, contract_with())
    assert "owner" in error.value.expected


def test_a_socket_of_another_type_is_named(tmp_path: Path, contract_with: ContractWith) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
        stream.bind(f"{tmp_path}/robot.sock")
        stream.listen()
        with pytest.raises(BedplateError, match="of another type"):
            connect(f"unix://{tmp_path}/robot.sock", contract_with())


def test_a_robot_that_takes_no_connection_is_named(url: str, contract_with: ContractWith) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stopped:
        stopped.bind(url.removeprefix("unix://"))
        stopped.listen(0)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as first:
            first.connect(url.removeprefix("unix://"))
            with pytest.raises(BedplateError, match="takes no connection"):
                connect(url, contract_with())
