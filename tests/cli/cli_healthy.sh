#!/usr/bin/env bash
# No cause is sure on a job that is healthy: our own lists, and real traces where they are at hand.
# Arguments: hbmstress, the corpus, the folder of real files.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
corpus=$2
data=$3

# expect_nothing_sure FILE: explain finds no failure and no sure cause.
expect_nothing_sure() {
    expect_exit 0 explain "$1"
    if grep '(sure, [0-9]* %)' out.txt; then
        fail "$1: a sure cause of a healthy job"
    fi
}

for list in "$corpus"/healthy/*.ops; do
    expect_nothing_sure "$list"
done

# Real traces of training and inference, of which none leaks; the state of an out-of-memory is none of them.
count=0
for trace in "$data"/torch_snapshot/*.pickle.gz "$data"/xla_profiler/tf_gpu_multi_worker.xplane.pb.gz; do
    case $trace in
        *OOM*) continue ;;
    esac
    if [ -e "$trace" ]; then
        expect_nothing_sure "$trace"
        count=$((count + 1))
    fi
done
if [ "$count" = 0 ]; then
    echo "real traces are skipped: none in $data"
else
    echo "real traces without a sure cause: $count"
fi

# The host that grows is named, though it is not the first: three hosts run the same steps, and one keeps a block of each.
{
    printf 'hbmstress-ops 1\ncapacity 1G\nhosts 3\ntarget hbm\ntag 1 "batch"\ntag 2 "losses"\n\n'
    awk 'BEGIN {
        for (step = 0; step < 80; step++) {
            for (host = 0; host < 3; host++) {
                printf "%d: alloc host=%d size=4M tag=1\n", op, host
                batch = op++
                if (host == 2) {
                    printf "%d: output host=2 size=96K tag=2\n", op++
                }
                printf "%d: free host=%d block=%d\n", op++, host, batch
            }
        }
    }'
} >hosts.ops
expect_exit 0 explain hosts.ops
expect_text out.txt "On host 2 'losses' piles up"
# Host 0 fails, and host 2 is still named.
ops=$(grep -c '^[0-9]*: ' hosts.ops)
echo "$ops: alloc host=0 size=2G tag=1" >>hosts.ops
expect_exit 0 explain hosts.ops
expect_text out.txt "On host 2 'losses' piles up"
finish
