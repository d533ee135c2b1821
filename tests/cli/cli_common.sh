# shellcheck shell=bash
# What the scripts that test the built program share; sourced, with the program as $1.
# Each check prints what went wrong and the script ends with 1 when any did.
set -u
hbmstress=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# expect_exit CODE ARGUMENT...: runs the program; its output is in out.txt and err.txt.
expect_exit() {
    local wanted=$1 got
    shift
    "$hbmstress" "$@" >out.txt 2>err.txt
    got=$?
    [ "$got" = "$wanted" ] || fail "hbmstress $*: exit $got, should be $wanted; $(head -c 300 err.txt)"
}

# expect_refusal CODE TEXT ARGUMENT...: nothing on standard output, one line on standard error that
# begins with hbmstress: and contains TEXT, and no file written.
expect_refusal() {
    local wanted=$1 text=$2
    shift 2
    rm -rf out
    expect_exit "$wanted" "$@"
    [ ! -s out.txt ] || fail "hbmstress $*: wrote to standard output"
    [ "$(wc -l <err.txt)" = 1 ] || fail "hbmstress $*: $(wc -l <err.txt) lines of error, should be 1"
    grep -q '^hbmstress: ' err.txt || fail "hbmstress $*: the line does not begin with hbmstress:"
    grep -qF -- "$text" err.txt || fail "hbmstress $*: '$(cat err.txt)' does not say '$text'"
    [ ! -e out ] || fail "hbmstress $*: left out/ behind"
}

# expect_unread CODE ARGUMENT...: the same as expect_exit, but nobody reads standard output; nothing is said of that.
expect_unread() {
    local wanted=$1 got
    shift
    rm -f unread.fifo
    mkfifo unread.fifo
    exec 5<>unread.fifo 6>unread.fifo 5>&-
    "$hbmstress" "$@" >&6 2>err.txt
    got=$?
    exec 6>&-
    [ "$got" = "$wanted" ] || fail "hbmstress $*, unread: exit $got, should be $wanted"
    [ ! -s err.txt ] || fail "hbmstress $*, unread: $(head -c 300 err.txt)"
}

expect_text() { # FILE TEXT
    grep -qF -- "$2" "$1" || fail "$1 does not say '$2': $(head -c 300 "$1")"
}

expect_no_text() { # FILE TEXT
    ! grep -qF -- "$2" "$1" || fail "$1 says '$2'"
}

finish() {
    [ "$failures" = 0 ] || exit 1
    exit 0
}
