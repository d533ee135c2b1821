#!/usr/bin/env bash
# Measures anew what is in a table like tests/fuzz/fuzz_plants.txt and prints it: how many executions fuzz_ops needs with each
# of five seeds, and twice the greatest number, at least 20, as the bound.  A dash is a seed with which something was found
# that breaks another rule, or nothing.  Exits with 1 when seed 2, which the tests use, is one of those.
#
#     tests/fuzz/fuzz_plants.sh TABLE FUZZ_OPS [EXECUTIONS]
#
# EXECUTIONS: after how many a plant counts as not found (20,000).  Four minutes of one core.
set -euo pipefail

table=$1 fuzz_ops=$2 executions=${3:-20000}
folder=$(dirname "$0")
status=0

# measure PLANT RULE SEED
measure() {
    local found
    found=$("$folder/fuzz_plant.sh" "$fuzz_ops" "$1" "$2" "$executions" "$3" | sed -n 's/^executions: //p') || true
    echo "${found:--}"
}

while IFS= read -r line; do
    if [[ $line == '#'* ]]; then
        echo "$line"
        continue
    fi
    read -r plant rule bound _ <<<"$line"
    if [[ $rule == none ]]; then
        printf '%-33s %-16s %5d\n' "$plant" "$rule" "$bound"
        continue
    fi
    needed=() most=10
    for seed in {1..5}; do
        needed+=("$(measure "$plant" "$rule" "$seed")")
        if [[ ${needed[-1]} != - ]] && ((needed[-1] > most)); then
            most=${needed[-1]}
        fi
    done
    if [[ ${needed[1]} == - ]]; then
        echo "$plant: not found as $rule" >&2
        status=1
        continue
    fi
    printf '%-33s %-16s %5d %5s %5s %5s %5s %5s\n' "$plant" "$rule" $((2 * most)) "${needed[@]}"
done <"$table"
exit "$status"
