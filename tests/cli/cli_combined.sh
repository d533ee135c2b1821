#!/usr/bin/env bash
# Targets with two defects: both are found, told apart, and soon; and what sits behind accepted findings is found.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# Two that would hide each other are refused by name, and so is what is no plant.
refuse_with() { # TEXT PLANTS
    expect_refusal 2 "$1" run queued_free_race --target plant_premature_undrained --target-option "with=$2" --seed 1 --ops 10
}
refuse_with "plant_premature_undrained and plant_premature_stalled both change the waits for events" plant_premature_stalled
refuse_with "plant_premature_undrained is named twice" plant_premature_undrained
refuse_with "plant_counters is named twice" plant_counters,plant_counters
refuse_with "no plant is named 'hbm'" hbm
refuse_with "no plant is named ''" plant_counters,
expect_exit 0 list plants --json
expect_text out.txt '"with":"PLANT,..."'

run_plants() { # SCENARIO SEED OPS TARGET [WITH] [ARGUMENT...]
    local scenario=$1 seed=$2 ops=$3 target=$4 with=${5:-}
    shift 4
    [ $# = 0 ] || shift
    rm -rf out
    "$hbmstress" run "$scenario" --target "plant_$target" ${with:+--target-option "with=$with"} --seed "$seed" --ops "$ops" \
        --faults none --lanes none --workers 1 --out out "$@" >out.txt 2>err.txt
}

# The number of ops up to the one that showed the finding first; nothing: the first trial does not.
count_needed() { # SIGNATURE
    grep -E '^\{"type":"found"' out/results.jsonl | grep -F '"trial":0,' | grep -F "\"signature\":\"$1" |
        sed 's/.*"op":\([0-9]*\),.*/\1/' | sort -n | head -n 1 | awk '{ print $1 + 1 }'
}
is_found() { # SIGNATURE
    grep -Eq "^finding [0-9]+: " out.txt && grep -E "^finding [0-9]+: " out.txt | sed 's/^finding [0-9]*: //' | grep -qF "$1"
}

# Of up to three seeds two show both within twice the ops that the later one takes alone: the median does.
pair() { # SCENARIO PLANT SIGNATURE PLANT SIGNATURE
    local seed first second bound good=0 story=
    for seed in 1 2 3; do
        [ "$good" -lt 2 ] || break
        run_plants "$1" "$seed" 2000 "$2" "" --shrink-budget 0
        first=$(count_needed "$3")
        run_plants "$1" "$seed" 2000 "$4" "" --shrink-budget 0
        second=$(count_needed "$5")
        if [ -z "$first" ] || [ -z "$second" ]; then
            fail "$2 or $4 alone, seed $seed: not found"
            continue
        fi
        bound=$((2 * (first > second ? first : second)))
        run_plants "$1" "$seed" "$bound" "$2" "plant_$4" --shrink-budget 100
        if is_found "$3" && is_found "$5"; then
            good=$((good + 1))
        fi
        story="$story; seed $seed: $first and $second ops alone, in $bound: $(joined out.txt | grep -o '^finding [0-9]*: [^;]*: seen' | tr '\n' ' ')"
    done
    echo "$2 with $4: $good$story"
    [ "$good" -ge 2 ] || fail "$2 with $4: both within twice the ops with $good of three seeds$story"
}
at_once="premature: buffer fits at once"
pair eviction_pressure premature_evicted_once "premature: fits after evict" counters "counters: "
pair queued_free_race premature_stalled "premature: fits after drain" premature_last_hole "$at_once"
pair fragmentation_storm premature_moved_unretried "premature: fits after its own defragment" premature_rounded "$at_once"
pair fragmentation_storm contents "contents: " premature_last_hole "$at_once"
pair exact_edge message "message: " status "status: "
pair fragmentation_storm crash_segv "crash: SIGSEGV" premature_rounded "$at_once"

# A repro of such a run has the option, and replays.
run_plants queued_free_race 1 2000 premature_undrained plant_counters
for repro in out/repros/*.ops; do
    expect_text "$repro" "option with=plant_counters"
    expect_exit 1 replay "$repro"
done

# One that is accepted, and another one behind it: red for that one alone.
accepted=
behind() { # SCENARIO DEVIATION PLANT SIGNATURE
    if [ "$accepted" != "$1 $2" ]; then
        run_plants "$1" 1 3000 "$2" "" --shrink-budget 100
        expect_exit 0 report --baseline out
        mv out.txt base.txt
        run_plants "$1" 1 3000 "$2" "" --baseline "$PWD/base.txt" --shrink-budget 100
        expect_text out.txt "nothing but known findings"
        accepted="$1 $2"
    fi
    ! grep -qF "finding: $4" base.txt || fail "$2 alone shows $4"
    run_plants "$1" 1 3000 "$2" "plant_$3" --baseline "$PWD/base.txt" --shrink-budget 100
    expect_text out.txt "a promise was broken"
    is_found "$4" || fail "$3 behind $2: $(grep -E 'seen|promise|known' out.txt)"
    echo "$3 behind $2: $(joined out.txt | grep -oE '^(known )?finding [0-9]*: .*: seen' | tr '\n' ' ')"
}
behind queued_free_race classes_rounding premature_undrained "premature: fits after drain"
behind eviction_pressure classes_rounding premature_evicted_once "premature: fits after evict"
behind fragmentation_storm classes_rounding premature_moved_unretried "premature: fits after its own defragment"
behind fragmentation_storm classes_rounding contents "contents: "
behind fragmentation_storm premature_reserve premature_last_hole "$at_once, in a hole of twice its size or more"
behind eviction_pressure premature_reserve counters "counters: "
behind exact_edge premature_reserve message "message: "
behind fragmentation_storm not_coalesced premature_rounded "$at_once, in a hole under twice its size"
behind fragmentation_storm not_coalesced overlap "overlap: "
behind exact_edge not_coalesced status "status: "
behind queued_free_race too_large_classes report "report: "
finish
