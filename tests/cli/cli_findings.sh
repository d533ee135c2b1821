#!/usr/bin/env bash
# What a run finds: a naive allocator keeps its own promise, breaks one that it does not keep, and the repro
# replays, explains and shrinks; targets that crash or hang are findings too.
bad_target=$(realpath "$2")
sources=$(realpath "$(dirname "$0")")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

storm() { # CODE ARGUMENT...
    local code=$1
    shift
    expect_exit "$code" run fragmentation_storm --target first_fit --capacity 64M --seed 1 "$@"
}
storm 0 --out naive
expect_text out.txt "every promise kept"
expect_no_text out.txt "refusals: "
expect_no_text out.txt "regret: " # a contract without moves and evictions has no plan that was cheaper
expect_no_text out.txt "mitigations" # nothing of that was done
expect_no_text out.txt "next: "
expect_text naive/summary.json '"premature_share":0.000000'
storm 1 --out slide --target-option defrag=slide
expect_text out.txt "BROKEN premature"
expect_text out.txt "were counted but not saved"
expect_text out.txt "finding 1: premature: fits after defragment: "
expect_text out.txt "finding 2: message: "
expect_text out.txt "promise broken: the target reports out-of-memory only when nothing fits after every mitigation (premature)"
# What to do next can be done as it is printed.
for subcommand in replay explain report; do
    next=$(grep "^next: hbmstress $subcommand " out.txt) || fail "no line for $subcommand: $(cat out.txt)"
    (eval "\"$hbmstress\" ${next#next: hbmstress }" >next.txt 2>&1)
    got=$?
    [ "$got" = "$([ "$subcommand" = report ]; echo $?)" ] || fail "$next: exit $got; $(cat next.txt)"
done
[ -s report.html ] || fail "no page"

# How many refusals were premature, of those that were judged; and what each would have been served.
grep -Eq '^refusals: [0-9]+ of [0-9]+ judged (was|were) premature \([0-9]+\.[0-9]{2} %\)$' out.txt || fail "no share: $(cat out.txt)"
grep -Eq '^  largest [0-9.]+[KMG] \([0-9]+ bytes\) would have been served$' out.txt || fail "no largest request: $(cat out.txt)"
for kind in scenario end; do
    grep "\"type\":\"$kind\"" slide/results.jsonl | grep -Eq '"premature_share":0\.[0-9]*[1-9][0-9]*,' || fail "no share in the line $kind"
done
grep '"verdict":"premature"' slide/results.jsonl | grep '"certificate"' | grep -vq '"largest_served_bytes":[1-9]' && fail "a finding without its largest request"
grep '"verdict":"justified"' slide/results.jsonl | grep '"certificate"' | grep -vq '"largest_served_bytes":[0-9]' &&
    fail "a saved verdict without its largest request"
grep '"verdict":"justified"' slide/results.jsonl | grep -v '"certificate"' | grep -q '"largest_served_bytes"' &&
    fail "a verdict that nobody saves costs more than it must"
grep -q '"largest_served_bytes":[1-9]' slide/summary.json || fail "the summary has no largest request"
grep -q '^largest request: .* would have been served$' slide/junit.xml || fail "the JUnit file has no largest request"
signatures=$(grep -c '^finding [0-9]*: ' out.txt)
[ "$(find slide/repros -name '*-fragmentation_storm-*.ops' | wc -l)" = "$signatures" ] ||
    fail "should keep one repro a signature, $signatures"
! find slide -name '*.partial' | grep -q . || fail "half-written files are left"
tail -n 1 slide/results.jsonl | grep -q '^{"type":"end",.*"exit":1}$' || fail "the results have no end"
for repro in slide/repros/premature-*.ops; do
    expect_exit 1 replay "$repro" --json
    expect_text out.txt '"verdict":"premature"'
    grep '"type":"verdict"' out.txt | grep -vq '"largest_served_bytes":' && fail "a replayed verdict without its largest request"
    expect_exit 0 replay "$repro" --target-option defrag=none
    expect_exit 0 replay "$repro" --target hbm
    expect_text err.txt "$repro: its options are for target first_fit and are not passed to hbm: defrag=slide;"
done
expect_exit 1 explain "$repro"
expect_text out.txt "Largest hole"
expect_text out.txt "Verdict: premature"
expect_text out.txt "Its proof: hbmstress replay $repro --certificates DIR"
expect_exit 1 explain "$repro" --json
expect_text out.txt '"type":"explanation"'

# The options of a file are for its own target: another one promises what the command line says, and no more.
{
    printf 'hbmstress-ops 1\ncapacity 64K\ntarget hbm\noption defrag=repack\noption drains=yes\n'
    printf '0: alloc size=16K\n1: alloc size=16K\n2: alloc size=16K\n3: free block=1\n4: alloc size=32K\n'
} >options.ops
for subcommand in replay explain "explain --timeline" "convert --to csv" "convert -o other.ops"; do
    # shellcheck disable=SC2086
    expect_exit 0 $subcommand options.ops --target first_fit
    [ "$(cat err.txt)" = "hbmstress: options.ops: its options are for target hbm and are not passed to first_fit:\
 defrag=repack drains=yes; --target-option passes them" ] || fail "$subcommand: $(cat err.txt)"
    # shellcheck disable=SC2086
    expect_exit 0 $subcommand options.ops --target hbm
    [ ! -s err.txt ] || fail "$subcommand of the same target: $(cat err.txt)"
done
expect_text other.ops "option defrag=repack"
expect_exit 0 replay options.ops --target threaded
for subcommand in replay explain "convert --to csv" "replay --shrink"; do
    # shellcheck disable=SC2086
    expect_exit 1 $subcommand options.ops --target first_fit --target-option defrag=slide
done
expect_exit 1 replay options.ops --target first_fit --target-option defrag=slide
expect_text err.txt "not passed to first_fit: drains=yes; --"

storm 1 --out whole --target-option defrag=slide --shrink-budget 0 --ops 2500
whole=$(find whole/repros -name '*.ops' | head -n 1)
expect_exit 1 explain "$whole"
expect_text out.txt "Verdict: premature"
expect_exit 1 replay --shrink "$whole" -o small.ops
[ "$(grep -c '^[0-9]' small.ops)" -lt "$(grep -c '^[0-9]' "$whole")" ] || fail "shrink kept every op"
expect_exit 1 replay small.ops
expect_exit 1 replay --shrink "$whole" --shrink-budget 50
grep -q '^hbmstress-ops 1$' out.txt || fail "shrink without -o writes no list"

# One defect is one finding, in holes of any size, and whatever the size of the request.
for plant in rounded moved_unretried; do
    expect_exit 1 run fragmentation_storm --target "plant_premature_$plant" --seed 1 --ops 5000 --out one
    [ "$(grep -c '^finding [0-9]*: ' out.txt)" = 1 ] || fail "$plant: not one finding: $(grep '^finding' out.txt)"
done

# Regret is counted and breaks nothing, unless it is said how much is too much.
regret() { # CODE ARGUMENT...
    local code=$1
    shift
    expect_exit "$code" run eviction_pressure --seed 1 --ops 3000 --out regret "$@"
}
regret 0
expect_text out.txt "regret: "
expect_text out.txt "beyond the cheapest plans"
tail -n 1 regret/results.jsonl | grep -q '"regret":{"requests":[1-9]' || fail "the end says nothing of regret"
grep '"type":"scenario"' regret/results.jsonl | grep -q '"regret":{"requests":[1-9]' ||
    fail "the scenario says nothing of regret"
regret 0 --regret-max 100000000
regret 1 --regret-max 0 --shrink-budget 50
expect_text out.txt "BROKEN regret"
repro=$(find regret/repros -name 'regret-*.ops' | head -n 1)
expect_text "$repro" "regret_max 0"
expect_exit 1 replay "$repro"
expect_text out.txt "BROKEN regret"
expect_exit 0 replay "$repro" --regret-max 100000000
expect_text out.txt "regret: "
printf '[eviction_pressure]\nregret_max = 0\nops = 3000\n' >regret.ini
expect_exit 1 run --job regret.ini --seed 1 --out regret --shrink-budget 0
expect_text out.txt "BROKEN regret"
expect_exit 0 run --job regret.ini --seed 1 --out regret --regret-max 100000000

crash() { # HOW RULE
    rm -rf bad
    expect_exit 1 run fragmentation_storm --target "$bad_target" --target-option "fails=$1" --seed 1 --ops 4 \
        --trial-timeout 1s --workers 2 --out bad
    expect_text out.txt "BROKEN $2"
    repro=$(find bad/repros -name "$2-*.ops" | head -n 1)
    expect_exit 1 replay "$repro" --trial-timeout 1s --json
    expect_text out.txt "\"rule\":\"$2\""
    expect_text out.txt '"type":"end"'
    expect_exit 1 explain "$repro" --trial-timeout 1s
    [ "$(wc -l <err.txt)" = 1 ] || fail "explain of a $2: $(cat err.txt)"
    expect_text err.txt "hbmstress replay reports at which op"
}
crash crash crash
crash exit crash
# Another path of the same plug-in is the same target, and has the options.
ln -s "$bad_target" same.so
expect_exit 1 replay "$repro" --target ./same.so
expect_no_text err.txt "options"
crash loop hang

# The signature ends where the frames of the harness begin.
printf 'hbmstress-ops 1\ncapacity 1M\ntarget hbm\nseed 1\n\n0: alloc size=512\n1: free block=0\n' >free.ops
expect_exit 1 replay free.ops --target "$bad_target" --target-option fails=free --json
expect_text out.txt '"signature":"crash: SIGABRT at bad_free"'
# The reason has the file and the line as well, without a folder.
line=$(grep -n 'abort()' "$sources/test_cli_bad_target.c" | tail -n 1 | cut -d : -f 1)
expect_text out.txt "\"reason\":\"the target ended its process: SIGABRT at bad_free (test_cli_bad_target.c:$line)\""

# Paths with what a shell takes for something else: the line that repeats a finding is one to be copied.
mkdir "it's mine; \$1"
cp "$bad_target" "it's mine; \$1/of mine.so"
expect_exit 1 run fragmentation_storm --target "it's mine; \$1/of mine.so" --target-option fails=crash --seed 1 --ops 4 \
    --out "my out"
again=$(sed -n 's/^  replay  hbmstress //p' out.txt | head -n 1)
[ -n "$again" ] || fail "a finding in 'my out' has no line that repeats it: $(head -c 300 out.txt)"
eval "expect_exit 1 $again --json"
expect_text out.txt '"rule":"crash"'
expect_exit 1 run --resume "my out"
rm -rf "my out"
cp "$bad_target" "ends.so "
expect_refusal 2 "'./ends.so ': an op list cannot name this plug-in" run fragmentation_storm --target "./ends.so "
expect_refusal 2 "an op list cannot name this plug-in" run fragmentation_storm --target $'./a\nb.so'

printf 'hbmstress-ops 1\ncapacity 1M\ntarget hbm\nseed 1\n\n0: alloc size=512\n1: alloc size=512\n' >two.ops
for subcommand in replay explain "replay --shrink"; do
    # shellcheck disable=SC2086
    expect_exit 1 $subcommand two.ops --target "$bad_target" --target-option fails=open
    [ "$(wc -l <err.txt)" = 1 ] || fail "$subcommand: a crash in open: $(cat err.txt)"
    expect_text err.txt "ended its process when it was opened"
done
rm -rf out
expect_exit 1 run slow_leak --target "$bad_target" --target-option fails=open
[ ! -e out ] || fail "a target that crashes in open leaves out/"

for subcommand in replay explain; do
    expect_exit 1 "$subcommand" two.ops --target "$bad_target" --target-option fails=message
    # The curve of explain has blocks of eighths, U+2581 to U+2588, which are no control characters.
    [ "$(LC_ALL=C sed 's/\xe2\x96[\x81-\x88]//g' out.txt | tr -d '\n\040-\176' | wc -c)" = 0 ] || fail "$subcommand: a target's control character reached the terminal"
    expect_text out.txt '\x1b[31mred\x07'
done
finish
