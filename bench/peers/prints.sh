#!/usr/bin/env bash
# bench_peers plays every subject and policy, table makes a table of them, and what is wrong is told in one line.
#
#     bench/peers/prints.sh BENCH_PEERS            in the root of the tree
set -u
program=$1
failures=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# expect EXIT TEXT COMMAND...: its output has the text.
expect() {
    local wanted=$1 text=$2 said got
    shift 2
    said=$("$@" 2>&1)
    got=$?
    [ "$got" = "$wanted" ] || fail "$*: exit $got, should be $wanted: ${said:0:300}"
    grep -qF -- "$text" <<<"$said" || fail "$*: does not say '$text': ${said:0:300}"
}

while read -r subject; do
    expect 0 "$subject 10 " "$program" ops "$subject" 10 100
done < <("$program" list)
expect 0 "best, low from 2 x mean" "$program" packing corpus/field/static_planning/exclusive.csv
expect 0 "| \`libhbm\` |" bench/peers/table "$program" --live 10,20 --rounds 1 --no-instructions --subjects loop,libhbm
expect 2 "has no subject other" bench/peers/table "$program" --subjects other
expect 2 "there is no subject other" "$program" ops other 10 10
expect 2 "LIVE is a number" "$program" ops libhbm 0 10
expect 2 "bench_peers: bad usage; see bench_peers --help" "$program" packing
expect 2 "bench_peers: " "$program" packing corpus/README.md
expect 0 "Example: " "$program" --help
[ "$failures" = 0 ]
