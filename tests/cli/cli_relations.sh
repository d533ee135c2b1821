#!/usr/bin/env bash
# A target that answers a related list otherwise: found by run, shrunk, and shown again by replay, which a sound target
# passes.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

for plant in names sizes; do
    case $plant in
    names) words="differs under other ids" ;;
    sizes) words="differs at twice the size" ;;
    esac
    rm -rf out
    expect_exit 1 run queued_free_race --target plant_relation_$plant --seed 1 --ops 20000 --replay-sample 1
    expect_text out.txt "finding 1: relation: $words: "
    expect_no_text out.txt "finding 2: "
    list=$(find out/repros -name 'relation-*.ops' | head -n 1)
    [ "$(grep -c '^[0-9]*: ' "$list")" -le 6 ] || fail "$plant: the repro has more than 6 ops: $(cat "$list")"
    expect_exit 1 replay "$list"
    expect_text out.txt "BROKEN relation: op "
    expect_text out.txt "finding relation: $words"
    expect_exit 0 replay "$list" --replay-sample 0
    expect_exit 0 replay "$list" --target hbm --target-option program_evicts_program=yes
done

# Known, it is no reason to fail.
"$hbmstress" report --baseline out >known.txt || fail "no baseline"
expect_exit 0 run queued_free_race --target plant_relation_sizes --seed 1 --ops 20000 --replay-sample 1 \
    --baseline known.txt --out again
expect_text out.txt "1 known finding"
finish
