"""What can be wrong with the path of a socket, in words."""

from __future__ import annotations

import errno
import os
import socket
import stat

from bedplate.core.errors import BedplateError
from bedplate.runtime.links import NoRobot

LONGEST_PATH_BYTES = 107
HANDSHAKE_TIMEOUT_S = 5.0


def new_socket() -> socket.socket:
    """An unconnected socket that keeps packets whole and in order."""
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def check_length(path: str) -> None:
    """Refuse a path that no socket can have.

    Raises:
        BedplateError: says how long it may be.
    """
    size = len(os.fsencode(path))
    if size > LONGEST_PATH_BYTES:
        raise BedplateError(
            f"the socket path {path} has {size} bytes",
            f"at most {LONGEST_PATH_BYTES}, a limit of the kernel",
            "choose a shorter one, such as unix:///tmp/robot.sock",
        )


def connect_error(path: str, error: OSError) -> BedplateError:
    """Say in words why nobody could be reached at `path`."""
    url = f"unix://{path}"
    if error.errno == errno.ENOENT:
        return NoRobot(
            f"no robot listens on {url}: there is no such socket", "a robot", f"bedplate robot TASK --link {url}"
        )
    if error.errno == errno.ECONNREFUSED:
        return NoRobot(
            f"no robot listens on {url}: the file is all that a killed robot left, or it is no socket",
            "a robot",
            f"look at it with `ls -l {path}`, remove it, and start: bedplate robot TASK --link {url}",
        )
    if isinstance(error, TimeoutError):
        return BedplateError(
            f"what listens on {url} did not answer within {HANDSHAKE_TIMEOUT_S:.0f} s", "a running robot"
        )
    if isinstance(error, PermissionError):
        return BedplateError(
            f"cannot reach a robot on {url}: {error.strerror}",
            "the user who started the robot: a robot's socket is for its owner alone",
            f"compare `id -un` with the owner in `ls -l {path}`",
        )
    if error.errno == errno.EPROTOTYPE:
        return BedplateError(f"what listens on {url} is no robot: its socket is of another type", "SOCK_SEQPACKET")
    if isinstance(error, BlockingIOError):
        return BedplateError(
            f"what listens on {url} takes no connection: others wait in front, or its process is stopped",
            "a running robot",
        )
    return BedplateError(f"cannot reach a robot on {url}: {error.strerror or error}", "a robot that listens there")


def bind_error(path: str, error: OSError) -> BedplateError:
    """Say in words why nobody can listen at `path`; what is there is left alone."""
    url = f"unix://{path}"
    if error.errno != errno.EADDRINUSE:
        return BedplateError(
            f"cannot listen on {url}: {error.strerror or error}", "a path in a folder that exists and can be written"
        )
    # something is there: say what
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return BedplateError(f"{path} exists and is not a socket", "an unused path", "choose another path")
        with new_socket() as probe:
            probe.connect(path)
    except ConnectionRefusedError:
        return BedplateError(
            f"{path} is a socket that a killed robot left behind: nobody listens on it",
            "an unused path",
            f"rm {path}",
        )
    except OSError:
        pass
    return BedplateError(
        f"another process listens on {url}", "an unused path", "end that robot, or choose another path"
    )
