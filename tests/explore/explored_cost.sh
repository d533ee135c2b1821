#!/usr/bin/env bash
# What an explored target does in memory is counted: first fit walks its blocks, libhbm does not.
#
#     tests/explore/explored_cost.sh HBMSTRESS FIRST_FIT.so HBM.so
set -uo pipefail
hbmstress=$1
first_fit=$2
hbm=$3
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

fail() {
    echo "$1" >&2
    cat "$out/text" >&2
    exit 1
}
# run PLUGIN GROWTH
run() {
    "$hbmstress" run deep_aligned --target "$1" --target-option "cost=$2" --scenario-option count=300 --lanes none \
        --seed 1 --ops 601 --shrink-budget 1 --out "$out/run" >"$out/text" 2>&1
}

# infers PLUGIN GROWTH: of its memory accesses, which it does not declare
infers() {
    "$hbmstress" infer "$1" >"$out/text" 2>&1 || fail "infer refutes something"
    tr -s ' \n' ' ' <"$out/text" | grep -q "not declared cost = {0}, kept so far: [^}]*.accesses = TARGET_GROWTH_$2}" ||
        fail "the accesses are not $2"
}

if [ "${HBMSTRESS_TESTS:-}" = full ]; then # each takes seconds
    infers "$hbm" CONSTANT
    infers "$first_fit" LINEAR
fi
run "$hbm" logarithmic || fail "libhbm grows faster"
run "$first_fit" linear || fail "first fit grows faster than linear"
rm -rf "$out/run"
run "$first_fit" logarithmic
[ $? = 1 ] || fail "first fit grows as the logarithm"
grep -q '^finding 1: cost: memory accesses against blocks: ' "$out/text" || fail "no finding of its accesses"
"$hbmstress" replay "$out"/run/repros/*.ops >"$out/text" 2>&1
[ $? = 1 ] || fail "the shrunk list shows nothing"
tr -s ' \n' '  ' <"$out/text" | grep -q 'memory accesses for each op and effect with .* blocks, but .*; the contract declares logarithmic growth' ||
    fail "the shrunk list shows something else"
