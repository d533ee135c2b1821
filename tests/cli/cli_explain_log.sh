#!/usr/bin/env bash
# explain tells what a whole log says before it explains its failure: who failed first, who only waited, what was none.
field=$(realpath "$2")/log
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

words() {
    tr -s '\n ' ' ' <out.txt >words.txt
}

# Ranks that interleave: the one that ran out is explained, the others waited for it.
expect_exit 0 explain "$field/ranks_oom.log"
expect_text out.txt "What the log says: 17 lines of 3 sources"
expect_text out.txt "first failure: task 1, the device's memory ran out, line 15, after step 41"
expect_text out.txt "raised at /job/train.py:88 in train_step"
expect_text out.txt "a consequence: task 0, task 2 waited for another one until a time-out, lines 8 to 12"
expect_text out.txt "missing: the others waited for rank 1, which failed first"
expect_text out.txt "Asked for:     8.00M"
expect_text out.txt "the failure is in step 42: step 41 is the last one printed before it"
expect_exit 0 explain "$field/ranks_oom.log" --json
expect_text out.txt '{"type":"log_event","kind":"out_of_memory","first":true,"source":"task 1","line":15,'
expect_text out.txt '{"type":"log","verdict":"device_out_of_memory","lines":17,"sources":3,"events_omitted":0,"missing_ranks":[1],"silent":[]}'
expect_text out.txt '{"type":"explanation","op":1,'
expect_exit 0 convert "$field/ranks_oom.log"
expect_text out.txt "# line 15: Attempting to allocate 8.00M. That was not possible. There are 6.43M free"

# Entries of Cloud Logging, newest first and one twice.
expect_exit 0 explain "$field/cloud_logging.json"
expect_text out.txt "left out (cut, without a text, or twice): 1"
expect_text out.txt "first failure: pod train-1, the device's memory ran out, line 1, 04-02 08:00:03, after step 9"
expect_text out.txt "Asked for:     8.00M"

# A rank that stops without a word while the others wait; a log of those who waited alone.
expect_exit 0 explain "$field/ranks_hang.log"
expect_text out.txt "silent: rank 2 ends at step 12, line 8, 04-02 08:00:02, without an error, while others wait"
words
expect_text words.txt "Nobody in this log says why: rank 2 stopped without a word."
expect_exit 0 explain "$field/waited_only.log"
words
expect_text words.txt "after 600 s: the wait began at 04-02 08:00:02"
expect_text words.txt "This log has only those who waited. The cause is in the log of rank 1,"

# Warnings after which the request was served are no out-of-memory, and nothing to import.
for file in retries_served.log bfc_warning.log tpu_retry_served.log; do
    expect_exit 0 explain "$field/$file"
    expect_text out.txt "recovered, not failed: "
    expect_text out.txt "Not an out-of-memory: the allocator warned, then served the requests."
    expect_exit 2 convert "$field/$file"
done
expect_text err.txt "the allocator's warnings are no failure: each request was served"
head -n 2 "$field/bfc_warning.log" >ends.log
expect_exit 0 explain ends.log
expect_text out.txt "no failure follows, but the log ends there"
expect_text out.txt "Not an out-of-memory as far as this log goes"
expect_exit 0 explain "$field/retry_then_failure.log"
expect_text out.txt "first failure: rank 0, the device's memory ran out, line 11, after step 8"
expect_text out.txt "recovered, not failed: 1 warning, the request was served by a retry"

# One failure that three processes print.
expect_exit 3 explain "$field/vllm_thrice.log"
expect_text out.txt "it is printed 2 times and counts once: by Worker_TP1 pid=61, EngineCore pid=50"

# The host's memory, SIGKILL, a budget and an exception are not the device's memory.
for file in kernel_kill.log slurm_kill.log kubernetes_kill.log; do
    expect_exit 0 explain "$field/$file"
    expect_text out.txt "It is the host's memory, not the device: no allocator of a device failed."
done
expect_exit 0 explain "$field/killed.log"
expect_text out.txt "Nothing in this log ran out of the device's memory."
expect_exit 0 explain "$field/killed.log" --json
expect_text out.txt '{"type":"log","verdict":"killed",'
expect_exit 0 explain "$field/budget.log"
expect_text out.txt "a memory budget does not suffice; nothing was allocated"
expect_exit 0 explain "$field/exception.log"
expect_text out.txt "raised at fit.py:9 in <module>"

# A message of one line that no importer reads: what it asks for, what it shows, what to do in that system.
printf 'MemoryError: std::bad_alloc: out_of_memory: RMM failure at:/x/pool_memory_resource.hpp:196: Maximum pool size exceeded (failed to allocate 2.500000 GiB): No room\n' >rmm.log
expect_exit 0 explain rmm.log
expect_text out.txt "Asked for: 2.50G, as printed"
expect_text out.txt "What it shows: RMM's pool is at its maximum."
expect_text out.txt "Next: let RMM log what it does, rmm.reinitialize("
printf 'bfc_arena.cc:342 Available memory of 1024 is smaller than requested bytes of 2048\n' >onnx.log
expect_exit 0 explain onnx.log
expect_text out.txt "Asked for: 2.0K (2048 bytes); left: 1.0K (1024 bytes)"
expect_text out.txt "Next: raise or remove gpu_mem_limit of the CUDA provider"
expect_exit 0 explain onnx.log --json
expect_text out.txt '{"type":"message","requested_bytes_min":2048,"requested_bytes_max":2048,"shown":"'
expect_text out.txt '{"type":"next","text":"raise or remove gpu_mem_limit'
printf 'Failed to allocate memory for requested buffer of size 4585490524328388608\n' >shape.log
expect_exit 0 explain shape.log
expect_text out.txt "no device has as much: a shape is wrong, the memory is not full"
printf 'RESOURCE_EXHAUSTED: Failed to allocate request for 1.00GiB (1073741824B) on device ordinal 0\n' >xla.log
expect_exit 0 explain xla.log
expect_text out.txt "Asked for: 1.00G (1073741824 bytes)"
expect_text out.txt "Next: give explain the whole log of the process, run with TF_CPP_MIN_LOG_LEVEL=0"

# What the job survived is not the failure; what ended it is.
oom='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 1.00 GiB is free. Of the allocated memory 6.50 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.'
printf '%s\nDecreasing batch size to: 8.\nstep 1\nTraining finished\n' "$oom" >survived.log
expect_exit 0 explain survived.log
expect_text out.txt "survived: the log, the device's memory ran out, line 1"
expect_text out.txt "the job went on"
expect_no_text out.txt "first failure"

# A message that is cut stays refused, with the file's line; a text that tells nothing is no log.
printf '[rank0]: step 1\n[rank1]: step 1\n[rank1]: Attempting to allocate 8.00M. That was not possible.\n' >cut.log
expect_exit 2 explain cut.log
expect_text err.txt "cut.log:3:"
expect_text out.txt "first failure: rank 1, the device's memory ran out, line 3"
printf 'all is well\n' >well.log
expect_refusal 2 "no format recognises this text" explain well.log
# What a log says reaches no terminal as it is.
printf '[rank0]: step 1\n[rank0]: OOM when allocating tensor \033]0;x\007\n' >control.log
expect_exit 0 explain control.log
if grep -q "$(printf '[\033\007]')" out.txt; then fail "control characters: $(cat -v out.txt)"; fi

finish
