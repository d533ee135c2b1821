#!/usr/bin/env bash
# budget: each limit is met to the byte and exceeded by one; warm-ups, hosts, lanes and tags count as documented; a target
# that dies is exceeded; what cannot be measured is told in one line; the same bytes each time.
#
#     tests/cli/cli_budget.sh HBMSTRESS BAD_TARGET CORPUS FIELD_DATA
corpus=$(realpath "$3")
bad_target=$(realpath "$2")
field=$4
unknown=$(realpath "$(dirname "$0")/cli_unknown.ops")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# What out.txt says, wherever its lines break.
expect_words() { # TEXT
    tr -s ' \n' ' ' <out.txt >words.txt
    expect_text words.txt "$1"
}

# member NAME: of the line in $line.
member() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" <<<"$line"; }
# row NAME [HOST]: the line of that limit in out.txt.
row() { line=$(grep "\"type\":\"budget\",\"limit\":\"$1\".*\"host\":${2:-0}," out.txt); }

# leaking.ops: 64K of params; each of 12 steps takes 32K, leaves LEAK bytes, and gives the 32K back.
write_steps() { # LEAK TARGET
    local op=1 step
    printf 'hbmstress-ops 1\ncapacity 1M\ntarget %s\nseed 1\ntag 1 "params"\ntag 2 "batch"\ntag 3 "<losses>"\n\n' "$2"
    echo "0: alloc size=64K tag=1"
    for ((step = 1; step <= 12; step++)); do
        echo "$op: alloc size=32K tag=2"
        if (($1 > 0)); then
            echo "$((op + 1)): output size=$1 tag=3"
            echo "$((op + 2)): free block=$op"
        else
            echo "$((op + 1)): output size=512 tag=3"
            echo "$((op + 2)): free block=$((op + 1))"
            echo "$((op + 3)): free block=$op"
            op=$((op + 1))
        fi
        op=$((op + 3))
    done
}
write_steps 512 first_fit >leaking.ops
write_steps 0 first_fit >steady.ops

# The peak is in the last step: 64K + 32K + 12 * 512 = 104448.
expect_exit 0 budget leaking.ops --peak 104448
expect_text out.txt "within budget: 0 of 2 limits exceeded"
expect_exit 1 budget leaking.ops --peak 104447 --json
row peak
[ "$(member value)" = 104448 ] && [ "$(member over)" = 1 ] || fail "not one byte over: $line"
[ "$(member op)" = 35 ] && [ "$(member line)" = 44 ] || fail "not at op 35, line 44: $line"
[ "$(sed -n 44p leaking.ops)" = "35: output size=512 tag=3" ] || fail "line 44 is another one"
grep -q '"holders":\[{"tag":"params","bytes":65536},{"tag":"batch","bytes":32768},{"tag":"<losses>","bytes":6144}\]' out.txt ||
    fail "who holds it: $line"
cp out.txt again.txt
expect_exit 1 budget leaking.ops --peak 104447 --json
cmp -s out.txt again.txt || fail "two runs print other bytes"
expect_exit 1 budget leaking.ops --peak 104447
expect_text out.txt "leaking.ops:44: op 35: output size=512 tag=3 of '<losses>'"
expect_text out.txt "Next: hbmstress explain leaking.ops"
expect_text out.txt "over budget: 1 of 2 limits exceeded"

# Each step leaves 512 bytes, whatever is left out; a list that gives all back does not grow.
for warmups in 0 1 4; do
    expect_exit 0 budget leaking.ops --growth-per-step 512 --warmups $warmups
    expect_exit 1 budget leaking.ops --growth-per-step 511 --warmups $warmups --json
    row growth_per_step
    [ "$(member value)" = 512 ] && [ "$(member over)" = 1 ] || fail "warm-ups $warmups: $line"
    rise=$(($(member last_floor_bytes) - $(member first_floor_bytes)))
    [ "$rise" = $((512 * $(member steps_between))) ] || fail "the floors do not lie so far apart: $line"
    grep -qF "\"grew\":[{\"tag\":\"<losses>\",\"bytes\":$rise}]" <<<"$line" || fail "what grew: $line"
done
expect_exit 0 budget steady.ops --growth-per-step 0

# 50 % of what is free lies outside the largest hole; half of the device may be in use, or less.
holes() { # CAPACITY
    printf 'hbmstress-ops 1\ncapacity %s\ntarget first_fit\n\n' "$1"
    printf '%s\n' '0: alloc size=256K' '1: alloc size=128K' '2: alloc size=512K' '3: alloc size=128K' '4: free block=3' \
        '5: free block=1'
}
holes 1M >holes.ops
expect_exit 0 budget holes.ops --fragmentation 50%
expect_exit 1 budget holes.ops --fragmentation 49 --json
row fragmentation
[ "$(member value)" = 0.500000 ] && [ "$(member free_bytes)" = 262144 ] && [ "$(member op)" = 5 ] || fail "holes: $line"
holes 1536K >half.ops
expect_exit 1 budget half.ops --fragmentation 16%
expect_exit 0 budget half.ops --fragmentation 17%
holes 1537K >emptier.ops
expect_exit 0 budget emptier.ops --fragmentation 0%
holes 4M >empty.ops
expect_exit 0 budget empty.ops --fragmentation 0%
expect_text out.txt "not reached"
# A hole of one byte more than the limit: 128.5K of 256.5K is 50.097 %, and what is lost 49.902 %.
sed 's/1: alloc size=128K/1: alloc size=131584/; s/capacity 1M/capacity 1049088/' holes.ops >odd.ops
expect_exit 1 budget odd.ops --fragmentation 49%
expect_exit 0 budget odd.ops --fragmentation 50%

# Warm-ups are left out of fragmentation, too.
{
    printf 'hbmstress-ops 1\ncapacity 1M\ntarget first_fit\n\n0: alloc size=600K\n1: alloc size=100K\n2: alloc size=100K\n'
    printf '3: free block=1\n4: free block=2\n'
    for ((op = 5; op < 45; op += 4)); do
        printf '%d: alloc size=100K tag=2\n%d: alloc size=50K tag=3\n' $op $((op + 1))
        printf '%d: free block=%d\n%d: free block=%d\n' $((op + 2)) $((op + 1)) $((op + 3)) $op
    done
} >warm.ops
expect_exit 1 budget warm.ops --fragmentation 0 --warmups 0
expect_words "at op 3"
expect_exit 0 budget warm.ops --fragmentation 0 --warmups 1

# Out-of-memories exceed unless they are allowed.
printf 'hbmstress-ops 1\ncapacity 64K\n\n0: alloc size=40K\n1: alloc size=40K\n2: alloc size=32K\n' >full.ops
expect_exit 0 budget full.ops --ooms 2
expect_exit 1 budget full.ops --ooms 1
expect_words "2 requests were refused, 1 may be; the first one too many of 32.0K at op 2"
expect_exit 1 budget full.ops --ooms 0 --json
line=$(grep '"limit":"ooms"' out.txt)
[ "$(member value)" = 2 ] || fail "not two refusals, though the last op is one: $line"
expect_exit 1 budget full.ops --peak 64K
expect_words "the first one of 40.0K at op 1"

# Each tag, and each host.
expect_exit 0 budget leaking.ops --tag-peak '<losses>=6144' --tag-peak batch=32K
expect_exit 1 budget leaking.ops --tag-peak '<losses>=6143' --tag-peak batch=32767
expect_text out.txt "over budget: 2 of 3 limits exceeded"
{
    printf 'hbmstress-ops 1\ncapacity 64K\nhosts 3\n\n0: alloc size=4K\n1: alloc size=8K host=1\n2: alloc size=6K host=2\n'
} >hosts.ops
expect_exit 0 budget hosts.ops --peak 8K
expect_exit 1 budget hosts.ops --peak 8191 --json
row peak 1
[ "$(member exceeded)" = true ] || fail "host 1 is not over: $(cat out.txt)"
row peak 2
[ "$(member exceeded)" = false ] || fail "host 2 is over: $(cat out.txt)"
expect_exit 1 budget hosts.ops --peak 5K
expect_words "on host 1 at op 1"
expect_text out.txt "also on host 2"

# What is measured is what explain says of the peak.
for list in "$corpus"/causes/leak-near.ops "$corpus"/causes/spike-near.ops "$corpus"/regressions/hbm_repack_nearly_full.ops; do
    expect_exit 0 explain "$list" --json
    line=$(grep '"type":"peak"' out.txt)
    [ -n "$line" ] || continue
    peak=$(($(member in_use_bytes) + $(member reserved_bytes)))
    expect_exit 0 budget "$list" --peak "$peak" --ooms 1000
    expect_exit 1 budget "$list" --peak $((peak - 1)) --ooms 1000
done

# The peak of each host is that of explain --timeline.
for list in "$corpus"/hangs/*.ops "$corpus"/clients/*.ops; do
    "$hbmstress" explain "$list" --timeline --json 2>err.txt | grep '"type":"memory"' | sed 's/.*"peak_bytes":\([0-9]*\).*/\1/' >watch.txt
    "$hbmstress" budget "$list" --peak 1 --ooms 1000 --json >out.txt 2>err.txt
    grep '"limit":"peak".*"measured":true' out.txt | sed 's/.*"value":\([0-9]*\).*/\1/' >peaks.txt
    cmp -s watch.txt peaks.txt || fail "$list: explain has the peaks $(tr '\n' ' ' <watch.txt), budget $(tr '\n' ' ' <peaks.txt)"
    [ -s peaks.txt ] || fail "$list: no host is measured"
done

# Lanes, in a schedule of the list's own: the same bytes each time.
lanes=$corpus/regressions/lanes_comes_back_and_moves_on.ops
"$hbmstress" budget "$lanes" --peak 1 --ooms 1000 --json >first.txt
"$hbmstress" budget "$lanes" --peak 1 --ooms 1000 --json >second.txt
cmp -s first.txt second.txt || fail "lanes: two runs print other bytes"
grep -q '"limit":"peak".*"exceeded":true' first.txt || fail "lanes: $(cat first.txt)"

# A leak of the corpus, and its neighbour without one.
expect_exit 1 budget "$corpus/causes/leak.ops" --growth-per-step 0 --warmups 3 --ooms 100
expect_words "grew: losses"

# A target that dies or hangs is a result; a promise that breaks is one, too.
for way in crash exit; do
    expect_exit 1 budget leaking.ops --target "$bad_target" -O fails=$way --peak 1G
    expect_text out.txt "nothing was measured: "
    expect_text out.txt "Next: hbmstress explain leaking.ops --target $bad_target --target-option fails=$way"
    expect_text out.txt "leaking.ops:10: op 1: alloc size=32K tag=2 of 'batch'"
    expect_exit 1 budget leaking.ops --target "$bad_target" -O fails=$way --peak 1G --json
    grep -q '"type":"end".*"died":".*"first_op":1,"exit":1' out.txt || fail "$way: $(cat out.txt)"
done
expect_exit 1 budget leaking.ops --target "$bad_target" -O fails=loop --op-timeout 1s --peak 1G
expect_text out.txt "nothing was measured: "
expect_exit 1 budget "$corpus/causes/refused_though_it_fits.ops" --peak 1G --ooms 10
expect_text out.txt "within budget: 0 of 2 limits exceeded; a promise was broken"
grep -qE '^out of memory +met +1 +10$' out.txt || fail "not one refusal: $(cat out.txt)"

# What cannot be measured, and values that are none.
printf 'hbmstress-ops 1\ncapacity 64K\n\n0: alloc size=4K\n' >one.ops
expect_refusal 2 "budget needs a limit" budget leaking.ops
expect_refusal 2 "budget needs a FILE" budget --peak 1G
expect_refusal 2 "--growth-per-step needs steps" budget one.ops --growth-per-step 0
expect_refusal 2 "--warmups needs steps" budget one.ops --fragmentation 5 --warmups 2
expect_refusal 2 "--warmups applies to" budget leaking.ops --peak 1G --warmups 2
expect_refusal 2 "needs more steps" budget leaking.ops --growth-per-step 0 --warmups 100
expect_refusal 2 "needs more steps" budget leaking.ops --fragmentation 0 --warmups 100
expect_refusal 2 "tells nobody where its blocks lie" budget one.ops --target paged -O placement=hidden --fragmentation 5
expect_refusal 2 "is not a size such as 30G" budget leaking.ops --peak much
expect_refusal 2 "is not a size such as 0 or 4K" budget leaking.ops --growth-per-step -1
expect_refusal 2 "is not a percentage from 0% to 100%" budget leaking.ops --fragmentation 101%
expect_refusal 2 "is not NAME=SIZE" budget leaking.ops --tag-peak batch
expect_refusal 2 "no block of leaking.ops has the tag 'b'" budget leaking.ops --tag-peak b=1G
expect_refusal 2 "is not a number" budget leaking.ops --ooms some
expect_refusal 2 "is not a number from 0" budget leaking.ops --warmups some

# A field trace: as much as explain says, to the byte.
snapshot=$field/torch_snapshot/cs336_silmont_small_complete.pickle.gz
if [ -e "$snapshot" ]; then
    expect_exit 0 explain "$snapshot" --json
    line=$(grep '"type":"peak"' out.txt)
    peak=$(($(member in_use_bytes) + $(member reserved_bytes)))
    expect_exit 0 budget "$snapshot" --peak "$peak"
    expect_exit 1 budget "$snapshot" --peak $((peak - 1)) --json
    expect_text out.txt '"over":1,'
    expect_text out.txt '"holders":[{"tag":"'
    expect_refusal 2 "give --capacity or --chip" budget "$snapshot" --fragmentation 5%
fi
# --- beside a change ---

cat >annotated.ops <<'END'
hbmstress-ops 1
capacity 64M
tag 1 "a:b,c%"

0: alloc size=8M tag=1
1: alloc size=8M tag=1
END
expect_exit 1 budget annotated.ops --peak 15M --annotate github
expect_text out.txt "::error file=annotated.ops,line=6,title=budget exceeded%3A peak::16.00M"
expect_text out.txt "held by: a:b,c%25 16.00M"
expect_exit 1 budget annotated.ops --peak 15M --annotate github --json
[ "$(grep -vc '^{' out.txt)" = 0 ] || fail "not JSON: $(cat out.txt)"
expect_text err.txt "::error file=annotated.ops,line=6,"
expect_exit 1 budget annotated.ops --peak 15M --annotate gitlab --out annotated
expect_text annotated/gl-code-quality-report.json '"location":{"path":"annotated.ops","lines":{"begin":6}}'
# Each limit on each host is a finding of its own: GitLab drops what has the fingerprint of another one.
sed 's/^hosts 3/&\ntag 1 "params"\ntag 2 "batch"/; s/\(size=[0-9]*K\)\(.*\)/\1 tag=1\2/' hosts.ops >tagged.ops
echo '3: alloc size=2K tag=2' >>tagged.ops
expect_exit 1 budget tagged.ops --peak 1K --tag-peak params=1K --tag-peak batch=1K --annotate gitlab --out annotated
[ "$(grep -o '"fingerprint":"[0-9a-f]*"' annotated/gl-code-quality-report.json | sort -u | wc -l)" = 7 ] ||
    fail "not seven fingerprints: $(cat annotated/gl-code-quality-report.json)"
expect_exit 0 budget annotated.ops --peak 16M --annotate gitlab --out annotated
[ "$(cat annotated/gl-code-quality-report.json)" = "[]" ] || fail "not an empty array"
cp "$unknown" unknown.ops
expect_exit 3 budget unknown.ops --ooms 1000 --annotate github
grep -q '^::warning file=unknown.ops,line=[0-9]*,title=an out-of-memory stayed unknown::' out.txt || fail "$(cat out.txt)"
expect_exit 1 budget annotated.ops --peak 16M --target "$bad_target" --target-option fails=crash --annotate github
expect_text out.txt "::error file=annotated.ops,line="
finish
