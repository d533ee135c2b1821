#!/usr/bin/env bash
# Field failures, told rightly: one small text of our own for each story that explain once told wrongly. Each case is named
# by its subject; it holds what the reader must find, and where that matters what must not stand there.
#
#     tests/cli/cli_told_rightly.sh HBMSTRESS
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# told NAME EXIT FILE [OPTION...] -- TEXT...: explain FILE ends with EXIT and prints each TEXT, line breaks apart; a TEXT
# that begins with "not: " stands nowhere.
told() {
    local name=$1 wanted=$2 text got
    local -a arguments=()
    shift 2
    while [ "$1" != -- ]; do
        arguments+=("$1")
        shift
    done
    shift
    timeout 60 "$hbmstress" explain "${arguments[@]}" >out.txt 2>err.txt
    got=$?
    tr -s '\n ' ' ' <out.txt >words.txt
    [ "$got" = "$wanted" ] || fail "$name: exit $got, should be $wanted: $(head -c 200 err.txt)"
    for text; do
        if [ "${text#not: }" != "$text" ]; then
            ! grep -qF -- "${text#not: }" words.txt || fail "$name: says '${text#not: }'"
        else
            grep -qF -- "$text" words.txt || fail "$name: does not say '$text'"
        fi
    done
}

# --- the verdict -------------------------------------------------------------------------------------------------
cat >below_free.log <<'END_TEXT'
RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 11.20G. That was not possible. There are 12.43G free.; (0x0x0_HBM0)
END_TEXT
told "11.20G asked, 12.43G free" 3 below_free.log -- \
    "Verdict: unknown premature, unless at least" "To settle it:" "not: Verdict: justified"

# One segment of 20 MiB; the trace ends in a request that the device refuses.
cat >oom.json <<'END_TEXT'
{"segments": [{"device": 0, "address": 1073741824, "total_size": 20971520, "allocated_size": 12582912,
 "active_size": 12582912, "requested_size": 12582912, "stream": 0, "segment_type": "large", "blocks": [
 {"address": 1073741824, "size": 12582912, "requested_size": 12582912, "state": "active_allocated", "frames": []},
 {"address": 1086324736, "size": 8388608, "requested_size": 0, "state": "inactive", "frames": []}]}],
 "device_traces": [[
 {"action": "segment_alloc", "addr": 1073741824, "size": 20971520, "stream": 0, "frames": []},
 {"action": "alloc", "addr": 1073741824, "size": 12582912, "stream": 0,
  "frames": [{"name": "build", "filename": "/job/net.py", "line": 18446744073709551615}]},
 {"action": "oom", "size": 33554432, "device_free": 16777216, "stream": 0, "frames": []}]]}
END_TEXT
told "a snapshot whose trace ends in oom" 0 oom.json -- "Asked for: 32.00M" "Verdict: justified" "not: no out-of-memory"

cat >late.ops <<'END_TEXT'
hbmstress-ops 1
capacity 32M
0: alloc size=20M
1: free_after block=0 delay=never
2: alloc size=20M
3: advance delay=10us
4: complete event=1
END_TEXT
told "a free that completes 10us after the failure" 0 late.ops -- "it is late, not lost" "not: no waiting brings it back"

# --- compile-time reports ----------------------------------------------------------------------------------------
cat >compile.log <<'END_TEXT'
Ran out of memory in memory space hbm. Used 35.40G of 31.25G hbm. Exceeded hbm capacity by 4.15G.

Total hbm usage >= 35.66G:
    reserved        260.00M
    program          29.90G
    arguments         5.50G

Output size 5.50G; shares 5.50G with arguments.

Program hbm requirement 29.90G:
    global          264.00M
    HLO temp         29.64G (64.3% utilization: Unpadded (18.50G) Padded (19.06G), 35.7% fragmentation (10.58G))

  Largest program allocations in hbm:

  1. Size: 16.00G
     Operator: op_type="dot_general" op_name="jit(step)/transpose(jvp(model))/block/attention/dot_general" source_file="/job/model.py" source_line=71
     Shape: f32[65536,65536]{1,0:T(8,128)}
     Unpadded size: 16.00G
     XLA label: fusion.4 = fusion(p.1)
     Allocation type: HLO temp
     ==========================
END_TEXT
told "a report is no failure of the running program" 0 compile.log -- \
    "the file says, in line 1: Ran out of memory in memory space hbm. Used 35.40G of 31.25G hbm." \
    "Nothing ran: no allocator refused a request" "not: Error loading program" "not: Verdict:"
told "35.7 % fragmentation, 4.15G missing" 0 compile.log -- \
    "fragmentation: 10.58G, 35.7 % of the temporaries. Without it the program would fit: 4.15G are missing."
told "the list, to the end of each name" 0 compile.log -- "f32[65536,65536]{1,0:T(8,128)}" \
    "jit(step)/transpose(jvp(model))/block/attention/dot_general" "at /job/model.py:71"

cat >padded.log <<'END_TEXT'
Ran out of memory in memory space hbm. Used 9.20G of 7.48G hbm. Exceeded hbm capacity by 1.72G.

Total hbm usage >= 9.73G:
    reserved        529.00M
    program           9.20G
    arguments       unknown size

Output size unknown.

Program hbm requirement 9.20G:
    HLO temp          9.20G (1.6% utilization: Unpadded (147.20M) Padded (9.20G), 0.0% fragmentation (0B))

  Largest program allocations in hbm:

  1. Size: 8.00G
     Operator: op_name="loss/gather" source_file="/job/loss.py" source_line=5
     Shape: f32[16777216,2]{1,0:T(8,128)}
     Unpadded size: 128.00M
     Extra memory due to padding: 7.88G (64.0x expansion)
     XLA label: fusion.2
     Allocation type: HLO temp
     ==========================
END_TEXT
told "a 64-fold padding: 9.06G of 9.20G" 0 padded.log -- "padding: 9.06G, 98.4 % of the temporaries" "64.0-fold" \
    "innermost dimension of 2" "not: Error loading program"

# --- nothing is lost ---------------------------------------------------------------------------------------------
cat >breaks.log <<'END_TEXT'
device: tpu7x, 8 cores
Ran out of memory in memory space hbm. Used 104.00G of 94.75G hbm. Exceeded hbm capacity by 9.25G.

Total hbm usage >= 105.25G:
    reserved          1.25G
    program          64.00G
    arguments        40.00G

Output size 40.00G; shares 40.00G with arguments.

Program hbm requirement 64.00G:
    HLO temp         64.00G (100.0% utilization: Unpadded (64.00G) Padded (64.00G), 0.0% fragmentation (0B))

  Largest program allocations in hbm:

  1. Size: 36.00G
     Shape: f32[9,32768,32768]{2,1,0:T(8,128)}
     Unpadded size: 36.00G
     XLA label: custom.5 = custom-call(p.3), backend_config={"xprof_metadata":"{
},{"name":"scan"}]
}
     Allocation type: HLO temp
     ==========================

  2. Size: 20.00G
     Shape: f32[5,32768,32768]{2,1,0:T(8,128)}
     Unpadded size: 20.00G
     XLA label: fusion.6
     Allocation type: HLO temp
     ==========================
END_TEXT
told "an allocation of 36.00G whose label has line breaks" 0 breaks.log -- "f32[9,32768,32768]" "36.00G"
told "the list against its own total" 0 breaks.log -- "the report lists 2 temporaries (HLO temp) of 56.00G; its total says 64.00G"
{
    echo 'device: tpu7x, 8 cores'
    sed -n '/^Total/,/^$/p' breaks.log
} >unsaid.log
told "the chip and the capacity that the log names" 0 unsaid.log -- "94.75G" "tpu7x"

sed 's/^/(EngineCore pid=7) ERROR 04-30 22:40:27 [core.py:1136] /' >engine.log <<'END_TEXT'
Ran out of memory in memory space hbm. Used 96.38G of 94.75G hbm. Exceeded hbm capacity by 1.63G.

Total hbm usage >= 97.63G:
    reserved          1.25G
    program           4.00G
    arguments        92.38G

Program hbm requirement 4.00G:
    HLO temp          4.00G (100.0% utilization: Unpadded (4.00G) Padded (4.00G), 0.0% fragmentation (0B))
END_TEXT
told "arguments behind the prefix of an engine" 0 engine.log -- "arguments 92.38G" "the arguments are the larger part" \
    "not: of 'other'"

# Two ranks, line by line: each has a report of its own.
{
    while IFS= read -r line; do
        printf '[rank0]: %s\n[rank1]: %s\n' "$line" "${line/16.00G/16.25G}"
    done <compile.log
} >ranks.log
told "reports of two ranks, line by line" 0 ranks.log -- "rank 0" "f32[65536,65536]{1,0:T(8,128)}" "at /job/model.py:71" \
    "not: Error loading program"

cat >whole.log <<'END_TEXT'
step 24030 loss 1.93
step 24031 loss 1.92
Traceback (most recent call last):
  File "/job/fit.py", line 33, in fit
    state = step(state, batch)
XlaRuntimeError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 2.00G. That was not possible. There are 1.00G free.; (0x0x0_HBM0)
Killed
END_TEXT
told "steps, traceback and Killed around a message" 0 whole.log -- "after step 24031" "raised at /job/fit.py:33 in fit" \
    "afterwards: the log, killed from outside, line 7"
printf 'step 3\nstep 4\nKilled\n' >killed.log
told "a log whose last word is Killed" 0 killed.log -- "killed from outside, line 3, after step 4" \
    "Nothing in this log ran out of the device's memory."
cat >waits.log <<'END_TEXT'
[rank0]: step 8
[rank1]: step 8
[rank1]: step 9
[rank1]:[E602 11:17:52.185053341 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=15, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.
END_TEXT
told "a time-out" 0 waits.log -- "waited for another one until a time-out" \
    "silent: rank 0 ends at step 8" "Nobody in this log says why"
printf '%s\n' '[{"textPayload":"completed step: 7","timestamp":"2026-05-02T10:00:01Z","severity":"INFO"},' \
    '{"textPayload":"RESOURCE_EXHAUSTED: Attempting to allocate 2.00G. That was not possible. There are 1.00G free.","timestamp":"2026-05-02T10:00:02Z","severity":"ERROR"}]' >entries.json
told "entries of a structured log" 0 entries.json -- "05-02 10:00:02, after step 7" "Asked for: 2.00G"

# --- assumptions -------------------------------------------------------------------------------------------------
told "what is assumed stands in the explanation" 0 whole.log -- "Assumed, as the file does not say it - capacity 7.48G"
expect_exit 0 explain whole.log --json
expect_text out.txt '{"type":"assumed","text":"capacity 7.48G'
expect_exit 0 convert whole.log
expect_text out.txt "# assumed: capacity 7.48G"

# --- a leak is a leak --------------------------------------------------------------------------------------------
# say OP...: the next op of a list.
say() {
    echo "$op: $*"
    op=$((op + 1))
}
# One forward pass: each layer keeps its activations and frees its scratch.
{
    printf 'hbmstress-ops 1\ncapacity 8M\ntag 1 "activations"\ntag 2 "scratch"\n'
    op=0
    for ((layer = 0; layer < 96; layer++)); do
        say alloc size=64K tag=1
        say advance delay=1ms
        say alloc size=32K tag=2
        say free block=$((op - 1))
    done
    say alloc size=3M tag=1
} >forward.ops
told "the activations of one forward pass are no leak" 0 forward.ops -- "not: leak (" "not: growing_set (sure"

# --- advice ------------------------------------------------------------------------------------------------------
cat >bfc.log <<'END_TEXT'
2026-01-05 10:00:00.000001: W bfc_allocator.cc:456] Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.50MiB (rounded to 3670016)requested by op relu
2026-01-05 10:00:00.000002: I bfc_allocator.cc:898] Next region of size 12582912
2026-01-05 10:00:00.000003: I bfc_allocator.cc:1095] InUse at 7f5936000000 of size 4194304 by op Adam/m action_count 1 step 7 next 1
2026-01-05 10:00:00.000004: I bfc_allocator.cc:1095] Free  at 7f5936400000 of size 2097152 by op Adam/m action_count 2 step 7 next 2
2026-01-05 10:00:00.000005: I bfc_allocator.cc:1095] InUse at 7f5936600000 of size 4194304 by op Adam/v action_count 3 step 7 next 3
2026-01-05 10:00:00.000006: I bfc_allocator.cc:1095] Free  at 7f5936a00000 of size 2097152 by op Adam/v action_count 4 step 7 next 18446744073709551615
2026-01-05 10:00:00.000007: I bfc_allocator.cc:702] Stats: 
Limit:                        12582912
InUse:                         8388608
MaxInUse:                     10485760
NumAllocs:                          30
MaxAllocSize:                  4194304
END_TEXT
told "no defragmentation and no TPU for a GPU's dump" 0 bfc.log --what-if -- "not: defrag-slide" "not: chip-v5p" "not: chip-v6e" \
    "TF_GPU_ALLOCATOR=cuda_malloc_async"

# --- causes that were missing ------------------------------------------------------------------------------------
cat >shared.log <<'END_TEXT'
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 320.50 MiB is free. Process 4001 has 18.20 GiB memory in use. Including non-PyTorch memory, this process has 5.12 GiB memory in use. Of the allocated memory 4.40 GiB is allocated by PyTorch, and 210.11 MiB is reserved by PyTorch but unallocated.
END_TEXT
told "memory that another process holds" 0 shared.log -- "outside_the_allocator (sure" "'other process 4001' 18.20G" \
    "Verdict: justified"
cat >behind.ops <<'END_TEXT'
hbmstress-ops 1
capacity 64M
tag 1 "metrics"
tag 2 "batch"
0: alloc size=4K tag=1
1: use block=0 delay=never
2: alloc size=12M tag=2
3: alloc size=12M tag=2
4: alloc size=12M tag=2
5: alloc size=12M tag=2
6: advance delay=40ms
7: free_after block=2 event=1
8: free_after block=3 event=1
9: free_after block=4 event=1
10: free_after block=5 event=1
11: alloc size=20M tag=2
END_TEXT
told "one late event holds back the frees of a step" 0 behind.ops -- "head_of_line (sure"
cat >served.log <<'END_TEXT'
[rank1]: step 5
[rank1]:[W812 16:00:28.643448608 CUDACachingAllocator.cpp:3933] memory allocation failed with OOM on device 1 while trying to allocate 20971520 bytes (free: 15794176, total: 150111977472).
[rank1]: step 6
[rank1]: step 7
END_TEXT
told "a retry that succeeds is no failure" 0 served.log -- "recovered, not failed: 1 warning" "Not an out-of-memory"

# --- numbers, steps, hosts, owners -------------------------------------------------------------------------------
told "bytes lost, largest request, smallest device" 0 bfc.log -- \
    "Lost to fragmentation: 2.00M of the 4.00M free (50 %)" "Requests succeed: up to 2.00M" \
    "The smallest device that would have done: 11.50M as the requests ask"
told "what to do next is the last line" 0 bfc.log -- "Next: set TF_GPU_ALLOCATOR=cuda_malloc_async"
cat >steps.ops <<'END_TEXT'
hbmstress-ops 1
capacity 32M
tag 1 "weights"
0: alloc size=8M tag=1
1: alloc size=4M
2: free block=1
3: alloc size=6M
4: free block=3
END_TEXT
told "who holds memory at the peak, where nothing failed" 0 steps.ops -- \
    "fullest at op 3: 14.00 MiB of 32.00 MiB" "of 'weights' 1 8.00M" "not: Nothing to explain"
sed 's/size=6M/size=9M/' steps.ops >later.ops
expect_exit 0 explain steps.ops later.ops
expect_text out.txt "3.00M"
# Host 1 keeps a block of each step, and host 0 asks for too much.
{
    printf 'hbmstress-ops 1\ncapacity 16M\nhosts 2\ntag 1 "batch"\ntag 2 "cache"\n'
    op=0
    for ((step = 0; step < 120; step++)); do
        say alloc size=1M tag=1
        say free block=$((op - 1))
        say alloc size=1M tag=1 host=1
        say free block=$((op - 1)) host=1
        say alloc size=64K tag=2 host=1
    done
    say alloc size=20M
} >hosts.ops
told "the host that grows, though another fails" 0 hosts.ops -- \
    "on host 1, which did not fail: leak (sure" "On host 1 'cache' piles up"

# --- formats that people have ------------------------------------------------------------------------------------
cat >plain.log <<'END_TEXT'
RuntimeError: CUDA out of memory. Tried to allocate 640.00 MiB (GPU 1; 15.78 GiB total capacity; 14.52 GiB already allocated; 411.50 MiB free; 14.92 GiB reserved in total by PyTorch)
END_TEXT
told "PyTorch's own message" 0 plain.log -- "has 15.78G" "Asked for: 640.00M"
cat >profile.json <<'END_TEXT'
{"schemaVersion": 1, "traceEvents": [
 {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1.000, "args": {"Total Reserved": 67108864, "Total Allocated": 33554432, "Bytes": 33554432, "Addr": 4096000, "Device Id": 0, "Device Type": 1, "Ev Idx": 1}},
 {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 2.000, "args": {"Total Reserved": 67108864, "Total Allocated": 0, "Bytes": -33554432, "Addr": 4096000, "Device Id": 0, "Device Type": 1, "Ev Idx": 2}}]}
END_TEXT
told "[memory] events of a profile" 0 profile.json -- "GPU is fullest at"
echo '[[-1, 1, 4194304, 0], [1000, 2, 2097152, 4], [2000, 4, -2097152, 4]]' >timeline.raw.json
told "a memory timeline" 0 timeline.raw.json -- "fullest at" "of 'parameters'"
cat >stats.txt <<'END_TEXT'
{'bytes_in_use': 2791728640, 'bytes_limit': 33554432000, 'bytes_reserved': 29259464704, 'num_allocs': 96}
END_TEXT
told "memory_stats: in use and reserved" 0 stats.txt -- "2.60G in use and 27.25G reserved, together 29.85G of 31.25G"
cat >table.txt <<'END_TEXT'
TPU Runtime Utilization
| Chip | HBM Usage (GiB)       | Duty cycle |
|------|-----------------------|------------|
| 8    | 30.50 GiB / 31.25 GiB |    100.00% |
END_TEXT
told "tpu-info's table" 0 table.txt -- "The TPU: 30.50 GiB of 31.25 GiB (97 %)" "30.50G of 31.25G in use"
cat >assignment.txt <<'END_TEXT'
BufferAssignment:
allocation 0: size 4194304, parameter 0, shape |f32[1024,1024]| at ShapeIndex {}:
 value: <1 p0 @0> (size=4194304,offset=0): f32[1024,1024]{1,0}
allocation 1: size 8388608, preallocated-temp:
 value: <2 fusion @0> (size=8388608,offset=0): f32[2048,1024]{1,0}

Total bytes used: 12582912 (12.00MiB)
END_TEXT
told "a buffer assignment" 0 assignment.txt -- "12.00" "8.00M"
cat >temporaries.log <<'END_TEXT'
RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (98.58G) exceeds available HBM (94.74G). HLO module: jit_step.
END_TEXT
told "HLO temporaries above the available HBM" 0 temporaries.log -- "98.58G" "94.74G" "3.84G" "Nothing ran"

# --- no number that the file does not have -----------------------------------------------------------------------
told "sums have no holes, no blocks and no ages" 0 shared.log -- "Free: 530.61M (556384768 bytes) Who holds" \
    "Who holds the rest bytes of 'other process 4001' 18.20G" "not: Largest hole" "not: ops ago"
told "a capacity that is assumed is said to be" 0 whole.log -- "The TPU has 7.48G (8034189312 bytes), as assumed below."
told "a capacity of the file's own is not" 0 shared.log -- "The GPU has 23.65G (25393994240 bytes)." "not: as assumed below"
sed "s/, 'bytes_reserved': [0-9]*//" stats.txt >unreserved.txt
told "what is reserved is not 0B where nobody says so" 0 unreserved.txt -- "2.60G of 31.25G in use" "not: reserved"
echo "{'allocated_bytes.all.current': 42817536, 'reserved_bytes.all.current': 67108864, 'num_ooms': 1}" >counters.txt
told "counters after an out-of-memory" 0 counters.txt -- "No failure to judge: the file has the sums of one moment." \
    "How much it has is not in the file" "out-of-memories that were raised: 1" "not: every promise kept" "not: 100 %" \
    "Next: find out who holds the memory"

# --- advice that its reader can follow ---------------------------------------------------------------------------
cat >mps.log <<'END_TEXT'
RuntimeError: MPS backend out of memory (MPS allocated: 17.02 GiB, other allocations: 907.10 MiB, max allowed: 18.13 GiB). Tried to allocate 512.50 MiB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).
END_TEXT
told "MPS has no history of CUDA" 0 mps.log -- "Next: find out" "torch.mps.driver_allocated_memory()" "not: torch.cuda"
cat >xpu.log <<'END_TEXT'
torch.OutOfMemoryError: XPU out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 15.11 GiB of which 1.02 GiB is free. Of the allocated memory 13.10 GiB is allocated by PyTorch, and 600.11 MiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.
END_TEXT
told "XPU has no history of CUDA" 0 xpu.log -- "torch.xpu.memory_stats()" "not: torch.cuda"
cat >async.log <<'END_TEXT'
torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)
Currently allocated     : 21.02 GiB
Requested               : 1.00 GiB
Device limit            : 23.50 GiB
Free (according to CUDA): 12.88 MiB
PyTorch limit (set by user-supplied memory fraction)
                        : 17179869184.00 GiB
END_TEXT
cat >shape.log <<'END_TEXT'
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 130206.04 GiB. GPU 0 has a total capacity of 79.15 GiB of which 78.02 GiB is free. Including non-PyTorch memory, this process has 1.12 GiB memory in use. Of the allocated memory 600.00 MiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated.
END_TEXT
told "a request larger than any device is a wrong shape" 0 shape.log -- "Asked for: 127.15T" \
    "Next: look at the shape of what is requested" "not: find out who holds"
told "cudaMallocAsync keeps no history" 0 async.log -- "run once without backend:cudaMallocAsync"

finish
