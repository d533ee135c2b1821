#!/usr/bin/env bash
# Sound plug-ins that wait in ways of their own: threads of C11 are modelled, an import that is not is refused before
# anything runs, and a wait that shows only when it is met ends the trial and accuses nobody.
#
#     tests/explore/waiting_plugins.sh HBMSTRESS WAITS_C11.so WAITS_POLL.so WAITS_FUTEX.so
set -euo pipefail
hbmstress=$1
c11=$2
poll=$3
futex=$4

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

fail() {
    echo "$*" >&2
    cat "$out/text" "$out/errors" >&2
    exit 1
}

# expect CODE WORD...: the program ends with it.
expect() {
    local code=$1 ended=0
    shift
    "$hbmstress" "$@" >"$out/text" 2>"$out/errors" || ended=$?
    [[ $ended == "$code" ]] || fail "exit code $ended instead of $code: $*"
}

scenario=(run queued_free_race --seed 1 --out "$out/run")
for lanes in 2 4; do
    expect 0 "${scenario[@]}" --target "$c11" --lanes "$lanes" --ops 1000 --schedules 40
    grep -q ' 0 broken, .* schedules with ' "$out/text" || fail "no schedules"
done
expect 0 "${scenario[@]}" --target "$c11" --ops 500

refused="target '$poll' cannot be run with lanes: it imports p[a-z]*, which .*; lanes model locks, .* of POSIX and C11$"
expect 2 "${scenario[@]}" --target "$poll" --lanes 2 --ops 500
[[ $(wc -l <"$out/errors") == 1 ]] || fail "not one line"
grep -q "$refused" "$out/errors" || fail "another message"
printf '%s\n' 'hbmstress-ops 1' 'capacity 64K' '' '0: alloc size=8K' '1: alloc size=8K lane=1' '2: free block=0' \
    '3: alloc size=40K lane=1' >"$out/two.ops"
for how in "" "--strategy random"; do
    # shellcheck disable=SC2086
    expect 2 replay "$out/two.ops" --target "$poll" $how
    grep -q "cannot be run with lanes: it imports p" "$out/errors" || fail "another message"
done
# Nothing is to be modelled without lanes, or without a scheduler.
expect 0 "${scenario[@]}" --target "$poll" --ops 500
expect 0 "${scenario[@]}" --target "$poll" --lanes 2 --free-running --schedules 5 --ops 500

for backend in threads fibers; do
    expect 3 "${scenario[@]}" --target "$futex" --lanes 3 --ops 1000 --backend "$backend" --workers 1 --json
    # An optimiser makes several functions of one: enter_door.part.0.
    [[ $(grep -c 'was not modelled: lane [0-9]* (op [-0-9]*) waits in futex at enter_door[.a-z0-9]*+0x' "$out/errors") == 1 ]] ||
        fail "not told once who waits where"
    grep '"type":"end"' "$out/text" >"$out/end"
    grep -q '"not_modelled":[1-9]' "$out/end" || fail "not counted"
    grep -q '"broken":0' "$out/end" || fail "accused"
    trials=$(grep -c '"type":"trial"' "$out/text")
    seconds=$(sed 's/.*"seconds":\([0-9]*\).*/\1/' "$out/end")
    # A second for each, and one for what a trial does besides.
    ((seconds <= 2 * trials)) || fail "$trials trials took $seconds s"
done
expect 3 replay "$out/two.ops" --target "$futex" --strategy exhaustive
grep -q 'it met what is not modelled: lane ' "$out/errors" || fail "not told"
grep -q 'not every trial could be modelled' "$out/text" || fail "another end"
