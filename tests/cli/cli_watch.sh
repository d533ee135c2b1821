#!/usr/bin/env bash
# explain --timeline shows memory over time of a list, and watch of a campaign, running or not, in plain lines where nobody
# looks at a screen.
lists=$(realpath "$(dirname "$0")")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

check_plain() { # FILE
    ! grep -q "$(printf '\033')" "$1" || fail "$1 has an escape sequence"
}

# A list: use, peak and trend are those of its ops.
{
    printf 'hbmstress-ops 1\ncapacity 64M\ngranule 64K\nhosts 1\ntarget hbm\nseed 1\n\n'
    for i in $(seq 0 47); do
        echo "$i: alloc size=1M"
    done
    echo "48: free block=0"
} >list.ops
expect_exit 0 explain --timeline list.ops
check_plain out.txt
expect_text out.txt "host 0  47.00 MiB / 64.00 MiB  ["
expect_text out.txt "peak 48.00 MiB (75%) at op 47"
expect_no_text out.txt "ALARM"
expect_exit 1 explain --timeline list.ops --alarm 75%
expect_text out.txt "ALARM  host 0 used 48.00 MiB of 64.00 MiB (75%, the alarm is at 75%) at op 47"
expect_exit 0 explain --timeline list.ops --alarm 76 --json
expect_text out.txt '{"type":"memory","name":"host 0","used_bytes":49283072,"capacity_bytes":67108864,"op":48,"peak_bytes":50331648,'
expect_text out.txt '"trend_bytes_per_1000_ops":0,"alarm":false,"points":[[0,1048576,67108864],'
expect_exit 1 explain --timeline list.ops --alarm 75 --json
expect_text out.txt '"alarm":true'

# A list that only fills the device does not grow; one that leaves some behind in each step does.
expect_exit 0 explain --timeline list.ops
expect_text out.txt "  no growth"
expect_exit 0 explain --timeline "$lists/../../corpus/causes/leak.ops" --json
expect_text out.txt '"trend_bytes_per_1000_ops":32768000,'

# Of a list with lanes each call counts, not the first one alone.
printf 'hbmstress-ops 1\ncapacity 64K\ntarget hbm\n0: alloc size=16K\n1: alloc size=8K lane=1\n2: alloc size=4K\n' >lanes.ops
expect_exit 0 explain --timeline lanes.ops
expect_text out.txt "host 0  28.00 KiB / 64.00 KiB"
expect_exit 0 explain --timeline lanes.ops --json
expect_text out.txt '"points":[[0,16384,65536],[1,20480,65536],[2,28672,65536]]'

# The peak is exact however large the device is.
printf 'hbmstress-ops 1\ncapacity 1T\ntarget hbm\n0: alloc size=512\n1: alloc size=1K\n2: free block=0\n' >large.ops
expect_exit 0 explain --timeline large.ops --json
expect_text out.txt '"used_bytes":1024,"capacity_bytes":1099511627776,"op":2,"peak_bytes":1536,"peak_op":1,'

# Retired memory is not the host's; one that is all retired has nothing to show.
{
    printf 'hbmstress-ops 1\ncapacity 64M\nhosts 3\ntarget hbm\n0: retire size=48M address=16M host=1\n'
    printf '1: alloc size=4M host=1\n2: alloc size=4M\n3: retire size=64M address=0 host=2\n'
} >retired.ops
expect_exit 0 explain --timeline retired.ops
expect_text out.txt "host 0  4.00 MiB / 64.00 MiB"
expect_text out.txt "host 1  4.00 MiB / 16.00 MiB  [#####---------------]  25%  peak 4.00 MiB (25%) at op 1"
expect_no_text out.txt "host 2"

# A field file's devices have its own names, or those of its system, and what is reserved counts.
field=$lists/../../corpus/field
expect_exit 0 explain --timeline "$field/device_usage/tpu_info_2025.txt"
expect_text out.txt "TPU 12  3.02 GiB / 31.25 GiB"
expect_exit 0 explain --timeline "$field/torch_message/b3_processes.log"
expect_text out.txt "GPU 2  77.09 GiB / 79.25 GiB"
expect_exit 0 explain --timeline "$field/trace_json/devices_crlf.trace.json"
expect_text out.txt "device 1  1.00 KiB / 512.00 KiB"
expect_exit 0 explain --timeline "$field/device_stats/reserved_most.json" --json
expect_text out.txt '"name":"TPU 1","used_bytes":32051191808,"capacity_bytes":33285996544,'

expect_exit 0 run fragmentation_storm --faults retire --capacity 64M --ops 3000 --seed 1 --out retiring
expect_exit 0 watch retiring --json
expect_text out.txt ',67037184],' # 64M less what was retired

# A list that breaks a promise is shown up to there.
sed -e 's/^48: .*/48: free_after block=0 delay=1s\n49: alloc size=17M/' -e 's/target hbm/target plant_premature_undrained/' list.ops >broken.ops
expect_exit 1 explain --timeline broken.ops
expect_text out.txt "host 0  48.00 MiB / 64.00 MiB"
expect_text out.txt "Verdict: premature"
[ ! -s err.txt ] || fail "a broken promise is no error of the program: $(cat err.txt)"
expect_exit 1 explain --timeline broken.ops --json
expect_text out.txt '{"type":"memory","name":"host 0","used_bytes":50331648,"capacity_bytes":67108864,"op":49,'

# An out-of-memory that nobody can judge is the exit code of replay.
expect_exit 3 replay "$lists/cli_unknown.ops"
expect_exit 3 explain --timeline "$lists/cli_unknown.ops"

# A campaign, after its end and while it runs.
expect_exit 0 run slow_leak training_step --seed 3 --ops 4000 --out out
expect_exit 0 watch out
check_plain out.txt
grep -q '^slow_leak  [0-9.]* [KMG]*i*B / [0-9.]* [KMG]*i*B  \[#*-*\] ' out.txt || fail "no line of slow_leak: $(cat out.txt)"
expect_text out.txt "training_step  "
expect_exit 0 watch out --follow --json
[ "$(grep -c '^{"type":"memory","name":"[a-z_]*",.*}$' out.txt)" = 2 ] || fail "a campaign that ended is shown once: $(cat out.txt)"
"$hbmstress" run training_step --seed 3 --time 3s --out running >/dev/null 2>&1 &
running=$!
for _ in $(seq 200); do
    [ -e running/checkpoint ] && break
    sleep 0.1
done
expect_exit 0 watch running --follow
wait "$running"
check_plain out.txt
expect_text out.txt "training_step  "
expect_exit 0 watch running
tail -n 1 out.txt >last.txt
expect_exit 0 watch running --follow
expect_text out.txt "$(cat last.txt)"

# What cannot be watched.
mkdir empty
expect_refusal 2 "empty: no campaign has written here: there is nothing to watch" watch empty
for share in 0 101% x '' 9%%; do
    expect_refusal 2 "is not a percentage from 1% to 100%" explain list.ops --timeline --alarm "$share"
done
finish
