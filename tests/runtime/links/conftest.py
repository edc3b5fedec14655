"""Both ends of a Unix link: a listening robot, and writers that connect in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bedplate.bundle.contract import Contract
from bedplate.core.errors import BedplateError
from bedplate.runtime.links import connect, listen
from bedplate.runtime.links.unix import UnixLink, UnixListener

ContractWith = Callable[..., Contract]


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
