#!/usr/bin/env bash
# The world: closed pipes, full disks, ctrl-C, time.  No crash, one line, and nothing half-written under a final name.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# A reader that leaves.
set -o pipefail
"$hbmstress" run --ops 20000 --seed 1 --json 2>err.txt | head -n 1 >out.txt
code=$?
[ "$code" = 4 ] || [ "$code" -le 1 ] || fail "a closed pipe ends the program with $code"
[ ! -s err.txt ] || fail "a closed pipe is not quiet: $(head -n 1 err.txt)"
"$hbmstress" list 2>err.txt | true
[ ! -s err.txt ] || fail "list: a closed pipe is not quiet"
set +o pipefail

# A device that is full.
full() {
    "$hbmstress" "$@" >/dev/full 2>err.txt
    [ "$?" = 4 ] || fail "$*: a full standard output should be exit 4"
    [ "$(wc -l <err.txt)" = 1 ] || fail "$*: should say it in one line: $(cat err.txt)"
    expect_text err.txt "standard output: No space left on device"
}
if [ -w /dev/full ]; then
    full --help
    full list
    full run --ops 3000
    full run --ops 3000 --json
    printf 'hbmstress-ops 1\ncapacity 1M\ntarget hbm\nseed 1\n\n0: alloc size=512\n' >one.ops
    full replay one.ops
    full convert one.ops
fi

# A standard output that is closed: nothing of it lands in another file.
rm -rf out
"$hbmstress" run slow_leak --ops 500 --seed 1 >&- 2>err.txt
[ "$?" = 0 ] || fail "a closed standard output ends the program with $?"
[ -z "$(sed '/^{"type":"[a-z]*",.*}$/d' out/results.jsonl)" ] || fail "what is printed lands in results.jsonl"

# A file that may not grow: results.jsonl, then a repro, then the output of import.
rm -rf out
(ulimit -f 1600 && exec "$hbmstress" run --lanes none --ops 20000 --seed 1 --capacity 64M >out.txt 2>err.txt)
[ "$?" = 4 ] || fail "a full disk should be exit 4"
[ "$(wc -l <err.txt)" = 1 ] || fail "a full disk should be one line"
expect_text err.txt "out/results.jsonl: "
[ -s out/results.jsonl ] || fail "a full disk takes what was written"
! find out -name '*.partial' | grep -q . || fail "a full disk leaves $(find out -name '*.partial')"
[ -z "$(sed '/^{"type":"[a-z]*",.*}$/d' out/results.jsonl)" ] || fail "a full disk leaves a torn line"
for certificate in out/certificates/*.json; do
    [ ! -e "$certificate" ] || expect_exit 0 check "$certificate"
done
(ulimit -f 0 && exec "$hbmstress" convert one.ops -o two.ops 2>err.txt)
[ "$?" = 4 ] || fail "import to a full disk should be exit 4"
[ -z "$(find . -name "two.ops*")" ] || fail "import leaves a half-written file"

# One line for one full disk, though both a repro and results.jsonl fail on it.
rm -rf out
said=$( (ulimit -f 0 && exec "$hbmstress" run fragmentation_storm --target first_fit --target-option defrag=slide \
    --capacity 64M --seed 1 >/dev/null) 2>&1)
[ "$?" = 4 ] || fail "a repro that cannot be written should be exit 4"
[ "$(echo "$said" | wc -l)" = 1 ] || fail "a full disk should be one line: $said"
[ -z "$(find out -type f -size +0)" ] || fail "a full disk leaves $(find out -type f)"

# A run takes the reports of the one before away first: one that dies leaves none that says all is well.
expect_reports() { # COUNT
    [ "$(find out -name summary.json -o -name junit.xml -o -name results.sarif | wc -l)" = "$1" ] || fail "not $1 reports: $(ls out)"
}
rm -rf out
storm=(run fragmentation_storm --capacity 64M --seed 1 --ops 3000 --workers 1)
expect_exit 0 "${storm[@]}"
expect_reports 3
for again in "${storm[*]}" "run --resume out"; do
    # shellcheck disable=SC2086
    (ulimit -f 0 && exec "$hbmstress" $again >out.txt 2>err.txt)
    [ "$?" = 4 ] || fail "$again: a full disk should be exit 4"
    expect_reports 0
    expect_exit 0 "${storm[@]}"
done
# Who is refused takes nothing.
expect_exit 2 "${storm[@]}" --workers 0
expect_reports 3
expect_exit 0 "${storm[@]}" --sweep --ops 5
expect_reports 0
mkdir -p out/summary.json
expect_exit 4 "${storm[@]}"
expect_text err.txt "out/summary.json: Is a directory"
[ "$(wc -l <err.txt)" = 1 ] || fail "more than one line: $(cat err.txt)"

# What is no regular file is written to, not replaced.
printf 'hbmstress-ops 1\ncapacity 1M\ntarget hbm\nseed 1\n\n0: alloc size=512\n' >one.ops
mkfifo pipe.ops
cat pipe.ops >read.ops &
expect_exit 0 convert one.ops -o pipe.ops
wait "$!"
[ -p pipe.ops ] || fail "import -o replaces a pipe"
expect_text read.ops "0: alloc size=512"

# What comes through a pipe is read like a file.
for subcommand in "convert" replay explain "convert --to csv" "explain --timeline"; do
    # shellcheck disable=SC2086
    expect_exit 0 $subcommand one.ops
    sed 's/one\.ops/-/g; s/[0-9.]* s;/s;/' out.txt >named.txt
    # shellcheck disable=SC2086
    cat one.ops | "$hbmstress" $subcommand - 2>err.txt | sed 's/[0-9.]* s;/s;/' >piped.txt
    [ ! -s err.txt ] || fail "$subcommand -: $(cat err.txt)"
    cmp -s named.txt piped.txt || fail "$subcommand -: $(diff named.txt piped.txt | head -n 2)"
done
expect_refusal 2 "-:1:1: " replay --shrink - <<<"no list"
expect_exit 0 convert one.ops -o -
expect_text out.txt "0: alloc size=512"
[ ! -e ./- ] || fail "-o - makes a file"
cp one.ops same.ops
expect_refusal 2 "same.ops: this is the input file" convert --to csv - -o same.ops <same.ops
cmp -s one.ops same.ops || fail "what is read through a pipe is overwritten"
{ read -r _ && expect_refusal 2 "-:1:1: " replay -; } <one.ops # it begins where standard input stands

# Ctrl-C: the trial ends, the summary is there.
rm -rf out
"$hbmstress" run slow_leak --time 100s --seed 1 --replay-sample 0 >out.txt 2>err.txt &
process=$!
wait_until test -s out/results.jsonl
wait_until catches_interrupt "$process"
kill -INT "$process"
wait "$process"
code=$?
[ "$code" = 4 ] || fail "ctrl-C before anything broke should be exit 4, not $code"
expect_text out.txt "interrupted; so far"
expect_text out/results.jsonl '"interrupted":true'

# Of a replay that was cut short nobody knows whether every promise is kept; what broke before, broke.
# expect_interrupted CODE ARGUMENT...: ctrl-C while it runs.
expect_interrupted() {
    local wanted=$1 process
    shift
    "$hbmstress" "$@" --json >out.txt 2>err.txt &
    process=$!
    wait_until test -s out.txt
    wait_until has_worked "$process" own 30 # which takes thousands of replays, and the first says what is wrong
    kill -INT "$process"
    wait "$process"
    [ "$?" = "$wanted" ] || fail "$*: ctrl-C should be exit $wanted: $(tail -n 1 out.txt)"
    tail -n 1 out.txt >last.txt
    expect_text last.txt '"interrupted":true'
    expect_text last.txt "\"exit\":$wanted"
}
printf 'hbmstress-ops 1\ncapacity 64K\ntarget hbm\n0: alloc size=16K\n1: alloc size=8K lane=1\n' >lanes.ops
printf 'hbmstress-ops 1\ncapacity 64K\ntarget plant_premature_rounded\n0: alloc size=16K\n1: alloc size=40K\n' >wrong.ops
expect_interrupted 4 replay one.ops --times 1000000000
expect_interrupted 4 replay lanes.ops --strategy random --schedules 1000000000
expect_interrupted 1 replay wrong.ops --times 1000000000
"$hbmstress" replay one.ops --times 1000000000 >out.txt 2>err.txt &
process=$!
wait_until has_worked "$process" own 30
kill -INT "$process"
wait "$process"
expect_text out.txt "interrupted; so far every promise kept"
expect_text out.txt ": 1 ops, 0 OOMs"

# Ops that a target does not take are told.
printf 'hbmstress-ops 1\ncapacity 64K\ntarget hbm\n0: alloc size=16K\n1: free block=0\n2: free block=0\n' >twice.ops
expect_exit 0 replay twice.ops
expect_text out.txt ": 2 ops, 1 skipped, 0 OOMs"

# Time bounds the run.
start=$(date +%s)
expect_exit 0 run slow_leak training_step --time 1s --seed 1
[ $(($(date +%s) - start)) -le 60 ] || fail "--time 1s took too long"

# No progress and no colour in a pipe.
[ "$(tr -d '\n\040-\176' <out.txt | wc -c)" = 0 ] || fail "control characters in a pipe"
[ ! -s err.txt ] || fail "progress in a pipe"
expect_exit 0 "${storm[@]}" --results-limit 1K --out $'\033[31mred\a'
[ "$(tr -d '\n\040-\176' <out.txt | wc -c)" = 0 ] || fail "the name of OUT reaches the terminal as it is"
expect_text out.txt '\x1b[31mred\x07/results.jsonl: '
expect_text out.txt '\x1b[31mred\x07/certificates: '
finish
