#!/usr/bin/env bash
# Shrinking that is stopped, by its time or by ctrl-C, keeps the fewest ops that it found until then.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# Each of some hundred lists hangs for a fifth of a second of processor time, so that all of it takes a minute.
expect_exit 1 run queued_free_race --target plant_hang_spin --seed 1 --ops 60 --op-timeout 200ms --shrink-budget 0 \
    --workers 1 --out out
whole=$(find out/repros -name 'hang-*.ops' | head -n 1)

count_ops() { # FILE
    grep -c '^[0-9]*: ' "$1"
}

# check_kept WHY: small.ops is shorter than the whole list, says why it is not the shortest, and hangs like it.
check_kept() {
    [ "$(count_ops small.ops)" -le "$(count_ops "$whole")" ] || fail "$1: $(count_ops small.ops) ops are left"
    expect_text small.ops "# not shrunk to the end: $1"
    expect_text err.txt "; a shorter list may exist: $1"
    expect_exit 1 replay small.ops --op-timeout 200ms --json
    expect_text out.txt '"signature":"hang in free_after"'
}

# How fast the machine is does not matter: the time is doubled until the hang was seen once.
for seconds in 1 2 4 8 16; do
    "$hbmstress" replay --shrink "$whole" --op-timeout 200ms --time "${seconds}s" -o small.ops 2>err.txt
    code=$?
    [ "$code" = 4 ] || break
    expect_text err.txt "time ran out"
done
[ "$code" = 1 ] || fail "--time: exit $code, should be 1; $(cat err.txt)"
check_kept "time ran out"

rm small.ops
"$hbmstress" replay --shrink "$whole" --op-timeout 200ms -o small.ops 2>err.txt &
process=$!
# Of the children that hung, for a fifth of a second each, some have ended: what the first one did is known.
wait_until has_worked "$process" waited 80
kill -INT "$process"
wait "$process"
code=$?
[ "$code" = 1 ] || fail "ctrl-C: exit $code, should be 1; $(cat err.txt)"
check_kept "interrupted"

# A list with lanes may become longer as it runs: one switch waits for several events.
printf '%s\n' 'hbmstress-ops 1' 'capacity 4' 'granule 1' 'hosts 2' 'target race_double_drain' '' \
    '0: alloc size=1' '1: alloc size=3' '2: alloc size=4 host=1' '3: use block=0 delay=1ns' '4: use block=0 delay=2ns' \
    '5: use block=0 delay=3ns' '6: use block=1 delay=1s' '7: free_after block=1 event=6' \
    '8: free_after block=2 event=6 host=1' '9: alloc size=3 lane=1' '10: alloc size=4 host=1' '11: load size=1 stack=1' \
    '12: switch op=9 point=4 to=0 lane=1' >grows.ops
expect_exit 1 replay --shrink grows.ops -o small.ops
[ "$(wc -l <err.txt)" = 1 ] || fail "a list that grows as it runs: $(head -n 2 err.txt)"
expect_exit 1 replay small.ops
finish
