#!/usr/bin/env bash
# explain A B: what grew, what is new and what is gone at the peaks of two runs, and both over time on one axis.
causes=$(realpath "$2")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# make_list FILE STEPS GRADIENT_SIZE EXTRA_TAG: params that were there before, and a job of that many steps.
make_list() {
    {
        printf 'hbmstress-ops 1\ncapacity 64M\ntarget hbm\ntag 1 "before the window"\ntag 2 "gradients"\ntag 3 "%s"\n\n' "$4"
        echo "0: alloc size=16M tag=1"
        local number=1 step
        for ((step = 0; step < $2; step++)); do
            echo "$number: alloc size=$3 tag=2"
            echo "$((number + 1)): output size=1M tag=3"
            echo "$((number + 2)): free block=$number"
            echo "$((number + 3)): free block=$((number + 1))"
            number=$((number + 4))
        done
    } >"$1"
}
make_list a.ops 20 4M old_cache
make_list b.ops 25 6M new_cache

expect_exit 0 explain a.ops b.ops
[ "$(sed -n 1p out.txt)" = "A  a.ops: peak 21.00M of 64.00M at op 2, about step 1" ] ||
    [ "$(sed -n 1p out.txt | cut -d , -f 1)" = "A  a.ops: peak 21.00M of 64.00M at op 2" ] || fail "A: $(sed -n 1p out.txt)"
expect_text out.txt "B peaks 2.00M higher than A (9 %)."
grep -Eq "^grew +gradients +4\.00M +1 +6\.00M +1 +\+2\.00M$" out.txt || fail "grew: $(cat out.txt)"
grep -Eq "^new +new_cache +0B +0 +1\.00M +1 +\+1\.00M$" out.txt || fail "new: $(cat out.txt)"
grep -Eq "^gone +old_cache +1\.00M +1 +0B +0 +-1\.00M$" out.txt || fail "gone: $(cat out.txt)"
grep -Eq "^same +before the window +16\.00M +1 +16\.00M +1 +0B$" out.txt || fail "same: $(cat out.txt)"
expect_text out.txt "The most in use over time, steps matched in order, as the requests repeat"
# The largest change first, what did not change last.
sed -n '/^At the peak/,/^$/p' out.txt | sed -n 2p | grep -q '^grew' || fail "the largest change is not first"
grep -Eq ' 21\.00M +23\.00M +\+2\.00M$' out.txt || fail "no step of both: $(cat out.txt)"
grep -Eq ' - +23\.00M$' out.txt || fail "no step of B alone: $(cat out.txt)"

# The other way round it is lower; a run is equal to itself.
expect_exit 0 explain b.ops a.ops
expect_text out.txt "B peaks 2.00M lower than A (8 %)."
grep -q "^shrank *gradients" out.txt || fail "shrank: $(cat out.txt)"
expect_exit 0 explain a.ops a.ops
expect_text out.txt "Both peaks are equal."
grep -Eq '^(grew|new|gone|shrank)' out.txt && fail "a run differs from itself: $(cat out.txt)"

# As JSON.
expect_exit 0 explain a.ops b.ops --json
expect_text out.txt '{"type":"compared_run","run":"A","file":"a.ops","ops":81,"host":0,"peak_bytes":22020096,"peak_op":2,'
expect_text out.txt '{"type":"compared_tag","tag":"gradients","change":"grew","a_bytes":4194304,"a_blocks":1,"b_bytes":6291456,"b_blocks":1}'
grep -q '"type":"compared_at","axis":"about_step","from":1,' out.txt || fail "no axis: $(cat out.txt)"
grep -vq '^{.*}$' out.txt && fail "a line that is no object"

# Of lists without steps in both, parts are compared; a run that fails is compared as well.
printf 'hbmstress-ops 1\ncapacity 64K\ntarget hbm\n0: alloc size=1K\n1: alloc size=2K\n2: alloc size=4K\n' >short.ops
expect_exit 0 explain short.ops a.ops
expect_text out.txt "by parts of each list: no steps are seen in both"
expect_exit 0 explain a.ops "$causes/leak.ops"
expect_text out.txt "; out of memory at op 1409"
grep -Eq "^new +losses +0B" out.txt || fail "no losses: $(cat out.txt)"
# Formats may differ, and lanes are run.
sed 's/^\(80: .*\)$/\1 lane=1/' a.ops >lanes.ops
expect_exit 0 explain lanes.ops b.ops
expect_text out.txt "higher than A"

# An unreadable one is one line and 2; so are options of one file, and a third one.
expect_refusal 2 "no-such-file.ops" explain a.ops no-such-file.ops
expect_refusal 2 "no-such-file.ops" explain no-such-file.ops a.ops
printf 'hbmstress-ops 1\nnonsense\n' >bad.ops
expect_refusal 2 "bad.ops:2" explain a.ops bad.ops
for option in --what-if --timeline --svg=x.svg; do
    expect_refusal 2 "${option%=*} applies to one FILE; with two, explain compares them" explain a.ops b.ops $option
done
expect_refusal 2 "one word too many" explain a.ops b.ops a.ops
# A name from the file does not reach the terminal as it is.
sed 's/"new_cache"/"\xe2\x80\xaeevil"/' b.ops >evil.ops
expect_exit 0 explain a.ops evil.ops
[ "$(tr -d '\n\040-\176' <out.txt | wc -c)" = 0 ] || fail "a foreign character reached the terminal"

finish
