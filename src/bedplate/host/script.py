"""The collect script: POSIX sh for hosts whose Python is too old or absent, from the one table of sources."""

from __future__ import annotations

from bedplate.host.redact import ALL
from bedplate.host.sources import SOURCES, Source

_HEAD = """#!/bin/sh
# Collects what `bedplate doctor --snapshot` reads. Needs no root, changes nothing, writes one folder.
# Host and user names, serial numbers, UUIDs, MAC, IP and mail addresses are taken out.
# Look at the folder before you send it.
# usage: sh collect.sh [FOLDER]
# shellcheck disable=SC2016  # the commands are quoted whole; the inner sh expands them
set -u
LC_ALL=C
export LC_ALL
PATH="$PATH:/usr/sbin:/sbin"
export PATH
out=${1:-bedplate-snapshot}
mkdir -p "$out" || exit 2
host=$(uname -n)
host=${host%%.*}
user=$(id -un)
[ "$user" = root ] && user=''
[ "$host" = localhost ] && host=''

# a name that is empty, or could be part of a pattern, is left alone
plain() {
    case $1 in
        '' | ? | *[!A-Za-z0-9_-]*) printf '%s' 'no-name-to-take-out' ;;
        *) printf '%s' "$1" ;;
    esac
}
host=$(plain "$host")
user=$(plain "$user")

redact() {
    sed -E \\
"""

_RUN = """
# gives a command up after some seconds, where the system can
limited() {
    seconds=$1
    shift
    if command -v timeout >/dev/null 2>&1; then
        timeout "$seconds" "$@"
    else
        "$@"
    fi
}

# file name, seconds, command: the text is there or absent, never half
source_() {
    limited "$2" sh -c "$3" 2>/dev/null </dev/null | head -c 4000000 | redact >"$out/$1.txt"
    [ -s "$out/$1.txt" ] || rm -f "$out/$1.txt"
}

"""

_TAIL = """
printf 'wrote %s\\n' "$out"
printf 'next step: copy the folder, then bedplate doctor --snapshot %s\\n' "$out"
"""


def collect_script() -> str:
    """The whole script."""
    lines = [f"        -e {_quoted(f's#{_escaped(rule.pattern)}#{rule.replacement}#g')} \\\n" for rule in ALL]
    # whole words only; the marks around a name stay
    names = [
        '        -e "s#(^|[^A-Za-z0-9_.-])$host([^A-Za-z0-9_-]|\\$)#\\\\1NAME\\\\2#g" \\\n',
        '        -e "s#(^|[^A-Za-z0-9_.-])$user([^A-Za-z0-9_-]|\\$)#\\\\1NAME\\\\2#g"\n}\n',
    ]
    sources = [_line(source) for source in SOURCES if source.command]
    more = [source for source in SOURCES if source.root_adds]
    notes = [f"    printf '  %s\\n' {_quoted(f'{source.name}: {source.root_adds}')}\n" for source in more]
    root = "if [ \"$(id -u)\" != 0 ]; then\n    printf 'as root it would add:\\n'\n" + "".join(notes) + "fi\n"
    return _HEAD + "".join(lines + names) + _RUN + "".join(sources) + "\n" + root + _TAIL


def _line(source: Source) -> str:
    return f"# {source.holds}\nsource_ {source.name} {source.slow_s:g} {_quoted(source.command)}\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _escaped(pattern: str) -> str:
    return pattern.replace("#", "\\#")
