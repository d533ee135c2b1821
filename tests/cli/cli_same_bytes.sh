#!/usr/bin/env bash
# The same seed gives the same JSON, byte for byte but for the seconds, whatever the number of workers.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

json() { # FILE ARGUMENT...
    local file=$1
    shift
    "$hbmstress" run --json --out out "$@" >"$file" 2>err.txt
    [ ! -s err.txt ] || fail "$*: $(head -n 1 err.txt)"
    sed -i 's/"seconds":[0-9.]*/"seconds":0/' "$file"
    sed 's/"seconds":[0-9.]*/"seconds":0/' out/results.jsonl >"$file.results"
}
same() { # ARGUMENT...
    json one --workers 1 "$@"
    json three --workers 3 "$@"
    json again --workers 2 "$@"
    cmp one three || fail "$*: 1 and 3 workers differ"
    cmp one again || fail "$*: 1 and 2 workers differ"
    cmp one one.results || fail "$*: standard output and results.jsonl differ"
    head -n 1 one | grep -q '^{"type":"start"' || fail "$*: does not begin with start"
    tail -n 1 one | grep -q '^{"type":"end"' || fail "$*: does not end with end"
    # Those under a schedule have no line.
    json plain "$@" --lanes none
    ooms=$(tail -n 1 plain | sed 's/.*"ooms":\([0-9]*\).*/\1/')
    [ "$(grep -c '^{"type":"verdict"' plain)" = "$ooms" ] || fail "$*: not one verdict line per OOM"
}
same --seed 7 --ops 3000
same fragmentation_storm --seed 1 --ops 6000 --target first_fit --target-option defrag=slide --capacity 64M --shrink-budget 300
json other --seed 8 --ops 3000
cmp -s one other && fail "another seed gives the same bytes"

# Beyond the limit the file leaves justified verdicts out and says how many; standard output has all.
json limited --seed 7 --ops 3000 --results-limit 20K
omitted() { tail -n 1 limited | sed "s/.*\"$1_omitted\":\([0-9]*\).*/\1/"; }
[ $(($(wc -l <limited) - $(wc -l <limited.results))) = $(($(omitted verdicts) + $(omitted trials))) ] ||
    fail "left out are $(omitted verdicts) verdicts and $(omitted trials) trials"

# Seeds are said first and last, also when nobody gave one.
"$hbmstress" run slow_leak --ops 200 >out.txt
seed=$(head -n 1 out.txt | sed 's/.*seed \([0-9]*\).*/\1/')
joined out.txt | tail -n 1 | grep -q "; seed $seed\$" || fail "the seed is not said last: $(tail -n 1 out.txt)"
"$hbmstress" run slow_leak --ops 200 --seed "$seed" >again.txt
[ "$(sed -n 4p out.txt | cut -c 1-60)" = "$(sed -n 4p again.txt | cut -c 1-60)" ] || fail "the printed seed gives another run"
finish
