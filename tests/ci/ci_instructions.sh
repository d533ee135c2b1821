#!/usr/bin/env bash
# ci/instructions finds a figure that is too low or too high, accepts the right one, and writes it.
#
#     tests/ci/ci_instructions.sh TREE BUILD
set -u
tree=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# ask EXIT NUMBER [OPTION]: with that figure of the quickest subject.
ask() {
    local wanted=$1 got
    echo "null $2" >"$work/figures.txt"
    "$tree/ci/instructions" --figures "$work/figures.txt" "${@:3}" "$build" >"$work/out.txt" 2>"$work/err.txt"
    got=$?
    [ "$got" = "$wanted" ] || fail "figure $2 ${*:3}: exit $got, should be $wanted: $(cat "$work/out.txt" "$work/err.txt")"
}

# A build that is no plain Release build is skipped, with the reason.
mkdir -p "$work/other/bench/peers"
ln -s /bin/true "$work/other/bench/peers/bench_peers"
echo "CMAKE_BUILD_TYPE:STRING=Debug" >"$work/other/CMakeCache.txt"
said=$("$tree/ci/instructions" "$work/other")
if [ $? != 77 ] || ! grep -q "skipped: " <<<"$said"; then fail "a Debug build was measured: $said"; fi

if said=$("$tree/ci/instructions" --figures /dev/null "$build") || [ $? != 77 ]; then
    ask 0 1000000 --renew
    right=$(sed -n 's/^null \([0-9]*\)$/\1/p' "$work/figures.txt")
    [ "${right:-0}" -ge 5 ] || fail "--renew wrote: $(cat "$work/figures.txt")"
    ask 1 $((right * 100 / 112))
    grep -q "more than 5 % from the stored figure: null;" "$work/err.txt" || fail "says: $(cat "$work/err.txt")"
    ask 1 $((right * 112 / 100))
    ask 0 "$right"
else
    echo "$said"
    [ "$failures" = 0 ] && exit 77
fi
[ "$failures" = 0 ]
