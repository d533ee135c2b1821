#!/usr/bin/env bash
# explain --what-if: the out-of-memory of a stress run of each scenario ends in a table, and each of its lines is true
# of the list that was written for it: what fits is replayed without an out-of-memory, what does not has one.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# check_rows DIR: explained.txt has the lines; each list in DIR is what its line says.
check_rows() {
    local title fits code
    while read -r title fits; do
        [ -s "$1/$title.ops" ] || fail "$1/$title.ops was not written"
        "$hbmstress" replay "$1/$title.ops" --json >replay.txt 2>err.txt
        code=$?
        if [ "$fits" = true ]; then
            [ "$code" = 0 ] || fail "$1/$title.ops: exit $code, and its line says that it fits: $(head -c 300 err.txt)"
            tail -n 1 replay.txt | grep -q '"ooms":0,' || fail "$1/$title.ops runs out of memory"
            fits_count=$((fits_count + 1))
        else
            ! tail -n 1 replay.txt | grep -q '"ooms":0,' || fail "$1/$title.ops fits, and its line says no"
            fails_count=$((fails_count + 1))
        fi
    done < <(grep '"type":"what_if"' explained.txt | grep -v '"result":"does not apply"' |
        sed 's/.*"title":"\([^"]*\)".*"fits":\([a-z]*\),.*/\1 \2/')
}

# A naive allocator that claims to defragment gives a list up to an out-of-memory; what the reference allocator makes of
# it is judged on its own.
scenario_count=0 fits_count=0 fails_count=0
# These take half of the time: they are left to the night.
at_night=" deep_programs deep_queue "
[ "${HBMSTRESS_TESTS:-}" != full ] || at_night=
for scenario in $("$hbmstress" list scenarios --json | sed -n 's/.*"name":"\([^"]*\)".*/\1/p'); do
    [[ $at_night != *" $scenario "* ]] || continue
    "$hbmstress" run "$scenario" --target first_fit --target-option defrag=slide --capacity 16M --seed 1 --ops 3000 \
        --shrink-budget 0 --out "$scenario" >run.txt 2>&1
    list=$(find "$scenario/repros" -name 'premature-*.ops' 2>/dev/null | LC_ALL=C sort | head -n 1)
    [ -n "$list" ] || continue
    scenario_count=$((scenario_count + 1))
    expect_exit 0 explain "$list" --target hbm --what-if-out "$scenario/variants" --json
    mv out.txt explained.txt
    grep -q '"title":"as-it-is"' explained.txt || fail "$scenario: no table"
    grep -q '"smallest":true' explained.txt || grep -q 'no device of up to 2^50 bytes' explained.txt ||
        fail "$scenario: no smallest change"
    check_rows "$scenario/variants"
done
[ "$scenario_count" -ge 8 ] || fail "only $scenario_count scenarios ran out of memory"
[ "$fits_count" -ge 50 ] && [ "$fails_count" -ge 50 ] || fail "$fits_count lists fit, $fails_count do not"

# On the target of the run the out-of-memory breaks a promise: the table comes after the explanation all the same.
expect_exit 1 explain training_step/repros/premature-*.ops --what-if
expect_text out.txt "Verdict: premature"
expect_text out.txt "What if"
expect_text out.txt "The smallest change that fits: "
expect_text out.txt "chip-v2"
expect_text out.txt "target first_fit has no option order"

# In words: what is smallest, what is an estimate, and what does not apply.
cat >leak.ops <<'END'
hbmstress-ops 1
capacity 1M
target hbm
tag 1 "params"
tag 2 "acts"
tag 3 "loss"

0: alloc size=256K tag=1
1: output size=300K tag=2
2: output size=100K tag=3
3: free block=1
4: output size=300K tag=2
5: output size=100K tag=3
6: free block=4
7: output size=300K tag=2
8: output size=100K tag=3
9: free block=7
10: output size=300K tag=2
11: output size=100K tag=3
12: free block=10
13: output size=300K tag=2
14: output size=100K tag=3
15: free block=13
16: alloc size=1K
END
expect_exit 0 explain leak.ops --what-if --what-if-out lists/of/leak
expect_text out.txt "The list up to op 14 was run under each change."
expect_text out.txt "The smallest change that fits: release-loss"
expect_text out.txt "  release: free the blocks of 'loss' after each step"
expect_text out.txt "checkpointing-acts"
expect_text out.txt "yes, estimate"
expect_text out.txt "batch-2"
expect_text out.txt "no op states its unpadded size"
expect_text out.txt "restart-4"
expect_text out.txt "drains-no"
expect_text lists/of/leak/evicts-no.ops "option evicts=no"
# What else is in the folder stays, and the list that is explained does, too.
echo mine >lists/of/leak/other.ops
expect_exit 4 explain lists/of/leak/as-it-is.ops --what-if-out lists/of/leak
expect_text err.txt "lists/of/leak/as-it-is.ops: this is the file that is explained, and it is not overwritten"
[ "$(cat lists/of/leak/other.ops)" = mine ] || fail "a list of another name is gone"
expect_exit 0 explain leak.ops --what-if-out lists/of/leak
expect_text lists/of/leak/restart-4.ops "# what if: restart-4"
expect_text lists/of/leak/restart-4.ops "# an estimate that assumes: "
# Named tags, by name or number, though nothing repeats; each list is replayed like the others.
sed '/^1[0-9]: /d;/^[4-9]: /d' leak.ops >short.ops
printf '4: alloc size=700K\n5: free block=4\n6: touch block=0\n' >>short.ops
expect_exit 0 explain short.ops --checkpoint-tags params,3 --what-if-out named --json
mv out.txt explained.txt
expect_text explained.txt '"title":"checkpointing-params","remedy":"checkpointing","result":"fits"'
expect_text explained.txt '"title":"checkpointing-loss"'
expect_text explained.txt '"title":"checkpointing-all-that-are-named"'
check_rows named
expect_exit 0 explain leak.ops --checkpoint-tags params
expect_text out.txt "checkpointing-params"
expect_no_text out.txt "checkpointing-acts"
expect_refusal 2 "--checkpoint-tags: leak.ops has no tag 'nothing'" explain leak.ops --checkpoint-tags params,nothing
expect_exit 0 explain leak.ops --what-if --json
[ "$(grep -c '"smallest":true' out.txt)" = 1 ] || fail "there is one smallest change"
[ "$(grep -c '"oom_op":14,"whole_list":false,"left_out_ops":0,' out.txt)" = "$(grep -c '"type":"what_if"' out.txt)" ] ||
    fail "not every line says where the list was cut: $(grep -m 1 what_if out.txt)"
printf 'hbmstress-ops 1\ncapacity 1M\ntarget hbm\n' >empty.ops
expect_exit 0 explain empty.ops --what-if --json
expect_text out.txt '"headroom_bytes":1048576,"largest_hole_bytes":1048576,"whole_list":true,'
expect_exit 0 explain leak.ops --capacity 2M --what-if
expect_text out.txt "It fits as it is, headroom 992.0K."
expect_no_text out.txt "refused"
mkdir folder && touch folder/file
expect_refusal 2 "folder/file: Not a directory" explain leak.ops --what-if-out folder/file
expect_refusal 2 "/dev/null/lists: Not a directory" explain leak.ops --what-if-out /dev/null/lists
[ -z "$(find . -name '*.partial')" ] || fail "left $(find . -name '*.partial')"
expect_exit 0 explain --help
expect_text out.txt "--what-if-out DIR"

# Rows are for the reader of the file: nobody can set an option of libhbm in TensorFlow, and no GPU is a TPU.
sed 's/^target hbm/&\nsystem tensorflow/' leak.ops >tensorflow.ops
expect_exit 0 explain tensorflow.ops --what-if
expect_text out.txt "keep x.numpy() instead of the tensor"
expect_text out.txt "chip-t4"
for row in defrag order drains evicts program-evicts-program layout unload chip-v; do
    expect_no_text out.txt "  $row-"
    expect_no_text out.txt "  $row "
done
finish
