"""`dkms status` of every version: the comma form up to 2.8.5, the slash form since, weak modules in the old form."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(
    r"^(?P<module>[^,/:\s]+)(?:/|, )(?P<version>[^,:\s]+)(?:, (?P<kernel>[^,]+), (?P<arch>[^:]+))?"
    r": (?P<state>added|built|installed-weak from \S+|installed|broken)(?P<note>.*)$"
)


@dataclass(frozen=True)
class DkmsLine:
    """One module in one kernel.

    Attributes:
        module: such as "nvidia".
        version: of the module.
        kernel: empty when it is only added, or broken.
        state: added, built, installed, installed-weak or broken.
        note: what follows the state, such as a warning.
    """

    module: str
    version: str
    kernel: str
    state: str
    note: str


def dkms_lines(text: str) -> list[DkmsLine]:
    """The lines of `dkms status` that have its form."""
    found = [_LINE.match(line.strip()) for line in text.splitlines()]
    return [
        DkmsLine(m["module"], m["version"], m["kernel"] or "", m["state"].split()[0], m["note"].strip())
        for m in found
        if m
    ]
