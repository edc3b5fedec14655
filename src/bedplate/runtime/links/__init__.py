"""How a robot and `bedplate serve` reach each other: links are named by URLs, `scheme://address`.

A new kind of link is one file with a class like `LinkScheme`, and one line in LINKS or an entry point.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol, cast

from bedplate.bundle.contract import Contract
from bedplate.core.errors import BedplateError
from bedplate.core.registry import Registry
from bedplate.runtime.links.frame import CommandMessage, StateMessage

RETRY_S = 0.1

LINKS = Registry("link scheme", {"unix": "bedplate.runtime.links.unix:UnixScheme"}, entry_points="bedplate.links")


class NoRobot(BedplateError):
    """Nobody listens at a link's address (yet)."""


class Link(Protocol):
    """One end of a connection whose other end agreed on the contract. Nothing here blocks but `wait`.

    Attributes:
        refused: reason -> number of frames that were not used; see `FrameRefused`.
        dropped: messages that could not be sent because the other side does not read.
        peer_gone: the other side closed the connection or died.
        peer_reason: what the other side said before it closed, if anything.
    """

    refused: Counter[str]
    dropped: int
    peer_gone: bool
    peer_reason: str

    def send(self, message: StateMessage | CommandMessage) -> bool:
        """Send a message; False when it could not be sent."""
        ...

    def drain(self) -> Sequence[StateMessage | CommandMessage]:
        """Every message that has arrived, oldest first; each sequence number is newer than the one before."""
        ...

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until something has arrived or the other side is gone; False after `timeout_s`."""
        ...

    def close(self) -> None:
        """Close this end."""
        ...


class Listener(Protocol):
    """The robot's side before a writer has come.

    Attributes:
        refusals: what was said to each writer that was turned away.
    """

    refusals: list[str]

    def accept(self) -> Link | None:
        """A writer that agrees on the contract, if one has come; never blocks. A second writer is turned away."""
        ...

    def wait(self, timeout_s: float) -> bool:
        """Wait until a writer knocks; False after `timeout_s`."""
        ...

    def close(self) -> None:
        """Stop listening and remove what was left in the file system."""
        ...


class LinkScheme(Protocol):
    """What a member of LINKS offers; static methods of a class will do."""

    def connect(self, address: str, contract: Contract) -> Link:
        """The writer's end: reach the robot at `address` and agree on the contract.

        Raises:
            NoRobot: nobody listens there.
            BedplateError: another writer drives the robot, or it speaks another language.
            ContractMismatch: the robot there has another contract; says what differs.
        """
        ...

    def listen(self, address: str, contract: Contract) -> Listener:
        """The robot's end.

        Raises:
            BedplateError: the address is taken or cannot be used; nothing there was changed.
        """
        ...


def connect(url: str, contract: Contract, wait_s: float = 0.0, on_wait: Callable[[], None] = lambda: None) -> Link:
    """Reach the robot at `url`, and give it `wait_s` to start listening; see `LinkScheme.connect`.

    `on_wait` is called once, when nobody listens yet.
    """
    scheme, address = _parse(url)
    until_s = time.monotonic() + wait_s
    told = False
    while True:
        try:
            return scheme.connect(address, contract)
        except NoRobot:
            if time.monotonic() >= until_s:
                raise
            if not told:
                on_wait()
                told = True
            time.sleep(RETRY_S)


def listen(url: str, contract: Contract) -> Listener:
    """Be a robot at `url`; see `LinkScheme.listen`."""
    scheme, address = _parse(url)
    return scheme.listen(address, contract)


def _parse(url: str) -> tuple[LinkScheme, str]:
    name, separator, address = url.partition("://")
    if not separator or not name or not address:
        raise BedplateError(
            f"link {url!r}", "SCHEME://ADDRESS, such as unix:///run/robot.sock", f"schemes: {', '.join(LINKS)}"
        )
    return cast(LinkScheme, LINKS.load(name)), address
