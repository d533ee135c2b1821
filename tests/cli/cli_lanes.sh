#!/usr/bin/env bash
# Lanes from the command line: what is run, what is refused, and that the same seed gives the same bytes, however it is run.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
refuse() { expect_refusal 2 "$@"; }
lanes=(run fragmentation_storm --lanes 3 --seed 1 --seeds 3 --schedules 20)

# --- what makes no sense --------------------------------------------------------------------------------------
for wrong in 0 1 17 abc -2; do
    refuse "is neither none nor a number from 2 to 16" run slow_leak --lanes "$wrong"
done
refuse "did you mean 'exhaustive'?" run slow_leak --lanes 2 --strategy exhaustiv
refuse "valid strategies: portfolio, random" run slow_leak --lanes 2 --strategy nonsense
refuse "as in exhaustive=2" run slow_leak --lanes 2 --strategy exhaustive=x
refuse "as in pct=3" run slow_leak --lanes 2 --strategy pct=0
refuse "accepts none" run slow_leak --lanes 2 --strategy random=3
refuse "which only the strategy exhaustive" run slow_leak --lanes 2 --schedules 0
refuse "which only the strategy exhaustive" run slow_leak --lanes 2 --schedules 0 --strategy random
refuse "is neither threads nor fibers" run slow_leak --lanes 2 --backend processes
refuse "give --lanes N" run slow_leak --strategy pct
refuse "it accepts no lanes" run slow_leak --lanes 2 --sweep
refuse "cannot be run with lanes: its contract does not allow calls from several threads" run slow_leak --lanes 2 --target first_fit

# --- what is said ---------------------------------------------------------------------------------------------
expect_exit 0 "${lanes[@]}" --out first --workers 1
expect_text out.txt "3 lanes; 20 schedules by portfolio, on fibers"
joined out.txt | grep -q '60 schedules with [1-9][0-9]* switches' || fail "the last line does not say schedules: $(tail -n 1 out.txt)"
tail -n 1 first/results.jsonl | grep -q '"schedules":60,' || fail "the end does not count schedules"
head -n 1 first/results.jsonl | grep -q '"lanes":3,"strategy":"portfolio","schedules":20,"backend":"fibers"' ||
    fail "the start does not say how lanes are run: $(head -n 1 first/results.jsonl)"
expect_exit 0 list strategies
for name in portfolio random pct delay round_robin exhaustive; do
    expect_text out.txt "$name"
done
expect_exit 0 list strategies --json
[ "$(grep -c '"kind":"strategy"' out.txt)" = 6 ] || fail "not six strategies"

# --- the same, however it is run --------------------------------------------------------------------------------
essence() { # DIR
    grep -v '^{"type":"start"' "$1/results.jsonl" | sed 's/"seconds":[0-9.]*//; s/"interrupted":true,//' | sed "s#$1/##g"
}
for other in "--workers 1" "--workers 2" "--workers 2 --backend threads"; do
    # shellcheck disable=SC2086
    expect_exit 0 "${lanes[@]}" --out second $other
    cmp <(essence first) <(essence second) || fail "with $other it is another run"
done
expect_exit 0 "${lanes[@]}" --out third --strategy pct=3
! cmp -s <(essence first) <(essence third) || fail "another strategy gives the same run"

# A job says the same with keys, goes on after a kill, and keeps its canary.
cat >job.ini <<'END'
[global]
seed = 1
[storm]
scenario = fragmentation_storm
lanes = 3
schedules = 40
strategy = pct=3
backend = fibers
check_races = no
seeds = 16
END
expect_exit 0 run --job job.ini --out whole
expect_text whole/results.jsonl '"strategy":"pct=3"'
"$hbmstress" run --job job.ini --out killed --workers 1 >/dev/null 2>&1 &
process=$!
while kill -0 "$process" 2>/dev/null && [ "$(stat -c %s killed/results.jsonl 2>/dev/null || echo 0)" -lt 4000 ]; do
    sleep 0.01
done
kill -9 "$process" 2>/dev/null
wait "$process" 2>/dev/null
expect_exit 0 run --resume killed
cmp <(essence whole) <(essence killed) || fail "killed and gone on it is another run"
sed -i 's/pct=3/pct=4/' job.ini
refuse "has changed since" run --resume whole
for wrong in "lanes = 1" "strategy = nonsense" "backend = x" "check_races = maybe" "schedules = many"; do
    printf '[slow_leak]\n%s\n' "$wrong" >wrong.ini
    refuse "wrong.ini:2: " run --job wrong.ini
done
printf '[slow_leak]\nlanes = 2\nschedules = 0\n' >wrong.ini
refuse "which only the strategy exhaustive" run --job wrong.ini

# --- one list -----------------------------------------------------------------------------------------------------
cat >two.ops <<'END'
hbmstress-ops 1
capacity 64K
hosts 1
target hbm
seed 1

0: alloc size=4K
1: alloc size=8K lane=1
2: free block=0
3: free block=1 lane=1
4: switch op=2 point=0 to=1
END
sed 's/^0: alloc .*/0: alloc size=%hole/' two.ops >fitted.ops
refuse "cannot have %N or a size that is a fit" replay fitted.ops
expect_exit 0 replay two.ops
expect_exit 0 replay two.ops --times 50
expect_text out.txt "50 of 50 replays gave the same result"
expect_exit 0 replay two.ops --strategy exhaustive
grep -Eq '^all [1-9][0-9]* interleavings explored, [0-9]+ runs pruned, 0 broken$' out.txt ||
    fail "an exhaustive search does not say that it is: $(tail -n 3 out.txt)"
expect_exit 0 replay two.ops --strategy exhaustive=1 --json
grep -q '"type":"search","strategy":"exhaustive=1".*"complete":true.*"bound":1' out.txt || fail "$(cat out.txt)"
expect_exit 0 replay two.ops --strategy pct=3 --schedules 30
grep -Eq '^pct: depth 3, n = [0-9]+, k = [0-9]+: .* probability at least 1/[0-9]+ per run; 30 schedules, 0 broken$' out.txt ||
    fail "pct does not say its bound: $(tail -n 3 out.txt)"
expect_exit 0 replay two.ops --strategy random --schedules 30
expect_text out.txt "30 schedules, 0 broken"
refuse "give --strategy NAME" replay two.ops --schedules 3
refuse "--shrink-budget applies to a search" replay two.ops --shrink-budget 20000
expect_exit 0 replay two.ops --check-races # its own schedule is held to happens-before
refuse "give one of them" replay two.ops --strategy random --times 3
refuse "which only the strategy exhaustive" replay two.ops --strategy random --schedules 0
sed '/lane=1/d; /switch/d' two.ops >one.ops
refuse "there is nothing to interleave" replay one.ops --strategy random
refuse "--check-races has nothing to check" replay one.ops --check-races

expect_exit 0 explain two.ops
grep -Eq '^ turn  lane 0 +lane 1$' out.txt || fail "explain shows no columns: $(head -n 3 out.txt)"
grep -Eq '^ +[0-9]+  0 alloc size=4K$' out.txt || fail "explain does not show the ops: $(cat out.txt)"
grep -Eq '^ +[0-9]+ {35,}1-3: 2 ops$' out.txt || fail "explain does not fold whole ops: $(cat out.txt)"
awk 'length > 120 { exit 1 }' out.txt || fail "explain is wider than 120 columns"
refuse "breaks no promise" replay --shrink two.ops

# --- a planted race -------------------------------------------------------------------------------------------------
race=race_limit_checked # found soon in lists that nobody wrote for it
expect_exit 1 run queued_free_race fragmentation_storm --target "$race" --lanes 3 --seed 1 --seeds 6 --schedules 200 --out race
repro=$(find race/repros -name '*.ops' | head -n 1)
[ -n "$repro" ] || fail "no repro of $race"
grep -Eq '^# [0-9]+ ops in [2-9] lanes, [0-9]+ switch' "$repro" || fail "the repro does not say its lanes"
expect_exit 1 replay "$repro" --times 20
expect_text out.txt "20 of 20 replays gave the same result"
expect_exit 1 explain "$repro"
expect_text out.txt "<=="
expect_exit 1 replay --shrink "$repro" -o smaller.ops
[ "$(grep -c '^[0-9]*: ' smaller.ops)" -le "$(grep -c '^[0-9]*: ' "$repro")" ] || fail "shrink makes it longer"
# The schedule taken away, a search finds it again, and keeps it where it is told to.
sed '/: switch /d' "$repro" >plain.ops
expect_exit 1 replay plain.ops --strategy portfolio --schedules 2000 --out again
again=$(find again/repros -name '*.ops' | head -n 1)
[ -n "$again" ] || fail "the search kept nothing"
expect_exit 1 replay "$again"

# Kept nowhere, it says the line that finds it again, with all that the command line changed of the file.
sed 's/^target .*/target hbm/' plain.ops >"another one.ops"
said=(--target "$race" --target-option defrag=slide --capacity 64M --hosts 2 --regret-max 0 --backend threads)
expect_exit 1 replay "another one.ops" "${said[@]}" --strategy portfolio --schedules 2000
line=$(sed -n 's/^ *replay *hbmstress //p' out.txt)
expect_text out.txt "'another one.ops' --target $race --target-option defrag=slide --capacity 67108864 --hosts 2 --regret-max 0 "
broken=$(grep '^  finding ' out.txt) # its op is the file's here, and the repro's there
eval "expect_exit 1 $line"
[ "$(grep '^  finding ' out.txt)" = "$broken" ] || fail "the line that was said finds something else: $line"
expect_exit 1 replay plain.ops --chip v4 --strategy portfolio --schedules 2000
expect_text out.txt "--chip v4 "

# What is refused, and granted when it is asked again after another client's free, is late: counted, and no finding.
printf '%s\n' 'hbmstress-ops 1' 'capacity 64K' 'target hbm' '' '0: alloc size=48K' '1: alloc size=48K lane=1' \
    '2: free block=0 lane=2' '3: alloc size=48K lane=1 retry=yes' >late.ops
expect_exit 0 replay late.ops --strategy exhaustive --json
grep -Eq '"retries":[1-9][0-9]*,' out.txt || fail "no retry is counted: $(tail -n 1 out.txt)"
grep -Eq '"late":[1-9][0-9]*[,}]' out.txt || fail "nothing is late: $(tail -n 1 out.txt)"
expect_exit 0 replay late.ops --strategy exhaustive
expect_text out.txt " granted late"

# What only the run that is compared shows is a finding, is counted, and makes the run red.
expect_exit 1 run recompilation_churn --target race_pin_flag --lanes 3 --schedules 8 --faults none --seed 1 --seeds 1 --shrink-budget 0
expect_text out.txt "finding 1: premature: fits after defragment"
expect_text out.txt "(111 justified, 1 premature, 0 unknown)"
finish
