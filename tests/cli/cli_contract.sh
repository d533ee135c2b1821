#!/usr/bin/env bash
# What a contract can say that real allocators do: each promise has a sound target that keeps it, a plant that breaks
# it, and, where leaving it out promises more, a target that is blamed for what it did not declare.  The table is that of
# docs/targets.md.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# run_small CODE SCENARIO TARGET [OPTION...]
run_small() {
    local wanted=$1 scenario=$2 target=$3 option options=()
    shift 3
    for option; do options+=(--target-option "$option"); done
    rm -rf out
    expect_exit "$wanted" run "$scenario" --target "$target" ${options[@]+"${options[@]}"} --seed 1 --ops 1500 --workers 1 \
        --shrink-budget 0 --replay-sample 0 --out out
}
keeps() { # SCENARIO TARGET [OPTION...]
    run_small 0 "$@"
    expect_text out.txt "every promise kept"
}
breaks() { # FINDING SCENARIO TARGET [OPTION...]
    local finding=$1
    shift
    run_small 1 "$@"
    expect_text out.txt ": $finding"
}
leaves_open() { # WHAT
    expect_text out.txt "not checked"
    expect_text out.txt "$1"
}

# --- counters ---------------------------------------------------------------------------------------------------
for counters in late at_most absent; do
    keeps training_step first_fit "counters=$counters"
    leaves_open "some counters"
    breaks "counters: bytes_in_use" training_step first_fit "counters=$counters" declares=no
    expect_no_text out.txt "not checked"
done
keeps training_step first_fit counters=exact
breaks "counters: bytes_in_use" training_step plant_counters_late_back
breaks "counters: bytes_in_use" training_step plant_counters_too_late
breaks "counters: bytes_in_use" training_step plant_counters_below
# The numbers of an error text say no more than the counters.
keeps fragmentation_storm first_fit counters=late
keeps eviction_pressure first_fit counters=absent

# --- a limit that belongs to the process ------------------------------------------------------------------------
keeps queued_free_race first_fit limit=process
leaves_open "out-of-memories"
expect_text out.txt "answers not judged"
expect_text out.txt "(0 justified, 0 premature, 0 unknown, "
breaks "premature: " queued_free_race first_fit limit=process declares=no

# --- the order of the mitigations, and evictions until it fits --------------------------------------------------
keeps eviction_pressure first_fit steps=yes
keeps training_step hbm order_binds=yes
keeps crowded hbm order_binds=yes
breaks "order: eviction" training_step plant_order_evicts_first
breaks "order: move before the last queued free was awaited" crowded plant_order_moves_first
breaks "order: eviction although a hole fitted" eviction_pressure plant_order_evicts_another
breaks "order: program kept at an out-of-memory" eviction_pressure plant_order_keeps_programs
# The same orders break nothing where none binds.
keeps training_step hbm order=evict,drain,defragment
keeps crowded hbm order=defragment,drain,evict

# --- owners -----------------------------------------------------------------------------------------------------
keeps eviction_pressure first_fit steps=yes owners=yes
keeps eviction_pressure hbm owners=yes
breaks "ownership: sum" training_step plant_ownership
breaks "ownership: used_bytes" training_step plant_ownership_forgets

# --- what ops cost ------------------------------------------------------------------------------------------------
keeps fragmentation_storm hbm cost=constant latency=1000000
keeps deep_aligned first_fit cost=constant
breaks "cost: device calls against blocks" fragmentation_storm plant_cost_polls
breaks "cost: memory accesses against blocks" fragmentation_storm plant_cost_walks
breaks "cost: moved bytes against blocks" queued_free_race plant_cost_closes_up
breaks "latency: device calls" crowded plant_latency_spins
breaks "latency: moved bytes" crowded plant_latency_moves
breaks "latency: device calls" crowded hbm latency=1
expect_refusal 2 "option cost=square: valid values are undeclared, constant, logarithmic, linear" \
    run crowded --target hbm --target-option cost=square --seed 1 --ops 10

# --- frees that are ordered by streams, and recorded programs ----------------------------------------------------
for drains in yes no; do
    keeps crowded streamed "drains=$drains"
    keeps queued_free_race streamed "drains=$drains" records=no
done
expect_text out.txt "not checked: error texts"
breaks "reused_early: answer on another block" crowded streamed declares=no
breaks "reused_early: memory of another stream" crowded plant_stream_crossed
breaks "premature: buffer fits at once" crowded plant_stream_forgets
breaks "premature: " crowded plant_stream_stuck
breaks "reused_early: answer on another block" crowded plant_stream_uses
breaks "recorded: memory of a recording" crowded plant_record_reused
breaks "recorded: memory of a recording" crowded plant_record_freed
breaks "premature: " crowded plant_record_undropped

# --- natural alignment ------------------------------------------------------------------------------------------
keeps fragmentation_storm buddy
breaks "premature: " fragmentation_storm buddy declares=no
breaks "misaligned: answer" fragmentation_storm plant_buddy_middle
breaks "premature: " fragmentation_storm plant_buddy_unmerged
breaks "premature: " queued_free_race plant_buddy_late
expect_refusal 2 "aligns naturally, but its size classes are not the powers of two" \
    run fragmentation_storm --target buddy --rounding granule --seed 1 --ops 10

# --- a way that is none -----------------------------------------------------------------------------------------
expect_refusal 2 "option counters=never: valid values are exact, at_most, late, absent" \
    run training_step --target first_fit --target-option counters=never --seed 1 --ops 10
expect_refusal 2 "option limit=host: valid values are device, process" \
    run training_step --target first_fit --target-option limit=host --seed 1 --ops 10

finish
