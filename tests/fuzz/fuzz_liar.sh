#!/usr/bin/env bash
# usage: fuzz_liar.sh PROGRAM LIE EXPECTED INPUT...
# With LIAR=LIE the program aborts at one of the inputs, and says that it found EXPECTED.  LIE is NAME, or FORMAT/NAME,
# which is told of that format alone, or target:NAME: then the lie is in the allocator of that name.
set -u
program=$1 lie=$2 expected=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

variable=LIAR=$lie
if [ "${lie%%:*}" = target ]; then
    variable=HBMSTRESS_FUZZ_TARGET=${lie#*:}
fi
env "$variable" "$program" "$@" >"$work/out.txt" 2>"$work/err.txt"
status=$?
if [ "$status" != 134 ]; then
    echo "FAILED: $variable: exit $status, should be 134 (abort): $(head -c 2000 "$work/err.txt")" >&2
    exit 1
fi
if ! grep -qE "^hbmstress: fuzz_[a-z_]+ found: $expected" "$work/err.txt"; then
    echo "FAILED: $variable: not said that it found '$expected': $(tail -c 2000 "$work/err.txt")" >&2
    exit 1
fi
