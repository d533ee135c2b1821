#!/usr/bin/env bash
# Measures anew what is in a table like tests/fuzz/fuzz_plants.txt and prints it: how many executions fuzz_ops needs with each
# of two compilers, and twice the greater number, at least 20, as the bound.  With one compiler, and "-" for the other, the
# bound is four times the number below 200.  Exits with 1 when a row is not found.
#
#     tests/fuzz/fuzz_plants.sh TABLE FUZZ_OPS_OF_CLANG_14 FUZZ_OPS_OF_CLANG_19|- [EXECUTIONS]
#
# EXECUTIONS: after how many a plant counts as not found (20,000).  Half a minute of one core.
set -euo pipefail

table=$1 first=$2 second=$3 executions=${4:-20000}
folder=$(dirname "$0")
status=0

measure() { # FUZZ_OPS PLANT RULE
    "$folder/fuzz_plant.sh" "$1" "$2" "$3" "$executions" | sed -n 's/^executions: //p'
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
    two=-
    one=$(measure "$first" "$plant" "$rule") || status=1
    [[ $second == - ]] || two=$(measure "$second" "$plant" "$rule") || status=1
    if [[ -z $one || -z $two ]]; then
        echo "$plant: not found" >&2
        status=1
        continue
    fi
    most=$one
    if [[ $two == - ]]; then
        most=$((one < 200 ? 2 * one : one))
    elif ((two > one)); then
        most=$two
    fi
    printf '%-33s %-16s %5d %5d %5s\n' "$plant" "$rule" $((most < 10 ? 20 : 2 * most)) "$one" "$two"
done <"$table"
exit "$status"
