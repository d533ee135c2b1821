#!/usr/bin/env bash
# compare: the same build is no regression; a worse one is, with a list that shows it again; contracts that differ need a
# word; a crash is a result, and what cannot be read or written is told in one line.
#
#     tests/cli/cli_compare.sh HBMSTRESS FOLDER_OF_BUILDS
builds=$(realpath "$2")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
cp "$builds"/versus_*.so .

# versus_greedy refuses op 3, which leaves room for op 4; op 5 is too large for everybody.
cat >holes.ops <<END
hbmstress-ops 1
capacity 8K

0: alloc size=4K
1: alloc size=1K
2: free block=0
3: alloc size=4K
4: alloc size=1K
5: alloc size=8K
END

# The same build, also under another name and by the drawn lists.
cp versus_sound.so again.so
expect_exit 0 compare versus_sound.so versus_sound.so holes.ops
expect_text out.txt "no regression on 1 lists"
expect_exit 0 compare versus_sound.so again.so
expect_text out.txt "no regression on 5 lists"
tr -s " " <out.txt >single.txt
expect_text single.txt "fragmentation_storm new whole"
[ ! -e out ] || fail "a comparison without a regression left a file"

# What a single target prints is the same twice, but for times.
numbers() { sed 's/"cost_ns":[0-9]*//; s/"cost_instructions":[0-9a-z]*//' out.txt; }
expect_exit 0 compare first_fit --json
numbers >first.txt
[ "$(grep -c '"type":"measure"' out.txt)" = 5 ] || fail "not five measure lines: $(cat out.txt)"
[ "$(tail -n 1 out.txt | cut -c 1-13)" = '{"type":"end"' ] || fail "the last line is not the end"
expect_exit 0 compare first_fit --json
numbers | cmp -s - first.txt || fail "two measurements of one target differ"
expect_exit 0 compare first_fit --json --seed 2
numbers | cmp -s - first.txt && fail "another seed drew the same lists"

# A build that wants too large a hole: seen, with a short list that shows it again, twice.
expect_exit 1 compare versus_sound.so versus_greedy.so --shrink-budget 300
expect_text out.txt "fragmentation_storm: regression: NEW refuses more requests (--refused-max)"
expect_text out.txt "premature (--premature-max)"
expect_text out.txt "NEW needs more memory to serve the list (--capacity-max)"
expect_text out.txt "hbmstress compare versus_sound.so versus_greedy.so out/regression-fragmentation_storm.ops"
[ "$(grep -c '^[0-9]*: ' out/regression-fragmentation_storm.ops)" -le 400 ] ||
    fail "it was not shrunk: $(cat out/regression-fragmentation_storm.ops)"
expect_exit 1 compare versus_sound.so versus_greedy.so --shrink-budget 0 out/regression-fragmentation_storm.ops
expect_text out.txt "old alone serves 1 requests, new alone 0"
expect_exit 0 compare versus_greedy.so versus_sound.so out/regression-fragmentation_storm.ops
expect_exit 1 replay out/regression-fragmentation_storm.ops --target versus_greedy.so
expect_exit 0 replay out/regression-fragmentation_storm.ops

# The other way round it is none; and thresholds allow it.
expect_exit 0 compare versus_greedy.so versus_sound.so holes.ops
expect_exit 1 compare versus_sound.so versus_greedy.so holes.ops
expect_exit 0 compare versus_sound.so versus_greedy.so holes.ops --refused-max 1 --premature-max 100 --capacity-max 1000%
expect_exit 1 compare versus_sound.so versus_greedy.so holes.ops --refused-max 1 --premature-max 100
expect_no_text out.txt "--refused-max"
expect_text out.txt "--capacity-max"
expect_exit 0 compare versus_sound.so versus_sound.so holes.ops --cost-max 1000000

# Worse without a broken promise: a policy that needs more memory.
expect_exit 1 compare versus_sound.so versus_worst.so --shrink-budget 100
expect_text out.txt "regression: NEW"
expect_no_text out.txt "(--premature-max)"
list=$(sed -n 's/^  hbmstress compare versus_sound.so versus_worst.so //p' out.txt)
expect_exit 1 compare versus_sound.so versus_worst.so "$list" --shrink-budget 0
expect_exit 0 replay "$list" --target versus_worst.so --replay-sample 0

# A build that crashes.
expect_exit 1 compare versus_sound.so versus_crashing.so holes.ops --json
expect_text out.txt '"run":"crashed"'
expect_text out.txt '"regressions":["dies"'
expect_text out.txt '"exit_code":1'
expect_exit 1 compare versus_sound.so versus_crashing.so --shrink-budget 200
expect_text out.txt "crashed at op"
expect_text out.txt "regression: NEW ends its process, or hangs, and OLD does not"
expect_exit 1 compare versus_sound.so versus_crashing.so --shrink-budget 0 out/regression-fragmentation_storm.ops
expect_exit 0 compare versus_crashing.so versus_sound.so holes.ops
expect_exit 0 compare versus_crashing.so holes.ops
tr -s " " <out.txt >single.txt
expect_text single.txt "holes crashed"

# Other contracts.
rm -rf out
expect_refusal 2 "the contracts differ (granule_bytes = 512 against 1024)" compare versus_sound.so versus_granular.so
for contract in declared inferred none; do
    expect_exit 0 compare versus_sound.so versus_granular.so holes.ops --contract $contract
    expect_text out.txt "judged by the contract: $contract"
done
expect_exit 0 compare versus_sound.so again.so holes.ops --contract new
expect_exit 0 compare versus_sound.so again.so holes.ops --contract old
# What the class needs is no excuse without classes.
expect_exit 0 compare buddy --contract none --json
grep -q '"premature":[1-9]' out.txt || fail "buddy without classes has no premature refusal"
expect_exit 0 compare buddy --json
! grep -q '"premature":[1-9]' out.txt || fail "buddy by its own contract has a premature refusal"

# Bad input.
expect_refusal 2 "unknown target 'nosuch'" compare nosuch versus_sound.so
expect_refusal 2 "unknown target 'nosuch'" compare versus_sound.so nosuch
expect_refusal 2 "cannot use ./no.so" compare ./no.so versus_sound.so
expect_refusal 2 "compare needs a TARGET" compare
expect_refusal 2 "'holes.ops' is an op list; name a target before it" compare holes.ops
expect_refusal 2 "'hbm' is no op list" compare hbm hbm hbm
expect_refusal 2 "no.ops: " compare hbm hbm no.ops
expect_refusal 2 "is not old, new, declared, inferred or none" compare hbm hbm --contract mine
expect_refusal 2 "needs two targets" compare hbm --contract old
expect_refusal 2 "is not a percentage" compare hbm hbm --capacity-max x
expect_refusal 2 "no list can be drawn" compare hbm hbm --capacity 1K
printf 'hbmstress-ops 1\ncapacity 4K\n0: alloc size=1K lane=1\n' >lanes.ops
expect_refusal 2 "lanes.ops: " compare hbm hbm lanes.ops
printf 'hbmstress-ops 1\n0: alloc size=1K\n' >bare.ops
expect_refusal 2 "names no capacity" compare hbm hbm bare.ops
expect_exit 0 compare hbm hbm bare.ops --capacity 4K
echo text >text.ops
expect_refusal 2 "text.ops" compare hbm hbm text.ops

# Nowhere to write, nobody who reads, and ctrl-C.
: >file
expect_exit 2 compare versus_sound.so versus_greedy.so holes.ops --out file
[ "$(wc -l <err.txt)" = 1 ] || fail "--out of a file: $(cat err.txt)"
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
