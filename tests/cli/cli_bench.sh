#!/usr/bin/env bash
# compare of one op: every row is measured, however little time there is; what cannot be measured is told in one line; a reader that
# leaves ends it.  What the figures are depends on the machine.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
least=(compare --blocks 100 --time 1ms)

# Three degrees of filling, raw and under all checks; the null target is never full.
expect_exit 0 "${least[@]}"
expect_text out.txt "live   full  target  what"
[ "$(grep -c '^ *100 .*% .*[0-9]\.[0-9] .*%$' out.txt)" = 8 ] || fail "not eight rows: $(cat out.txt)"
expect_exit 0 "${least[@]}" --json
[ ! -s err.txt ] || fail "said: $(cat err.txt)"
rows=$(jq -r 'select(.type == "bench" and .ops > 0 and .picoseconds_per_op >= .picoseconds_per_op_least
                     and .picoseconds_per_op_least > 0 and .note == "") |
              [.live, .full_percent, .target, .what] | join(" ")' out.txt) || fail "not JSON: $(cat out.txt)"
wanted="100 70 null raw
100 70 null checked
100 70 hbm raw
100 70 hbm checked
100 95 hbm raw
100 95 hbm checked
100 99 hbm raw
100 99 hbm checked"
[ "$rows" = "$wanted" ] || fail "other rows: $rows"

# One degree of filling alone, and steps of which none is left out: two ops each.
cells() { jq -r '[.live, .full_percent, .target, .what, .ops] | join(" ")' out.txt; }
expect_exit 0 "${least[@]}" --full 99 --steps 300 --json
[ "$(cells)" = "100 99 hbm raw 600
100 99 hbm checked 600" ] || fail "not the cell that was asked for: $(cells)"
expect_exit 0 compare --full 50 --steps 1 --time 1ms --json
[ "$(cells | cut -d ' ' -f 1,2,5 | uniq -c | tr -s ' ')" = " 4 1000 50 2
 4 10000 50 2
 4 100000 50 2" ] || fail "not each number of blocks: $(cells)"
expect_exit 0 "${least[@]}" --full 99 --steps 1
expect_no_text out.txt "repeats of at most"

# A reader that leaves, and one that was never there.
"$hbmstress" "${least[@]}" --json | head -n 2 >two.txt
[ "${PIPESTATUS[*]}" = "0 0" ] || fail "a reader that leaves: ${PIPESTATUS[*]}"
[ "$(wc -l <two.txt)" = 2 ] || fail "not two lines: $(cat two.txt)"
expect_unread 0 compare --time 30s

# Ctrl-C ends it, also within a row.
"$hbmstress" compare --blocks 1000000 --time 1h >out.txt 2>err.txt &
process=$!
wait_until catches_interrupt "$process"
kill -INT "$process"
wait "$process"
got=$?
[ "$got" = 4 ] || fail "after SIGINT: exit $got"
[ "$(wc -l <out.txt)" -lt 13 ] || fail "after SIGINT: all rows: $(cat out.txt)"

# Any target, each in a process of its own; the slots and the emptier devices are the null target's alone.
expect_exit 0 "${least[@]}" --full 70 --steps 10 --json first_fit null
[ "$(cells)" = "100 70 first_fit raw 20
100 70 first_fit checked 20
100 70 null raw 20
100 70 null checked 20" ] || fail "not the targets that were named: $(cells)"
expect_exit 0 "${least[@]}" --full 70 --steps 10 --json --target-option fit=best hbm
finish
