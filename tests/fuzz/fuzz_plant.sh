#!/usr/bin/env bash
# A fuzz target finds a planted defect from nothing within so many executions, and says which rule it breaks.
#
#     tests/fuzz/fuzz_plant.sh FUZZ_OPS PLANT RULE EXECUTIONS [SEED]
#
# RULE none: it must find nothing.  tests/fuzz/fuzz_plants.txt has the bounds.
set -euo pipefail

fuzz_ops=$1 plant=$2 rule=$3 executions=$4 seed=${5:-2}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "$plant: $1"
    tail -n 40 "$folder/log"
    exit 1
}

# Kinds of regret that libhbm was never seen to have; nobody is held to them unless the variable says so.
if [[ $rule == regret || $rule == none ]]; then
    export HBMSTRESS_FUZZ_REGRETS=evicted_needlessly,moved_needlessly,in_vain
fi
status=0
# What is found says its rule and how it is played again; to name the functions on its stack takes a second.
UBSAN_OPTIONS=symbolize=0 HBMSTRESS_FUZZ_TARGET=$plant "$fuzz_ops" -runs="$executions" -seed="$seed" -max_len=8000 -timeout=300 -reload=0 -entropic=0 \
    -use_counters=0 -print_final_stats=1 -artifact_prefix="$folder/" >"$folder/log" 2>&1 || status=$?
if [[ $rule == none ]]; then
    [[ $status -eq 0 ]] || fail "something was found"
elif [[ $status -eq 0 ]]; then
    fail "not found in $executions executions"
# A target that dies breaks a rule that nobody in its process can name.
elif [[ $rule == crash ]]; then
    if grep -q "hbmstress: fuzz_ops found: " "$folder/log" || ! ls "$folder"/crash-* >/dev/null 2>&1; then
        fail "found, but it did not die"
    fi
elif ! grep -q "hbmstress: fuzz_ops found: .*(rule $rule, " "$folder/log"; then
    fail "found, but not as $rule"
fi
sed -n 's/^stat::number_of_executed_units: */executions: /p' "$folder/log"
