#!/usr/bin/env bash
# scale: where a job stops to fit is where a run of it runs out; a stored run is read back, and what grew sounds the alarm;
# a target that dies is a row; what cannot be read or written is told in one line.
#
#     tests/cli/cli_scale.sh HBMSTRESS
folder=$(realpath "$(dirname "$0")")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# member NAME: of the last line that was read, as it stands.
member() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" <<<"$line"; }

# A ladder has a row for each combination, the same bytes with any number of workers, and the steps of run.
expect_exit 0 scale --hosts 1,2 --chip v5e,v4 --until 60 --json --workers 2 --out whole.jsonl
cp out.txt two.txt
expect_exit 0 scale --hosts 1,2 --chip v5e,v4 --until 60 --json --workers 1
cmp -s out.txt two.txt || fail "one worker prints something else than two"
cmp -s out.txt whole.jsonl || fail "--out wrote something else than --json printed"
[ "$(grep -c '"type":"scale_row"' out.txt)" = 4 ] || fail "not four rows: $(cat out.txt)"
expect_exit 0 scale --hosts 1,2 --chip v5e,v4 --until 60 --seed 2 --json
cmp -s out.txt two.txt && fail "another seed gave the same rows"
while read -r line; do
    command=$(sed 's/.*"command":"hbmstress \([^"]*\)".*/\1/' <<<"$line")
    step=$(member step)
    # shellcheck disable=SC2086 # words
    expect_exit 0 $command --out again
    if [ -n "$step" ]; then
        expect_exit 0 explain again/kept/*.ops
        grep -q "in about step $step$" out.txt || fail "$command: not in step $step: $(head -n 1 out.txt)"
    else
        expect_text out.txt "0 OOMs"
    fi
    rm -rf again
done < <(grep '"type":"scale_row"' two.txt)
[ "$(grep -c '"result":"fits"' two.txt)" = 2 ] || fail "a job that is sized for v5e does not fit v4"

# The largest batch: it fits and the next one does not, by runs of their own.
expect_exit 0 scale --chip v4 --until 40 -S leak=none -S batch=4,64 --json
line=$(grep '"type":"scale_edge"' out.txt)
most=$(member fits)
[ "$(member fails)" = $((most + 1)) ] || fail "not the next batch: $line"
expect_exit 0 scale --chip v4 --until 40 -S leak=none -S batch="$most,$((most + 1))" --search 0
joined out.txt | grep -q "^1 *v4 *none *$most *fits " || fail "batch $most does not fit: $(cat out.txt)"
joined out.txt | grep -q "^1 *v4 *none *$((most + 1)) *step 0, host 0 *exhausted" || fail "batch $((most + 1)) fits: $(cat out.txt)"
expect_exit 0 scale --chip v4 --until 40 -S leak=none -S accumulation=1,2 -S batch=12 --search 0
expect_text out.txt "smallest     2         1"
expect_exit 0 scale --hosts 1,2,4 --until 40 -S leak=none -S sharding=full -S batch=12
expect_text out.txt "Where hosts stops to fit"
expect_text out.txt "smallest     2         1"
expect_exit 0 scale --hosts 1,2 --until 40 -S leak=none
expect_no_text out.txt "stops to fit"
expect_exit 0 scale --until 40 -S leak=none --capacity 8G,32G
expect_text out.txt "Where capacity stops to fit"
expect_text out.txt "smallest"
expect_exit 0 scale --one-axis --until 20 --hosts 1,2 -S leak=none -S batch=4,6 --search 0
[ "$(joined out.txt | grep -c '^[12] .* fits ')" = 3 ] || fail "one axis at a time: $(cat out.txt)"

# The batch of a list: it fits as it is and not twice as large, and the edge lies between.
expect_exit 0 run training --chip v4 --until 40 -S leak=none --seed 1 --out job
mv job/kept/*.ops steps.ops
expect_exit 0 scale steps.ops --batch 50,100,200 --json
[ "$(grep -c '"result":"fits"' out.txt)" = 2 ] || fail "not two batches fit: $(cat out.txt)"
line=$(grep '"type":"scale_edge"' out.txt)
most=$(member fits)
[ "$(member fails)" = $((most + 1)) ] || fail "not the next percent: $line"
expect_exit 0 explain steps.ops
expect_text out.txt "  $most % of the batch of this list fits"
printf 'hbmstress-ops 1\ncapacity 64M\n0: alloc size=16M\n' >list.ops
expect_exit 2 scale list.ops --batch 50,100
expect_text err.txt "no row can be run: nothing in the list lives within a step"
expect_refusal 2 "--batch applies to op lists" scale --batch 50

# Unchanged: quiet.
ladder=(scale --hosts 1,2 --chip v4 --until 60)
expect_exit 0 "${ladder[@]}" --out before.jsonl
expect_exit 0 "${ladder[@]}" --against before.jsonl
expect_text out.txt "Against before.jsonl: nothing changed"
expect_text out.txt "0 changes, 0 alarms"
expect_no_text out.txt ALARM
expect_exit 0 "${ladder[@]}" --against before.jsonl --json
expect_text out.txt '"changes":0,"alarms":0,"exit_code":0'

# A target that leaks on the second host alone: that row runs out earlier, and the other one is as it was.
expect_exit 1 "${ladder[@]}" --against before.jsonl --target plant_one_host_leaking
expect_text out.txt "ALARM  hosts=2 chip=v4: out of memory in step 11, before: out of memory in step 48"
expect_no_text out.txt "ALARM  hosts=1"
expect_text out.txt "hosts=2 chip=v4: a promise was broken:"
expect_exit 1 "${ladder[@]}" --against before.jsonl --target plant_one_host_leaking --json
expect_text out.txt '"type":"scale_change","row":"hosts=2 chip=v4","what":"result","alarm":true'

# A list that grew: an alarm without a broken promise, and a threshold that allows it.
write_list() { # MEBIBYTES
    printf 'hbmstress-ops 1\ncapacity 64M\n0: alloc size=16M\n1: alloc size=%sM\n2: free block=0\n' "$1" >list.ops
}
write_list 8
expect_exit 0 scale list.ops --capacity 32M,24M,16M --out list.jsonl
expect_text out.txt "op 1, host 0"
expect_text out.txt "smallest   24M "
expect_exit 0 scale list.ops --capacity 32M,24M,16M --against list.jsonl
write_list 9
expect_exit 1 scale list.ops --capacity 32M,24M,16M --against list.jsonl
expect_text out.txt "ALARM  capacity=24M: out of memory at op 1, before: fits"
expect_text out.txt "ALARM  capacity=32M: peak grew by 1.00M, from 24.00M to 25.00M"
expect_text out.txt "the smallest capacity that fits is"
expect_exit 1 scale list.ops --capacity 32M --against list.jsonl
expect_text out.txt "       capacity=16M: not run now"
expect_exit 0 scale list.ops --capacity 32M --against list.jsonl --grew 5%
expect_text out.txt "       capacity=32M: peak grew by 1.00M"
write_list 7
expect_exit 0 scale list.ops --capacity 32M,24M,16M,20M --against list.jsonl
expect_text out.txt "capacity=20M: new row"
expect_text out.txt "peak shrank by 1.00M"

# A target that dies is a row, and the others are run. One that breaks a promise, and one whose verdicts stay unknown.
expect_exit 1 scale --hosts 1,2 --until 20 --target plant_crash_segv
[ "$(joined out.txt | grep -c '^[12] *v4 *crashed ')" = 2 ] || fail "not two rows: $(cat out.txt)"
expect_text out.txt "hosts=2 chip=v4: crashed: the target ended its process: SIGSEGV"
expect_exit 1 scale --hosts 1,2 --until 60 --target plant_crash_segv --json --against before.jsonl
expect_text out.txt '"result":"crashed"'
expect_text out.txt 'crashed, before: out of memory'
# The rows fit, and the search for the largest batch breaks a promise, or meets the crash.
searched=(scale --chip v4 --until 20 -S leak=none -S batch=4,5)
expect_exit 1 "${searched[@]}" --target plant_premature_moved_unretried
[ "$(joined out.txt | grep -c '^1 *v4 *none *[45] *fits ')" = 2 ] || fail "the rows do not fit: $(cat out.txt)"
expect_text out.txt "leak=none batch=8: a promise was broken:"
# With a batch of 5 one request moves three blocks, which is what the plant dies of.
searched=(scale --chip v4 --until 20 -S leak=none -S batch=6,7)
expect_exit 1 "${searched[@]}" --target plant_crash_segv --json
expect_text out.txt '"trouble":"hosts=1 chip=v4 leak=none batch=14","why":"the target ended its process: SIGSEGV'
expect_exit 0 "${searched[@]}" --target plant_crash_segv --search 0
expect_exit 0 scale --hosts 1,2 -S tensor=2 --until 20 --search 0
expect_text out.txt "hosts=1 chip=v4 tensor=2: not accepted: tensor * pipeline is 2, and --hosts 1 is no multiple of it"
cp "$folder"/cli_unknown.ops .
expect_exit 3 scale cli_unknown.ops
expect_text out.txt "stayed unknown"

# Wrong input: one line, and nothing is run.
expect_refusal 2 "unknown scenario 'nosuch'" scale nosuch
expect_refusal 2 "--hosts: '0' is not a number from 1 to 64" scale --hosts 1,0
expect_refusal 2 "the sizes of 'slow_leak' follow the device" scale slow_leak --chip v4,v5e
expect_refusal 2 "--grew applies to --against FILE" scale --grew 5
expect_refusal 2 "an op list is run as it is" scale list.ops --hosts 1,2
expect_refusal 2 "none.jsonl: No such file" scale --against none.jsonl
printf '{"type":"start"}\n' >bad.jsonl
expect_refusal 2 "bad.jsonl:1: this is no file of scale --out" scale --against bad.jsonl
sed '$d' before.jsonl >cut.jsonl
expect_refusal 2 "cut.jsonl: it is cut off" "${ladder[@]}" --against cut.jsonl
sed 's/"peak_bytes":[0-9]*/"peak_bytes":-1/' before.jsonl >bad.jsonl
expect_refusal 2 "bad.jsonl:2: this is no whole scale_row" "${ladder[@]}" --against bad.jsonl
expect_refusal 2 "before.jsonl:1: it is of another seed" "${ladder[@]}" --seed 2 --against before.jsonl
expect_refusal 2 "none of its 2 rows is one of this ladder" scale --until 60 --chip v5e --against before.jsonl
expect_refusal 2 "before.jsonl: this is the input file" "${ladder[@]}" --against before.jsonl --out before.jsonl
expect_refusal 2 "nowhere" "${ladder[@]}" --out nowhere/file
head -c 17000000 /dev/zero >large.jsonl
expect_refusal 2 "large.jsonl: File too large" "${ladder[@]}" --against large.jsonl

# The world: a disk that is full, nobody who reads, ctrl-C.
[ ! -w /dev/full ] || {
    expect_exit 4 scale --hosts 1 --until 10 --out /dev/full
    expect_text err.txt "/dev/full: No space left on device"
    "$hbmstress" scale --hosts 1 --until 10 >/dev/full 2>err.txt
    [ $? = 4 ] || fail "a full standard output is no failure"
}
expect_unread 0 scale --hosts 1,2 --until 10
"$hbmstress" scale --until 100000 --json --out unfinished.jsonl >out.txt 2>err.txt &
pid=$!
wait_until grep -q '"type":"start"' out.txt
kill -INT $pid
wait $pid
[ $? = 4 ] || fail "ctrl-C: the exit code is not 4"
expect_text err.txt "interrupted"
[ ! -e unfinished.jsonl ] || fail "ctrl-C left a file"

finish
