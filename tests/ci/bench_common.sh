# What the tests of bench/ share: a folder to work in, and what a program said. Sourced.
# shellcheck shell=bash
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cd "$work" || exit 1

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

runs() { # EXIT PROGRAM WORD...
    local want=$1 got
    shift
    timeout 120 "$@" >out.txt 2>err.txt
    got=$?
    [ "$got" = "$want" ] || fail "$*: exit $got, should be $want: $(cat out.txt err.txt)"
}

says() { # TEXT FILE
    grep -qF -- "$1" "$2" || fail "$2 does not say '$1': $(cat "$2")"
}
