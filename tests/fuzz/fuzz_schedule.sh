#!/usr/bin/env bash
# From bytes to a repro: inputs whose choices break a planted race end in its rule, and the list that is left breaks
# the same promise in `hbmstress replay`; an honest allocator keeps every promise under the same bytes.
#
#     tests/fuzz/fuzz_schedule.sh FUZZ_SCHEDULE FUZZ_INPUT HBMSTRESS
set -euo pipefail
fuzz_schedule=$(realpath "$1")
fuzz_input=$(realpath "$2")
hbmstress=$(realpath "$3")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fail() {
    echo "$*" >&2
    exit 1
}

# One list for all of them: queued frees that two clients await, and frees that meet requests.
cat >list.ops <<'END'
hbmstress-ops 1
capacity 4K
granule 512
0: alloc size=2K
1: alloc size=2K
2: free_after block=0 delay=1ms
3: alloc size=1K lane=1
4: free block=1 lane=2
5: alloc size=1K lane=2
END
"$fuzz_input" from-ops . list.ops

# 200 inputs, each with the list and 40 choices, 3 of 4 of them the default.
mkdir inputs
state=1
draw() { # BELOW
    state=$(((state * 1103515245 + 12345) & 0x7fffffff))
    drawn=$(((state >> 16) % $1))
}
for number in $(seq 100 299); do
    {
        head -c 24 list
        printf '\050\0'
        tail -c +27 list
        choices=""
        for _ in $(seq 40); do
            draw 4
            if [ "$drawn" -eq 0 ]; then draw 6; else drawn=0; fi
            choices+="\\$drawn"
        done
        printf '%b' "${choices//\\/\\0}"
    } >"inputs/$number"
done

play() { # TARGET FOLDER INPUTS
    mkdir -p "$2"
    status=0
    HBMSTRESS_FUZZ_TARGET=$1 HBMSTRESS_FUZZ_OUT=$2 "$fuzz_schedule" "$3" >"$2.log" 2>&1 || status=$?
}

play threaded honest inputs
[ "$status" -eq 0 ] || fail "the honest target is accused: $(grep -m 2 'found\|reason' honest.log)"
grep -q '200 inputs, no finding' honest.log || fail "not all inputs were played: $(tail -n 1 honest.log)"

# The counters that a free writes late, and two mutexes in two orders: a rule of the judge, and one of the scheduler.
for race in counter_unlocked:counters lock_order:deadlock; do
    target=race_${race%:*} rule=${race#*:}
    play "$target" "$rule" inputs
    [ "$status" -ne 0 ] || fail "$target: no bytes of 200 find it"
    grep -q "fuzz_schedule found: $rule[: ]" "$rule.log" || fail "$target: something else: $(grep -m 1 found "$rule.log")"
    repro=$(ls "$rule"/fuzz_schedule-"$rule"*.ops)
    grep -q ' switch ' "$repro" || fail "$repro has no schedule"
    if "$hbmstress" replay "$repro" >replay.txt 2>&1; then fail "$repro breaks nothing: $(cat replay.txt)"; fi
    grep -q "^BROKEN $rule:" replay.txt || fail "$repro breaks another promise: $(cat replay.txt)"
    # The repro as an input, without bytes that choose, is played with the schedule that is in it.
    "$fuzz_input" from-ops . "$repro"
    play "$target" again "$(basename "$repro" .ops)"
    grep -q "fuzz_schedule found: $rule[: ]" again.log || fail "$repro as an input: $(cat again.log)"
done

play first_fit refused inputs
[ "$status" -eq 2 ] || fail "first_fit ends with $status"
grep -q "cannot be run with lanes" refused.log || fail "first_fit: $(cat refused.log)"
