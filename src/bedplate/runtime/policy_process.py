"""The policy's own process: states come in over a socket, commands go back. It may stall or die; the writer copes."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from bedplate.bundle.bundle import Bundle, read_bundle
from bedplate.core.errors import BedplateError, ContractMismatch
from bedplate.runtime.links.frame import REFUSAL, CommandMessage, StateMessage, TextMessage
from bedplate.runtime.links.unix import UnixLink
from bedplate.runtime.priority import set_real_time_priority
from bedplate.runtime.signals import SignalLayout

END_TIMEOUT_S = 2.0

UNREADABLE_EXIT_CODE = 4
"""The bundle, which the writer had read, could not be read again."""
PR_SET_PDEATHSIG = 1


class PolicyProcess:
    """Starts the policy process and ends it.

    Args:
        bundle: whose policy it runs.
        priority: its real-time priority, 0 for none; the writer's should be higher.

    Attributes:
        link: to it: states out, commands back.
        process: the process.
    """

    def __init__(self, bundle: Bundle, priority: int = 0) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            arguments = [str(bundle.folder), bundle.info.bundle_hash, str(theirs.fileno()), str(priority)]
            # a session of its own: Ctrl-C must reach the writer first, which brings the robot to rest
            self.process = subprocess.Popen(
                # -P: a file of the current folder, such as a queue.py, must not stand in for a library
                [sys.executable, "-P", "-m", __name__, *arguments],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.link = UnixLink(ours, bundle.contract)

    def close(self) -> None:
        """End the process, even when it is stopped or hangs."""
        self.link.close()
        try:
            self.process.wait(0.2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(END_TIMEOUT_S)

    def why_it_ended(self) -> str:
        """In words, for a message; "" while it runs."""
        try:
            code = self.process.wait(0.5)
        except subprocess.TimeoutExpired:
            return ""
        if self.link.peer_reason:
            return self.link.peer_reason
        if code == UNREADABLE_EXIT_CODE:
            return "its bundle could not be read a second time: it was changed or removed while it was being loaded"
        return f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"it ended with exit code {code}"


def main(folder: str, bundle_hash: str, fd: str, priority: str) -> int:
    """Answer states until the writer closes its end."""
    _die_with_the_writer()
    with socket.socket(fileno=int(fd)) as sock:
        try:
            bundle = read_bundle(Path(folder))
        except BedplateError:
            # without a contract there is no frame to say why
            return UNREADABLE_EXIT_CODE
        link = UnixLink(sock, bundle.contract)
        try:
            if bundle.info.bundle_hash != bundle_hash:
                raise ContractMismatch(f"{folder} was changed while it was being loaded")
            return answer_states(bundle, link, int(priority))
        except BedplateError as error:
            link.send(TextMessage(REFUSAL, str(error)))
            return error.exit_code
        except ModuleNotFoundError as error:
            link.send(TextMessage(REFUSAL, f"{error.name} is not installed: pip install 'bedplate[runtime]'"))
            return 2


def _die_with_the_writer() -> None:
    """Let the kernel kill this process when the writer ends, even while it is stopped and cannot see its socket."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def answer_states(bundle: Bundle, link: UnixLink, priority: int = 0) -> int:
    """Load the policy and answer the newest state each time one has come."""
    # imported here, so that the writer, which starts this process, does not carry ONNX Runtime
    from bedplate.runtime.loop import no_garbage_collection
    from bedplate.runtime.policy import OnnxPolicy

    policy = OnnxPolicy(bundle)
    set_real_time_priority(priority)
    layout = SignalLayout(bundle.contract)
    episode = -1
    sequence = 0
    sent: np.ndarray | None = None
    with no_garbage_collection():
        while True:
            link.wait(None)
            # older states are skipped: their answers would be late; a command before a state is what was sent last
            state: StateMessage | None = None
            state_sent: np.ndarray | None = None
            for message in link.drain():
                if isinstance(message, CommandMessage):
                    sent = message.values
                else:
                    state, state_sent, sent = message, sent, None
            if link.peer_gone:
                return 0
            if state is None:
                continue
            if state.episode != episode:
                policy.reset()
                episode = state.episode
            command = policy.act(layout.unpack(state.values), state_sent)
            link.send(CommandMessage(sequence, time.monotonic_ns(), state.sequence, state.stamp_ns, command))
            sequence += 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
