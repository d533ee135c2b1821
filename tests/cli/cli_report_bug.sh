#!/usr/bin/env bash
# report-bug: each kind of defect becomes a program that shows it, built from the text of the allocator's own API.  What no
# program can show is refused in one line; what the program does not show is reported as the adapter's.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
heaps=$2
DEFECTIVE_HEAP=$3
export DEFECTIVE_HEAP
if ! command -v cc >/dev/null; then
    echo "skipped: there is no cc to build the programs with"
    exit 77
fi

# write_list NAME HEAP OP...
# shellcheck disable=SC2016 # a hostile name
write_list() {
    local name=$1 heap=$2
    shift 2
    printf 'hbmstress-ops 1\ncapacity 64K\nhosts 1\ntarget %s/defective_%s.so\nseed 1\ntag 3 "*/ `x` <b>"\n\n' \
        "$heaps" "$heap" >"$name.ops"
    printf '%s\n' "$@" >>"$name.ops"
}

# show HEAP TITLE END OP...: the list of the heap is reported, under that title, and the program ends so.
show() {
    local heap=$1 title=$2 end=$3
    shift 3
    write_list "$heap" "$heap" "$@"
    expect_exit 0 report-bug "$heap.ops" --op-timeout 2s
    expect_text out.txt "shown: $title; the program ends with $end"
    expect_text "report-$heap/report.md" "$title"
    for heading in Versions Expected Observed "The program" "How it was found"; do
        expect_text "report-$heap/report.md" "## $heading"
    done
    expect_text "report-$heap/report.md" "allocator: defective heap 1"
    expect_text "report-$heap/report.md" "hbmstress replay $heap.ops"
    [ "$(ls "report-$heap")" = "$(printf 'bug.c\nreport.md')" ] || fail "report-$heap has $(ls "report-$heap")"
    [ ! -e "report-$heap.partial" ] || fail "report-$heap.partial is left behind"
}

small='alloc size=1024 tag=3'
large='alloc size=4096'
show refuses "a request is refused although it fits" "exit status 1" "0: $small" "1: free block=0" "2: alloc size=33000"
expect_text report-refuses/report.md "Op 2 asks for b1 of 33000 bytes."
expect_text report-refuses/report.md "33024 bytes, which fit at [0x0, 0x8100)."
expect_text report-refuses/bug.c "void *b1 = heap_take(&heap, 33024, 64);"
expect_text report-refuses/bug.c "heap_give(&heap, b0);"
# The program shows it without hbmstress, by the commands that the report gives, and in a heap without the defect it does not.
(cd report-refuses && cc bug.c -DHEAP_DEFECT=1 -I"$DEFECTIVE_HEAP" -o ../again) && ./again >again.txt
[ $? = 1 ] || fail "the program, built again, does not exit with 1"
expect_text again.txt "SHOWN: the request is refused although it fits"
(cd report-refuses && cc bug.c -DHEAP_DEFECT=0 -I"$DEFECTIVE_HEAP" -o ../sound)
./sound >again.txt || fail "the program shows a defect in a sound heap"
expect_text again.txt "NOT SHOWN: "

show overlaps "two live blocks overlap" "exit status 1" "0: $small" "1: $large"
expect_text report-overlaps/report.md "b1 is [0x0, 0x1000), b0 is [0x0, 0x400)"
show ends "a block lies outside of the memory of the allocator" "exit status 1" "0: $small" "1: alloc size=64536"
show misaligns "a block is not aligned as asked" "exit status 1" "0: $small" "1: alloc size=4096 align=128"
show takes "a block has another size than its request may get" "exit status 1" "0: $small" "1: $large"
show writes "the bytes of a live block change" "exit status 1" "0: $small" "1: $small" "2: free block=1" "3: touch block=0"
show crashes "a valid call ends the process" "signal 6" "0: $small" "1: $large" "2: free block=1"
expect_text report-crashes/report.md "freeing b1 ..."
show hangs "a valid call does not return" "no end within 2s" "0: $small" "1: $large"

# A queued free becomes a free where its event is done, and what the device does is no call.
show_queued() {
    write_list queued refuses "0: $small" "1: $small" "2: use block=0 delay=5ms" "3: free_after block=0 event=2" \
        "4: $small" "5: advance delay=9ms" "6: report" "7: donate block=1 size=512" "8: free block=7" "9: alloc size=33000"
    expect_exit 0 report-bug queued.ops -o queued
    [ "$(grep -o '/\* op [0-9]*: b[0-9]*' queued/bug.c | tr '\n' ' ')" = \
        "/* op 0: b0 /* op 1: b1 /* op 4: b2 /* op 5: b0 /* op 8: b1 /* op 9: b3 " ] || fail "the calls are $(grep 'op ' queued/bug.c)"
}
show_queued

# Nothing that a list names is more than a text in the report: neither markup, nor the end of a comment.
mkdir "*]<b>"
cp "$heaps/defective_refuses.so" "*]<b>/*.so"
sed "s,^target .*,target ./*]<b>/*.so," refuses.ops >hostile.ops
expect_exit 0 report-bug hostile.ops -o hostile
expect_text hostile/report.md "hbmstress replay hostile.ops"
expect_no_text hostile/bug.c '*]<b>'
# shellcheck disable=SC2016
expect_no_text hostile/bug.c '`x`'

# --- what is refused: one line, and no folder ---
expect_no_folder() {
    if [ -e report ] || [ -e report.partial ]; then fail "a folder is left behind: $(cat err.txt)"; fi
}
refuse() { # CODE TEXT ARGUMENT...
    local code=$1 text=$2
    shift 2
    expect_refusal "$code" "$text" report-bug "$@"
    expect_no_folder
}
write_list sound sound "0: $small" "1: free block=0"
write_list adapter adapter "0: $small" "1: $large"
write_list textless textless "0: $small" "1: alloc size=33000"
write_list lost refuses "0: fault call=copy nth=1" "1: $small"
refuse 2 "none.ops" none.ops -o report
refuse 2 "sound.ops: no call of it breaks a promise" sound.ops -o report
refuse 2 "has no text of its own API (target_api)" textless.ops -o report
refuse 2 "no program can show it: op 0 (fault) is no allocation and no free" lost.ops -o report
refuse 2 "queued: it is there already; name another folder with -o" refuses.ops -o queued
refuse 2 "nowhere/report.partial: No such file or directory" refuses.ops -o nowhere/report
refuse 3 "adapter.ops: the program of the allocator's own calls does not show it" adapter.ops -o report
sed 's/^hosts 1/hosts 2/' refuses.ops >hosts.ops
refuse 2 "it has several hosts, and a program has one heap" hosts.ops -o report
(
    unset DEFECTIVE_HEAP
    refuse 2 "DEFECTIVE_HEAP is not set in the environment; target" refuses.ops -o report
    exit "$failures"
) || failures=$((failures + 1))
env PATH=/nowhere "$hbmstress" report-bug refuses.ops -o report 2>err.txt
[ $? = 2 ] || fail "without a compiler: not exit 2"
expect_text err.txt "there is no cc on this machine"
DEFECTIVE_HEAP=/nowhere expect_exit 2 report-bug refuses.ops -o report
expect_text err.txt "hbmstress: the program cannot be built (exit status 1): cc bug.c"
expect_no_folder

finish
