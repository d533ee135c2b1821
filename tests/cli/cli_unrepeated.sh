#!/usr/bin/env bash
# Verdicts of free-running lanes: one that cannot be repeated is counted, and no finding.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
target=$2
run="run queued_free_race --target $target --lanes 3 --free-running --schedules 20 --seed 1 --seeds 2 --workers 1"
# Each trial draws its list, and only its last ops are dealt: short lists are enough.
run="$run --ops 1200"

# Seen once, and never again.
touch once
# shellcheck disable=SC2086
expect_exit 3 $run
[ ! -e once ] || fail "the flaw did not show"
expect_text out.txt "no promise broken for certain, but a verdict cannot be repeated, 1 unrepeated of 0 allowed: "
expect_text out.txt " 0 broken, "
expect_no_text out.txt "finding 1"
expect_no_text out.txt "BROKEN"
expect_text err.txt "hbmstress: unrepeated: status"
[ "$(grep -c "^hbmstress: " err.txt)" = 1 ] || fail "more than one line: $(cat err.txt)"
list=$(echo out/unrepeated/status-queued_free_race-*.ops)
[ -f "$list" ] || fail "the list is not there: $list"
expect_text "$list" "and could not be repeated"
expect_text out/summary.json '"unrepeated":1'
expect_text out/summary.json '"findings":[]'
expect_text out/junit.xml '<failure type="unrepeated" message="1 verdicts could not be repeated"/>'

# The same where the job allows it, resumed and merged.
printf '[global]\nallow_unrepeated = 1\n[queued_free_race]\n' >job.ini
touch once
# shellcheck disable=SC2086
expect_exit 0 ${run/run queued_free_race/run --job job.ini} --json --shard 1/1 --out shard
expect_text out.txt '"unrepeated":1'
expect_no_text out.txt '"type":"broken"'
expect_text shard/junit.xml '<skipped message="1 verdicts could not be repeated, which is allowed"/>'
expect_exit 0 run --resume shard
expect_text out.txt "every promise kept, 1 unrepeated of 1 allowed: "
expect_exit 0 merge shard --out merged
expect_text out.txt "every promise kept, 1 unrepeated of 1 allowed: "
ls merged/unrepeated/*.ops >ls.txt 2>&1 || fail "merge leaves the list behind"
printf '[queued_free_race]\nallow_unrepeated = 1\n' >section.ini
expect_refusal 2 "section.ini:2: 'allow_unrepeated' applies to the whole run: it belongs in [global]" \
    run --job section.ini
expect_refusal 2 "--allow-unrepeated: 'x' is not a number" run slow_leak --allow-unrepeated x

# What shows again is a finding, whatever is allowed.
touch always
rm -rf out
# shellcheck disable=SC2086
expect_exit 1 $run --allow-unrepeated 9 --shrink-budget 0
expect_text out.txt "BROKEN status"
[ ! -e out/unrepeated ] || fail "a finding that shows again is unrepeated"
rm always

# A crash that was seen is one, too.
touch crash
# shellcheck disable=SC2086
expect_exit 1 $run --allow-unrepeated 9 --shrink-budget 0
expect_text out.txt "BROKEN crash"
finish
