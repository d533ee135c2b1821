# shellcheck shell=bash
# What the scripts that test the built program share; sourced, with the program as $1.
# Each check prints what went wrong and the script ends with 1 when any did.
set -u
hbmstress=$1
work=$(mktemp -d)
failures=0
# Whichever way the script ends: what failed is not forgotten.
leave() {
    local status=$?
    rm -rf "$work"
    [ "$failures" = 0 ] || [ "$status" != 0 ] || exit 1
}
trap leave EXIT
cd "$work" || exit 1

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

# wait_until COMMAND...: until the command succeeds; a failure after two minutes.
wait_until() {
    local deadline=$((SECONDS + 120))
    until "$@"; do
        if ((SECONDS >= deadline)); then
            fail "$*: not within two minutes"
            return
        fi
        sleep 0.02
    done
}

# Whether the process is hbmstress by now, no longer the shell that becomes it, and handles ctrl-C.
catches_interrupt() { # PID
    local mask
    [ "/proc/$1/exe" -ef "$hbmstress" ] || return 1
    mask=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null)
    [ -n "$mask" ] && ((16#$mask & 2))
}

# Hundredths of a second of processor time: of the process, and of the children that it has waited for.
sum_times() { # PID own|waited
    local line words
    line=$(cat "/proc/$1/stat" 2>/dev/null) || line=
    read -r -a words <<<"${line##*) }"
    if [ "$2" = own ]; then
        echo $((${words[11]:-0} + ${words[12]:-0}))
    else
        echo $((${words[13]:-0} + ${words[14]:-0}))
    fi
}

# Whether the process and its children took so much themselves, or waited for children that took so much.
has_worked() { # PID own|waited HUNDREDTHS
    local child total
    total=$(sum_times "$1" "$2")
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        total=$((total + $(sum_times "$child" "$2")))
    done
    [ "$total" -ge "$3" ]
}

# A file with its broken lines whole: what follows a break is indented.
joined() { sed -z 's/\n  */ /g' "$1"; }

# What comes in with its broken lines whole: each run of blanks and line ends is one blank.
folded() { tr -s ' \n' '  '; }

# Whether the file says the text, however its lines are broken.
says() { # FILE TEXT
    grep -qF -- "$2" "$1" || folded <"$1" | grep -qF -- "$(printf '%s' "$2" | folded)"
}

expect_text() { # FILE TEXT
    says "$1" "$2" || fail "$1 does not say '$2': $(head -c 300 "$1")"
}

expect_no_text() { # FILE TEXT
    ! says "$1" "$2" || fail "$1 says '$2'"
}

finish() {
    [ "$failures" = 0 ] || exit 1
    exit 0
}
