#!/usr/bin/env bash
# A hang of a job is told with who waits for whom, since when and why; no allocator is blamed for it, but for one that held
# back what it could have granted.
hangs=$(realpath "$2")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# Each list with its sentence: replay and explain say it, and both exit as they do without a hang.
tell() { # LIST CAUSE SENTENCE
    expect_exit 0 replay "$hangs/$1.ops"
    expect_text out.txt "hang: $3."
    expect_text out.txt "of the job ("
    expect_exit 0 explain "$hangs/$1.ops"
    sed -n '/^The job waits in vain/,/^$/p' out.txt | tr -s '\n ' ' ' >words.txt
    expect_text words.txt "$3."
    sed -n '/^The job waits in vain/,/^$/p' out.txt | awk 'length > 120 { exit 1 }' || fail "$1 is wider than 120 columns"
    expect_exit 0 explain "$hangs/$1.ops" --json
    grep '"type":"hang"' out.txt >lines.txt || fail "$1: no line of type hang"
    expect_text lines.txt "\"cause\":\"$2\""
    expect_text lines.txt "\"words\":\"$3\""
}
tell one_host_out_of_memory out_of_memory \
    "host 0 to 2 wait in collective 'data 0' since step 2 (op 32): host 3 does not come: it ran out of memory at step 2 (op 31), and nothing of it follows"
tell left_without_a_word no_word \
    "host 0 and 1 wait in collective 'data 0' since step 2 (op 22): host 2 does not come: it left without a word: step 1 (op 20) was its last, it was not out of memory, and others go on (2 more collectives waited for it alike)"
tell straggler behind \
    "host 0 waited in collective 'data 0' since step 1 (op 9) until op 17, inside that request, 5 s in vain: host 1 does not come in time: it is at step 1, 3 steps behind, and joins only with op 24, after that request"
tell another_order order \
    "host 0 waits in collective 'forward' since step 4 (op 10): host 1 does not come: it waits itself in collective 'gradients' since op 11, for host 0: they enter their collectives in different orders"
tell one_micro_batch_too_long behind \
    "host 0 waited in collective 'stage 0 to 1' since step 0 (op 3) until op 8, inside that request, 5 s in vain: host 1 does not come in time: it is at step 0, 2 steps behind, and joins only with op 10, after that request"
tell behind_another elsewhere \
    "host 0 waits in collective 'data 0' since step 0 (op 5): host 1 does not come: it waits itself in collective 'pipeline 1' since op 4, for host 2"

# The out-of-memory of one host is told apart from a silent exit, in the counts, too.
expect_exit 0 replay "$hangs/one_host_out_of_memory.ops" --json
expect_text out.txt '"hangs":1,"hangs_after_oom":1,"hangs_without_word":0'
expect_exit 0 replay "$hangs/left_without_a_word.ops" --json
expect_text out.txt '"hangs":1,"hangs_after_oom":0,"hangs_without_word":1'

# Clients that all wait are told as replay has it.
expect_exit 0 explain "$hangs/../clients/all_wait.ops"
expect_text out.txt "All clients wait for memory (no promise of the allocator)"
expect_text out.txt "client 0 could have had its 4K"
expect_exit 0 explain "$hangs/../clients/all_wait.ops" --json
expect_text out.txt '{"type":"standstill","host":0,"clients":2,"since_op":3,"op":5,"way":"order","client":"client 0"'

# Where all go on together nobody waits in vain.
sed '/^2[2-9]:\|^3[0-9]:/d' "$hangs/left_without_a_word.ops" >together.ops
expect_exit 0 replay together.ops
expect_no_text out.txt "hang"

# An allocator that waits although the request fits is blamed, and its hang is told next to that.
micro=one_micro_batch_too_long
expect_exit 1 replay "$hangs/$micro.ops" --target plant_held_back
expect_text out.txt "BROKEN held_back: op 5"
expect_text out.txt "although a hole fitted, for a request of 409600 bytes"
expect_text out.txt "hang: host 0 waited in collective 'stage 0 to 1' since step 0 (op 3) until op 5, inside that request"
expect_exit 1 explain "$hangs/$micro.ops" --target plant_held_back
expect_text out.txt "Broken: held_back"
expect_text out.txt "The job waits in vain (the allocator held back what it could have granted)"
expect_text out.txt "and joins only with op 10" # which comes after what is broken
expect_exit 1 replay --shrink "$hangs/$micro.ops" --target plant_held_back -o held.ops
[ "$(grep -c '^[0-9]*: ' held.ops)" -le 6 ] || fail "a list of more than 6 ops: $(cat held.ops)"
expect_exit 1 replay held.ops
expect_text out.txt "held_back: wait in vain although a hole fitted"
expect_exit 1 run mesh_skew --target plant_held_back --seed 1 --ops 3000 --out held
expect_text out.txt "finding 1: held_back: wait in vain although a hole fitted"
grep -A 1 '^found: held_back' out.txt >found.txt
expect_text found.txt "  hang    host 0 waited in collective 'pipeline 0' since step 18 (op 782) until op 807, inside that request, 5 s in vain"
grep '"type":"found"' held/results.jsonl >found.txt
expect_text found.txt '"op":807,'
expect_text found.txt '"hang":"host 0 waited in collective'
[ "$(grep -c '^[0-9]*: ' held/repros/*.ops)" -le 6 ] || fail "a list of more than 6 ops: $(cat held/repros/*.ops)"

# Plants of one host of a job, each found by its rule, and shrunk.
expect_exit 1 run mesh_skew --target plant_spmd_one_host --seed 1 --ops 9000 --out spmd
expect_text out.txt "finding 1: spmd: hosts differ"
[ "$(grep -c '^[0-9]*: ' spmd/repros/*.ops)" -le 8 ] || fail "a list of more than 8 ops: $(cat spmd/repros/*.ops)"
expect_exit 1 run mesh_skew --target plant_one_host_leaking --seed 1 --ops 2000 --shrink-budget 200 --out leaking
expect_text out.txt "premature"

# A list with lanes has one clock for all hosts, whatever the scenario draws.
expect_exit 0 run mesh_skew --lanes 3 --seeds 2 --schedules 4 --seed 3
finish
