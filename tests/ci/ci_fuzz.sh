#!/usr/bin/env bash
# ci/fuzz and ci/corpus-minimise: what they say, leave and exit with.  The fuzz target is a real one; packages and
# builds are stand-ins.
set -u
tree=$1 hbmstress=$2 check=$3
if ! command -v clang >/dev/null || ! command -v ninja >/dev/null; then
    echo "skipped: clang or ninja is missing"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
from=/
fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

if ! (cd "$tree" && cmake --preset fuzz-fast &&
    cmake --build --preset fuzz-fast --target fuzz_ops fuzz_schedule fuzz_input) \
    >"$work/log" 2>&1; then
    if grep -q 'is missing: apt-get' "$work/log"; then
        echo "skipped: $(grep -m 1 'is missing: apt-get' "$work/log")"
        exit 77
    fi
    cat "$work/log"
    exit 1
fi
mkdir -p "$work/ci" "$work/bin" "$work/build/fuzz-fast/fuzz"
cp "$tree/ci/fuzz" "$tree/ci/fuzz_common.sh" "$tree/ci/help.sh" "$tree/ci/corpus-minimise" "$work/ci"
cp -r "$tree/corpus" "$work/corpus"
cp "$tree/build/fuzz-fast/fuzz/"{fuzz_ops,fuzz_schedule,fuzz_input} "$work/build/fuzz-fast/fuzz"
echo "fuzz_ops 4096 ops" >"$work/build/fuzz-fast/fuzz/targets.txt"
for name in ci/setup bin/cmake; do
    printf '#!/bin/sh\nexit 0\n' >"$work/$name"
    chmod +x "$work/$name"
done

# expect_exit CODE SCRIPT ARGUMENT...: its output is in out.txt and err.txt.  It is called from where the paths count.
expect_exit() {
    local wanted=$1 got
    shift
    (cd "$from" && PATH="$work/bin:$PATH" "$work/ci/$1" "${@:2}") >"$work/out.txt" 2>"$work/err.txt"
    got=$?
    [ "$got" = "$wanted" ] || fail "ci/$*: exit $got, should be $wanted; $(tail -n 3 "$work/out.txt" "$work/err.txt")"
}

# expect_refusal TEXT SCRIPT ARGUMENT...: one line that has TEXT, exit 2, nothing written.
expect_refusal() {
    local text=$1
    shift
    expect_exit 2 "$@"
    [ "$(wc -l <"$work/err.txt")" = 1 ] || fail "ci/$*: $(wc -l <"$work/err.txt") lines of error, should be 1"
    grep -qF -- "ci/$1: $text" "$work/err.txt" || fail "ci/$*: '$(cat "$work/err.txt")' does not say '$text'"
    [ ! -e "$work/out-fuzz" ] || fail "ci/$*: left out-fuzz/ behind"
}

fast=(--time 1s --preset fuzz-fast --jobs 1 --seed 1)
expect_refusal "--time: 'soon'" fuzz "${fast[@]}" --time soon
expect_refusal "--time: must be more than 0 s" fuzz "${fast[@]}" --time 0s
expect_refusal "--jobs: '0'" fuzz --jobs 0
expect_refusal "--target: its value" fuzz --target
expect_refusal "there is no fuzz target 'fuzz_nothing'" fuzz "${fast[@]}" --target fuzz_nothing
expect_refusal "there is no fuzz target ''" fuzz "${fast[@]}" --target ""
expect_refusal "there is no fuzz target '@'" fuzz "${fast[@]}" --target @
expect_refusal "--subject: there is no target 'nobody'" fuzz "${fast[@]}" --subject nobody
expect_refusal "--subject: a name is missing" fuzz "${fast[@]}" --subject ""
export HBMSTRESS_FUZZ_REGRETS=banana
expect_refusal "HBMSTRESS_FUZZ_REGRETS: there is no regret 'banana'" fuzz "${fast[@]}"
unset HBMSTRESS_FUZZ_REGRETS
expect_refusal "--preset: fuzz or fuzz-fast" fuzz --preset release
# Only what ci/fuzz made may be replaced, whatever it is called; a path counts from where the caller stands.
expect_refusal "--out: a name is missing" fuzz "${fast[@]}" --out ""
expect_refusal "--out: '$work/corpus/..'" fuzz "${fast[@]}" --out "$work/corpus/.."
from=$work/corpus
expect_refusal "--out: $work/corpus/seeds is not empty" fuzz "${fast[@]}" --out seeds/
from=/
mkdir -p "$work/out-a" "$work/keep" "$work/out-of-memory-notes"
touch "$work/keep/notes" "$work/out-of-memory-notes/notes"
expect_refusal "--out: $work/out-a/../keep is not empty" fuzz "${fast[@]}" --out "$work/out-a/../keep"
expect_refusal "--out: $work/out-of-memory-notes is not empty" fuzz "${fast[@]}" --out "$work/out-of-memory-notes"
from=$work
expect_refusal "--out: out-of-memory-notes is not empty" fuzz "${fast[@]}" --out out-of-memory-notes
from=$work/corpus
expect_refusal "--subject: cannot use $work/corpus/../no/plugin.so" fuzz "${fast[@]}" --subject ../no/plugin.so
from=/
[ -e "$work/keep/notes" ] || fail "a folder of somebody else's is gone"
[ -e "$work/out-of-memory-notes/notes" ] || fail "a folder of somebody else's is gone"
expect_refusal "unknown argument '--wat';" fuzz --wat
expect_refusal "--from: /nowhere is not a folder" corpus-minimise --from nowhere
expect_refusal "there is no fuzz target 'fuzz_nothing'" corpus-minimise fuzz_nothing
HBMSTRESS_FUZZ_TARGET=nobody expect_refusal "HBMSTRESS_FUZZ_TARGET: there is no target 'nobody'" corpus-minimise

# A defect: red, with a list and a proof that stand without the fuzzer, and the line that repeats it.
expect_exit 1 fuzz "${fast[@]}" --time 30s --subject plant_premature_stalled
grep -q 'fuzz_ops found: premature: ' "$work/out.txt" || fail "the planted defect has no name in $(cat "$work/out.txt")"
repeat=$(sed -n 's/^  repeat  hbmstress //p' "$work/out.txt" | head -n 1)
# shellcheck disable=SC2086 # words of a command line
(cd "$work" && "$hbmstress" $repeat) >"$work/replay.txt" 2>&1
[ $? = 1 ] || fail "'hbmstress $repeat' does not exit with 1"
grep -q premature "$work/replay.txt" || fail "'hbmstress $repeat' does not find it again"
proof=$(find "$work/out-fuzz" -name '*.json' | head -n 1)
"$check" "$proof" >/dev/null || fail "the certificate '$proof' does not hold"
mkdir "$work/more"
find "$work/out-fuzz/fuzz_ops" -name 'crash-*' -exec cp {} "$work/more" \;

# Nothing to find, because nothing but the seeds is played: green, and what was there before is gone.
mv "$work/build/fuzz-fast/fuzz/fuzz_ops" "$work/fuzz_ops"
printf '#!/bin/sh\nexec %s "$@" -runs=1\n' "$work/fuzz_ops" >"$work/build/fuzz-fast/fuzz/fuzz_ops"
chmod +x "$work/build/fuzz-fast/fuzz/fuzz_ops"
expect_exit 0 fuzz "${fast[@]}" --time 10s
grep -q 'canary found; no finding' "$work/out.txt" || fail "a run without findings does not say so"
[ -z "$(find "$work/out-fuzz" -name '*.ops')" ] || fail "a run without findings kept those of the run before"
[ -n "$(find "$work/out-fuzz.old" -name '*.ops')" ] || fail "the findings of the run before are gone"
expect_exit 0 fuzz "${fast[@]}" --time 1s
[ -n "$(find "$work/out-fuzz.old" -name '*.ops')" ] || fail "a run after one without findings threw findings away"
# A full disk cuts the log, and would cut what is found; a subject that exits cuts it, too.
printf '#!/bin/sh\nexec %s "$@" -runs=1 -print_final_stats=0\n' "$work/fuzz_ops" >"$work/build/fuzz-fast/fuzz/fuzz_ops"
expect_exit 4 fuzz "${fast[@]}" --time 1s
grep -q 'fuzz_ops: its log is cut short' "$work/err.txt" || fail "a log without an end is one of a good run"
mv "$work/fuzz_ops" "$work/build/fuzz-fast/fuzz/fuzz_ops"

# An allocator that is not for several threads is fuzzed by the targets that can.
printf 'fuzz_ops 4096 ops\nfuzz_schedule 4096 ops\n' >"$work/build/fuzz-fast/fuzz/targets.txt"
clang -std=c17 -shared -fPIC -I"$tree" -o "$work/mine.so" "$tree/targets/example/example.c"
expect_exit 0 fuzz "${fast[@]}" --subject "$work/mine.so"
grep -q "fuzz_schedule is left out: target '$work/mine.so' cannot be run with lanes" "$work/out.txt" ||
    fail "nobody says that fuzz_schedule is left out"
rm -rf "$work/out-fuzz" "$work/out-fuzz.old"
mkdir "$work/my allocator"
cp "$work/mine.so" "$work/my allocator"
cp "$work/mine.so" "$work/my allocator/ends.so "
expect_refusal "--subject: an op list cannot name '$work/my allocator/ends.so '" fuzz "${fast[@]}" \
    --subject "$work/my allocator/ends.so "
expect_refusal "--subject: target '$work/mine.so' cannot be run" fuzz "${fast[@]}" --subject "$work/mine.so" \
    --target fuzz_schedule
echo "fuzz_ops 4096 ops" >"$work/build/fuzz-fast/fuzz/targets.txt"

# What ends a run and does not do so alone is told, a hang that does not hang is not, and a death has its status.
stand_in() { # BODY
    printf '#!/bin/sh\n%s\n' "$1" >"$work/stand-in"
    chmod +x "$work/stand-in"
}
triaged() { # INPUT: its keys
    mkdir -p "$work/$(dirname "$1")"
    touch "$work/$1"
    (cd "$work" && bash -euc 'script=t; . ci/fuzz_common.sh; triage fuzz_ops ./stand-in . "$1"; echo "${!found[@]}"' - "$1")
}
stand_in "exit 0"
[ -z "$(triaged afl/main/hangs/id:0)" ] || fail "a hang that ends alone is a finding"
[ -z "$(triaged artifacts/timeout-0)" ] || fail "a timeout that ends alone is a finding"
[ "$(triaged artifacts/crash-0)" = "fuzz_ops: ended a run, but does not do so when it is played alone" ] ||
    fail "what does not end a run alone is told as '$(triaged artifacts/crash-0)'"
stand_in "exit 9"
[ "$(triaged afl/main/hangs/id:0)" = "fuzz_ops found: exit status 9" ] || fail "a death without a word has no name"
# The line that repeats it is one to be copied, whatever is in its paths.
told() { # INPUT SUBJECT
    (cd "$work" && HBMSTRESS_FUZZ_TARGET=$2 bash -euc 'script=t; . ci/fuzz_common.sh; found[k]=1 found_input[k]=$1
        tell_finding k ./stand-in .' - "$1") | sed -n 's/^  repeat  //p'
}
[ "$(told in/crash-0 "")" = "./stand-in in/crash-0" ] || fail "a plain line is told as $(told in/crash-0 "")"
mkdir "$work/it's in"
# shellcheck disable=SC2016 # for the stand-in
stand_in 'echo "$1 for $HBMSTRESS_FUZZ_TARGET"'
touch "$work/it's in/crash \$0"
[ "$(cd "$work" && eval "$(told "it's in/crash \$0" 'my allocator/it;s.so')")" = \
    "it's in/crash \$0 for my allocator/it;s.so" ] ||
    fail "not to be copied: $(told "it's in/crash \$0" 'my allocator/it;s.so')"
# Lists of ops need their length, and no counts.
options_of() { # LINE-OF-TARGETS
    mkdir -p "$work/build/options/fuzz"
    echo "$1" >"$work/build/options/fuzz/targets.txt"
    (cd "$work" && bash -euc 'script=t; . ci/fuzz_common.sh; read_targets options; engine_options "${names[0]}"
        echo "${options[*]}"' -)
}
case $(options_of "fuzz_ops 4096 ops") in *-max_len=8000*-use_counters=0*) ;; *) fail "fuzz_ops has other options" ;; esac
case $(options_of "fuzz_text 4096 bytes") in *use_counters*) fail "bytes are not counted" ;; *-max_len=4096*) ;;
*) fail "fuzz_text has another length" ;; esac
# A command that fails is the machinery, not a finding.
(cd "$work" && bash -euc 'script=t; . ci/fuzz_common.sh; work=$(mktemp -d -p /nowhere)') 2>"$work/err.txt"
[ $? = 4 ] || fail "a command that fails does not exit with 4"
grep -q '^t: .*: a command failed' "$work/err.txt" || fail "a command that fails has no line: $(cat "$work/err.txt")"

# A list for an allocator has no option that it would be refused for.
head -c 32 "$tree/fuzz/input_codec.c" >"$work/input"
(cd "$work" && HBMSTRESS_FUZZ_TARGET="./my allocator/mine.so" build/fuzz-fast/fuzz/fuzz_input to-ops input >input.ops &&
    "$hbmstress" replay input.ops) >"$work/out.txt" 2>&1 || fail "to-ops: $(tail -n 1 "$work/out.txt")"
# A folder without a name is not the root.
(cd "$work" && build/fuzz-fast/fuzz/fuzz_input scenarios "" 1) 2>"$work/err.txt"
[ $? = 2 ] || fail "fuzz_input takes an empty name for a folder"
# Seeds: the same inputs give the same files, and a finding is none.
mv "$work/corpus/seeds" "$work/seeds-before"
expect_exit 0 corpus-minimise --trials 2
sha1sum <"$work/corpus/seeds/fuzz_ops.tar.gz" >"$work/first"
tar -C "$work" -xzf "$work/corpus/seeds/fuzz_ops.tar.gz"
(cd "$work/fuzz_ops" && sha1sum -- *) | awk '$1 != $2 { exit 1 }' || fail "seeds are not named by their contents"
expect_exit 0 corpus-minimise --trials 2
sha1sum <"$work/corpus/seeds/fuzz_ops.tar.gz" | cmp -s - "$work/first" || fail "the same inputs gave other seeds"
export HBMSTRESS_FUZZ_TARGET=plant_premature_stalled
expect_exit 4 corpus-minimise --trials 2 --from "$work/more"
unset HBMSTRESS_FUZZ_TARGET
[ -z "$(find "$work/corpus/seeds" -name '*.new')" ] || fail "halves of seeds are left"
grep -q 'is a finding, not a seed: premature: ' "$work/err.txt" || fail "a finding became a seed"
sha1sum <"$work/corpus/seeds/fuzz_ops.tar.gz" | cmp -s - "$work/first" || fail "seeds are not as they were"

# A fuzzer that sees nothing is no success.
printf '#!/bin/sh\nexit 0\n' >"$work/build/fuzz-fast/fuzz/fuzz_ops"
expect_exit 4 fuzz "${fast[@]}" --time 1s
grep -q 'the canary plant_premature_undrained was not found' "$work/err.txt" || fail "nobody missed the canary"
[ "$failures" = 0 ]
