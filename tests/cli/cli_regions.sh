#!/usr/bin/env bash
# A target that takes its memory in regions and gives them back: it passes, its planted defects and what it declares wrongly
# are found, its verdicts are proved with the regions that it held, and what does not go with regions is told in one line.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
checker=$2
run_options="--seed 1 --shrink-budget 100 --workers 1"

expect_exit 0 list plants
expect_text out.txt "segments_across"
expect_exit 0 list faults
expect_text out.txt "region_short"

# shellcheck disable=SC2086
expect_exit 0 run queued_free_race --target segments --capacity 48M --faults all $run_options --ops 600 --keep 1 --out sound
expect_text out.txt "every promise kept"
list=$(find sound/kept -name '*.ops' | head -n 1)
expect_exit 0 replay "$list" --certificates proofs
"$checker" --list proofs/list.ops --observations proofs/observations.jsonl proofs/op-*.json >checked.txt ||
    fail "the checker refuses one: $(grep -v ': valid: ' checked.txt | head -n 3)"
expect_text checked.txt "the state is that of the list and its observations"
grep -q '"grows": true' proofs/op-*.json || fail "no certificate has regions"
grep -q '"taken": \[\[' proofs/observations.jsonl || fail "the log has no region that was taken"

# One region less in a document, and it is no more that of the list.
one=$(grep -l '"regions": \[\[0, [0-9]*\], ' proofs/op-*.json | head -n 1)
sed 's/\(.*"regions": \[.*\), \[[0-9]*, [0-9]*\]\]/\1]/' "$one" >less.json
cmp -s "$one" less.json && fail "the document is as it was"
"$checker" --list proofs/list.ops --observations proofs/observations.jsonl less.json >less.txt && fail "one region less is accepted"

for plant in across:region given_live:region leaked:region untrimmed:premature ungrown:premature spins:hang; do
    # shellcheck disable=SC2086
    expect_exit 1 run crowded exact_edge queued_free_race --target "segments_${plant%:*}" $run_options --seeds 1 --faults none \
        --out "$plant"
    grep -q "^BROKEN ${plant#*:}:" out.txt || fail "segments_${plant%:*} is not found: $(grep '^BROKEN' out.txt | head -n 3)"
done
repro=$(find untrimmed:premature/repros -name 'premature-*.ops' | head -n 1)
expect_exit 1 replay "$repro"
expect_text out.txt "give back empty regions"

# shellcheck disable=SC2086
expect_exit 1 run crowded --target segments --target-option grows=no $run_options --seeds 1 --out not-growing
# shellcheck disable=SC2086
expect_exit 1 run crowded --target segments --target-option empty=keep --target-option trims=yes $run_options --seeds 1 --out not-trimming
expect_text out.txt "fits after trim and grow"

# shellcheck disable=SC2086
expect_exit 0 run fragmentation_storm --target segments --capacity 64M --sweep --ops 40 $run_options --out swept
grep -qE '^ +region +([0-9]+) of \1 +([0-9]+) of \2 ' out.txt || fail "not each region call failed: $(grep region out.txt)"

expect_refusal 2 "there is no option trim; did you mean 'trims'" run crowded --target segments --target-option trim=yes --out out
expect_refusal 2 "cannot be run with lanes" run crowded --target segments --lanes 3 --out out

finish
