#!/usr/bin/env bash
# The verdict on a message alone: unknown where heaps that it allows disagree, with the condition, through import,
# explain, replay, shrink and check.
#
#     tests/cli/cli_message_verdict.sh HBMSTRESS FIELD
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
field=$2/tpu_message
condition='"premature_unless":{"bytes":512,"from":655360000,"to":15968763904}'

# --- 11.20G asked, 12.43G free -----------------------------------------------------------------------------------
expect_exit 3 explain "$field/buffer_below_free_large.log"
tr -s '\n ' ' ' <out.txt >words.txt
expect_text words.txt "Verdict: unknown premature, unless at least 512B (512 bytes) lay pinned in [0x27100000, 0x3b7d00000)"
expect_text words.txt "took at least 512B of the addresses from 625.00M (0x27100000) to 14.87G (0x3b7d00000)."
expect_text words.txt "To settle it: the blocks and their addresses: with tpu_log_allocations_on_oom"
expect_text words.txt "capacity 15.48G: the smallest known chip (v3)"
expect_text words.txt "all that was in use was pinned (tag 'assumed pinned (placement assumed)')"
expect_no_text out.txt "would have been served"
expect_no_text out.txt "references ("
expect_exit 3 explain "$field/buffer_below_free_large.log" --json
expect_text out.txt '"verdict":"unknown"'
expect_text out.txt "$condition"
expect_text out.txt '"settled_by":"the blocks and their addresses'

# The list that is imported is a heap in which it was justified; it carries what the message says.
expect_exit 0 convert "$field/buffer_below_free_large.log" -o large.ops
expect_text large.ops "reported requested=12020875264-12031361023 free=13342081024-13352566783"
expect_no_text large.ops "option defrag"
expect_exit 3 explain large.ops --json
expect_text out.txt "$condition"
expect_exit 3 replay large.ops --json --certificates proofs
expect_text out.txt "$condition"
expect_text out.txt "Attempting to allocate 11.20G. That was not possible. There are 12.43G free."
expect_text proofs/op-4-unknown.json '"kind": "assumed"'
expect_exit 0 check --list proofs/list.ops --observations proofs/observations.jsonl proofs/op-4-unknown.json
expect_text out.txt "valid: unknown, assumed; the state is that of the list and its observations"
expect_exit 2 replay --shrink large.ops -o none.ops
expect_text err.txt "breaks no promise"

# Without what is assumed the same heap is one in which it was premature: hbm moves the block and grants the request.
sed '/^2: hold/d' large.ops >free.ops
expect_exit 0 replay free.ops
expect_text out.txt "0 OOMs"
# Nor does a target that never moves a block and promises to: it breaks its promise there.
expect_exit 1 explain free.ops --target first_fit --target-option defrag=repack
expect_text out.txt "Verdict: premature"

# --- the contract is what the user says --------------------------------------------------------------------------
# Where nothing moves, no heap has room for what is above the largest piece; without that number, some have.
expect_exit 0 explain "$field/buffer_pieces.log" --target-option defrag=none
expect_text out.txt "Verdict: justified"
expect_no_text out.txt "To settle it"
expect_exit 3 explain "$field/buffer_pieces.log" --target-option defrag=slide
for file in "$field/buffer_below_free_large.log" large.ops; do
    expect_exit 3 explain "$file" --target-option defrag=none
    tr -s '\n ' ' ' <out.txt >words.txt
    expect_text words.txt "justified if no free piece that could serve the request was large enough, premature if one was"
    expect_no_text out.txt "lay pinned"
    expect_exit 3 explain "$file" --target-option defrag=slide
    expect_text out.txt "lay pinned"
done
expect_exit 0 explain "$field/buffer_pieces.log" --target-option defrag=none --json
expect_text out.txt "Due to fragmentation, the largest contiguous region of free memory is 33.30M."
expect_no_text out.txt premature_unless

# --- other forms -------------------------------------------------------------------------------------------------
expect_exit 3 explain "$field/buffer_pieces.log" --json
expect_text out.txt '"premature_unless":{"bytes":1024,'
expect_exit 3 explain "$field/program_reserve_pieces.log" --json
expect_text out.txt '"premature_unless":{"bytes":512,"from":0,'
expect_exit 3 explain "$field/program_reserve_image.log"
expect_text out.txt "justified if the image of the program takes 256.00M, premature if it takes 512B"
expect_text out.txt "compiled.memory_analysis()"
expect_exit 3 explain "$field/program_reserve_image.log" --json
expect_no_text out.txt premature_unless
printf 'Attempting to allocate 3.98G. That was not possible. There are 3.98G free.\n' >alike.log
expect_exit 3 explain alike.log
expect_text out.txt "the request may be larger than all free memory, and it may fit into it"
expect_text out.txt "To settle it: exact byte counts"
expect_exit 0 explain "$field/buffer.log"
expect_text out.txt "Verdict: justified"
tr -s '\n ' ' ' <out.txt >words.txt
expect_text words.txt "25669120 bytes of those the refusal would be premature"

# --- where the pieces lie that PyTorch has and does not use ------------------------------------------------------
torch=$2/torch_message
expect_exit 3 explain "$torch/b3_unallocated.log"
expect_text out.txt "Verdict: unknown"
expect_text out.txt "To settle it: the blocks and their addresses: in PyTorch a memory snapshot"
expect_exit 0 convert "$torch/b3_unallocated.log" -o torch.ops
expect_exit 3 explain torch.ops
expect_exit 3 replay torch.ops --certificates placed
expect_text placed/op-20-unknown.json '"placed": ['
expect_exit 0 check --list placed/list.ops --observations placed/observations.jsonl placed/op-20-unknown.json
# Neither the device nor the cache had as much: in every heap there was no room, though both together had it.
expect_exit 0 explain "$torch/b5_no_device_kind.log"
expect_text out.txt "Verdict: justified"
# The device had more than was asked for, and the message gives no reason; the sum leaves it open.
printf 'x: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 3.00 GiB is free. Including non-PyTorch memory, this process has 5.00 GiB memory in use. Of the allocated memory 4.50 GiB is allocated by PyTorch, and 256.00 MiB is reserved by PyTorch but unallocated.\n' >barred.log
expect_exit 3 explain barred.log
expect_text out.txt "3.00G are free and more than was asked for"
expect_exit 0 convert barred.log -o barred.ops
expect_exit 3 replay barred.ops
# What is printed as the same size may have been enough.
sed 's/3.00 GiB is free/1.00 GiB is free/; s/256.00 MiB is reserved/2.00 GiB is reserved/; s/4.50 GiB/2.50 GiB/; s/Tried to allocate 2.00/Tried to allocate 2.01/' barred.log >close.log
expect_exit 3 explain close.log

# --- a failure that does not repeat ------------------------------------------------------------------------------
# 8 MiB of the right pool and stream are free, and the snapshot ends in an oom of 4 MiB.
cat >served.json <<'END'
{"segments": [{"device": 0, "address": 1048576, "total_size": 20971520, "allocated_size": 12582912,
  "active_size": 12582912, "stream": 0, "segment_type": "large", "segment_pool_id": [0, 0], "blocks": [
    {"address": 1048576, "size": 12582912, "requested_size": 12582912, "state": "active_allocated", "frames": []},
    {"address": 13631488, "size": 8388608, "requested_size": 0, "state": "inactive", "frames": []}]}],
 "device_traces": [[{"action": "oom", "size": 4194304, "device_free": 0, "stream": 0, "time_us": 5, "frames": []}]]}
END
expect_exit 0 convert served.json -o served.ops
for file in served.json served.ops; do
    expect_exit 3 explain "$file"
    expect_text out.txt "Verdict: unknown"
    expect_text out.txt "by the file this request failed, and on its list it is served"
    expect_text out.txt "the file says: device_traces[0][0]: oom, size 4194304, device_free 0"
    expect_no_text out.txt "Nothing failed"
    expect_exit 3 explain "$file" --json
    expect_text out.txt '"verdict":"unknown","op":3'
    expect_text out.txt '"is_served":true'
done
# With more than the device had, that it is served is what was asked.
expect_exit 0 explain served.json --capacity 40M
expect_text out.txt "Nothing failed"

# --- a free that ends after the failure --------------------------------------------------------------------------
cat >late.ops <<'END'
hbmstress-ops 1
capacity 64M
0: alloc size=40M
1: free_after block=0 delay=never
2: alloc size=40M
3: advance delay=10us
4: complete event=1
END
expect_exit 0 explain late.ops
tr -s '\n ' ' ' <out.txt >words.txt
expect_text words.txt "which ends at op 4, later by 10us: it is late, not lost."
expect_no_text words.txt "no wait ends it"
sed -i '/^4:/d' late.ops
expect_exit 0 explain late.ops
expect_text out.txt "which is lost: no wait ends it."

finish
