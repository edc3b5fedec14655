from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.links.conftest import ContractWith, Knock, accept

from bedplate.core.errors import BedplateError, ContractMismatch, UnknownName
from bedplate.runtime.links import NoRobot, connect, listen
from bedplate.runtime.links.frame import REFUSAL, CommandMessage, FrameCodec, StateMessage, TextMessage
from bedplate.runtime.links.unix import UnixLink, UnixListener

VALUES, AGES = np.arange(6.0), np.zeros(3)


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
    told: list[str] = []
    with pytest.raises(NoRobot):
        connect(url, contract_with(), wait_s=0.25, on_wait=lambda: told.append("waiting"))
    assert told == ["waiting"]
    with pytest.raises(NoRobot):
        connect(url, contract_with(), on_wait=lambda: told.append("without being asked to"))
    assert told == ["waiting"]


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
