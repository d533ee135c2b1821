#!/usr/bin/env bash
# explain says below each cause what to do, in the words of the system that the file is from, what came of it when it was
# run, and last what to do next; of a job that leaks it says when the device will be full, and a run shows that it is.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
causes=$2

# The last line of out.txt, however it is broken.
last_sentence() {
    sed -n '/^Next: /,$p' out.txt | tr '\n' ' ' | tr -s ' '
}

# Each cause of the corpus that a remedy answers has one that was run.
for cause in copies exhausted fragmented growing_set host_skew leak out_of_place padding program_reload queued_frees \
    references spike still_growing; do
    "$hbmstress" explain "$causes/$cause.ops" >out.txt 2>err.txt
    grep -q '^    remedy: ' out.txt || fail "$cause has no remedy: $(tail -n 4 out.txt)"
    case $(last_sentence) in
        "Next: "*" --what-if. " | "Next: report "* | "Next: mend "*) ;;
        *) fail "$cause: the last line is: $(last_sentence)" ;;
    esac
done

# "It fits" fits: the variant of the same title is replayed without an out-of-memory.
for cause in copies growing_set host_skew leak padding queued_frees references still_growing; do
    expect_exit 0 explain "$causes/$cause.ops" --json
    title=$(grep -m 1 '"answers":"'$cause'"' out.txt | sed 's/.*"title":"\([^"]*\)".*/\1/')
    expect_text out.txt '"answers":"'"$cause"'","remedy":'
    grep '"answers":"'$cause'"' out.txt | grep -q '"fits":true' || fail "$cause: its remedy does not fit"
    "$hbmstress" explain "$causes/$cause.ops" --what-if-out variants >/dev/null 2>&1
    expect_exit 0 replay "variants/$title.ops" --json
    tail -n 1 out.txt | grep -q '"ooms":0,' || fail "$cause: $title runs out of memory"
done

# A job that leaks, cut off in its 300th step: it is said when it will run out, and the whole of it does then.
sed '/^900: /,$d' "$causes/leak.ops" >begun.ops
expect_exit 0 explain begun.ops --json
at=$(sed -n 's/.*"type":"forecast".*"full_op":\([0-9]*\)}.*/\1/p' out.txt)
expect_exit 0 replay "$causes/leak.ops" --json
failed=$(sed -n 's/.*"type":"verdict".*"op":\([0-9]*\),.*/\1/p' out.txt | head -n 1)
if [ -z "$at" ] || [ -z "$failed" ] || [ "$at" -lt $((failed - 3)) ] || [ "$at" -gt $((failed + 3)) ]; then
    fail "the forecast is op ${at:-none}, the out-of-memory comes at op ${failed:-none}"
fi
expect_exit 0 explain begun.ops
expect_text out.txt "At this rate the device is full at step "
expect_text out.txt "memory no longer grows from step to step, so later steps fit, too"
case $(last_sentence) in
    "Next: free the blocks of 'losses' after each step, then run again; "*) ;;
    *) fail "the last line of begun.ops is: $(last_sentence)" ;;
esac
# To the step that the job was headed for: as --until gives it, and as a list says it.
expect_exit 0 explain begun.ops --until 400
tr '\n' ' ' <out.txt | tr -s ' ' >line.txt
expect_text line.txt "so it fits to step 400, too"
expect_text line.txt "As it is, it fits to step 400, the last; full at about step 470"
sed 's/^seed 1/&\nuntil 80000/' begun.ops >until.ops
expect_exit 0 convert until.ops -o again.ops
expect_exit 0 explain again.ops
tr '\n' ' ' <out.txt | tr -s ' ' >line.txt
expect_text line.txt "so it fits to step 80000, too"
expect_text line.txt "As it is, it does not fit to step 80000: full at about step 470."
expect_exit 0 explain again.ops --until 469 --json
expect_text out.txt '"full_step":470,"full_step_from":470,"full_step_to":470,"until_step":469,"fits_to_until":"yes"'
expect_exit 0 explain again.ops --until 470 --json
expect_text out.txt '"until_step":470,"fits_to_until":"no"'
expect_exit 0 explain "$causes/leak.ops" --until 480 --what-if
grep -A 3 '^  batch-2 ' out.txt | folded | grep -q 'still grows: it fits to step 480, the last' || fail "batch-2: $(grep '^  batch-2 ' out.txt)"
expect_refusal 2 "is not a number of steps" explain begun.ops --until soon
# A log says it.
{
    echo "step 24030/80000 loss 2.1"
    echo "step 24031/80000 loss 2.1"
    echo "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Attempting to allocate 11.20G. That was not possible. There are 12.43G free.; (0x0x0_HBM0)"
} >headed.log
"$hbmstress" explain headed.log --chip v4 >out.txt 2>err.txt
expect_text out.txt "after step 24031 of 80000"
expect_exit 0 convert headed.log --chip v4 -o headed.ops
expect_text headed.ops "until 80000"

# Where the capacity is no fact, nobody knows when it is full.
sed 's/^seed 1/&\n# assumed: capacity 64M, the peak of live bytes/' begun.ops >assumed.ops
expect_exit 0 explain assumed.ops
expect_text out.txt "With --capacity SIZE, explain prints when the device is full."
expect_no_text out.txt "At this rate"

# In the words of each system.
for words in "xla_tpu jax.live_arrays()" "tensorflow x.numpy()" "pytorch loss.item()" "onnxruntime OrtValues"; do
    sed "s/^target hbm/&\nsystem ${words%% *}/" begun.ops >words.ops
    expect_exit 0 explain words.ops
    tr '\n' ' ' <out.txt | tr -s ' ' >line.txt
    expect_text line.txt "${words#* }"
done

# A PyTorch trace: each setting is run through the model of its allocator.  A segment of 20 MiB holds two blocks of 7 MiB,
# so eight of them take four segments; behind one expandable range they take three pages of 20 MiB.
{
    printf 'hbmstress-ops 1\ncapacity 128M\ntarget hbm\nsystem pytorch\n'
    for i in 0 1 2 3 4 5 6 7; do printf '%s: alloc size=7M\n' $i; done
    for i in 0 1 2 3 4 5 6 7; do printf '%s: free block=%s\n' $((8 + i)) $i; done
} >pieces.ops
expect_exit 0 explain pieces.ops
expect_text out.txt "Allocator settings: the same requests, run through a model of PyTorch's caching allocator"
expect_text out.txt "(The file does not say which of them were set.)"
expect_exit 0 explain pieces.ops --capacity 70M --json
grep '"setting":""' out.txt | grep -q '"ooms":[1-9]' || fail "without settings it runs: $(grep '"setting":""' out.txt)"
grep '"setting":"expandable_segments:True"' out.txt | grep -q '"ooms":0,' ||
    fail "with expandable segments it runs out: $(grep expandable out.txt)"
[ "$(grep -c '"type":"setting"' out.txt)" = 11 ] || fail "there are eleven settings"
expect_exit 0 explain pieces.ops --capacity 70M
expect_text out.txt "expandable_segments:True would have helped most: "
sed '/^system/d' pieces.ops >unknown.ops
expect_exit 0 explain unknown.ops
expect_no_text out.txt "Allocator settings"
# A snapshot that says what was set.
cat >snapshot.json <<'END'
{"segments": [], "allocator_settings": {"expandable_segments": true, "max_split_size": -1,
 "garbage_collection_threshold": 0.0, "roundup_power2_divisions": {"1": 0, "2": 0}},
 "device_traces": [[
 {"action": "alloc", "addr": 139637976727552, "size": 4096, "stream": 0, "time_us": 1, "frames": []},
 {"action": "free_requested", "addr": 139637976727552, "size": 4096, "stream": 0, "time_us": 2, "frames": []},
 {"action": "free_completed", "addr": 139637976727552, "size": 4096, "stream": 0, "time_us": 3, "frames": []}]]}
END
expect_exit 0 explain snapshot.json --json
grep '"setting":"expandable_segments:True"' out.txt | grep -q '"was_set":true' || fail "it is not said to be on already: $(cat out.txt)"
grep '"setting":""' out.txt | grep -q '"was_set":false' || fail "nothing is said to be set"

# GPUs are chips, too.
expect_exit 0 list chips
expect_text out.txt "a100-80"
expect_exit 0 replay pieces.ops --chip t4
expect_refusal 2 "valid chips:" replay pieces.ops --chip t5
finish
