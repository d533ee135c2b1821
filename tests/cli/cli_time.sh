#!/usr/bin/env bash
# A run ends when its time is over or somebody asks for it, whatever target, shrink, worker or disk do.  The bounds are
# wide, because the machine may be busy; without these promises each run would take minutes.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
slow_disk=$2
bad_target=$3
late_s=20 # beyond the promised 2 s

# Each sync takes SYNC_SECONDS then, and is noted.
on_slow_disk=(env "SYNC_LOG=$work/syncs" "LD_PRELOAD=$slow_disk"
    "ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0")

# ends_in SECONDS CODE COMMAND...: with its output in out.txt and err.txt.
ends_in() {
    local most=$1 wanted=$2 begin=$SECONDS got
    shift 2
    "$@" >out.txt 2>err.txt
    got=$?
    [ "$got" = "$wanted" ] || fail "$*: exit $got, should be $wanted; $(head -c 300 err.txt)"
    [ $((SECONDS - begin)) -le $((most + late_s)) ] || fail "$*: took $((SECONDS - begin)) s, should be $most"
}

# ends_after SIGNAL CODE PROCESS: it is sent, and the process ends.
ends_after() {
    local begin=$SECONDS got
    kill "-$1" "$3"
    wait "$3"
    got=$?
    [ "$got" = "$2" ] || fail "after SIG$1: exit $got, should be $2; $(head -c 300 err.txt)"
    [ $((SECONDS - begin)) -le $((2 + late_s)) ] || fail "after SIG$1: took $((SECONDS - begin)) s"
}

# A disk that takes a minute: what it has not confirmed is named, and one line is enough.
ends_in 3 0 "${on_slow_disk[@]}" SYNC_SECONDS=60 "$hbmstress" run queued_free_race --time 1s --seed 1 --out slow
expect_text err.txt "slow: written, but the disk has not confirmed it yet: results.jsonl, checkpoint"
[ "$(wc -l <err.txt)" = 1 ] || fail "more than one line: $(cat err.txt)"
expect_text slow/summary.json '"exit":0'
expect_exit 0 run --resume slow # nothing was lost but to a power cut
"${on_slow_disk[@]}" SYNC_SECONDS=60 "$hbmstress" run queued_free_race --seed 1 --ops 100000000 --out slower >out.txt 2>err.txt &
process=$!
wait_until test -s slower/results.jsonl
wait_until catches_interrupt "$process"
ends_after TERM 4 "$process"
expect_text err.txt "slower: written, but the disk has not confirmed it yet"

# Killed while such a disk has confirmed nothing, it can be merged and resumed.
"${on_slow_disk[@]}" SYNC_SECONDS=60 "$hbmstress" run queued_free_race --seed 1 --ops 100000000 --out killed >out.txt 2>err.txt &
process=$!
wait_until test -s killed/results.jsonl
kill -9 "$process"
wait "$process" 2>/dev/null
expect_exit 4 merge killed --out killed-short
expect_text err.txt "killed: this shard did not end"
"$hbmstress" run --resume killed >out.txt 2>err.txt &
process=$!
wait_until catches_interrupt "$process"
ends_after INT 4 "$process"

# Verdicts that are only counted cost no sync: a run with thousands of them has as few as another.
rm -f syncs
"${on_slow_disk[@]}" SYNC_SECONDS=0 "$hbmstress" run queued_free_race --target plant_premature_undrained --seed 1 --ops 40000 \
    --shrink-budget 0 --replay-sample 0 --out counted >out.txt 2>err.txt
counted=$(grep -c '"verdict":"premature"' counted/results.jsonl)
[ "$counted" -ge 20 ] || fail "only $counted verdicts"
syncs=$(wc -l <syncs)
[ "$syncs" -le $((30 + 4 * SECONDS)) ] || fail "$syncs syncs for $counted verdicts"

# What hangs takes long to shrink: it is told before, and neither the end of the time nor a signal waits for the shrink.
"$hbmstress" run queued_free_race --target plant_hang_spin --seed 1 --op-timeout 1s --ops 100000000 --out hang >out.txt 2>err.txt &
process=$!
wait_until grep -q '^found: hang' out.txt
ends_after TERM 1 "$process"
expect_text out.txt "BROKEN hang"
grep -n '^found: hang\|^BROKEN hang' out.txt | head -n 1 | grep -q found || fail "told late: $(cat out.txt)"
ls hang/repros/hang-*.ops >/dev/null || fail "the list of the hang is not there"
ends_in 5 1 "$hbmstress" run queued_free_race --target plant_hang_spin --seed 1 --op-timeout 1s --time 3s --out hang

# A call that does not return until the time is over hangs, though its own bound is not reached.
ends_in 5 1 "$hbmstress" run fragmentation_storm --target "$bad_target" --target-option fails=loop --seed 1 --time 3s --out loop
expect_text out.txt "finding 1: hang in alloc"
"$hbmstress" run fragmentation_storm --target "$bad_target" --target-option fails=loop --seed 1 --ops 100000000 --out looped >out.txt 2>err.txt &
process=$!
wait_until test -s looped/results.jsonl
wait_until catches_interrupt "$process"
ends_after INT 4 "$process"
expect_text out.txt "interrupted; so far"

# timeout(1) sends its signal to the program and to its group: two at once are one.
timeout --signal=TERM 2 "$hbmstress" run queued_free_race --target plant_premature_undrained --seed 1 --ops 100000000 \
    --out twice >out.txt 2>err.txt
expect_text out.txt "a promise was broken"
expect_text twice/summary.json '"interrupted":true'
# Its folders have what its lines name, and nothing else.
while read -r file; do
    grep -qF "$file" twice/results.jsonl || fail "nothing names $file"
done < <(find twice -mindepth 2 -type f)

# A run whose time is over before any trial shows nothing.
expect_exit 4 run --time 1ns --out none
expect_text err.txt "no trial ended within the time of the run"

# A worker that somebody stopped.
"$hbmstress" run queued_free_race --seed 1 --time 2s --workers 2 --out stopped >out.txt 2>err.txt &
process=$!
begin=$SECONDS
wait_until test -s stopped/results.jsonl
wait_until catches_interrupt "$process"
for child in $(cat "/proc/$process/task/$process/children" 2>/dev/null); do
    kill -STOP "$child"
    break
done
wait "$process" || fail "with a stopped worker: exit $?: $(cat err.txt)"
[ $((SECONDS - begin)) -le $((4 + late_s)) ] || fail "a stopped worker: it took $((SECONDS - begin)) s"
finish
