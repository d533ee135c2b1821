#!/usr/bin/env bash
# What users ask of a pasted text, each with one command and no option: why it was refused with memory free, who else holds
# memory, and whether the counters or the failure are right.
field=$(realpath "$(dirname "$0")/../../corpus/field")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# Why was it refused with 14.83 GiB reserved but unallocated?
# Nobody knows from the message whether a piece was large enough.
expect_exit 3 explain "$field/torch_message/b3_unallocated.log"
expect_text out.txt "Verdict: unknown"
expect_text out.txt "the file says, in line 1: CUDA out of memory. Tried to allocate 3.00 GiB."
expect_text out.txt "PyTorch had 14.83G reserved but unallocated, at least the 3.00G that were asked for"
expect_text out.txt "how the 14.83G that are reserved but unallocated lie is not in the message"
expect_text out.txt "fragmented (likely)"
expect_no_text out.txt "In the way"
expect_no_text out.txt "outside_the_allocator"
expect_no_text out.txt "chip"
# A limit leaves what is free beyond it out.
expect_exit 3 explain "$field/torch_message/b3_allowed_hip.log"
expect_text out.txt "this process may use 2.10G of the device's 191.98G (memory fraction)"

# Who else holds it?
expect_exit 0 explain "$field/torch_message/b3_processes.log"
expect_text out.txt "outside_the_allocator (sure)"
expect_text out.txt "of 'other process 51200'"
expect_text out.txt "of 'this process, outside the allocator'"
expect_exit 0 explain "$field/torch_message/b3_processes.log" --json
expect_text out.txt '"cause":"outside_the_allocator"'
expect_text out.txt '{"type":"told","text":"in every heap that the message allows there was no room'
expect_text out.txt '{"type":"assumed","text":"how the 311.70M'

# memory_stats says 2.6 GiB are in use, and it fails at 31: both are right.
expect_exit 0 explain "$field/device_stats/julia.txt"
expect_text out.txt "2.60G in use and 27.25G reserved, together 29.85G of 31.25G (95 %); 1.40G free"
expect_text out.txt "counts as used, though bytes_in_use leaves it out"

# What is told and assumed survives the .ops file.
expect_exit 0 convert "$field/torch_message/b3_processes.log" -o imported.ops
expect_exit 0 explain imported.ops
expect_text out.txt "in every heap that the message allows there was no room"
expect_text out.txt "how the 311.70M that are reserved but unallocated lie is not in the message"

# A warning of a retry is no failure.
expect_exit 0 explain "$field/torch_message/retry.log"
expect_text out.txt "Not an out-of-memory as far as this log goes"
expect_exit 2 explain "$field/torch_timeline/picture.html"
expect_text err.txt "is a picture"

# A report of a program that uses nothing, on a device of no bytes, has nothing to replay.
echo 'Ran out of memory in memory space hbm. Used 0B of 0B hbm. Exceeded hbm capacity by 0B.' >nothing.log
expect_exit 2 convert nothing.log --chip v4 -o nothing.ops
expect_text err.txt "nothing.log: the file has nothing to replay"

# The failure of a profile has its own words.
expect_exit 0 explain "$field/kineto/out_of_memory.json"
expect_text out.txt 'the file says, in line 6: { "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[OutOfMemory]"'
expect_no_text out.txt "HBM"
finish
