#!/usr/bin/env bash
# Only what repeats is advertised: a list that shows its finding only behind other trials is kept with those, one that
# never shows it again is unrepeated, and state that outlives a trial is named.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
target=$2
run="run --faults none --lanes none fragmentation_storm --target $target --seed 1 --workers 1"

# The first request fails from the third instance on: the second trial shows it, and its list alone does not.
touch refuses
# shellcheck disable=SC2086
expect_exit 1 $run --seeds 2 --ops 2800 --out kept
base=$(echo kept/repros/status-*.before-1.ops)
base=${base%.before-1.ops}
expect_text out.txt "finding 1: status: alloc returned FAILED: seen 1 times"
line="hbmstress replay $base.ops --after $base.before-1.ops --after $base.before-2.ops"
expect_text out.txt "  replay  $line"
expect_text "$base.ops" "# replay: $line"
expect_text "$base.ops" "# it shows only after 2 earlier lists"
expect_text kept/results.jsonl "\"after\":[\"$base.before-1.ops\",\"$base.before-2.ops\"]"
expect_text kept/results.jsonl "\"replay\":\"$line\""
expect_text kept/summary.json "\"after\":[\"$base.before-1.ops\",\"$base.before-2.ops\"]"
expect_text kept/summary.json "\"replay\":\"$line\""
expect_text kept/junit.xml "after: $base.before-2.ops"
expect_text kept/junit.xml "replay: $line"
expect_no_text kept/summary.json '"unrepeated"'
[ ! -e "$base.before-3.ops" ] || fail "more earlier trials than needed"
# The line shows it, fewer lists do not.
# shellcheck disable=SC2086
expect_exit 1 ${line#hbmstress }
expect_text out.txt "BROKEN status: op 0"
expect_exit 0 replay "$base.ops" --replay-sample 0
expect_exit 0 replay "$base.ops" --after "$base.before-1.ops" --replay-sample 0
# Only the last list is judged: the same one as an earlier one breaks nothing.
expect_exit 0 replay "$base.before-1.ops" --after "$base.ops" --after "$base.ops" --after "$base.ops" \
    --replay-sample 0 --target hbm
# A shard's finding keeps them.
expect_exit 1 merge kept --out merged
[ -f "merged/repros/${base#kept/repros/}.before-2.ops" ] || fail "merge leaves the earlier lists behind"
expect_text merged/summary.json "merged/repros/${base#kept/repros/}.before-2.ops"
rm refuses

# What is given wrong is told.
expect_refusal 2 "nowhere.ops" replay "$base.ops" --after nowhere.ops
expect_refusal 2 "--after needs a value" replay "$base.ops" --after
expect_refusal 2 "--after" replay "$base.ops" --after "$base.ops" --strategy random
# An earlier list that takes the process with it leaves nothing to judge.
touch dies
expect_exit 4 replay "$base.ops" --after "$base.before-1.ops"
expect_text err.txt "hbmstress: $base.before-1.ops: nothing was judged, as this earlier list ended with: "

# Seen once, and never again.
touch once
# shellcheck disable=SC2086
expect_exit 3 $run --seeds 1 --ops 300 --replay-sample 0 --out once-out
expect_text out.txt "but a verdict cannot be repeated, 1 unrepeated of 0 allowed: "
expect_text err.txt "hbmstress: unrepeated: status: alloc returned FAILED, in trial 0 of fragmentation_storm: its op list"
expect_no_text out.txt "BROKEN"
expect_text once-out/summary.json '"unrepeated":1'
expect_text once-out/summary.json '"findings":[]'
expect_text once-out/junit.xml '<failure type="unrepeated" message="1 verdicts could not be repeated"/>'
[ -f "$(echo once-out/unrepeated/status-*.ops)" ] || fail "the list is not there"
[ ! -e once-out/repros ] || fail "a repro that shows nothing is kept"
# The same where none is shrunk, and where the run allows it.
touch once
# shellcheck disable=SC2086
expect_exit 0 $run --seeds 1 --ops 300 --replay-sample 0 --allow-unrepeated 1 --shrink-budget 0 --out once-out
expect_text out.txt "every promise kept, 1 unrepeated of 1 allowed: "

# A death was seen, and stays a finding.
touch dies
# shellcheck disable=SC2086
expect_exit 1 $run --seeds 1 --ops 300 --replay-sample 0 --out dead
expect_text out.txt "finding 1: crash: SIGABRT at alloc_by_count: seen 1 times, first in trial 0 of fragmentation_storm, unrepeated; "
expect_text out.txt "  repeats unrepeated: the list did not show it again"
expect_text dead/results.jsonl '"unrepeated":true'
expect_text dead/summary.json '"unrepeated":true'
expect_text dead/junit.xml "unrepeated: the list did not show it again"
expect_text "$(echo dead/repros/crash-*.ops)" "# unrepeated: the list did not show it again"

# From the third instance on it moves blocks before it waits, which breaks no promise: the fourth trial is compared
# with a fresh instance.
touch moves
# shellcheck disable=SC2086
expect_exit 1 $run --seeds 4 --ops 8000 --out moves-out
expect_text out.txt "finding 1: replay: state outlives a trial: seen 1 times, first in trial 3 of fragmentation_storm"
expect_text out.txt "  reason  the target keeps state between trials: "
expect_text out.txt " in a process in which it never ran"
line=$(sed -n 's/^  replay  hbmstress //p' out.txt)
# shellcheck disable=SC2086
expect_exit 1 $line
expect_text out.txt "finding replay: state outlives a trial"
# shellcheck disable=SC2086
expect_exit 0 $run --seeds 4 --ops 8000 --replay-sample 0 --out moves-out
# With lanes a run in the default schedule is.
# shellcheck disable=SC2086
expect_exit 1 $run --seeds 4 --lanes 2 --schedules 2 --seed 3 --ops 8000 --out lanes-out
expect_text out.txt "finding 1: replay: state outlives a trial: seen 1 times, first in trial 3 of fragmentation_storm"
line=$(sed -n 's/^  replay  hbmstress //p' out.txt)
# shellcheck disable=SC2086
expect_exit 1 $line
expect_text out.txt "finding replay: state outlives a trial"
finish
