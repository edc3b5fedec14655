from __future__ import annotations

import os
import resource
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from bedplate.bundle.contract import Contract
from bedplate.core.errors import BedplateError, ContractMismatch, UnknownName
from bedplate.runtime.links import NoRobot, connect, listen
from bedplate.runtime.links.frame import HELLO, REFUSAL, CommandMessage, FrameCodec, StateMessage, TextMessage
from bedplate.runtime.links.unix import MOST_KNOCKING, UnixLink, UnixListener

ContractWith = Callable[..., Contract]
VALUES, AGES = np.arange(6.0), np.zeros(3)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"unix://{tmp_path}/robot.sock"


@pytest.fixture
def listener(url: str, contract_with: ContractWith) -> Iterator[UnixListener]:
    made = listen(url, contract_with())
    assert isinstance(made, UnixListener)
    yield made
    made.close()


class Knock(threading.Thread):
    """Connects in the background, as a writer in another process would."""

    def __init__(self, url: str, contract: Contract) -> None:
        super().__init__(daemon=True)
        self.url, self.contract = url, contract
        self.link: UnixLink | None = None
        self.error: BedplateError | None = None
        self.start()

    def run(self) -> None:
        try:
            link = connect(self.url, self.contract)
            assert isinstance(link, UnixLink)
            self.link = link
        except BedplateError as error:
            self.error = error


def accept(listener: UnixListener, knock: Knock) -> UnixLink | None:
    link = None
    while link is None and (knock.is_alive() or listener.wait(0.0)):
        listener.wait(0.01)
        link = listener.accept()
    knock.join(2.0)
    return link


@pytest.fixture
def ends(listener: UnixListener, url: str, contract_with: ContractWith) -> Iterator[tuple[UnixLink, UnixLink]]:
    """The robot's end and the writer's end."""
    knock = Knock(url, contract_with())
    robot = accept(listener, knock)
    assert robot is not None and knock.link is not None
    yield robot, knock.link
    robot.close()
    knock.link.close()


def test_states_and_commands_go_across(ends: tuple[UnixLink, UnixLink]) -> None:
    robot, writer = ends
    assert writer.drain() == [] and not writer.wait(0.0)
    for sequence in range(3):
        assert robot.send(StateMessage(sequence, sequence, 0, VALUES, AGES))
    assert writer.wait(1.0)
    assert [state.sequence for state in writer.drain()] == [0, 1, 2]
    assert writer.send(CommandMessage(0, 1, 2, 3, VALUES[:2]))
    (command,) = robot.drain()
    assert isinstance(command, CommandMessage) and command.values.tolist() == [0.0, 1.0]


def test_a_repeated_and_a_backward_sequence_are_refused_and_counted(ends: tuple[UnixLink, UnixLink]) -> None:
    robot, writer = ends
    for sequence in (5, 5, 4, 6):
        robot.send(StateMessage(sequence, 0, 0, VALUES, AGES))
    assert [state.sequence for state in writer.drain()] == [5, 6]
    assert writer.refused == {"sequence": 2}


def test_damaged_torn_and_foreign_packets_are_refused_and_counted(
    ends: tuple[UnixLink, UnixLink], contract_with: ContractWith
) -> None:
    robot, writer = ends
    good = FrameCodec(contract_with()).encode_state(StateMessage(1, 2, 0, VALUES, AGES))
    foreign = FrameCodec(contract_with(task="other")).encode_state(StateMessage(1, 2, 0, VALUES, AGES))
    damaged = good[:-1] + bytes([good[-1] ^ 1])
    # the robot's socket, used by something that is not our robot
    with socket.socket(fileno=os.dup(robot.fileno())) as raw:
        for data in (damaged, good[:-3], foreign, b"x", good + b"\0" * 100_000, good):
            raw.send(data)
        assert [state.sequence for state in writer.drain()] == [1]
    assert writer.refused == {"crc": 1, "length": 2, "contract": 1, "short": 1}
    assert not writer.peer_gone


def test_a_peer_that_does_not_read_never_blocks_the_sender(ends: tuple[UnixLink, UnixLink]) -> None:
    robot, writer = ends
    sent = 0
    while robot.send(StateMessage(sent, 0, 0, VALUES, AGES)):
        sent += 1
        assert sent < 100_000
    assert robot.dropped == 1 and not robot.peer_gone
    assert len(writer.drain()) == sent


def test_a_peer_that_has_gone_is_noticed_on_both_ways(ends: tuple[UnixLink, UnixLink]) -> None:
    robot, writer = ends
    writer.send(CommandMessage(0, 1, 2, 3, VALUES[:2]))
    writer.close()
    # what was sent before is not lost
    assert len(robot.drain()) == 1 and robot.peer_gone
    assert not robot.send(StateMessage(0, 0, 0, VALUES, AGES))


def test_what_a_peer_said_before_it_left_is_heard_even_after_a_failed_send(
    ends: tuple[UnixLink, UnixLink],
) -> None:
    robot, writer = ends
    robot.send(TextMessage(REFUSAL, "out of order"))
    robot.close()
    assert not writer.send(CommandMessage(0, 1, 2, 3, VALUES[:2])) and writer.peer_gone
    assert writer.drain() == [] and writer.peer_reason == "out of order"


def test_only_the_owner_may_use_the_socket(listener: UnixListener, url: str) -> None:
    mode = os.stat(url.removeprefix("unix://")).st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600


def test_a_second_writer_is_turned_away_and_a_later_one_is_not(
    ends: tuple[UnixLink, UnixLink], listener: UnixListener, url: str, contract_with: ContractWith
) -> None:
    robot, writer = ends
    second = Knock(url, contract_with())
    assert accept(listener, second) is None
    assert second.error is not None and "another writer" in str(second.error)
    assert listener.refusals == ["another writer drives this robot"]
    # the first one is not disturbed
    assert robot.send(StateMessage(0, 0, 0, VALUES, AGES)) and len(writer.drain()) == 1
    writer.close()
    robot.drain()
    third = Knock(url, contract_with())
    assert accept(listener, third) is not None
    assert third.link is not None
    third.link.close()


def test_a_bundle_of_another_task_is_refused_by_both_sides(
    listener: UnixListener, url: str, contract_with: ContractWith
) -> None:
    knock = Knock(url, contract_with(task="other"))
    assert accept(listener, knock) is None
    assert isinstance(knock.error, ContractMismatch)
    assert "'other'" in knock.error.found and "'tiny'" in knock.error.expected and url in knock.error.expected
    assert "'other'" in listener.refusals[0]


def test_a_changed_limit_is_named(listener: UnixListener, url: str, contract_with: ContractWith) -> None:
    knock = Knock(url, contract_with(rate_per_s=6.0))
    assert accept(listener, knock) is None
    assert isinstance(knock.error, ContractMismatch) and "rate_per_s = 6.0" in knock.error.found


def test_who_does_not_speak_the_frames_is_turned_away(listener: UnixListener, url: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
        stranger.connect(url.removeprefix("unix://"))
        stranger.send(b"hello")
        listener.wait(1.0)
        assert listener.accept() is None
    assert "greeting" in listener.refusals[0]


def test_a_silent_stranger_does_not_hold_up_a_writer(
    listener: UnixListener, url: str, contract_with: ContractWith
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
        silent.connect(url.removeprefix("unix://"))
        knock = Knock(url, contract_with())
        assert accept(listener, knock) is not None
    assert knock.link is not None
    knock.link.close()


def test_no_robot(url: str, contract_with: ContractWith) -> None:
    with pytest.raises(NoRobot, match="no robot listens"):
        connect(url, contract_with())


def test_a_writer_may_wait_for_a_robot(url: str, contract_with: ContractWith) -> None:
    with pytest.raises(NoRobot):
        connect(url, contract_with(), wait_s=0.25)


def leave_stale(path: str) -> None:
    """A robot that was killed: bind, listen, SIGKILL."""
    code = (
        "import os, signal, socket\n"
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        f"s.bind({path!r}); s.listen(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9


def test_what_a_killed_robot_left_is_named_and_left_alone(url: str, contract_with: ContractWith) -> None:
    path = url.removeprefix("unix://")
    leave_stale(path)
    before = os.stat(path)
    with pytest.raises(BedplateError, match="killed robot left behind") as error:
        listen(url, contract_with())
    assert error.value.next_step == f"rm {path}"
    with pytest.raises(NoRobot, match="no robot listens"):
        connect(url, contract_with())
    assert os.stat(path).st_ino == before.st_ino


def test_a_path_in_use_is_refused(listener: UnixListener, url: str, contract_with: ContractWith) -> None:
    with pytest.raises(BedplateError, match="another process listens"):
        listen(url, contract_with())
    # and its owner still works
    knock = Knock(url, contract_with())
    assert accept(listener, knock) is not None
    assert knock.link is not None
    knock.link.close()


def test_a_file_is_not_overwritten(tmp_path: Path, contract_with: ContractWith) -> None:
    file = tmp_path / "robot.sock"
    file.write_text("precious")
    with pytest.raises(BedplateError, match="is not a socket"):
        listen(f"unix://{file}", contract_with())
    assert file.read_text() == "precious"


def test_a_path_that_is_too_long_is_refused_on_both_sides(tmp_path: Path, contract_with: ContractWith) -> None:
    url = f"unix://{tmp_path}/{'x' * 120}"
    for side in (connect, listen):
        with pytest.raises(BedplateError, match="bytes") as error:
            side(url, contract_with())
        assert "107" in error.value.expected


def test_an_absent_folder_is_refused(tmp_path: Path, contract_with: ContractWith) -> None:
    with pytest.raises(BedplateError, match="cannot listen"):
        listen(f"unix://{tmp_path}/absent/robot.sock", contract_with())


def test_closing_removes_only_its_own_socket(tmp_path: Path, contract_with: ContractWith) -> None:
    path = tmp_path / "robot.sock"
    listener = listen(f"unix://{path}", contract_with())
    path.unlink()
    path.write_text("somebody else's")
    listener.close()
    assert path.read_text() == "somebody else's"


@pytest.mark.parametrize("url", ["robot.sock", "unix://", "://robot.sock", ""])
def test_what_is_no_url_is_refused(url: str, contract_with: ContractWith) -> None:
    with pytest.raises(BedplateError, match="link"):
        connect(url, contract_with())


def test_an_unknown_scheme_names_the_nearest(contract_with: ContractWith) -> None:
    with pytest.raises(UnknownName, match="unix") as error:
        connect("unx://robot.sock", contract_with())
    assert error.value.nearest == "unix"


def test_states_and_commands_are_counted_apart(ends: tuple[UnixLink, UnixLink]) -> None:
    robot, writer = ends
    robot.send(StateMessage(9, 0, 0, VALUES, AGES))
    robot.send(CommandMessage(3, 0, 0, 0, np.zeros(2)))
    robot.send(StateMessage(10, 0, 0, VALUES, AGES))
    assert [message.sequence for message in writer.drain()] == [9, 3, 10] and not writer.refused


# what a hostile or broken peer may send


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
