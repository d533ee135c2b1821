#!/usr/bin/env bash
# scale in the world; what it prints is tests/snap/scale.snap.
#
#     tests/cli/cli_scale.sh HBMSTRESS
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# The world: a disk that is full, nobody who reads, ctrl-C.
[ ! -w /dev/full ] || {
    expect_exit 4 scale --hosts 1 --until 10 --out /dev/full
    expect_text err.txt "/dev/full: No space left on device"
    "$hbmstress" scale --hosts 1 --until 10 >/dev/full 2>err.txt
    [ $? = 4 ] || fail "a full standard output is no failure"
}
expect_unread 0 scale --hosts 1,2 --until 10
"$hbmstress" scale --until 100000 --json --out unfinished.jsonl >out.txt 2>err.txt &
pid=$!
wait_until grep -q '"type":"start"' out.txt
kill -INT $pid
wait $pid
[ $? = 4 ] || fail "ctrl-C: the exit code is not 4"
expect_text err.txt "interrupted"
[ ! -e unfinished.jsonl ] || fail "ctrl-C left a file"

finish
