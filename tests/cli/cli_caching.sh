#!/usr/bin/env bash
# The model of PyTorch's caching allocator: it passes, its pools are held against it where its contract has none, each planted
# defect is found by a run without options, and a wrong setting is refused in one line.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
run_options="--seed 7 --shrink-budget 100 --workers 1"

expect_exit 0 list plants
expect_text out.txt "caching_unmerged"
expect_exit 0 list targets
expect_text out.txt "per_process_memory_fraction="

# shellcheck disable=SC2086
expect_exit 0 run crowded queued_free_race --target caching --faults all $run_options --ops 2000 --out sound
expect_text out.txt "every promise kept"
# shellcheck disable=SC2086
expect_exit 0 run crowded queued_free_race --target caching --target-option pools=one --target-option limit=device --faults all \
    $run_options --ops 2000 --out one
expect_text out.txt "every promise kept, every OOM judged"
# shellcheck disable=SC2086
expect_exit 1 run queued_free_race --target caching --target-option limit=device $run_options --ops 8000 --out pools
expect_text out.txt "premature: fits after grow"

for plant in keeps:premature unmerged:premature overlaps:overlap loses:premature early:reused_early; do
    # shellcheck disable=SC2086
    expect_exit 1 run crowded exact_edge queued_free_race --target "caching_${plant%:*}" $run_options --ops 2000 --out "$plant"
    grep -q "^BROKEN ${plant#*:}:" out.txt || fail "caching_${plant%:*} is not found: $(grep '^BROKEN' out.txt | head -n 3)"
done

for option in max_split_size_mb=19 max_split_size_mb=1x large_segment_size_mb=10 max_non_split_rounding_mb=5 \
    per_process_memory_fraction=0 per_process_memory_fraction=1.5 garbage_collection_threshold=1 roundup_power2_divisions=3; do
    expect_refusal 2 "${option%=*}" run crowded --target caching --target-option "$option" --out out
done

finish
