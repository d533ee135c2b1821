#!/usr/bin/env bash
# A campaign survives kill -9 at any moment, is split into shards and joined again, and tells when its canary is silent.
dead_canary=$(realpath "$2")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
kill_count=${HBMSTRESS_KILLS:-5}
refuse() { expect_refusal 2 "$@"; }

cat >job.ini <<'END'
[global]
seed = 5
[storm]
scenario = fragmentation_storm
target = first_fit
option.defrag = slide
capacity = 64M
seeds = 10
[churn]
scenario = recompilation_churn
seeds = 6
[race]
scenario = queued_free_race
ops = 5000
END

# Shorter lists are not what is tested here.
job=(--job job.ini --shrink-budget 20)

# What a campaign found: its trials, verdict by verdict, and its findings; not how long it took.
essence() { # DIR
    grep -v '^{"type":"start"' "$1/results.jsonl" | sed 's/"seconds":[0-9.]*//; s/"interrupted":true,//' | sed "s#$1/##g"
    sed 's/"seconds": *[0-9.]*//' "$1/summary.json" | sed "s#$1/##g"
    for file in "$1"/repros/* "$1"/certificates/*; do
        [ ! -f "$file" ] || (basename "$file" && sed "s#$1/##g" "$file")
    done
}

expect_exit 1 run "${job[@]}" --out whole --workers 2
essence whole >whole.txt
grep -q '"type":"trial"' whole/results.jsonl || fail "no line a trial"
expect_text out.txt "canary: plant_premature_undrained in queued_free_race was reported"
expect_text out.txt "finding 1: premature: fits after defragment"
signatures=$(grep -c '^finding [0-9]*: ' out.txt)
[ "$(find whole/repros -name '*.ops' | wc -l)" = "$signatures" ] || fail "not one repro a signature, $signatures"
for repro in whole/repros/premature-*; do
    expect_exit 1 replay "$repro"
done

# Killed again and again, each time later; then to the end.
whole_bytes=$(stat -c %s whole/results.jsonl)
command=(run "${job[@]}" --out killed --workers 2)
kills=0
RANDOM=7 # the seed: the same places each time
for ((i = 1; i <= kill_count; i++)); do
    "$hbmstress" "${command[@]}" >/dev/null 2>&1 &
    process=$!
    # Any byte of the file may be the last one that is written.
    due=$(((whole_bytes * i + RANDOM % whole_bytes) / (kill_count + 2)))
    while kill -0 "$process" 2>/dev/null && [ "$(stat -c %s killed/results.jsonl 2>/dev/null || echo 0)" -lt "$due" ]; do
        sleep 0.01
    done
    kill -9 "$process" 2>/dev/null && kills=$((kills + 1))
    wait "$process" 2>/dev/null
    [ -s killed/checkpoint ] || continue
    # All lines but the last are whole, and so is that one if it ends.
    sed '/^{"type":"[a-z]*",.*}$/d' killed/results.jsonl >torn.txt
    [ "$(wc -l <torn.txt)" = 0 ] || fail "a line in the middle of results.jsonl is torn: $(head -n 1 torn.txt)"
    command=(run --resume killed --workers $((RANDOM % 3 + 1)))
done
[ "$kills" -gt 0 ] || fail "the campaign was never killed"
expect_exit 1 run --resume killed
essence killed >killed.txt
cmp whole.txt killed.txt || fail "killed $kills times the campaign is another one: $(diff whole.txt killed.txt | head -n 3)"
! find killed -name '*.partial' | grep -q . || fail "half-written files are left: $(find killed -name '*.partial')"

# One that is over says the same again.
expect_exit 1 run --resume killed
essence killed >killed.txt
cmp whole.txt killed.txt || fail "to go on with a campaign that is over changes it"

# Ctrl-C ends it well; it goes on all the same.
"$hbmstress" run "${job[@]}" --out stopped >/dev/null 2>&1 &
process=$!
while kill -0 "$process" 2>/dev/null && [ "$(stat -c %s stopped/results.jsonl 2>/dev/null || echo 0)" -lt 1 ]; do
    sleep 0.01
done
kill -INT "$process" 2>/dev/null
wait "$process"
expect_text stopped/summary.json '"seed":"5"'
# Two may not write to one place, and a job that is cut short has shown nothing.
printf '[global]\nseed = 1\n[slow_leak]\nseeds = 100000\n' >long.ini
"$hbmstress" run --job long.ini --out alone >/dev/null 2>&1 &
process=$!
while kill -0 "$process" 2>/dev/null && [ "$(stat -c %s alone/results.jsonl 2>/dev/null || echo 0)" -lt 1 ]; do
    sleep 0.01
done
"$hbmstress" run --job long.ini --out alone >out.txt 2>err.txt
[ "$?" = 2 ] || fail "two processes write to one place"
expect_text err.txt "another process is writing to it"
# A worker that is killed from outside costs nothing.
kill -9 "$(pgrep -P "$process" | head -n 1)"
kill -INT "$process"
wait "$process"
[ "$?" = 4 ] || fail "a job that was cut short should be exit 4"
expect_no_text alone/results.jsonl '"rule":"crash"'
tail -n 1 stopped/results.jsonl | grep -q '"type":"end"' || fail "the interrupted campaign does not end well"
expect_exit 1 run --resume stopped
essence stopped >stopped.txt
cmp whole.txt stopped.txt || fail "stopped and gone on: $(diff whole.txt stopped.txt | head -n 3)"

# Nobody reads what it says: it ends early, says so in its files, and goes on like any other.
expect_unread 4 run slow_leak --lanes none --seed 1 --seeds 20 --json --out unread
expect_text unread/results.jsonl '"interrupted":true,'
expect_text unread/summary.json '"interrupted":true'
expect_exit 0 run --resume unread
expect_no_text unread/summary.json interrupted
[ "$(grep -c '"type":"trial"' unread/results.jsonl)" = 20 ] || fail "gone on after a closed pipe it is not the whole"

# Shards have each trial once, and joined they are the whole.
for i in 1 2 3; do
    "$hbmstress" run "${job[@]}" --shard "$i/3" --out "shard-$i" storm churn >out.txt 2>err.txt
    [ "$?" -le 1 ] || fail "shard $i/3: $(cat err.txt)"
done
expect_exit 1 run "${job[@]}" --out both storm churn
expect_exit 1 merge shard-1 shard-2 shard-3 --out merged
diff <(grep '"type":"trial"' both/results.jsonl | sort) <(grep '"type":"trial"' merged/results.jsonl | sort) >difference.txt ||
    fail "the shards' trials are not those of the whole: $(head -n 2 difference.txt)"
grep -q '"type":"end"' merged/results.jsonl || fail "the merged results have no end"
totals() {
    grep '"type":"scenario"' "$1/results.jsonl" | sed 's/,"findings_only_counted.*//'
}
cmp <(totals both) <(totals merged) || fail "merged totals differ"
[ -s merged/junit.xml ] || fail "merge writes no junit.xml"
diff <(sed 's,both/,merged/,g' both/results.sarif) merged/results.sarif >difference.txt ||
    fail "the merged results.sarif differs: $(head -c 600 difference.txt)"
[ "$(find merged/repros -name 'premature-*' | wc -l)" = "$(find both/repros -name 'premature-*' | wc -l)" ] ||
    fail "not one repro a signature is merged"
for repro in merged/repros/premature-*; do
    expect_exit 1 replay "$repro"
done
refuse "shard 1/3 is also that of" merge shard-1 shard-1 --out twice
refuse "is not a shard of the same campaign as" merge shard-1 whole --out twice
refuse "merged: no campaign has written here" watch merged
expect_exit 1 merge shard-1 shard-2 --out two
expect_text err.txt "2 of 3 shards are merged"
grep -q interrupted two/results.jsonl || fail "a campaign without one of its shards looks whole"
refuse "no campaign" merge nowhere shard-1

# What an earlier campaign left in a shard's directory is not merged: neither its repros nor its certificates.
storm=(run fragmentation_storm --capacity 64M --seeds 2 --workers 1)
expect_exit 1 "${storm[@]}" --seed 1 --target first_fit --target-option defrag=slide --shrink-budget 40 --out used-1
cp -r used-1 used-2
for i in 1 2; do
    expect_exit 0 "${storm[@]}" --seed 7 --shard "$i/2" --out "used-$i"
    expect_exit 0 "${storm[@]}" --seed 7 --shard "$i/2" --out "new-$i"
done
expect_exit 0 merge new-1 new-2 --out new
expect_exit 0 merge used-1 used-2 --out used
[ ! -e used/repros ] || fail "merge takes repros of an earlier campaign: $(ls used/repros)"
diff -r -I '^# replay:' new/certificates used/certificates || fail "merge takes certificates of an earlier campaign"
expect_text out.txt "used/certificates: $(find new/certificates -name '*.json' | wc -l) for hbmstress check"
# What was removed from a shard stays away.
rm used-2/certificates/*
expect_exit 0 merge used-1 used-2 --out fewer
diff -r -I '^# replay:' new-1/certificates fewer/certificates || fail "merge has not what is left of a shard's certificates"

# What is no campaign, or not this one any more.
refuse "there is no campaign to resume" run --resume nowhere
essence whole >before.txt
for more in "--seed 3" --sweep "--shrink-budget 0" "--replay-sample 3" "--results-limit 1K" "--op-timeout 5s" "--trial-timeout 1m" \
    storm; do
    # shellcheck disable=SC2086
    refuse "only --workers, --annotate and --json" run --resume whole $more
done
essence whole >after.txt
cmp before.txt after.txt || fail "a refused --resume changes what is there"
cp -r whole damaged
printf x | dd of=damaged/checkpoint bs=1 seek=300 conv=notrunc 2>/dev/null
refuse "the file is damaged" run --resume damaged
# One that another build left behind: its checkpoint says version 2.
cp -r whole other
printf 2 | dd of=other/checkpoint bs=1 seek=15 conv=notrunc 2>/dev/null
refuse "another build of hbmstress wrote it" run --resume other
printf x | dd of=other/checkpoint bs=1 seek=3 conv=notrunc 2>/dev/null
refuse "no campaign wrote this file" run --resume other
sed -i 's/seeds = 6/seeds = 7/' job.ini
refuse "has changed since" run --resume whole
for wrong in 0/3 4/3 3 x/y 1/; do
    refuse "is not I/N" run --job job.ini --shard "$wrong"
done

# A full disk: exit 4, one line, and what was written is there.
(ulimit -f 400 && exec "$hbmstress" run "${job[@]}" --out full >out.txt 2>err.txt)
[ "$?" = 4 ] || fail "a full disk should be exit 4"
[ "$(wc -l <err.txt)" = 1 ] || fail "a full disk should be one line: $(cat err.txt)"
[ -s full/results.jsonl ] || fail "a full disk leaves nothing of what was written"
[ "$(tail -c 1 full/results.jsonl)" = "" ] || fail "a full disk leaves half a line"
expect_exit 1 run --resume full

# A canary that nobody hears is a failure of the harness, whatever else was found.
printf '[global]\nseed = 1\n[slow_leak]\nseeds = 2\n' >quiet.ini
expect_exit 0 run --job quiet.ini --out quiet
"$dead_canary" run --job quiet.ini --out dead >out.txt 2>err.txt
[ "$?" = 4 ] || fail "a silent canary should be exit 4"
expect_text err.txt "ran 64 times, but its defect was not reported"
expect_text out.txt "NOT reported"
finish
