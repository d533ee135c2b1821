#!/usr/bin/env bash
# Lanes go on after a finding: what does harm is found behind one that is known and does none.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
target=$2
sound=$3 # but for what does no harm
harmless="status: alloc returned FAILED"
harmful="too_small: answer"
printf 'hbmstress-baseline 1\nfinding: %s\nreason: each fifth request\n' "$harmless" >known.txt

search() { # CODE DIR ARGUMENT...
    local code=$1 out=$2
    shift 2
    expect_exit "$code" run fragmentation_storm queued_free_race --target "$target" --lanes 2 --schedules 100 --seed 1 \
        --ops 6000 --shrink-budget 300 --baseline known.txt --out "$out" "$@"
}

for strategy in portfolio exhaustive=1; do
    dir=${strategy%=1}
    search 1 "$dir" --strategy "$strategy"
    expect_text out.txt "finding 1: $harmful: seen "
    expect_text out.txt "known finding 2: $harmless: seen "
    expect_text out.txt "a promise was broken: "
    expect_text out.txt ", 1 known finding, "
    expect_text "$dir/junit.xml" "<failure"
    expect_text "$dir/summary.json" '"known":true'
    # Of one trial both.
    place=$(grep -m 1 "\"signature\":\"$harmful\"" "$dir/results.jsonl" | grep -o '"scenario":"[^"]*","trial":[0-9]*,')
    grep -F '"type":"broken"' "$dir/results.jsonl" | grep -F "$place" | grep -o '"signature":"[^"]*"' | sort >told.txt
    printf '"signature":"%s"\n' "$harmless" "$harmful" | cmp -s - told.txt || fail "$strategy: $place has $(cat told.txt)"
    # Each repro shows its own by itself.
    [ "$(find "$dir/repros" -name '*.ops' | wc -l)" = 2 ] || fail "$strategy: not one repro for each: $(ls "$dir/repros")"
    expect_exit 1 replay "$dir"/repros/too_small-*.ops --times 20
    expect_text out.txt "  finding $harmful"
    expect_text out.txt "20 of 20 replays gave the same result"
    expect_exit 1 replay "$dir"/repros/status-*.ops
    expect_text out.txt "  finding $harmless"
    expect_no_text out.txt "$harmful"
done

# A search of one list's schedules reports and saves both, too, the graver one first.
expect_exit 1 replay "$dir"/repros/too_small-*.ops --strategy random --schedules 300 --shrink-budget 300 --out searched
grep '^  finding ' out.txt >told.txt
printf '  finding %s\n' "$harmful" "$harmless" | cmp -s - told.txt || fail "replay --strategy: $(cat told.txt)"
grep -Eq '^[0-9]+ schedules, [0-9]+ broken$' out.txt || fail "replay --strategy: $(tail -n 2 out.txt)"
expect_exit 1 replay searched/repros/too_small-*.ops
expect_text out.txt "  finding $harmful"
expect_exit 1 replay searched/repros/status-*.ops
expect_text out.txt "  finding $harmless"
expect_exit 1 explain "$dir"/repros/too_small-*.ops
expect_text out.txt "Broken: too_small "

# The same, however it is run.
essence() { grep -v '^{"type":"start"' "$1/results.jsonl" | sed 's/"seconds":[0-9.]*//' | sed "s#$1/##g"; }
search 1 second --workers 2
search 1 third --workers 1
cmp <(essence second) <(essence third) || fail "with one worker it is another run"
expect_exit 1 run --resume third
expect_text out.txt ", 1 known finding, "
for i in 1 2; do
    "$hbmstress" run fragmentation_storm queued_free_race --target "$target" --lanes 2 --schedules 100 --seed 1 \
        --ops 6000 --shrink-budget 300 --baseline known.txt --out "shard-$i" --shard "$i/2" >/dev/null 2>err.txt
    [ -s err.txt ] && fail "shard $i: $(cat err.txt)"
done
expect_exit 1 merge shard-1 shard-2 --out joined
expect_text out.txt "finding 1: $harmful: seen "
expect_text out.txt ", 1 known finding, "

# The known one alone is not red: no two calls meet on one lane's list.
expect_exit 0 run fragmentation_storm --lanes none --target "$target" --seed 1 --seeds 2 --ops 2000 --baseline known.txt
expect_text out.txt "nothing but known findings: "

# Free-running lanes, too; whether calls meet there is up to the machine.
"$hbmstress" run queued_free_race --target "$target" --lanes 2 --free-running --schedules 20 --seed 1 --ops 3000 \
    --shrink-budget 0 --baseline known.txt --out free >out.txt 2>err.txt
[ $? -le 1 ] || fail "free-running: $(cat err.txt)"
joined out.txt | grep -q "^known finding [12]: $harmless: seen " || fail "free-running: $(grep 'seen' out.txt)"
# Whatever does no harm, nobody is blamed for harm behind it.
for lanes in 2 3 4; do
    expect_exit 1 run --target "$sound" --lanes "$lanes" --schedules 20 --seed "$lanes" --ops 3000 --faults all \
        --shrink-budget 0 --out "sound-$lanes"
    [ "$(grep -c '^finding ' out.txt)" -ge 10 ] || fail "$lanes lanes: few findings: $(grep '^finding ' out.txt)"
    grep '^finding ' out.txt | grep -Ev '^finding [0-9]+: (premature|status|counters|message): ' &&
        fail "$lanes lanes: harm where there is none"
done
finish
