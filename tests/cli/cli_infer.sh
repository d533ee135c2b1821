#!/usr/bin/env bash
# infer refutes what a target does not keep, and nothing of one that keeps its contract.
#
#     tests/cli/cli_infer.sh HBMSTRESS IDLE_TARGET BAD_TARGET
idle=$(realpath "$2")
bad=$(realpath "$3")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# keeps TARGET [OPTION...]: every experiment is made, and no promise is refuted.
keeps() {
    expect_exit 0 infer "$@"
    expect_text out.txt "no promise is refuted"
    expect_no_text out.txt "REFUTED"
}

# refutes FIELD EXPERIMENT TARGET [OPTION...]: that promise, by that experiment, and its saved list replays the finding.
refutes() {
    local field=$1 experiment=$2
    shift 2
    expect_exit 1 infer "$@" --out lists
    grep -q "^  REFUTED  *$field = " out.txt || fail "$*: $field is not refuted: $(grep REFUTED out.txt)"
    expect_text out.txt "repeat    hbmstress replay lists/$experiment.ops"
    expect_exit "${replays:-1}" replay "lists/$experiment.ops"
    rm -rf lists
}

# libhbm in every mode, and the toys.
keeps hbm
for option in defrag=none defrag=slide drains=no evicts=no program_evicts_program=yes granule=64K \
    order=evict,defragment,drain sleep=keeps sleep=discards; do
    keeps hbm --target-option $option
done
keeps hbm --target-option owners=yes
expect_text out.txt "kept            counts_owners = true"
expect_text out.txt "owners=yes|no: changes contract, counters"
for toy in first_fit null threaded paged buddy; do
    keeps $toy
done
expect_text out.txt "aligns_naturally"
for option in drains=yes drains=no records=no; do
    keeps streamed --target-option $option
done
expect_text out.txt "not declared    records = false, kept so far: true"
for option in grows=yes empty=keep trims=no; do
    keeps segments --target-option $option
done
expect_text out.txt "infer segments, capacity 32M: "
expect_text out.txt "not declared    regions = {.grows = true, .trims = false, .step_bytes = 2097152}, kept so far:"

# What declares too much.
refutes drains drain first_fit --target-option drains=yes
refutes defrag slide first_fit --target-option defrag=slide
refutes evicts evict first_fit --target-option evicts=yes
refutes rounding sizes first_fit --target-option rounding=pow2 --rounding granule
refutes drains drain plant_premature_undrained
refutes drains drain_several plant_premature_stalled
refutes drains drain plant_premature_unretried
refutes defrag slide plant_premature_moved_unretried
refutes defrag slide plant_premature_defragmented_once
refutes evicts evict_several plant_premature_evicted_once
refutes defrag repack plant_moved_unasked
refutes program_evicts_program evict_for_program plant_wrong_eviction
refutes rounding sizes plant_too_large_classes
refutes stream_ordered drain streamed --target-option declares=no
refutes stream_ordered stream_uses plant_stream_uses
refutes records recordings plant_record_reused
refutes regions fill segments --target-option grows=no
refutes regions two_holes segments_across
refutes regions trim segments_given_live
refutes sleeps sleep plant_not_released
refutes sleeps refused_sleep plant_not_released_half
refutes stream_ordered streams plant_stream_stuck
refutes records recordings plant_record_undropped
# Each request is right by itself; which mitigation came first is seen in the device calls alone.
replays=0 refutes order order_move_evict plant_regret_evicts_first

# Host allocators: what docs/adapters.md says is found by design, and nothing else.
export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=8192
for adapter in mimalloc jemalloc; do
    expect_exit 0 list targets
    if grep "^target  malloc:$adapter " out.txt | grep -q "not usable here"; then
        echo "malloc:$adapter is skipped: it is not usable here"
        continue
    fi
    expect_exit 1 infer "malloc:$adapter" --capacity 64M --json
    [ "$(grep -c '"verdict":"refuted"' out.txt)" = 1 ] || fail "malloc:$adapter: $(grep '"verdict":"refuted"' out.txt)"
    grep '"verdict":"refuted"' out.txt | grep -q '"field":"rounding".*"experiment":"largest_alignment"' ||
        fail "malloc:$adapter: not the aligned requests: $(grep '"verdict":"refuted"' out.txt)"
done
unset GLIBC_TUNABLES

# A promise without a field is a line of its own.
expect_exit 1 infer plant_premature_reserve --json
expect_text out.txt '"field":"premature","member":false'
expect_text out.txt '"verdict":"refuted"'
expect_text out.txt '"type":"end"'
expect_text out.txt '"refuted":1,"died":0,"exit":1}'

# Every line is JSON, and there is one for each experiment, field and option.
expect_exit 0 infer hbm --json
[ "$(grep -cv '^{"type":"[a-z]*",.*}$' out.txt)" = 0 ] || fail "a line is no JSON: $(grep -v '^{"type"' out.txt | head -1)"
expect_text out.txt '"field":"drains","member":true,"declared":"true","inferred":"true","verdict":"kept"'
expect_text out.txt '"field":"thread_safe","member":true,"declared":"true","inferred":null,"verdict":"open"'
expect_text out.txt '{"type":"option","key":"log_allocations_on_oom","values":["yes","no"],"changes":["output"]'
[ "$(grep -c '^{"type":"option"' out.txt)" = 14 ] || fail "libhbm has 14 options, and $(grep -c '^{"type":"option"' out.txt) lines"

# The contract is C: it compiles as it is printed.
expect_exit 0 infer null
sed -n '/^{$/,/^}$/p' out.txt >contract.txt
[ "$(grep -c '^    \.[a-z_]* = ' contract.txt)" -ge 12 ] || fail "the contract has too few members: $(cat contract.txt)"
[ "$(grep -c '/\*' contract.txt)" = "$(grep -c '\*/' contract.txt)" ] || fail "a comment does not end"

# Options: one that does nothing, one that does something, one that was not tried.
keeps "$idle"
expect_text out.txt "cache=yes|no: does nothing that these experiments can observe"
expect_text out.txt "pad=yes|no: changes contract"
expect_text out.txt "note=any text: not tried"
expect_exit 0 infer "$idle" --json
expect_text out.txt '{"type":"option","key":"cache","values":["yes","no"],"changes":[]'

# A target that ends its process, or does not come back, is a finding: one line names the experiment.
expect_exit 1 infer "$bad" --target-option fails=crash
expect_text err.txt "hbmstress: experiment "
expect_text err.txt "SIGSEGV"
expect_exit 1 infer "$bad" --target-option fails=loop --op-timeout 200ms --trial-timeout 20s
expect_text err.txt "hbmstress: experiment "
expect_exit 1 infer plant_crash_segv --out lists
expect_text out.txt "experiments that the target did not survive: "
expect_text out.txt "repeat    hbmstress replay lists/compact.ops"
expect_exit 1 replay lists/compact.ops
expect_text out.txt "BROKEN crash"

finish
