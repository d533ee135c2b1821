#!/usr/bin/env bash
# Known findings: a campaign prints them, a run that finds no others is not red, and what is behind them is still found.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

classes="premature: buffer fits at once, in a hole under 9/8 of its size"
loss="premature: buffer fits at once, in a hole of twice its size or more"

storm() { # CODE TARGET ARGUMENT...
    local code=$1 target=$2
    shift 2
    expect_exit "$code" run fragmentation_storm slow_leak --target "plant_classes_$target" --seed 1 --ops 3000 \
        --shrink-budget 200 "$@"
}

# A sound allocator whose size classes round: red.
storm 1 rounding --out sound
expect_text out.txt "finding 1: $classes: seen "
expect_text out.txt "a promise was broken: "
expect_no_text out.txt "known finding"
expect_no_text sound/summary.json '"known"'
expect_text sound/junit.xml "<failure"

# Its findings as a file: what it found, and a reason that is to be replaced.
expect_exit 0 report --baseline sound
mv out.txt known.txt
[ "$(head -n 1 known.txt)" = "hbmstress-baseline 1" ] || fail "the baseline begins with $(head -n 1 known.txt)"
expect_text known.txt "# Known findings of target plant_classes_rounding"
expect_text known.txt "finding: $classes"
[ "$(grep -c '^finding: ' known.txt)" = 1 ] || fail "not one finding: $(grep '^finding' known.txt)"
grep -A 1 '^finding: ' known.txt | tail -n 1 | grep -q '^reason: .* ([^()]*seen [0-9]* times, in [0-9]* ops)$' ||
    fail "no reason follows: $(cat known.txt)"

# With that file the same run is not red, and still reports everything.
storm 0 rounding --out accepted --baseline known.txt
expect_text out.txt "KNOWN premature"
expect_text out.txt "known finding 1: $classes: seen "
expect_text out.txt "nothing but known findings: "
expect_text out.txt " 1 known finding, "
expect_no_text out.txt "every promise kept"
expect_text accepted/summary.json '"known":true'
expect_text accepted/summary.json '"exit":0'
tail -n 1 accepted/results.jsonl | grep -q '"known_findings":1,.*"exit":0}$' || fail "the end: $(tail -n 1 accepted/results.jsonl)"
grep '"signature"' accepted/results.jsonl | head -n 1 | grep -q '"known":true' || fail "no line of a known finding says so"
expect_text accepted/junit.xml "<skipped"
expect_no_text accepted/junit.xml "<failure"
expect_exit 1 replay accepted/repros/premature-*.ops

# What is known stays known when the campaign goes on, and when it is printed again.
expect_exit 0 run --resume accepted
expect_text out.txt " 1 known finding, "
expect_exit 0 report --baseline accepted
cmp -s out.txt known.txt || fail "a known finding is printed in another way: $(diff out.txt known.txt)"

# The same allocator with a leak behind the rounding: red for the leak alone.
storm 1 leaking --out leaking --baseline known.txt
joined out.txt | grep -q "^finding [0-9]*: $loss: seen " || fail "the leak is not found: $(grep 'seen' out.txt)"
joined out.txt | grep -q "^known finding [0-9]*: $classes: seen " || fail "the rounding is not known: $(grep 'seen' out.txt)"
expect_text out.txt "a promise was broken: "
expect_text out.txt " 1 known finding, "
expect_text leaking/junit.xml "<failure"
repro=$(grep -lF "$loss" leaking/repros/*.ops | head -n 1)
expect_exit 1 replay "$repro" --json
expect_text out.txt "\"signature\":\"$loss\""
# The rounding alone may refuse in that list, but not beside such a hole.
"$hbmstress" replay "$repro" --target plant_classes_rounding --json >out.txt 2>err.txt
expect_text out.txt '"type":"end"'
expect_no_text out.txt "\"signature\":\"$loss\""
expect_exit 0 report --baseline leaking
expect_text out.txt "finding: $loss"
expect_text out.txt "finding: $classes"

# Shards that know the same, joined.
for i in 1 2; do
    storm 0 rounding --out "shard-$i" --baseline known.txt --shard "$i/2"
done
expect_exit 0 merge shard-1 shard-2 --out joined
expect_text out.txt "nothing but known findings: "
expect_text joined/summary.json '"known":true'

# A file with comments, empty lines and more findings than there are.
{
    echo "# of ours"
    echo
    cat known.txt
    echo "finding: premature: fits after drain"
    echo "reason: another allocator of ours does that"
} >more.txt
storm 0 rounding --out more --baseline more.txt
expect_text out.txt " 1 known finding, "

# A sound run with a baseline keeps every promise.
expect_exit 0 run slow_leak --seed 1 --ops 500 --baseline known.txt
expect_text out.txt "every promise kept"
rm -rf out

# What is wrong with a file is said before anything is written.
refuse() { # TEXT CONTENT
    printf '%b' "$2" >bad.txt
    expect_refusal 2 "$1" run slow_leak --seed 1 --ops 500 --baseline bad.txt
}
refuse "bad.txt: this is no baseline: it is empty" ""
refuse "bad.txt: this is no baseline: it is empty" "# nothing\n"
refuse "bad.txt:1: this is no baseline" "finding: a\nreason: b\n"
refuse "bad.txt:2: this is no baseline" "# ours\nhbmstress-baseline 2\n"
refuse "bad.txt:2: neither 'finding: …' nor 'reason: …'" "hbmstress-baseline 1\nfindings: a\n"
refuse "bad.txt:2: a signature has 1 to 159 bytes" "hbmstress-baseline 1\nfinding: \nreason: b\n"
refuse "bad.txt:2: a signature has 1 to 159 bytes" "hbmstress-baseline 1\nfinding: $(printf '%0160d' 1)\nreason: b\n"
refuse "bad.txt:3: the finding above has no reason" "hbmstress-baseline 1\nfinding: a\nfinding: b\nreason: c\n"
refuse "the last finding has no reason" "hbmstress-baseline 1\nfinding: a\n"
refuse "bad.txt:3: the reason is empty" "hbmstress-baseline 1\nfinding: a\nreason:  \t\n"
refuse "bad.txt:2: a reason follows its finding" "hbmstress-baseline 1\nreason: b\n"
refuse "bad.txt:4: a reason follows its finding" "hbmstress-baseline 1\nfinding: a\nreason: b\nreason: c\n"
refuse "bad.txt:4: this finding is listed twice" "hbmstress-baseline 1\nfinding: a\nreason: b\nfinding: a\nreason: b\n"
refuse "bad.txt: this is no baseline: it has a NUL byte" "hbmstress-baseline 1\n\0000\n"
expect_refusal 2 "nope.txt: No such file or directory" run slow_leak --seed 1 --ops 500 --baseline nope.txt
expect_refusal 2 "--baseline" run slow_leak --seed 1 --ops 500 --sweep --baseline known.txt
expect_refusal 2 "nope" report --baseline nope
expect_exit 2 report --baseline
finish
