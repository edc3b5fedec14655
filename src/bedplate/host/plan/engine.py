"""The part of a plan's script that is the same in every plan: modes, journal lines, reboots, refusals."""

from __future__ import annotations

MARK = "# bedplate plan 1"
"""Second line of every plan; `apply` runs nothing else."""

REBOOT_CODE = 10
"""Exit code: reboot the host, then run the plan again."""

REFUSED_CODE = 2
"""Exit code: this is no host, or no user, for the plan."""

USAGE = (
    "Read it before you run it. As root:",
    "  sh plan.sh --list       the steps",
    "  sh plan.sh --check      which of them are needed now; changes nothing",
    "  sh plan.sh              does what is needed; a second run does nothing",
    "  sh plan.sh --reboot     the same, and reboots by itself where that is needed; run it again afterwards",
    "  sh plan.sh --undo STEP  takes one step back",
    "Exit codes: 0 all is done; 1 a step failed, nothing after it was run; 2 refused; 10 reboot, then run it again.",
)

START = """
# shellcheck disable=SC2317,SC2329  # the engine calls the functions of a step by their names
set -u
LC_ALL=C
export LC_ALL
PATH="$PATH:/usr/sbin:/sbin"
export PATH

say() {
    printf '%s\\n' "$*"
}

# the kernel of the next boot, or the running one where grubby does not tell
next_kernel() {
    name=$(grubby --default-kernel 2>/dev/null)
    name=${name##*/vmlinuz-}
    printf '%s' "${name:-$(uname -r)}"
}

"""

ENGINE = """
# where the host's files are: a folder in tests only
root=${BEDPLATE_ROOT:-}
# what waits for a reboot
state=$root/var/lib/bedplate/plan

refuse() {
    say "refused: $1" >&2
    exit 2
}

boot_id() {
    cat "$root/proc/sys/kernel/random/boot_id"
}

begin() {
    mode=apply
    wanted=''
    case ${1:-} in
        '') ;;
        --list) mode=list ;;
        --check) mode=check ;;
        --reboot) mode=reboot ;;
        --undo) mode=undo wanted=${2:-} ;;
        *) refuse "option $1; expected --list, --check, --reboot or --undo STEP" ;;
    esac
    found=''
    [ "$mode" = list ] && return 0
    grep -q -E '^VERSION_ID="?8' "$root/etc/os-release" || refuse 'this is no RHEL 8 or rebuild of it'
    grep -q -E '^ID(_LIKE)?="?.*(rhel|centos|fedora|rocky|almalinux)' "$root/etc/os-release" ||
        refuse 'this is no RHEL 8 or rebuild of it'
    [ "$mode" = check ] && return 0
    [ "$(id -u)" = 0 ] || refuse 'not root; next step: sudo sh plan.sh'
    mkdir -p "$state" || exit 2
    # what waited for a reboot has had it, when the boot is another one
    if [ -s "$state/pending" ] && [ "$(cat "$state/boot")" != "$(boot_id)" ]; then
        mv "$state/pending" "$state/rebooted"
    fi
}

# code, title, "reboot" when a reboot may be needed
step() {
    case $mode in
        list)
            say "$1: $2"
            return 0
            ;;
        undo)
            [ "$1" = "$wanted" ] || return 0
            found=yes
            say "== undo $1"
            attempt "undo_$1" || fail "$1" 'it could not be taken back'
            return 0
            ;;
    esac
    if "check_$1" >/dev/null 2>&1; then
        say "== ok $1: $2"
        return 0
    fi
    if [ "$mode" = check ]; then
        say "== needed $1: $2"
        return 0
    fi
    if grep -q -x "$1" "$state/pending" 2>/dev/null; then
        say "== waits for the reboot $1: $2"
        return 0
    fi
    say "== do $1: $2"
    attempt "do_$1" || fail "$1" 'the last command above failed'
    if [ "$3" = reboot ] && "reboot_$1" >/dev/null 2>&1; then
        if grep -q -x "$1" "$state/rebooted" 2>/dev/null; then
            rm -f "$state/rebooted"
            fail "$1" 'a reboot did not bring it about'
        fi
        say "$1" >>"$state/pending"
        boot_id >"$state/boot"
        say "== reboot needed $1"
        return 0
    fi
    "verify_$1" >/dev/null 2>&1 || fail "$1" 'its commands ran, and yet it is not so'
    say "== done $1"
}

# each command is shown before it runs, then its output; the shell's own trace writes to standard error
attempt() {
    (
        PS4='+ '
        set -x
        "$1"
    ) 2>&1
}

fail() {
    say "== failed $1: $2; the steps after it were not run"
    exit 1
}

barrier() {
    case $mode in list | check | undo) return 0 ;; esac
    [ -s "$state/pending" ] || return 0
    if [ "$mode" = reboot ]; then
        say '== rebooting; run the plan again afterwards'
        reboot
        exit 10
    fi
    say '== reboot the host, then run the plan again'
    exit 10
}

finish() {
    case $mode in
        list | check) exit 0 ;;
        undo)
            [ -n "$found" ] || refuse "no step $wanted; --list shows them"
            exit 0
            ;;
    esac
    rm -f "$state/rebooted"
    say '== all is done'
    exit 0
}
"""
