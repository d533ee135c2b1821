#!/usr/bin/env bash
# Out-of-memories that stay unknown: how many a job allows, and what it says of them.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
stuck=$2

# --- what is not a rate --------------------------------------------------------------------------------------------
for rate in "" plain plain: plain:x plain:2 plain:1e9 plain:1/0 plain:.5 plain:1. plain:1e- plain:1/2/3 \
    plain:1e-8,plain:1e-9 wide:1e-8 plain:1e-20 plain:1234567890123456789; do
    expect_refusal 2 "--unknown-rate: '$rate' is not a list of CLASS:RATE" run slow_leak --unknown-rate "$rate"
done
printf '[slow_leak]\nunknown_rate = plain:1e-8\n' >section.ini
expect_refusal 2 "section.ini:2: 'unknown_rate' applies to the whole run: it belongs in [global]" run --job section.ini
expect_exit 0 run slow_leak --ops 200 --seed 1 --unknown-rate "plain:1e-8, aligned:0.25	held:1/3"
expect_text out.txt "every promise kept, every OOM judged: "

# --- with a search that gives up -----------------------------------------------------------------------------------
hbmstress=$stuck
run="run fragmentation_storm -O defrag=repack --faults none --lanes none --seed 4 --seeds 8"
# count MEMBER: of the line that ends the run.
count() {
    sed -n 's/^{"type":"end".*/&/p' out.txt | grep -o "\"$1\":[0-9]*" | head -n 1 | cut -d: -f2
}
# count_classes: sets plain, aligned, held and ooms.
count_classes() {
    classes=$(grep '^{"type":"end"' out.txt | grep -o '"unknown_by_class":{[^}]*}')
    plain=$(grep -o '"plain":[0-9]*' <<<"$classes" | cut -d: -f2)
    aligned=$(grep -o '"aligned":[0-9]*' <<<"$classes" | cut -d: -f2)
    held=$(grep -o '"held":[0-9]*' <<<"$classes" | cut -d: -f2)
    ooms=$(count ooms)
}
# shellcheck disable=SC2086
expect_exit 3 $run --json
unknown=$(count unknown)
count_classes
[ "${unknown:-0}" -ge 2 ] || fail "the search is not stuck: $unknown unknown of $ooms"
expect_no_text out.txt '"unknown_allowed"'
[ $((plain + aligned + held)) = "$unknown" ] || fail "classes do not add up to $unknown: $classes"
# Each list that is saved says why its memory ran out.
places() { # TYPE WHERE
    # The first "op" is that of the out-of-memory: causes behind it may name others.
    grep "\"type\":\"$1\".*\"unknown\"${2-}" out.txt | awk '
        match($0, /"trial":[0-9]+/) { trial = substr($0, RSTART, RLENGTH) }
        match($0, /"op":[0-9]+/) { print trial, substr($0, RSTART, RLENGTH) }' | sort
}
places verdict '.*"certificate":' >saved.txt
[ -s saved.txt ] && places diagnosis | cmp -s - saved.txt || fail "saved are $(cat saved.txt), with a diagnosis $(places diagnosis)"
# shellcheck disable=SC2086
expect_exit 3 $run
expect_text out.txt "no promise broken, but an OOM stayed unknown: "

# Exactly as many as there are: the rate is of all out-of-memories.
rates="plain:$plain/$ooms aligned:$aligned/$ooms held:$held/$ooms"
# shellcheck disable=SC2086
expect_exit 0 $run --unknown-rate "$rates"
[ "$plain" = 0 ] || expect_text out.txt ", $plain unknown of $plain allowed (plain)"
[ "$held" = 0 ] || expect_text out.txt ", $held unknown of $held allowed (held)"
expect_text out.txt "every promise kept, "
expect_no_text out.txt "every OOM judged"
expect_text out/junit.xml "<skipped message=\"$unknown verdicts stayed unknown, which is allowed\"/>"
expect_no_text out/junit.xml "<failure"
# shellcheck disable=SC2086
expect_exit 0 $run --unknown-rate "$rates" --json
expect_text out.txt "\"unknown_by_class\":{\"plain\":$plain,\"aligned\":$aligned,\"held\":$held},\"unknown_allowed\":{\"plain\":$plain,\"aligned\":$aligned,\"held\":$held}"
expect_text out/summary.json '"unknown_allowed":{'

# One fewer in any class that has some, and none of another class makes up for it.
most=$((plain > held ? plain : held))
worst=$([ "$plain" = "$most" ] && echo plain || echo held)
others="plain:1 aligned:1 held:1"
# shellcheck disable=SC2086
expect_exit 3 $run --unknown-rate "${others/$worst:1/$worst:$((most - 1))/$ooms}"
expect_text out.txt "no promise broken, but an OOM stayed unknown, "
expect_text out.txt "$most unknown of $((most - 1)) allowed ($worst)"
expect_text out/junit.xml '<failure type="unknown"'

# A job file, whose devices are all drawn, says the same; a run that is resumed keeps it, and so do the shards of a
# campaign.
printf '[global]\nseed = 4\nseeds = 8\noption.defrag = repack\n[fragmentation_storm]\n' >job.ini
expect_exit 3 run --job job.ini --out open --json
count_classes
rates="plain:$plain/$ooms aligned:$aligned/$ooms held:$held/$ooms"
printf '[global]\nunknown_rate = %s\nseed = 4\nseeds = 8\noption.defrag = repack\n[fragmentation_storm]\n' \
    "$rates" >job.ini
expect_exit 0 run --job job.ini --out whole
expect_text out.txt "unknown of"
expect_exit 0 run --resume whole
expect_text out.txt "unknown of"
for shard in 1 2; do
    "$hbmstress" run --job job.ini --shard "$shard/2" --out "shard-$shard" >out.txt 2>err.txt
done
expect_exit 0 merge shard-1 shard-2 --out merged
expect_text out.txt "unknown of"
finish
