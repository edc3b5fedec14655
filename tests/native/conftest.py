"""What the tests of the native core need: a C compiler, and the library compiled once."""

from __future__ import annotations

import pytest

from bedplate.core.errors import BedplateError
from bedplate.runtime.native.library import available, find_compiler, source_folder


@pytest.fixture(scope="session")
def native() -> None:
    """Skips where the native core cannot be compiled, with the reason."""
    reason = available()
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def compiler() -> str:
    """Path of a C compiler; skips where there is none."""
    try:
        return find_compiler()
    except BedplateError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def source() -> object:
    """The folder of the C sources."""
    return source_folder()
