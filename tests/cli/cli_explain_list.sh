#!/usr/bin/env bash
# What explain says of a file it says of the list that is imported from it, too, with the same exit code: its verdict,
# its words, its steps, its devices, and that sums have no heap.  Only lines of the file and the way to it differ.
#
#     tests/cli/cli_explain_list.sh HBMSTRESS FIELD
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

mkdir of_file of_list
for name in bfc/tf11.log device_stats/tpu_one.txt hbm_allocations/every_state.log jax_device_memory/small.prof \
    kineto/out_of_memory.json rmm/starts_late.csv torch_message/b3_unallocated.log torch_message/mps.log \
    torch_snapshot/two_devices.json torch_timeline/rows.raw.json \
    tpu_message/buffer_below_free_large.log tpu_message/program_reserve_image.log trace_json/small.trace.json \
    xplane/devices.xplane.pb; do
    cp "$2/$name" of_file/file
    expect_exit 0 convert --to ops of_file/file -o of_list/file
    for folder in of_file of_list; do
        code=0
        (cd "$folder" && "$1" explain file) >"$folder.txt" 2>err.txt || code=$?
        echo "exit $code" >>"$folder.txt"
    done
    # The lines of the file, and the way to the list.
    sed -E 's/, in line [0-9]+:/:/; s/convert file -o list.ops, then hbmstress replay list.ops/replay file/' of_file.txt >expected.txt
    # A word a line: the lines of the two break at other words.
    if ! diff <(tr -s ' \n' '\n\n' <expected.txt) <(tr -s ' \n' '\n\n' <of_list.txt) >difference.txt; then
        fail "$name: the list is explained otherwise: $(head -n 5 difference.txt)"
    fi
done

# A comment that is no fact of the list is nothing.
cat >odd.ops <<'END'
hbmstress-ops 1
capacity 64M
# view: heap
# step 3: op 99
# step x: op 0
# step 2: op 1
# step 1: op 0
# device 4096: GPU 9
# says:
0: alloc size=40M
1: alloc size=40M
END
expect_exit 0 explain odd.ops
expect_text out.txt "Verdict: justified"

finish
