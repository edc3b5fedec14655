"""The policy process's loop, in a thread of this one."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from bedplate.bundle.bundle import POLICY_ONNX, Bundle
from bedplate.runtime.links.frame import CommandMessage, StateMessage
from bedplate.runtime.links.unix import UnixLink
from bedplate.runtime.policy_process import PolicyProcess, answer_states


@pytest.fixture
def link(delta_bundle: Bundle) -> Iterator[UnixLink]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    other = UnixLink(theirs, delta_bundle.contract)
    thread = threading.Thread(target=answer_states, args=(delta_bundle, other), daemon=True)
    thread.start()
    mine = UnixLink(ours, delta_bundle.contract)
    yield mine
    mine.close()
    thread.join(10.0)
    other.close()
    assert not thread.is_alive()


def answer(link: UnixLink, sequence: int, episode: int = 0, sent: float | None = None) -> float:
    if sent is not None:
        assert link.send(CommandMessage(sequence, 0, 0, 0, np.full(2, sent)))
    assert link.send(StateMessage(sequence, 0, episode, np.zeros(6), np.zeros(3)))
    assert link.wait(30.0)
    (message,) = link.drain()
    assert isinstance(message, CommandMessage) and message.state_sequence == sequence
    return float(message.values[0])


def test_the_memory_holds_what_was_really_sent(link: UnixLink) -> None:
    assert answer(link, 1) == pytest.approx(0.3)
    assert answer(link, 2, sent=0.1) == pytest.approx(0.4)
    assert answer(link, 3, sent=0.2) == pytest.approx(0.5)
    # nothing was sent since: its own memory counts
    assert answer(link, 4) == pytest.approx(0.8)


def test_a_new_episode_forgets_what_was_sent(link: UnixLink) -> None:
    answer(link, 1, sent=0.7)
    assert answer(link, 2, episode=1) == pytest.approx(0.3)


# what ends it, in words


@pytest.fixture
def start(delta_bundle: Bundle) -> Iterator[Callable[[], PolicyProcess]]:
    """Starts a policy process on the bundle's folder."""
    started: list[PolicyProcess] = []

    def make() -> PolicyProcess:
        started.append(PolicyProcess(delta_bundle))
        return started[-1]

    yield make
    for process in started:
        process.close()


def why(process: PolicyProcess) -> str:
    process.process.wait(30.0)
    process.link.drain()
    assert process.link.peer_gone
    return process.why_it_ended()


def test_a_bundle_exported_anew_between_the_two_reads_is_refused(
    delta_bundle: Bundle, bundle_with: Callable[..., Bundle], start: Callable[[], PolicyProcess]
) -> None:
    # the same contract, another bundle
    anew = bundle_with(
        name="anew",
        policy=delta_bundle.policy_onnx.replace(b"delta", b"dolta"),
        memory=delta_bundle.contract.memory,
        position=False,
    )
    assert anew.contract.hash == delta_bundle.contract.hash
    for file in anew.folder.iterdir():
        (delta_bundle.folder / file.name).write_bytes(file.read_bytes())
    assert "was changed while it was being loaded" in why(start())


@pytest.mark.parametrize("damage", ["removed", "changed"])
def test_a_bundle_that_cannot_be_read_again_is_named(
    delta_bundle: Bundle, start: Callable[[], PolicyProcess], damage: str
) -> None:
    file = delta_bundle.folder / POLICY_ONNX
    if damage == "removed":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes() + b"x")
    assert "could not be read a second time" in why(start())


def test_a_file_in_the_current_folder_stands_in_for_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[[], PolicyProcess]
) -> None:
    (tmp_path / "socket.py").write_text("raise SystemExit(9)\n")
    monkeypatch.chdir(tmp_path)
    process = start()
    assert answer(process.link, 1) == pytest.approx(0.3)
