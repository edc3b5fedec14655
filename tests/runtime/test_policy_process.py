"""The policy process's loop, in a thread of this one."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from bedplate.bundle.bundle import Bundle
from bedplate.runtime.links.frame import CommandMessage, StateMessage
from bedplate.runtime.links.unix import UnixLink
from bedplate.runtime.policy_process import answer_states


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
