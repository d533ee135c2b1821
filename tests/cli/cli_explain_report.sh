#!/usr/bin/env bash
# explain tells a compiler's report as one: its own words, what the program needs, what is lost, every allocation, and no
# failure that stands in nobody's log.
field=$(realpath "$2")/hbm_report
data=$(dirname "$0")/../../../shared/data/tpu_oom
[ -d "$data" ] && data=$(realpath "$data")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# Nothing ran: no verdict, no diagnosis of a replay, and exit 0.
for name in sections used_2019 vllm broken_label fragmented padded temporaries temporaries_short early cores chip_named; do
    expect_exit 0 explain "$field/$name.log"
    expect_no_text out.txt "Error loading program"
    expect_no_text out.txt "Verdict:"
    expect_no_text out.txt "Diagnosis"
    expect_text out.txt "What the program needs"
    grep -Ev '^ +op |hbmstress ' out.txt | awk 'length > 80 { exit 1 }' || fail "$name: a line is wider than 80 columns"
    expect_exit 0 explain "$field/$name.log" --json
    grep -q '^{"type":"explanation","verdict":"none",.*"file_message":' out.txt || fail "$name: $(sed -n 1p out.txt)"
    grep -q '^{"type":"compile_report","form":' out.txt || fail "$name: $(sed -n 2p out.txt)"
    grep -vq '^{.*}$' out.txt && fail "$name: a line that is no object"
done

expect_exit 0 explain "$field/fragmented.log"
expect_text out.txt "the file says, in line 1: Ran out of memory in memory space hbm. Used 35.50G of 31.25G hbm. Exceeded hbm capacity by 4.25G."
expect_text out.txt "Nothing ran: no allocator refused a request"
expect_text out.txt "fragmentation: 10.71G, 35.7 % of the temporaries. Without it the program would fit: 4.25G are missing."
expect_text out.txt "It would fit without fragmentation: 10.71G lie in gaps between temporaries, and only 4.25G are missing."
grep -Eq '^  the device has +31\.25G  chip v6e$' out.txt || fail "no device: $(cat out.txt)"
expect_exit 0 explain "$field/fragmented.log" --chip v5p
expect_text out.txt "It fits there."
expect_no_text out.txt "It would fit without"

expect_exit 0 explain "$field/padded.log"
expect_text out.txt "padding: 9.06G, 98.4 % of the temporaries. Without it the program would fit: 1.72G are missing."
expect_text out.txt "unpadded 128.00M, 64.0-fold: its innermost dimension of 2 is padded to 128"
expect_text out.txt "One allocation is larger than half of the device: allocation 1, f32[16777216,2]{1,0:T(8,128)},"

# The last line follows from the case that decides; an estimate needs nothing.
expect_text out.txt "Next: change the shape or the layout of the allocation named above, and compile again."
expect_exit 0 explain "$field/fragmented.log"
expect_text out.txt "Next: compile again with another order of the ops"
expect_exit 0 explain "$field/early.log" --json
expect_text out.txt '{"type":"next","text":"compile again with --xla_tpu_impure_oom_fast_exit_threshold=-1'
expect_exit 0 explain "$field/estimate.log"
expect_no_text out.txt "Next:"

# The largest allocation has a label of several lines, and its op a long name.
expect_exit 0 explain "$field/broken_label.log"
expect_text out.txt "Largest allocations: 3, 72.00G"
expect_text out.txt "op jit(update)/transpose(jvp(decoder))/layers/mlp/a_name_that_is_longer_than_sixty-three_characters/dot_general"
expect_text out.txt "at /job/train/decoder.py:207"
tr -s '\n ' ' ' <out.txt >words.txt
expect_text words.txt "the report lists 3 temporaries (HLO temp) of 72.00G; its total says 99.98G: 27.98G are not listed"
expect_text words.txt "Arguments take 40.00G, temporaries 99.98G: the temporaries are the larger part."
expect_exit 0 explain "$field/broken_label.log" --json
[ "$(grep -c '"type":"allocation"' out.txt)" = 3 ] || fail "allocations: $(cat out.txt)"
expect_text out.txt '"size_bytes":38654705664,'
expect_text out.txt '"source":"/job/train/decoder.py:207","label":"fusion.77","allocation_type":"HLO temp","argument":false}'

expect_exit 0 explain "$field/vllm.log"
grep -Eq '^  arguments +92\.00M$' out.txt || fail "the arguments: $(cat out.txt)"
tr -s '\n ' ' ' <out.txt >words.txt
expect_text words.txt "Arguments take 92.00M, temporaries 12.25M: the arguments are the larger part."
expect_text words.txt "(donate_argnums) would save up to 40.00M more."

expect_exit 0 explain "$field/temporaries.log"
expect_text out.txt "the total memory required for HLO temporaries (160.25G) exceeds available HBM (94.74G). HLO module: jit__train_step."
expect_text out.txt "The program: jit__train_step"
expect_text out.txt "65.51G"

# Of a GPU nobody knows the capacity: the report is told without a replay, no TPU is named, and what needs a list is refused.
expect_exit 0 explain "$field/gpu_peak.log"
expect_text out.txt "the file says, in line 1: Out of memory while trying to allocate 41943104 bytes."
expect_text out.txt "at /job/f.py:9"
expect_no_text out.txt "TPU"
expect_no_text out.txt "error_1000"
expect_refusal 2 "give --capacity" explain "$field/gpu_peak.log" --what-if
expect_refusal 2 "give --capacity" convert "$field/gpu_peak.log"
expect_exit 0 explain "$field/gpu_peak.log" --capacity 64M
expect_text out.txt "Verdict: justified"
expect_text out.txt "Largest allocations: 2, 40.00M"

# A report without a list of its own still has a list for --what-if.
expect_exit 0 explain "$field/fragmented.log" --what-if
expect_text out.txt "What the program needs"
expect_text out.txt "chip-v5p"

# An estimate is no failure.
expect_exit 0 explain "$field/estimate.log"
expect_text out.txt "This is the compiler's estimate of a program, and no failure."
tr -s '\n ' ' ' <out.txt >words.txt
expect_text words.txt 'the capacity is that of chip v5p, which the log names in line 1: "v5p-16"'

# Of two failures in a log the first that the job did not survive.
expect_exit 0 explain "$field/report_then_message.log"
expect_text out.txt "Verdict: justified"
tr -s '\n ' ' ' <out.txt >words.txt
expect_text words.txt "first failure: the log, the device's memory ran out, line 11"
expect_exit 0 explain "$field/message_then_report.log"
tr -s '\n ' ' ' <out.txt >words.txt
expect_text words.txt "first failure: the log, the device's memory ran out, line 2"
expect_text words.txt "afterwards: the log, the compiler refused a program"

# Scratchpads and contradictions are refused.
expect_refusal 2 "the parts sum to more than the used bytes" explain "$field/contradicts_parts.log"

# Names cannot act on a terminal.
sed 's|name="loss/log"|name="a\x1b[31mb"|' "$field/padded.log" >hostile.log
expect_exit 0 explain hostile.log
grep -q "$(printf '\033')" out.txt && fail "an escape reached the terminal"
expect_text out.txt 'op a\x1b[31mb'

# A list of any length is read once.
{
    sed -n '1,/Largest/p' "$field/padded.log"
    for ((i = 0; i < 20000; i++)); do printf '\n  %d. Size: 1.00M\n     XLA label: x\n},{\n     Allocation type: HLO temp\n' "$i"; done
} >long.log
expect_exit 0 explain long.log
expect_text out.txt "Largest allocations: 64, 64.00M"
tr -s '\n ' ' ' <out.txt >words.txt
expect_text words.txt "19936 allocations are not listed here: the beginning is cut off, or beyond the first 64"

if [ -d "$data" ]; then
    expect_exit 0 explain "$data/hbm_full_2026_jax_qwen3_v6e8_34.90G.txt"
    expect_text out.txt "Used 34.90G of 31.25G hbm. Exceeded hbm capacity by 3.66G."
    expect_text out.txt "Largest allocations: 20, 25.30G"
    expect_exit 0 explain "$data/hbm_header_2026_jax_qwen3_v6e8_35.40G.PARTIAL.txt"
    expect_text out.txt "fragmentation: 10.58G, 35.7 % of the temporaries. Without it the program would fit: 4.15G are missing."
    expect_exit 0 explain "$data/hbm_excerpt_tf_issue30803_2019_27.90G.EXCERPT.txt"
    expect_text out.txt "unpadded 128.00M, 64.0-fold: its innermost dimension has 2"
else
    echo "the field data are not here: skipped"
fi

finish
