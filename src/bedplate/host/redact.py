"""Names, serial numbers and addresses are taken out of a snapshot before anybody sees it."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """One kind of secret.

    Attributes:
        kind: what is taken out.
        pattern: extended regular expression, understood by Python and by `sed -E` alike.
        replacement: what stands there instead, with sed's backreferences.
    """

    kind: str
    pattern: str
    replacement: str


_HEX = "[0-9a-fA-F]"

RULES: tuple[Rule, ...] = (
    Rule("UUID", f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}", "UUID"),
    Rule("MAC address", f"({_HEX}{{2}}:){{5}}{_HEX}{{2}}", "MAC"),
    Rule("serial number", "([Ss]erial([ _][Nn]umber)?[[:space:]]*[:=][[:space:]]*)[^[:space:]]+", "\\1SERIAL"),
    Rule("home folder", "/home/[^/[:space:]:\"']+", "/home/USER"),
    Rule(
        "password",
        "([Pp]assword|[Tt]oken|[Ss]ecret|API_KEY|[Pp]asswd)([\"']?[[:space:]]*[:=][[:space:]]*)[^[:space:]]+",
        "\\1\\2SECRET",
    ),
    Rule("URL login", "(://)[^/@[:space:]]+@", "\\1USER@"),
    Rule("mail address", "[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)+", "MAIL"),
)
"""What both the script and Python take out; the rules of addresses need more than sed has."""

IPV4 = Rule("IPv4 address", "(^|[^0-9.])([0-9]{1,3}\\.){3}[0-9]{1,3}($|[^0-9.a-z-])", "\\1ADDRESS\\3")
"""Versions such as 4.18.0-553 and 12.8.1.1-1 are no addresses: neither a dash nor a letter may follow."""

IPV6 = Rule("IPv6 address", f"(^|[^0-9a-fA-F:])({_HEX}{{1,4}}:){{3,7}}:?{_HEX}{{0,4}}::?{_HEX}{{1,4}}", "\\1ADDRESS")

ALL = (*RULES, IPV4, IPV6)


def _python(rule: Rule) -> tuple[re.Pattern[str], str]:
    pattern = rule.pattern.replace("[[:space:]]", r"\s").replace("[^[:space:]]", r"\S").replace("[:space:]", r"\s")
    return re.compile(pattern, re.MULTILINE), rule.replacement


_COMPILED: list[tuple[re.Pattern[str], str]] = []


def redact(text: str, names: tuple[str, ...] = ()) -> str:
    """`text` without secrets.

    Args:
        text: what a command printed.
        names: this host's name and user, as whole words.
    """
    if not _COMPILED:
        _COMPILED.extend(_python(rule) for rule in ALL)
    for pattern, replacement in _COMPILED:
        text = pattern.sub(replacement, text)
    for name in names:
        # a user called root or a host called localhost is nobody's secret
        if len(name) > 1 and name not in ("root", "localhost"):
            text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", "NAME", text)
    return text
