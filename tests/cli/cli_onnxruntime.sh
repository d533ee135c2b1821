#!/usr/bin/env bash
# onnxruntime: what it cannot be opened with is told in one line, it keeps what it promises over a stand-in for the library,
# and over the library where ci/setup --with-onnxruntime installed it, and a shim that is wrong in one way is found.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
libraries=$2
real=$3
quick="fragmentation_storm queued_free_race --target onnxruntime --capacity 64M --seed 1 --shrink-budget 0 --ops 1500"

# Without the library, with a file that is none, and with one that is too old.
HBMSTRESS_ONNXRUNTIME=$work/none.so expect_refusal 2 "none.so cannot be loaded" run slow_leak --target onnxruntime
HBMSTRESS_ONNXRUNTIME=$libraries/malloc_nothing.so expect_refusal 2 "has no function OrtGetApiBase" run slow_leak --target onnxruntime
HBMSTRESS_ONNXRUNTIME=$work/none.so expect_exit 0 list targets
grep -A 4 "^target  onnxruntime " out.txt | folded | grep -q "not usable here: " || fail "list targets does not say that the library is missing"
export HBMSTRESS_ONNXRUNTIME=$libraries/fake_onnxruntime.so
FAKE_ONNXRUNTIME_OLD=1 expect_refusal 2 "which is older than 1.16" run slow_leak --target onnxruntime
expect_exit 0 list targets
grep "^target  onnxruntime " out.txt | grep -q "not usable" && fail "the stand-in is not usable: $(grep '^target  onnxruntime ' out.txt)"

expect_refusal 2 "unknown target 'onnxruntim'; did you mean 'onnxruntime'?" run --target onnxruntim
expect_refusal 2 "a multiple of 256" run slow_leak --target onnxruntime --capacity 1000
expect_refusal 2 "there is no option limit; valid are extend, initial_chunk, max_dead" run slow_leak --target onnxruntime --target-option limit=1
expect_refusal 2 "option max_dead" run slow_leak --target onnxruntime --target-option max_dead=much
expect_refusal 2 "initial_chunk goes with extend=power alone" run slow_leak --target onnxruntime --target-option initial_chunk=1M

# prove NAME: a library whose arena splits every chunk keeps its contract, by default one in two bytes may be dead, and each
# bent shim over it is found.
prove() {
    # shellcheck disable=SC2086
    expect_exit 0 run $quick --target-option max_dead=256 --replay-sample 4 --out "sound_$1"
    expect_text out.txt "every promise kept, every OOM judged: "
    expect_no_text out.txt " 0 OOMs"
    # shellcheck disable=SC2086
    expect_exit 1 run $quick --out "dead_$1"
    [ "$(sed -n 's/^BROKEN \([a-z_]*\):.*/\1/p' out.txt | sort -u)" = premature ] || fail "$1: $(grep ^BROKEN out.txt)"
    local defect over=$HBMSTRESS_ONNXRUNTIME
    for defect in leak:premature overlap:overlap premature:premature misplaced:misaligned outside:outside; do
        # shellcheck disable=SC2086
        BENT_ONNXRUNTIME_OVER=$over HBMSTRESS_ONNXRUNTIME=$libraries/bent_onnxruntime_${defect%:*}.so \
            expect_exit 1 run $quick --target-option max_dead=256 --out "$1_${defect%:*}"
        expect_text out.txt "BROKEN ${defect#*:}: "
    done
    # Without addresses a block in another one shows in what it holds.
    # shellcheck disable=SC2086
    BENT_ONNXRUNTIME_OVER=$over HBMSTRESS_ONNXRUNTIME=$libraries/bent_onnxruntime_overlap.so \
        expect_exit 1 run $quick --target-option max_dead=256 --target-option extend=power --out "$1_grown"
    expect_text out.txt "BROKEN contents: "
}
prove stand_in
if [ -e "$real" ]; then
    HBMSTRESS_ONNXRUNTIME=$real prove library
    echo "libraries that ran: 1 of 1"
else
    echo "onnxruntime is skipped: ci/setup --with-onnxruntime has not installed the library; only the stand-in ran"
    echo "libraries that ran: 0 of 1"
fi
finish
