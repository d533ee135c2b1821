#!/usr/bin/env bash
# explain says why an out-of-memory came: in words, in JSON, of lists with lanes, and of a leak before there is any.
causes=$(realpath "$2")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# The surest cause of each story comes first, after the verdict, in lines that fit.  One story is a refusal of what fits.
for file in "$causes"/*.ops; do
    name=$(basename "$file" .ops)
    case $name in
    refused_though_it_fits) exit_code=1 verdict=premature ;;
    *) exit_code=0 verdict=justified ;;
    esac
    expect_exit $exit_code explain "$file"
    expect_text out.txt "Verdict: $verdict"
    sed -n '/^Diagnosis/,/^Memory over time/p' out.txt >diagnosis.txt
    case $name in
    *-near) expect_no_text diagnosis.txt "  ${name%-near} (" ;;
    *) sed -n 2p diagnosis.txt | grep -Eq "^  $name \((sure|likely)(, [0-9]+ %)?\): " || fail "$name is not first: $(head -n 2 diagnosis.txt)" ;;
    esac
    awk 'length > 120 { exit 1 }' diagnosis.txt || fail "$name: the diagnosis is wider than 120 columns"
done

# A premature out-of-memory is never said to be one of a full device, or of one in pieces.
printf 'hbmstress-ops 1\ncapacity 63M\ntarget plant_premature_rounded\n0: output size=40M align=16K\n' >fits.ops
expect_exit 1 explain fits.ops
expect_no_text out.txt "fragmented"
expect_no_text out.txt "in pieces"
expect_text out.txt "refused_though_it_fits (sure, 98 %): the target refused a request that fits"
tr -s '\n ' ' ' <out.txt >words.txt
expect_text words.txt "A hole of 63.00M at 0x0 takes the request (40.00M; the hole is 23.00M larger), and no mitigation is needed."
expect_text words.txt "Rounded up to 64.00M, it would fit no hole. The numbers point to a rounding up before the fit test. Remedy:"
expect_text out.txt "  Largest request: 63.00M (66060288 bytes) would have been served"
expect_text out.txt "  Refusals so far: 1 of 1 judged was premature (100.00 %)"
expect_exit 1 explain fits.ops --json
expect_text out.txt '"largest_served_bytes":66060288,"premature_share":1.000000,'
[ "$(grep -c '"type":"cause"' out.txt)" = 1 ] || fail "more than one cause: $(cat out.txt)"
expect_text out.txt '"cause":"refused_though_it_fits","kind":"rounding","level":"sure","confidence":98,"op":0,"numbers":{"hole_address":0,"hole_bytes":66060288,"spare_bytes":24117248,"rounded_bytes":67108864}'

# Nor is one that a mitigation would have met; what makes memory tight is told then, too.
printf 'hbmstress-ops 1\ncapacity 64M\ntarget plant_premature_undrained\n0: alloc size=40M\n1: use block=0 delay=1ms\n2: free_after block=0 event=1\n3: alloc size=40M\n' >tight.ops
expect_exit 1 explain tight.ops
tr -s '\n ' ' ' <out.txt >words.txt
expect_text words.txt "would take the request (40.00M; the hole is 24.00M larger) after waiting for queued frees (1)."
expect_text words.txt "made 0 waits, 0 moves and 0 evictions. The numbers point to waiting that was left out, or that ended early."
grep -q '^  queued_frees (sure, 98 %)' out.txt || fail "no queued frees: $(cat out.txt)"
expect_no_text out.txt "exhausted"

# Who holds the rest: how long ago the oldest and the newest of them were made.
expect_exit 0 explain "$causes/leak.ops"
grep -Eq "^Who holds the rest +blocks +bytes +oldest +newest, ops ago$" out.txt || fail "no ages: $(grep Who out.txt)"
grep -Eq "^of 'losses' +469 +43\.97M +1407 +3$" out.txt || fail "wrong ages: $(grep losses out.txt)"
expect_text out.txt "'losses' piles up: "
expect_text out.txt " per 1000 ops"

expect_exit 0 explain "$causes/leak.ops" --json
[ "$(sed -n 1p out.txt | grep -c '^{"type":"explanation",')" = 1 ] || fail "the first line is no explanation"
sed -n 2p out.txt | grep -q '^{"type":"cause","cause":"leak","kind":"steps_and_list","level":"sure","confidence":88,"op":[0-9]*,"tag":"losses","numbers":{"leaked_bytes":' ||
    fail "the first cause: $(sed -n 2p out.txt)"
grep -vq '^{.*}$' out.txt && fail "a line that is no object"

# A leak is told of a list that did not run out of memory yet; of one without a leak nothing is.
sed '/^900: /,$d' "$causes/leak.ops" >begun.ops
expect_exit 0 explain begun.ops
expect_text out.txt "Nothing failed: 900 ops"
expect_text out.txt "leak (sure, 88 %)"
expect_exit 0 explain begun.ops --json
nothing='{"type":"explanation","verdict":"none","ops":900,"reason":"no out-of-memory, every promise kept"}'
[ "$(sed -n 1p out.txt)" = "$nothing" ] || fail "the first line of a list without an out-of-memory: $(sed -n 1p out.txt)"
[ "$(grep -c '"cause":"leak"' out.txt)" = 1 ] || fail "a leak without an out-of-memory is not in the JSON: $(cat out.txt)"
sed '/^900: /,$d' "$causes/leak-near.ops" >sound.ops
expect_exit 0 explain sound.ops
[ "$(head -n 1 out.txt)" = "Nothing failed: 900 ops, no out-of-memory, every promise kept." ] || fail "a sound list: $(cat out.txt)"
expect_no_text out.txt "Diagnosis"
expect_exit 0 explain sound.ops --json
[ "$(sed -n 1p out.txt)" = "$nothing" ] || fail "a sound list in JSON: $(cat out.txt)"
expect_no_text out.txt '"type":"cause"'
printf 'hbmstress-ops 1\ncapacity 64K\ntarget hbm\n0: alloc size=1K\n1: alloc size=1K lane=1\n' >sound-lanes.ops
expect_exit 0 explain sound-lanes.ops --json
[ "$(sed -n 1p out.txt)" = "${nothing/900/2}" ] || fail "a sound list with lanes in JSON: $(cat out.txt)"

# With lanes, and it says so.
sed 's/^\(2: alloc .*\)$/\1 lane=1/' "$causes/queued_frees.ops" >lanes.ops
expect_exit 0 explain lanes.ops
expect_text out.txt "  queued_frees (sure, 98 %)"
expect_text out.txt "With lanes, the history is recorded when calls are judged"

# A request is for a tag only when that has a name.
printf 'hbmstress-ops 1\ncapacity 1M\ntarget hbm\ntag 1 "losses"\n\n0: alloc size=2M tag=1\n' >named.ops
expect_exit 0 explain named.ops
[ "$(head -n 1 out.txt)" = "op 0: alloc size=2M tag=1, for 'losses'" ] || fail "a named tag: $(head -n 1 out.txt)"
sed 's/ tag=1//' named.ops >unnamed.ops
expect_exit 0 explain unnamed.ops
[ "$(head -n 1 out.txt)" = "op 0: alloc size=2M" ] || fail "no tag: $(head -n 1 out.txt)"

# A name from the file does not reach the terminal as it is.
printf 'hbmstress-ops 1\ncapacity 1M\ntarget hbm\nseed 1\ntag 1 "\xe2\x80\xaeevil"\n\n0: alloc size=1M tag=1\n1: alloc size=1M tag=1\n' >evil.ops
expect_exit 0 explain evil.ops
expect_text out.txt "exhausted"
[ "$(sed '/^Memory over time/,/^$/d' out.txt | tr -d '\n\040-\176' | wc -c)" = 0 ] || fail "a foreign character reached the terminal"
# The line that proves it proves what was explained: with the options that were given.
expect_exit 0 explain "$causes/leak.ops" --capacity 40M --target-option defrag=none
expect_text out.txt "replay $causes/leak.ops --target-option defrag=none --capacity 41943040 --certificates DIR"
explained=$(sed -n 's/^op \([0-9]*\):.*/\1/p' out.txt)
expect_exit 0 replay "$causes/leak.ops" --target-option defrag=none --capacity 41943040 --certificates proofs
[ -e "proofs/op-$explained-justified.json" ] || fail "no proof of op $explained: $(ls proofs)"
cp "$causes/leak.ops" list.txt
expect_exit 0 explain list.txt
expect_text out.txt "Its proof: hbmstress replay list.txt --certificates DIR"

# Retired memory is told apart, and is no use of the host that lost it: the rest of a smaller device is not a skew.
{
    printf 'hbmstress-ops 1\ncapacity 64K\nhosts 3\ntarget hbm\n0: retire address=32K size=32K host=1\n'
    printf '1: alloc size=16K\n2: alloc size=16K host=1\n3: alloc size=16K host=2\n4: alloc size=20K host=1\n'
} >retired.ops
expect_exit 0 explain retired.ops
grep -Eq "^retired memory +1 +32\.0K" out.txt || fail "no retired memory: $(grep -A 6 '^Who' out.txt)"
expect_no_text out.txt "queued frees"
expect_no_text out.txt "host_skew"
expect_text out.txt "4.0K too little. In use: 16.0K of 64.0K; stack: 0B; retired: 32.0K"
expect_exit 0 explain retired.ops --json
expect_text out.txt '"queued_frees":{"blocks":0,"bytes":0},"retired":{"blocks":1,"bytes":32768}'
expect_text out.txt '"numbers":{"missing_bytes":4096,"in_use_bytes":16384,"retired_bytes":32768}'

# A list that is on more hosts than the command line gives.
for subcommand in explain "convert --to csv" "explain --timeline" convert replay; do
    # shellcheck disable=SC2086
    expect_refusal 2 "retired.ops: op 0 is on host 1: --hosts must be 2 or more" $subcommand retired.ops --hosts 1
done
finish

# A snapshot of PyTorch whose trace ends in a failure is that failure, without a word about its format.
snapshot=$causes/../field/torch_snapshot/complete.pickle
expect_exit 0 explain "$snapshot"
expect_text out.txt "the file says: device_traces[0][12]: oom, size 6291456, device_free 1048676, in train.py:34 forward"
expect_text out.txt "Verdict: justified"
expect_no_text out.txt "Nothing to explain"

# What is assumed is said where nothing failed, too.
printf '%s\n' Thread,Time,Action,Pointer,Size,Stream '1,23:59:58.000001,allocate,0x7f0000000200,1024,0x0' >rmm.csv
expect_exit 0 explain rmm.csv
expect_text out.txt "  - capacity 1024, the peak of live bytes in granules of 512; no memory is spare"
