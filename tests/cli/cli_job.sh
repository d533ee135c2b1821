#!/usr/bin/env bash
# Job files: [global] holds for all, a section overrides it, the command line overrides both.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
main_job=$2

cat >job.ini <<'INI'
; a job
[global]
seed = 5
ops = 800
[naive]
scenario = fragmentation_storm
capacity = 64M
target = first_fit
option.defrag = none
[slow_leak]
ops = 6000
INI
expect_exit 0 run --job job.ini --json
expect_text out.txt '"name":"naive","scenario":"fragmentation_storm","seed":"5","target":"first_fit"'
expect_text out.txt '"options":{"defrag":"none"},"ops":800'
expect_text out.txt '"type":"scenario","name":"slow_leak","trials":1,"ops":6000'
expect_text out.txt '"growing_tag":"'
expect_no_text out.txt '"growing_tag":"tag '
printf '[slow_leak]\nqqqqqqqqqqqq = 1\n' >key.ini
expect_refusal 2 "key.ini:2: unknown key 'qqqqqqqqqqqq'; valid keys: scenario, target, chip, capacity, " run --job key.ini
expect_exit 0 run naive --job job.ini --json --seed 6 --ops 300
expect_text out.txt '"name":"naive","scenario":"fragmentation_storm","seed":"6"'
expect_no_text out.txt slow_leak
expect_exit 0 run --job job.ini --target first_fit
expect_text out.txt "slow_leak"

# The job that is shipped names every scenario.
for scenario in $("$hbmstress" list scenarios --json | sed 's/.*"name":"\([^"]*\)".*/\1/'); do
    grep -q "^\[$scenario\]\$" "$main_job" || fail "$main_job lacks $scenario"
done
"$hbmstress" run --job "$main_job" --ops 300 --time 60s --seed 1 >out.txt 2>err.txt
[ "$?" -le 1 ] || fail "the smoke job does not run: $(cat err.txt)"

# A scenario that needs programs is skipped on a target without, and the run says so.
"$hbmstress" run slow_leak late_program --target null --ops 200 --json --seed 1 >out.txt 2>err.txt
expect_text out.txt '"note":"skipped: it needs programs'
# --- what a section asks of its trials -----------------------------------------------------------------------------
cat >wishes.ini <<'INI'
[global]
seed = 5
faults = copy, wait
ops = 4000
[calm]
scenario = slow_leak
faults = none
[stormy]
scenario = queued_free_race
weights = execute:0 load:0 touch:1000
[all]
scenario = slow_leak
faults = all
INI
# faults_of NAME: how many faults the section had.
faults_of() {
    sed -n "s/.*\"type\":\"scenario\",\"name\":\"$1\".*\"fault\":\([0-9]*\).*/\1/p" out.txt
}
expect_exit 0 run --job wishes.ini --json
[ "$(faults_of calm)" = "" ] || [ "$(faults_of calm)" = 0 ] || fail "faults = none: $(faults_of calm) faults"
[ "$(faults_of stormy)" -gt 0 ] || fail "[global] faults: none in stormy"
[ "$(faults_of all)" -gt 0 ] || fail "faults = all: none"
cp out.txt wishes.txt
expect_exit 0 run --job wishes.ini --json --faults none
[ "$(faults_of all)" = "" ] || [ "$(faults_of all)" = 0 ] || fail "--faults none: $(faults_of all) faults"
expect_exit 0 run --job wishes.ini --json --workers 3
for file in wishes.txt out.txt; do
    sed 's/"seconds":[0-9.e-]*//g' "$file" >"$file.same"
done
cmp -s wishes.txt.same out.txt.same || fail "faults depend on the number of workers"

# Of the generator's kinds a weight of 0 leaves none; the scenario's own ops stay.
expect_exit 0 run fragmentation_storm --seed 3 --ops 20000 --json --weights "execute:0,load:0 unload:0"
sed -i '/^{"type":"start"/d' out.txt
expect_no_text out.txt '"execute":'
expect_no_text out.txt '"load":'
expect_exit 0 run fragmentation_storm --seed 3 --ops 20000 --json
expect_text out.txt '"execute":'

# seeds: so many trials of each section, each with a seed of its own.
printf '[global]\ntime = 20s\nseed = 2\n[defrag_published]\nseeds = 3\n[exact_edge]\nseeds = 2\n' >seeds.ini
expect_exit 0 run --job seeds.ini --json
expect_text out.txt '"type":"scenario","name":"defrag_published","trials":3,'
expect_text out.txt '"type":"scenario","name":"exact_edge","trials":2,'
expect_exit 0 run exact_edge --seeds 4 --seed 1 --json --time 20s
expect_text out.txt '"type":"scenario","name":"exact_edge","trials":4,'

# scenario = all: a part for each scenario; named by the part, the section or the scenario.
printf '[global]\nseed = 1\nops = 200\n[quick]\nscenario = all\n[other]\nscenario = slow_leak\n' >all.ini
expect_exit 0 run --job all.ini --json
for scenario in $("$hbmstress" list scenarios --json | sed 's/.*"name":"\([^"]*\)".*/\1/'); do
    expect_text out.txt "\"type\":\"scenario\",\"name\":\"$scenario.quick\""
done
parts_of() { # WORD
    "$hbmstress" run "$1" --job all.ini --json | grep -c '"type":"scenario"'
}
[ "$(parts_of quick)" = 21 ] || fail "run quick: $(parts_of quick) parts"
[ "$(parts_of slow_leak)" = 2 ] || fail "run slow_leak: $(parts_of slow_leak) parts"
[ "$(parts_of exact_edge.quick)" = 1 ] || fail "run exact_edge.quick: $(parts_of exact_edge.quick) parts"

# Two parts whose files would have the same names are refused: of the lists that they keep one would be lost.
for names in 'a b:a_b' 'a/b:a b' 'a_b:a:b'; do
    first=${names%%:*} second=${names#*:}
    printf '[%s]\nscenario = slow_leak\n[%s]\nscenario = slow_leak\nseeds = 1\n' "$first" "$second" >same.ini
    expect_refusal 2 "same.ini:3: the files of '$second' would be called the same as those of '$first'" run --job same.ini
    expect_refusal 2 "same.ini:3: " run --job same.ini --sweep --ops 5
    expect_exit 0 run "$second" --job same.ini --ops 100
done
printf '[slow_leak.x]\nscenario = slow_leak\n[x]\nscenario = all\n' >same.ini
expect_refusal 2 "same.ini:3: the files of 'slow_leak.x' would be called" run --job same.ini --ops 50
# The same scenario twice on the command line is one part.
expect_exit 0 run slow_leak slow_leak --lanes none --seeds 1 --seed 1 --ops 100 --json
[ "$(grep -c '"type":"scenario"' out.txt)" = 1 ] || fail "a scenario that is named twice runs twice"

# --- the seed: of the command line, else of the file, else of the commit, else drawn from the clock ----------------
seed_of() { # ARGUMENT...
    "$hbmstress" run exact_edge --ops 10 --json "$@" | sed -n '1s/.*"seed":"\([0-9]*\)".*/\1/p'
}
mkdir -p .git/refs/heads
echo 'ref: refs/heads/main' >.git/HEAD
echo 4a07c1d2e3f405162738495a6b7c8d9e0f1a2b3c >.git/refs/heads/main
printf '[exact_edge]\n' >no_seed.ini
printf '[global]\nseed = 77\n[exact_edge]\n' >seed.ini
of_commit=$(seed_of --job no_seed.ini)
[ "$of_commit" = "$(seed_of --job no_seed.ini)" ] || fail "the seed of a commit changes"
[ "$(seed_of --job seed.ini)" = 77 ] || fail "the job file's seed does not come before the commit's"
[ "$(seed_of --job seed.ini --seed 6)" = 6 ] || fail "--seed does not come before the job file's"
[ "$(seed_of --job no_seed.ini --seed 6)" = 6 ] || fail "--seed does not come before the commit's"
[ "$(seed_of)" != "$of_commit" ] || fail "without a job the seed is the commit's"
echo 4a07c1d2e3f405162738495a6b7c8d9e0f1a2b3d >.git/refs/heads/main
[ "$of_commit" != "$(seed_of --job no_seed.ini)" ] || fail "another commit has the same seed"
rm -r .git
[ "$(seed_of --job no_seed.ini)" != "$(seed_of --job no_seed.ini)" ] || fail "without a commit the seed is fixed"

# The jobs that are shipped can all be run: every key, value and option of theirs is right.  Their traces are named from the
# root of the tree.
root=$(dirname "$main_job")/../..
for job in "$(dirname "$main_job")"/*.ini; do
    here=$PWD
    (cd "$root" && exec "$hbmstress" run --job "$job" --ops 50 --time 60s --seed 1 --out "$here/shipped") >out.txt 2>err.txt
    code=$?
    # So few ops do not reach every state that a job may require.
    [ "$code" -le 1 ] || { [ "$code" = 4 ] && grep -q "probes that the job requires" err.txt; } ||
        fail "$job does not run: $(cat err.txt)"
done

# Seeds and digests are strings in every line and document: as numbers they are unsafe above 2^53.
large=18446744073709551615
expect_exit 1 run fragmentation_storm --target plant_premature_undrained --capacity 64M --seed $large --seeds 1 --ops 800 \
    --shrink-budget 0 --json --out large
grep '"type":"start"' out.txt | grep -qF "\"seed\":\"$large\"" || fail "the start does not name the seed: $(head -n 1 out.txt)"
grep '"type":"trial"' out.txt | grep -q '"seed":"[0-9]*".*"digest":"[0-9]*"' || fail "no trial with a seed and a digest: $(cat out.txt)"
grep '"type":"end"' out.txt | grep -qF "\"seed\":\"$large\"" || fail "the end does not name the seed: $(tail -n 1 out.txt)"
expect_text large/summary.json "\"seed\":\"$large\",\"target\":"
for repro in large/repros/*.ops; do
    expect_exit 1 replay "$repro" --json
    cat out.txt >>large/replayed.txt
    expect_exit 1 explain "$repro" --json
    cat out.txt >>large/replayed.txt
done
! grep -E '"(seed|digest)": *[0-9]' large/results.jsonl large/summary.json large/replayed.txt >numbers.txt ||
    fail "a seed or a digest is a number: $(head -c 300 numbers.txt)"
finish
