#!/usr/bin/env bash
# Hosts that share one device: who had the memory, in replay and explain, what the checkers say, and what is refused.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# list TARGET HEAD_LINES OPS: writes list.ops, of two hosts that share 64M.
list() {
    printf 'hbmstress-ops 1\ncapacity 64M\ngranule 512\nhosts 2\nclocks own\nshares 0-1\ntarget %s\n%b\n%b' "$1" "$2" "$3" \
        >list.ops
}
turns='0: wake\n1: alloc size=20M\n2: wake host=1\n3: sleep\n4: wake host=1\n5: alloc size=60M host=1\n'

# --- who had it ----------------------------------------------------------------------------------------------------
list hbm 'option sleep=keeps\n' "$turns"
expect_exit 0 replay list.ops
expect_text out.txt "shortage: host 1 ran out at op 2: it asked for 64M of the shared device, and nothing was left: 64M of \
it are held by host 0, which is awake since op 0."
expect_text out.txt "0 broken, 1 shortage of the shared device, "
expect_exit 0 replay list.ops --json
expect_text out.txt '"type":"shortage","host":1,"op":2,"asked_bytes":67108864,"left_bytes":0,"holder":0,"holder_bytes":67108864,"holder_is":"awake"'
expect_exit 0 explain list.ops
expect_text out.txt "No request failed: 6 ops, no out-of-memory"
expect_text out.txt "The shared device was short (no promise of the allocator)"
expect_exit 0 explain list.ops --json
expect_text out.txt '"type":"shortage","host":1,"op":2'

list plant_not_released '' '0: wake\n'
expect_exit 1 replay list.ops
expect_text out.txt "and 65535K were left: 512 of it are held by host 1, which sleeps and has not given all of it back."
expect_text out.txt "not_released"

list segments '' '0: alloc size=40M\n1: alloc size=30M host=1\n'
expect_exit 0 replay list.ops --certificates proofs
expect_text out.txt "it asked for 30M of the shared device, and 24M were left: 40M of it are held by host 0."
expect_text out.txt "1 OOMs (1 justified"
expect_exit 0 check --list proofs/list.ops --observations proofs/observations.jsonl proofs/op-1-justified.json

# --- what is refused -----------------------------------------------------------------------------------------------
list first_fit '' '0: report\n'
expect_refusal 2 "'first_fit', which neither grows nor sleeps" replay list.ops
list hbm 'option sleep=keeps\n' "$turns"
expect_refusal 2 "its hosts share a device; in a pod each has one of its own" pod list.ops --out ranks
sed -i 's/^shares .*/shares 0-1 96M/' list.ops
expect_refusal 2 "the shared device is smaller than the capacity" replay list.ops --capacity 128M
expect_exit 0 replay list.ops

# --- the scenario --------------------------------------------------------------------------------------------------
expect_refusal 2 "needs sleep and wake, or regions, and target first_fit has none" run serving_beside_training \
    --target first_fit
expect_refusal 2 "needs sleep and wake, or regions, and target hbm has none" run serving_beside_training \
    --target-option sleep=none
expect_exit 0 run serving_beside_training --seed 1 --ops 3000 --faults none
expect_text out.txt "shortages of the shared device"
expect_exit 1 run serving_beside_training --target plant_not_released_pieces --seed 1 --faults none --out found
repro=$(ls found/repros/*.ops)
grep -q '^shares ' "$repro" || fail "the repro has no line shares"
expect_exit 1 replay "$repro"
finish
