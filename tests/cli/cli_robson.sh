#!/usr/bin/env bash
# compare --robson: an allocator that moves nothing needs at least the bound, one that moves only what is live; what makes no
# sense with it is told in one line.
#
#     tests/cli/cli_robson.sh HBMSTRESS
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
small=(-S live=64 -S largest=8 -S smallest=512)

# 64 * (1 + 3 / 2) - 8 + 1 = 153 of 64.
expect_exit 0 compare first_fit buddy --robson "${small[@]}"
expect_text out.txt "Robson's adversary: 32K live, in blocks of 512 to 4K"
expect_text out.txt "first_fit: Robson: used 2.4"
expect_text out.txt "buddy: Robson: used 2."
[ "$(grep -c 'the bound for any allocator that moves nothing is 2.39 x$' out.txt)" = 2 ] || fail "no bound: $(cat out.txt)"
expect_exit 0 compare hbm --robson "${small[@]}"
expect_text out.txt ", smallest device 1.00 x (its blocks may move), "
expect_exit 0 compare hbm --robson "${small[@]}" -O defrag=none --json
expect_text out.txt '"bound_bytes":78336,"has_addresses":true,"may_move":false'
used=$(sed -n 's/.*"used_bytes":\([0-9]*\).*/\1/p' out.txt)
least=$(sed -n 's/.*"smallest_capacity_bytes":\([0-9]*\).*/\1/p' out.txt)
[ "${used:-0}" -ge 78336 ] && [ "${least:-0}" -ge 78336 ] || fail "less than the bound: $(cat out.txt)"
cp out.txt first.txt
expect_exit 0 compare hbm --robson "${small[@]}" -O defrag=none --json
cmp -s out.txt first.txt || fail "two games differ"
expect_exit 0 compare paged --robson "${small[@]}"
expect_text out.txt "used n/a, smallest device 1.00 x (where its blocks lie is not told), "

# What breaks a promise, or takes its process down, is told and not measured.
expect_exit 0 compare plant_overlap --robson "${small[@]}"
expect_text out.txt "plant_overlap: Robson: a promise was broken: "

expect_refusal 2 "largest: not a power of two" compare first_fit --robson -S largest=6
expect_refusal 2 "largest: more than half of live" compare first_fit --robson -S live=8 -S largest=8
expect_refusal 2 "filled: with --robson the device has room" compare first_fit --robson -S filled=50
expect_refusal 2 "--capacity has no meaning with --robson" compare first_fit --robson --capacity 64M
expect_refusal 2 "--scenario-option has no meaning without --robson" compare first_fit -S live=64
printf 'hbmstress-ops 1\ncapacity 8K\n0: alloc size=4K\n' >one.ops
expect_refusal 2 "runs no op list" compare first_fit one.ops --robson
finish
