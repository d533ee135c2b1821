#!/usr/bin/env bash
# run --sweep: every device call of a list is failed, what breaks is kept as a list that replays, and a target that
# crashes or hangs in it costs one replay and not the sweep.
flawed=$(realpath "$2")
job=$(realpath "$3")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

sweep() { # CODE ARGUMENT...
    local code=$1
    shift
    expect_exit "$code" run eviction_pressure --sweep --ops 60 --seed 1 --capacity 64M "$@"
}

# Nothing is broken: every call of each kind was failed, and the same seed gives the same bytes with any workers.
sweep 0 --target "$flawed" --out kept
expect_text out.txt "every promise kept: 1 scenario"
expect_text out.txt "device calls failed once and forever, all of "
for kind in open copy unload host_memory; do
    joined out.txt | grep -qE " $kind +([1-9][0-9]*) of \1 +\1 of \1 " || fail "not every $kind was failed"
done
[ ! -e kept/repros ] || fail "a list was kept though nothing broke"
tail -n 1 kept/results.jsonl | grep -q '^{"type":"end",.*"exit":0}$' || fail "the results have no end"
grep '^{"type":"sweep","scenario":"eviction_pressure",' kept/results.jsonl | grep -q '"kind":"copy","calls":[1-9]' ||
    fail "the results have no line for copies"
for workers in 1 3; do
    expect_exit 0 run eviction_pressure exact_edge --sweep --ops 40 --seed 7 --capacity 64M --json --workers "$workers"
    sed 's/"seconds":[0-9.]*//' out.txt >"with_$workers.txt"
done
cmp -s with_1.txt with_3.txt || fail "another number of workers gives other lines"

# A premature refusal says what would have been served.
expect_exit 1 run eviction_pressure --sweep --target plant_premature_defragmented_once --ops 120 --seed 1 --capacity 64M \
    --shrink-budget 0 --json
grep -m 1 '"verdict":"premature"' out.txt | grep -q '"largest_served_bytes":[1-9]' || fail "no largest request: $(grep -m 1 premature out.txt)"

# What breaks is shrunk and kept, and its list shows it alone.
sweep 1 --target "$flawed" --target-option flaw=counters --shrink-budget 100 --out counters
expect_text out.txt "BROKEN counters"
expect_text out.txt "promises broken "
[ "$(find counters/repros -name 'counters-*.ops' | wc -l)" = 5 ] || fail "should keep 5 lists of one rule"
for repro in counters/repros/*.ops; do
    expect_exit 1 replay "$repro" --json
    expect_text out.txt '"rule":"counters"'
    expect_exit 0 replay "$repro" --target-option flaw=none
    [ "$(grep -c '^[0-9]' "$repro")" -lt 60 ] || fail "$repro was not shrunk"
done
sweep 1 --target "$flawed" --target-option flaw=counters --json --shrink-budget 0
grep '"type":"broken","rule":"counters"' out.txt | grep -q '"fault":"[a-z_]*","mode":"[a-z ]*","host":0,"call":[1-9]' ||
    fail "the finding does not say which call was failed"
sweep 1 --target "$flawed" --target-option flaw=open_leak --shrink-budget 100
expect_text out.txt "BROKEN host_memory"

# A target that ends its process, or never returns.
sweep 1 --target "$flawed" --target-option flaw=crash --shrink-budget 20 --out crash
expect_text out.txt "BROKEN crash"
expect_text out.txt "SIGABRT"
joined out.txt | grep -qE " copy +([1-9][0-9]*) of \1 +\1 of \1 " || fail "the crashes ended the sweep of other kinds"
repro=$(find crash/repros -name 'crash-*.ops' | sort | head -n 1)
expect_exit 1 replay "$repro"
sweep 1 --target "$flawed" --target-option flaw=loop --trial-timeout 200ms --ops 12 --out hang
expect_text out.txt "BROKEN hang"
sweep 1 --target "$flawed" --target-option flaw=loop --op-timeout 200ms --ops 12 --out hang
expect_text out.txt "the target does not return: a hang in "

# Ctrl-C: what was found until then is told and kept, whether or not its part was over.
interrupt() { # CODE FLAW
    local process
    rm -f loops
    FLAWED_TARGET_LOOPS=loops "$hbmstress" run eviction_pressure exact_edge --sweep --ops 60 --seed 1 --capacity 64M --workers 1 --target "$flawed" \
        --target-option flaw="$2" --out "cut_$2" >out.txt 2>err.txt &
    process=$!
    while kill -0 "$process" 2>/dev/null && [ ! -e loops ]; do
        sleep 0.01
    done
    kill -INT "$process"
    wait "$process"
    [ "$?" = "$1" ] || fail "an interrupted sweep with flaw=$2 should be exit $1"
    expect_text "cut_$2/results.jsonl" '"scenario":"exact_edge","note":"interrupted: its sweep is incomplete"'
    tail -n 1 "cut_$2/results.jsonl" | grep -q '"interrupted":true,.*"exit":'"$1" || fail "$(tail -n 1 "cut_$2/results.jsonl")"
}
interrupt 1 stall
expect_text out.txt "BROKEN counters"
expect_text out.txt "interrupted; so far promises broken "
repro=$(find cut_stall/repros -name 'counters-*.ops' | sort | head -n 1)
expect_text "$repro" "not shrunk: it was interrupted"
expect_exit 1 replay "$repro"
interrupt 4 loop
expect_text out.txt "interrupted; so far every promise kept: 1 scenario"

# Nobody reads what it says: quiet, and the results say that it is not all.
expect_unread 0 run exact_edge slow_leak --sweep --ops 20 --seed 1 --capacity 64M --json --out unread
expect_text unread/results.jsonl '"interrupted":true,'

# A job's parts; what makes no sense.
expect_exit 0 run --job "$job" exact_edge --sweep --ops 20 --out job
expect_text out.txt "every promise kept: 1 scenario"
for campaign in "--shard 1/2" "--seeds 3" "--replay-sample 3" "--results-limit 1K"; do
    # shellcheck disable=SC2086
    expect_refusal 2 "${campaign% *} applies to a campaign" run exact_edge --ops 20 --sweep $campaign
done
printf '[exact_edge]\nops = 20\n[short]\nscenario = exact_edge\nops = 30\n[faulty]\nscenario = exact_edge\nfaults = copy\n' >job.ini
expect_refusal 2 "job.ini: faulty has faults" run --job job.ini --sweep
expect_exit 0 run --job job.ini --sweep --faults none short --out job
expect_text out.txt "short: trial "
expect_text out.txt ", 30 ops, "
expect_exit 0 run --job job.ini --sweep --faults none short --ops 10 --out job
expect_text out.txt ", 10 ops, "
printf '[exact_edge]\nlanes = 2\n' >job.ini
expect_refusal 2 "job.ini: exact_edge has lanes" run --job job.ini --sweep
printf '[exact_edge]\nops = 99999999\n' >job.ini
expect_refusal 2 "job.ini: exact_edge: ops: a sweep accepts at most" run --job job.ini --sweep
expect_exit 0 run --help
expect_text out.txt "--sweep"
finish
