#!/usr/bin/env bash
# What export writes is read by the tools for which it is written, or by what reads as they do.
check=$(cd "$(dirname "$0")" && pwd)/check_export.py
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
corpus=$2

# A tag has no double quote, which ends it in a list; a name of a file may have one.
hostile="<script>alert(1)</script>'&"
cat >hostile.ops <<OPS
hbmstress-ops 1
capacity 64K
granule 512
target hbm
option defrag=repack
hosts 2
tag 1 "$hostile"
tag 2 "model/layer;weights"

0: alloc size=16000 tag=1
1: alloc size=16K tag=2
2: alloc size=16K host=1
3: load size=4K stack=2K tag=2
4: free block=1
5: alloc size=20K
6: alloc size=10K
7: execute program=3 delay=1ms
8: free_after block=0 delay=5ms
9: advance delay=2ms
10: alloc size=30K tag=1
11: donate block=5 size=10K
12: retire size=512 address=%0
13: alloc size=60K tag=1
OPS

# PyTorch's memory viewer.
expect_exit 0 convert hostile.ops --to torch_snapshot -o out.json
expect_exit 0 convert hostile.ops --to memory_viz -o out.pickle
"$check" snapshot out.json out.pickle || fail "the snapshots differ"
expect_exit 0 convert out.pickle
expect_text out.txt "alloc size="
expect_exit 0 convert "$corpus/field/tpu_message/buffer.log" --to memory_viz -o field.pickle
expect_exit 0 explain field.pickle

# Trace events: of every kind, with lanes, hosts and drains.
expect_exit 0 convert hostile.ops --to csv -o events.csv
cp hostile.ops "\"'&<b>.ops"
expect_exit 0 convert "\"'&<b>.ops" --to perfetto -o trace.json
"$check" perfetto trace.json events.csv hostile.ops >kinds.txt || fail "hostile.ops: not a trace"
expect_text kinds.txt "execution=2 mitigates="
expect_text kinds.txt "mitigation="
expect_text kinds.txt "queued free=2"
grep -qF "\"name\":\"alloc $hostile\"" trace.json ||
    fail "the tag is not what it was: $(grep -m1 script trace.json)"
# A fault is named by its kind, which is no tag.
printf 'hbmstress-ops 1\ncapacity 64K\ntag 1 "weights"\n0: fault call=wait nth=1\n1: alloc size=1K tag=1\n' >fault.ops
expect_exit 0 convert fault.ops --to perfetto
expect_text out.txt '"name":"fault wait"'
expect_text out.txt '"name":"alloc weights"'
number=0
for list in "$corpus"/causes/*.ops "$corpus"/hangs/*.ops "$corpus"/regressions/*.ops; do
    # Each fourth, all at night; always those with lanes.
    number=$((number + 1))
    [[ ${HBMSTRESS_TESTS:-} = full || $list = */lanes_* ]] || ((number % 12 == 0)) || continue
    # Not those that need what the machine may lack, or that end in a broken promise.
    "$hbmstress" convert --to csv "$list" -o events.csv >out.txt 2>err.txt || continue
    expect_exit 0 convert "$list" --to perfetto -o trace.json
    "$check" perfetto trace.json events.csv "$list" >kinds.txt || fail "$list: not a trace"
    case $list in
    */lanes_*) # blocks in host memory, and ops that overlap
        expect_exit 0 convert "$list" --to svg -o picture.svg
        "$check" svg picture.svg events.csv trace.json >counts.txt || fail "$list: not a picture"
        expect_exit 0 convert "$list" --to pprof -o profile.pb.gz
        "$check" pprof profile.pb.gz events.csv trace.json >counts.txt || fail "$list: not a profile"
        ;;
    esac
done

# The picture: whole, and of more blocks than it draws.
expect_exit 0 convert --to csv hostile.ops -o events.csv
expect_exit 0 convert "\"'&<b>.ops" --to svg -o picture.svg
if command -v xmllint >/dev/null; then
    xmllint --noout picture.svg || fail "the picture is no XML"
fi
"$check" svg picture.svg events.csv >counts.txt || fail "hostile.ops: not a picture"
[ "$(cat counts.txt)" = "blocks=12 failures=1 moves=3" ] || fail "hostile.ops: $(cat counts.txt)"
expect_text picture.svg "<title>&quot;'&amp;&lt;b&gt;.ops</title>"
expect_text picture.svg "&lt;script&gt;alert(1)&lt;/script&gt;'&amp;, 16.0K at 0xc000, live"
expect_no_text picture.svg "<script"
expect_text picture.svg ">op 13: no room for 60.0K, justified</text>"
cp picture.svg again.svg
expect_exit 0 convert "\"'&<b>.ops" --to svg -o picture.svg
cmp -s picture.svg again.svg || fail "two pictures of one run differ"

awk 'BEGIN { print "hbmstress-ops 1\ncapacity 1M\ngranule 512\ntarget hbm\noption defrag=none\n"
    for (i = 0; i < 12000; i += 2) {
        if (i == 6000) { print i ": alloc size=2M\n" i + 1 ": free block=" i; continue }
        print i ": alloc size=" (i > 5990 && i < 6012 ? 512 : 65536) "\n" i + 1 ": free block=" i } }' >many.ops
expect_exit 0 convert --to csv many.ops -o events.csv
expect_exit 0 convert many.ops --to svg -o picture.svg
"$check" svg picture.svg events.csv >counts.txt || fail "many.ops: not a picture"
[ "$(cat counts.txt)" = "blocks=2000 failures=1 moves=0" ] || fail "many.ops: $(cat counts.txt)"
expect_text picture.svg "2000 of 5999 rectangles are drawn, all of them near op 6000. The smallest and shortest are shades"
grep -q '<rect class="rest r2" x="[0-9.]*" y="[0-9.]*" width="[0-9]' picture.svg || fail "nothing is shaded"
[ "$(grep -c '>512B at ' picture.svg)" = 9 ] || fail "small blocks near the failure: $(grep -c '>512B at ' picture.svg)"

# Writes that fail before the end are told by their reason, and a reader that has enough is no failure.
for format in csv perfetto memory_viz; do
    expect_exit 4 convert many.ops --to "$format" -o /dev/full
    expect_text err.txt "/dev/full: No space left on device"
    { "$hbmstress" convert many.ops --to "$format" 2>err.txt; echo $? >code.txt; } | head -c 10 >out.txt
    [ "$(cat code.txt)" != 4 ] || fail "$format to a pipe that nobody reads: $(cat err.txt)"
    [ ! -s err.txt ] || fail "$format to a pipe that nobody reads: $(cat err.txt)"
done

# The profile, at each moment.
{ sed '/^$/,$d' hostile.ops && cat; } >moments.ops <<'OPS'
tag 3 "model/layer/bias"

0: alloc size=16000 tag=1
1: alloc size=16K tag=2
2: alloc size=8K host=1 tag=2
3: load size=4K stack=2K tag=3
4: execute program=3 delay=1ms
5: free_after block=0 delay=5ms
6: alloc size=60K tag=1
7: alloc size=12K tag=3
8: advance delay=9ms
9: retire size=512 address=%0
10: free block=1
OPS
expect_exit 0 convert --to csv moments.ops -o events.csv
for at in 0 1 2 3 4 5 6 7 8 9 10 peak failure; do
    expect_exit 0 convert moments.ops --to pprof --at "$at" -o profile.pb.gz
    "$check" pprof profile.pb.gz events.csv >counts.txt || fail "--at $at: not a profile"
    case $at in
    peak) wanted="op=4 " ;;
    failure) wanted="op=6 " ;;
    *) wanted="op=$at " ;;
    esac
    grep -q "^$wanted" counts.txt || fail "--at $at: $(cat counts.txt)"
    [ "$at" != 4 ] || expect_text counts.txt "stack=2048"
done
cp moments.ops $'\xff.ops' # all texts of the profile are UTF-8
expect_exit 0 convert $'\xff.ops' --to pprof -o profile.pb.gz
"$check" pprof profile.pb.gz events.csv >counts.txt || fail "a name that is no UTF-8: not a profile"
expect_exit 0 convert moments.ops --to pprof -o profile.pb.gz
cp profile.pb.gz again.pb.gz
expect_exit 0 convert moments.ops --to pprof -o profile.pb.gz
cmp -s profile.pb.gz again.pb.gz || fail "two profiles of one run differ"
expect_exit 0 convert moments.ops --to pprof --at 5 -o profile.pb.gz
expect_exit 0 convert profile.pb.gz
expect_text out.txt 'tag 1 "weights"'
expect_text out.txt "hosts 2"
expect_text out.txt "load size=4K"
printf 'hbmstress-ops 1\ncapacity 64K\ntarget hbm\n0: alloc size=16K\n' >one.ops
expect_refusal 2 "--at 1: the run has no such moment" convert one.ops --to pprof --at 1 -o none.pb.gz
expect_refusal 2 "--at failure: the run has no such moment" convert one.ops --to pprof --at failure
[ ! -e none.pb.gz ] || fail "a profile of no moment"
expect_refusal 2 "is not peak, failure, or the number of an op" convert one.ops --to pprof --at never
expect_refusal 2 "--at applies to --to pprof alone" convert --to csv one.ops --at 0
if command -v go >/dev/null; then
    go tool pprof -top profile.pb.gz >top.txt 2>err.txt || fail "go tool pprof: $(cat err.txt)"
    expect_text top.txt "Type: inuse_space"
    expect_text top.txt "24kB 52.17% 52.17%       24kB 52.17%  weights"
    expect_text top.txt "28kB 60.87%  model"
else
    echo "skipped: go is not there, which has go tool pprof"
fi
finish
