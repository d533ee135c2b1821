#!/usr/bin/env bash
# compare: a full disk, nobody who reads, and ctrl-C.  What it prints: tests/snap/compare.snap.
#
#     tests/cli/cli_compare.sh HBMSTRESS FOLDER_OF_BUILDS
builds=$(realpath "$2")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
cp "$builds"/versus_*.so .
printf 'hbmstress-ops 1\ncapacity 8K\n0: alloc size=4K\n1: alloc size=1K\n2: free block=0\n3: alloc size=4K\n' >holes.ops

"$hbmstress" compare hbm holes.ops >/dev/full 2>err.txt
[ $? = 4 ] || fail "a full disk: exit $?, should be 4"
[ "$(wc -l <err.txt)" = 1 ] || fail "a full disk: $(cat err.txt)"
expect_unread 1 compare versus_sound.so versus_greedy.so holes.ops
"$hbmstress" compare versus_sound.so versus_greedy.so --shrink-budget 0 >out.txt 2>err.txt &
process=$!
wait_until catches_interrupt $process
kill -INT $process
wait $process
code=$?
[ $code = 4 ] || fail "ctrl-C: exit $code, should be 4"
expect_text err.txt "hbmstress: interrupted"
[ ! -s out.txt ] || fail "ctrl-C: a part was printed: $(head -c 200 out.txt)"
finish
