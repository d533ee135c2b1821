#!/usr/bin/env bash
# What a run looks at when nobody says: faults, small devices and client threads; and what it says of those that it
# could not try.
#
#     tests/cli/cli_defaults.sh HBMSTRESS WAITS_POLL.so WAITS_FUTEX.so [THREADED_EXPLORED.so]
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
poll=$2
futex=$3
instrumented=${4-}

# --- what only faults or client threads show ----------------------------------------------------------------------
# It makes no fault by itself.
seen_by_default() { # SCENARIO TARGET
    expect_exit 1 run "$1" --target "$2" --seed 1 --ops 6000 --shrink-budget 0 --out found
    expect_exit 0 run "$1" --target "$2" --seed 1 --ops 6000 --shrink-budget 0 --out hidden --faults none --lanes none
}
seen_by_default training_step plant_contents_lost_copy
seen_by_default late_program plant_overlap_half_unload
seen_by_default exact_edge race_reused_id
seen_by_default fragmentation_storm race_lock_order
# What no order of calls shows: that nothing orders two accesses.
if [ -n "$instrumented" ]; then
    expect_exit 1 run exact_edge --target "$instrumented" -O race=peek_unlocked --seed 1 --ops 6000 --shrink-budget 0 --out found
    expect_text out.txt "finding race in "
    expect_exit 0 run exact_edge --target "$instrumented" --seed 1 --ops 6000 --out sound
fi

# --- none brings back the plain trials, and each part says what it does ---------------------------------------------
expect_exit 0 run queued_free_race --seed 1 --seeds 3 --out wide --workers 3
expect_text out.txt "queued_free_race.lanes = queued_free_race"
expect_text out.txt "faults all in one trial of 2; 3 lanes"
head -n 1 wide/results.jsonl | grep -q '"faults":"all","faults_every":2' || fail "the start does not say how often faults come"
expect_exit 0 run queued_free_race --seed 1 --seeds 3 --out plain --faults none --lanes none
! grep -q '\.lanes\|faults' out.txt || fail "lanes or faults without asking"
trial() { # DIR NUMBER
    grep "^{\"type\":\"trial\",\"scenario\":\"queued_free_race\",\"trial\":$2," "$1/results.jsonl"
}
for number in 0 2; do
    cmp <(trial wide "$number") <(trial plain "$number") || fail "trial $number is another one"
done
! cmp -s <(trial wide 1) <(trial plain 1) || fail "trial 1 has no faults"

# --- the same, however it is run ------------------------------------------------------------------------------------
essence() { # DIR
    grep -v '^{"type":"start"' "$1/results.jsonl" | sed "s/\"seconds\":[0-9.]*//; s#$1/##g"
}
expect_exit 0 run queued_free_race --seed 1 --seeds 3 --out one --workers 1
cmp <(essence wide) <(essence one) || fail "with one worker it is another run"
for i in 1 2; do
    expect_exit 0 run queued_free_race --seed 1 --seeds 3 --out "shard-$i" --shard "$i/2"
done
expect_exit 0 merge shard-1 shard-2 --out whole
cmp <(tail -n 1 out.txt | sed 's/[0-9.]* s;//') <("$hbmstress" run --resume one | tail -n 1 | sed 's/[0-9.]* s;//') ||
    fail "the shards are not the whole"

# --- what was not tried ---------------------------------------------------------------------------------------------
# not_tried DIR WHAT WHY HOW: in the last line and in the summary.
not_tried() {
    local entry="{\"what\":\"$2\",\"why\":\"[^\"]*$3[^\"]*\",\"how\":\"[^\"]*$4[^\"]*\"}"
    tail -n 1 "$1/results.jsonl" | grep -q "\"not_tried\":\[.*$entry" || fail "$1: the end does not say that $2 was not tried"
    grep -q "$entry" "$1/summary.json" || fail "$1: the summary does not say that $2 was not tried"
}
expect_exit 0 run exact_edge --target first_fit --ops 100 --seed 1 --out contract
expect_text out.txt "lanes: skipped: its contract does not allow calls from several threads; to try it: a contract with"
not_tried contract lanes "its contract does not allow" thread_safe
expect_exit 0 run exact_edge late_program --target "$poll" --ops 100 --seed 1 --out imports
not_tried imports lanes "it imports p" "--free-running"
not_tried imports late_program "it needs programs" "has programs"
# Shows only when it is met: as far as it went, with any number of workers.
for workers in 1 3; do
    expect_exit 0 run queued_free_race exact_edge --target "$futex" --ops 4000 --seed 1 --out "met-$workers" --workers "$workers"
    [ ! -s err.txt ] || fail "lanes that nobody asked for are spoken of: $(cat err.txt)"
done
not_tried met-1 lanes "not modelled: lane . .* waits in futex" "--free-running"
cmp <(essence met-1) <(essence met-3) || fail "with more workers the lanes end elsewhere"
expect_refusal 2 "cannot be run with lanes: it imports p" run exact_edge --target "$poll" --lanes 3

# --- job files keep their own defaults --------------------------------------------------------------------------------
printf '[global]\nlanes = 2\nschedules = 5\nseeds = 1\n[exact_edge]\nlanes = none\n[late_program]\n' >job.ini
expect_exit 0 run --job job.ini --seed 1 --out job
[ "$(head -n 1 job/results.jsonl | grep -o '"lanes":2' | wc -l)" = 1 ] || fail "lanes = none does not take them away"
! grep -q faults <(head -n 1 job/results.jsonl) || fail "a job has faults that it does not name"
expect_exit 0 run --job job.ini --seed 1 --lanes none --out job
! grep -q '"lanes"' <(head -n 1 job/results.jsonl) || fail "--lanes none does not reach a job"

finish
