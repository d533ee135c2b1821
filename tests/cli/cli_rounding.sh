#!/usr/bin/env bash
# How large a block may be, from the command line: contracts, plug-ins, op lists and options.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
plugins=$(realpath "$2")
small=(--seed 1 --ops 2000 --workers 1)

# --- whole holes ------------------------------------------------------------------------------------------------
expect_exit 1 run fragmentation_storm --target plant_too_large --seed 1 --ops 200 --workers 1 --out whole
expect_text out.txt "finding 1: too_large: answer"
expect_text out.txt "1 ops: hbmstress replay"
repro=$(echo whole/repros/too_large-*.ops)
grep -q '^rounding' "$repro" && fail "plain granules need no line: $(grep '^rounding' "$repro")"
expect_exit 1 replay "$repro"
expect_text out.txt "(rounding granule) allows"
expect_exit 0 replay "$repro" --rounding any

# --- size classes -----------------------------------------------------------------------------------------------
for rounding in pow2 classes8; do
    expect_exit 0 run fragmentation_storm slow_leak training_step --target first_fit --target-option "rounding=$rounding" \
        "${small[@]}" --out "$rounding"
    expect_text out.txt "every promise kept, every OOM judged"
    grep -q '(0 justified' out.txt && fail "$rounding: no out-of-memory"
done
for certificate in classes8/certificates/*.json; do
    expect_exit 0 check "$certificate"
done
cat >classes.ops <<'OPS'
hbmstress-ops 1
capacity 64K
granule 512
target first_fit
option rounding=classes8

0: alloc size=9500
1: alloc size=33000
2: alloc size=16K
OPS
expect_exit 0 replay classes.ops
# 64K - 10K - 36K leave 18K, and 17K would need the class of 18K.
printf '3: free block=2\n4: alloc size=17K\n5: alloc size=1K\n' >>classes.ops
expect_exit 0 replay classes.ops --json
expect_text out.txt '"justified":1'
expect_text out.txt '"requested_bytes":1024'
sed 's/^granule 512/&\nrounding granule/' classes.ops >held.ops
expect_exit 1 replay held.ops
expect_text out.txt "BROKEN too_large: op 0"
expect_text out.txt "the block has 10240 bytes for a request of 9500; its contract (rounding granule) allows 9728"
expect_exit 0 replay held.ops --rounding "classes=8"
expect_exit 1 replay classes.ops --rounding granule
# What the classes of one doubling refuse is premature by finer ones.
cat >finer.ops <<'OPS'
hbmstress-ops 1
capacity 24K
granule 512
target first_fit
option rounding=pow2

0: alloc size=16K
1: free block=0
2: alloc size=17K
OPS
expect_exit 0 replay finer.ops
expect_text out.txt "justified: requested 17K"
expect_text out.txt "the request is larger than the device; by its contract's rounding the request needs 32.0K"
sed 's/^granule 512/&\nrounding classes=8/' finer.ops >too_fine.ops
expect_exit 1 replay too_fine.ops
expect_text out.txt "premature"

# --- repros and reports -----------------------------------------------------------------------------------------
expect_exit 1 run training_step --target first_fit --target-option rounding=pow2 --rounding "classes=8 overhead=512" \
    --seed 1 --ops 100 --workers 1 --out finer --json
head -n 1 finer/results.jsonl | grep -q '"rounding":"classes=8 overhead=512"' || fail "the start does not name the rounding"
expect_text "$(echo finer/repros/*.ops | cut -d' ' -f1)" "rounding classes=8 overhead=512"
printf '[slow_leak]\ntarget = first_fit\noption.rounding = pow2\nrounding = classes=1 smallest=4K\nops = 500\n' >job.ini
expect_exit 0 run --job job.ini --seed 1 --workers 1 --out job
expect_text out.txt "rounding classes=1 smallest=4K"
expect_exit 0 convert held.ops
expect_text out.txt "rounding granule"
expect_exit 1 replay --shrink held.ops -o shrunk.ops
expect_text shrunk.ops "rounding granule"
expect_exit 1 replay shrunk.ops
expect_text out.txt "BROKEN too_large: op 0"
expect_exit 0 replay held.ops --target hbm
expect_text err.txt "its rounding is for target first_fit and does not hold for hbm"

# --- plug-ins ---------------------------------------------------------------------------------------------------
expect_exit 0 run fragmentation_storm --target "$plugins/loose.so" --rounding any "${small[@]}" --out any
expect_text out.txt "every promise kept, every OOM judged"
expect_exit 1 run fragmentation_storm --target "$plugins/loose.so" --rounding granule "${small[@]}" --out held
expect_text out.txt "finding 1: too_large: answer"
expect_text "$(echo held/repros/too_large-*.ops | cut -d' ' -f1)" "rounding granule"
expect_exit 1 run fragmentation_storm --target "$plugins/loose.so" "${small[@]}" --out own
expect_text out.txt "finding 1: too_large: answer"
expect_refusal 2 "built for ABI version 42, but this program loads version 1" run --target "$plugins/bad_abi.so"
expect_refusal 2 "built for ABI version 0, but this program loads version 1" run --target "$plugins/bad_no_abi.so"

# --- what makes no sense ----------------------------------------------------------------------------------------
expect_refusal 2 "did you mean 'granule'?" run --rounding granules
expect_refusal 2 "the nearest is classes=8" run --rounding classes=9
expect_refusal 2 "promises nothing" replay held.ops --rounding "any overhead=1K"
expect_refusal 2 "granule, pow2, classes8" run --target first_fit --target-option rounding=pow3
sed -i 's/^rounding.*/rounding classes=8 smalest=1K/' held.ops
expect_refusal 2 "held.ops:4:20: rounding: 'smalest=1K' is neither" replay held.ops
printf '[slow_leak]\nrounding = clases=8\n' >job.ini
expect_refusal 2 "job.ini:2: rounding: 'clases=8' is wrong: 'clases=8' is not one of" run --job job.ini

finish
