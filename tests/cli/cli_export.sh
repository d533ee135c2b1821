#!/usr/bin/env bash
# What a run did is written whole or not at all, and a log is held against what a run of it sees.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
field=$2

cat >list.ops <<'OPS'
hbmstress-ops 1
capacity 64K
granule 512
target hbm
0: alloc size=16K
1: alloc size=60K
2: free block=0
OPS

expect_exit 0 convert --to csv list.ops -o events.csv
expect_text out.txt "events.csv: 4 events of 3 ops as csv, 1 OOMs"
expect_text events.csv "op,action,address,size,requested,lane,host,tag,in_use,largest_hole"
expect_text events.csv '1,failed,,61440,61440,0,0,"",16384,49152'
expect_exit 0 convert --to csv list.ops
cmp -s out.txt events.csv || fail "standard output and the file differ"
for format in rmm torch_snapshot ops; do
    expect_exit 0 convert list.ops --to "$format" -o "out.$format"
    [ -s "out.$format" ] || fail "$format: nothing written"
done
[ -z "$(find . -name '*.partial')" ] || fail "left $(find . -name '*.partial')"
expect_exit 0 replay out.ops

# A log of the field is run, too.
expect_exit 0 convert "$field/tpu_message/buffer.log" --to rmm
expect_text out.txt "allocate failure,(nil),100663296"

# A file that was there stays when nothing is written.
echo old >kept.csv
expect_refusal 2 "did you mean 'csv'?" convert list.ops --to csw -o kept.csv
expect_refusal 2 "No such file" convert --to csv missing.ops -o kept.csv
cp kept.csv old.txt
[ "$(cat kept.csv)" = old ] || fail "an export that was refused changed the file"
expect_refusal 2 "Is a directory" convert --to csv list.ops -o .
expect_refusal 2 "No such file" convert --to csv list.ops -o nowhere/events.csv
expect_refusal 2 "no format recognises" convert --to csv old.txt
expect_refusal 2 "events.csv: 'convert --to csv' wrote this table, and no importer reads it" convert events.csv
if [ -c /dev/full ]; then
    expect_refusal 4 "/dev/full: No space left" convert --to csv list.ops -o /dev/full
    [ -c /dev/full ] || fail "/dev/full was replaced"
fi
if (ulimit -f 1) 2>/dev/null; then
    # 400 ops are more than the 1024 bytes that are let through.
    { cat list.ops && for i in $(seq 3 400); do echo "$i: alloc size=512"; done; } >long.ops
    (trap '' XFSZ && ulimit -f 1 && expect_exit 4 convert --to csv long.ops -o kept.csv 2>/dev/null
     [ "$failures" = 0 ]) || fail "a disk that is full is not exit 4"
    [ "$(cat kept.csv)" = old ] || fail "a disk that is full changed the file"
    [ -z "$(find . -name '*.partial')" ] || fail "a disk that is full left $(find . -name '*.partial')"
fi

# What -o writes takes nothing else: no file of a name like it, not its own input, no link.
echo mine >events.csv.partial
expect_exit 0 convert --to csv list.ops -o events.csv
[ "$(cat events.csv.partial)" = mine ] || fail "an export took a file of the user's"
cp list.ops given.ops
ln -s given.ops link.ops
ln given.ops hard.ops
for output in given.ops ./given.ops "$PWD/given.ops" link.ops hard.ops; do
    for subcommand in "convert --to ops" "convert --to csv" "replay --shrink"; do
        # shellcheck disable=SC2086
        expect_refusal 2 "$output: this is the input file" $subcommand given.ops -o "$output"
    done
done
expect_refusal 2 "given.ops: this is the input file" convert --to csv link.ops -o given.ops
cmp -s given.ops list.ops || fail "a file was written over its own input"
mkdir -p elsewhere/deep
ln -s elsewhere/deep/table.csv table.csv
ln -s table.csv twice.csv
ln -s loop.csv loop.csv
for subcommand in "convert --to csv" "convert --to ops"; do
    # Where nothing is yet, and then where something is.
    rm -f elsewhere/deep/table.csv
    for _ in 1 2; do
        # shellcheck disable=SC2086
        expect_exit 0 $subcommand list.ops -o twice.csv
        [ -L twice.csv ] && [ -L table.csv ] || fail "$subcommand replaced a symbolic link"
        [ -s elsewhere/deep/table.csv ] || fail "$subcommand did not write to what the link names"
    done
    # shellcheck disable=SC2086
    expect_refusal 2 "loop.csv: Too many levels" $subcommand list.ops -o loop.csv
done
if [ -e /proc/self/fd/1 ]; then
    # What /dev/stdout is, with a file and with a pipe behind it.
    ln -s /proc/self/fd/1 stdout.link
    "$hbmstress" convert --to csv list.ops -o stdout.link >behind.csv 2>err.txt || fail "export to the link: $(cat err.txt)"
    [ -L stdout.link ] || fail "the link to standard output was replaced"
    cmp -s behind.csv events.csv || fail "standard output has not what the file has: $(head -n 2 behind.csv)"
    "$hbmstress" convert --to ops list.ops -o stdout.link 2>err.txt | grep -q '^hbmstress-ops 1$' || fail "no list in the pipe"
    [ -L stdout.link ] || fail "the link to a pipe was replaced"
fi
ln -sf nowhere/table.csv table.csv
expect_refusal 2 "twice.csv: No such file" convert --to csv list.ops -o twice.csv

# A second signal ends the program at once, and takes what is unfinished with it.
mkdir half
awk 'BEGIN { print "hbmstress-ops 1\ncapacity 1M\ntarget hbm"; for (i = 0; i < 1000000; i += 2)
    print i ": alloc size=512\n" i + 1 ": free block=" i }' >many.ops
ended_count=0
for _ in $(seq 20); do
    rm -f half/many.ops
    "$hbmstress" convert many.ops -o half/many.ops >out.txt 2>err.txt &
    process=$!
    while kill -0 "$process" 2>/dev/null && [ -z "$(find half -name '*.partial')" ]; do
        :
    done
    kill -INT "$process" 2>/dev/null
    sleep 0.15
    kill -INT "$process" 2>/dev/null
    wait "$process" 2>/dev/null
    code=$?
    [ -z "$(find half -name '*.partial')" ] || fail "exit $code left $(find half -name '*.partial')"
    [ ! -e half/many.ops ] || [ "$(tail -n 1 half/many.ops)" = "999999: free block=999998" ] ||
        fail "exit $code: what is there is not whole: $(tail -n 1 half/many.ops)"
    [ "$code" -lt 128 ] || ended_count=$((ended_count + 1))
    [ "$ended_count" -lt 2 ] || break
done
[ "$ended_count" = 2 ] || fail "the second signal ended $ended_count of 20 imports"

# A target that dies in the middle: the file is not there, and nobody says so of what standard output already got.
{
    printf 'hbmstress-ops 1\ncapacity 1M\ntarget plant_crash_abort\n'
    for i in $(seq 0 399); do
        echo "$i: alloc size=512"
    done
    printf '400: alloc size=2M\n401: alloc size=2M\n'
} >dying.ops
expect_exit 1 convert --to csv dying.ops -o dying.csv
expect_text err.txt "SIGABRT"
expect_text err.txt "; nothing is written"
[ ! -e dying.csv ] || fail "an export that died left its file"
expect_exit 1 convert --to csv dying.ops
[ -s out.txt ] || fail "the export was to have written something before it died"
expect_text err.txt "; the output is incomplete"

# 40K fit in 48K; the target rounds them to 64K.
printf 'hbmstress-ops 1\ncapacity 64K\ntarget plant_premature_rounded\n0: alloc size=16K\n1: alloc size=40K\n' >wrong.ops
expect_exit 1 convert --to csv wrong.ops -o broken.csv
expect_text err.txt "the run ended early"
expect_text broken.csv "1,failed,,40960"

# compare: what the log says, and what the run saw.
expect_exit 0 replay "$field/hbm_allocations/every_state.log" --compare
expect_text out.txt "10 of 10 requests and 7 of 7 byte counts agree"
expect_exit 3 replay "$field/tpu_message/buffer_pieces.log" --compare
expect_no_text out.txt " in the log, "
expect_text out.txt "requests and 2 of 2 byte counts agree"
expect_exit 0 replay "$field/hbm_report/sections.log" --compare --json
expect_text out.txt '{"type":"compare","requests":4,"requests_differ":0,"values":0,"values_differ":0,"differences":[]}'
expect_exit 0 replay "$field/hbm_report/sections.log" --compare --capacity 1G
expect_text out.txt "op 3: load size=4199936 stack=46131712 tag=4: request: out of memory in the log, granted in the run"
expect_text out.txt "3 of 4 requests and 0 of 0 byte counts agree; the first difference is at op 3"
expect_exit 0 replay "$field/hbm_report/sections.log" --compare --capacity 1G --json
expect_text out.txt '"first_op":3,"differences":[{"op":3,"what":"request","log":"out of memory","run":"granted"}]'
# On a larger device the same heap lies elsewhere: each address differs.
expect_exit 0 replay "$field/hbm_allocations/every_state.log" --compare --target-option defrag=repack
expect_text out.txt "compared with the log:"
expect_exit 0 replay "$field/static_planning/exclusive.csv" --compare --capacity 1K
expect_text out.txt "1 of 4 requests"
# The top of the smaller device is retired: it is in no byte count of the log.
expect_exit 0 replay "$field/xplane/devices.xplane.pb" --compare
expect_text out.txt "5 of 5 requests and 7 of 7 byte counts agree"
expect_refusal 2 "an op list does not say what happened" replay list.ops --compare
expect_refusal 2 "give one of them" replay "$field/hbm_report/sections.log" --compare --strategy exhaustive=2
# What a trace of requests does not say is said wherever one is read.
cat >trace.csv <<'CSV'
TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,100,50
CSV
kv=(--kv-bytes-per-token 512 --kv-tokens-per-second 25 --capacity 1M)
expect_exit 0 convert trace.csv "${kv[@]}" -o trace.ops
for subcommand in explain "convert --to csv" "explain --timeline" "replay --compare"; do
    # shellcheck disable=SC2086
    expect_exit 0 $subcommand trace.csv "${kv[@]}"
done
expect_exit 0 convert --to csv trace.csv "${kv[@]}"
expect_text out.txt "0,alloc,971776,76800,76800,"
expect_exit 0 replay trace.csv --compare --format azure_llm "${kv[@]}"
expect_refusal 2 "--kv-bytes-per-token applies to a log, with --compare" replay trace.ops --kv-bytes-per-token 5
expect_refusal 2 "--format applies to a log, with --compare" replay trace.ops --format ops

# What an execution loads again, or fails to, is for its program, and asked for by its lane.
printf '%s\n' 'hbmstress-ops 1' 'capacity 64K' 'target hbm' 'tag 1 "prog"' 'tag 2 "data"' '' \
    '0: load size=16K stack=8K tag=1' '1: alloc size=60K tag=2' '2: execute program=0 lane=1' >reload.ops
expect_exit 0 convert --to csv reload.ops
expect_text out.txt '2,failed,,24576,24576,1,0,"prog",'
echo '3: free block=1' >>reload.ops # before it: lane 0 goes on as long as it can
expect_exit 0 convert --to csv reload.ops
grep -q '^2,alloc,[0-9]*,16384,16384,1,0,"prog",' out.txt || fail "a reload: $(grep '^2,' out.txt)"
finish
