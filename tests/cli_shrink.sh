#!/usr/bin/env bash
# Shrinking that is stopped, by its time or by ctrl-C, keeps the fewest ops that it found until then.
# shellcheck source=tests/cli_common.sh
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
    expect_text err.txt "; fewer may do: $1"
    expect_exit 1 replay small.ops --op-timeout 200ms --json
    expect_text out.txt '"signature":"hang in free_after"'
}

# How fast the machine is does not matter: the time is doubled until the hang was seen once.
for seconds in 1 2 4 8 16; do
    "$hbmstress" shrink "$whole" --op-timeout 200ms --time "${seconds}s" -o small.ops 2>err.txt
    code=$?
    [ "$code" = 4 ] || break
    expect_text err.txt "the time was over"
done
[ "$code" = 1 ] || fail "--time: exit $code, should be 1; $(cat err.txt)"
check_kept "the time was over"

rm small.ops
for seconds in 1 2 4 8 16; do
    "$hbmstress" shrink "$whole" --op-timeout 200ms -o small.ops 2>err.txt &
    process=$!
    sleep "$seconds"
    kill -INT "$process"
    wait "$process"
    code=$?
    [ "$code" = 4 ] || break
done
[ "$code" = 1 ] || fail "ctrl-C: exit $code, should be 1; $(cat err.txt)"
check_kept "interrupted"
finish
