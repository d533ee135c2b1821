#!/usr/bin/env bash
# run --keep: lists of trials that broke nothing are there too, each with the reason for its out-of-memories, whatever
# the number of workers, after a kill, and behind a merge.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
refuse() { expect_refusal 2 "$@"; }

cat >job.ini <<'END'
[global]
seed = 5
keep = 2
[storm of all]
scenario = fragmentation_storm
seeds = 3
[race]
scenario = queued_free_race
seeds = 2
faults = all
keep = 1
[churn]
scenario = recompilation_churn
seeds = 1
END

# What is kept, by name and bytes, and what is said of it.
essence() { # DIR
    sed "s/\"seconds\":[0-9.]*//; s/\"kept_bytes\":[0-9]*//; s#$1/##g" "$1/results.jsonl" # a list names its path
    for file in "$1"/kept/*; do
        basename "$file" && sed "s#$1/##g" "$file"
    done
}

expect_exit 0 run --job job.ini --out one --workers 1
expect_text out.txt "one/kept: the op lists of 4 trials"
[ "$(find one/kept -type f | sed 's#.*/##; s/[0-9]*\.ops$//' | sort | paste -sd ' ')" = "churn- race- storm_of_all- storm_of_all-" ] ||
    fail "kept are $(find one/kept -type f)"
essence one >one.txt
# Each file is named by one trial, and each name is a file.
sed -n 's/.*"kept":"\([^"]*\)"}$/\1/p' one/results.jsonl | sort >named.txt
find one/kept -type f | sort | cmp - named.txt || fail "results.jsonl names others than one/kept has"
[ "$(grep -c '"kept":"' one/results.jsonl)" = 4 ] || fail "not four trials name their list"
grep -q '^{"type":"end".*"kept":4,"kept_bytes":[0-9]*,"seconds"' one/results.jsonl || fail "the end does not count"
[ "$(tail -n 1 one/results.jsonl | sed 's/.*"kept_bytes":\([0-9]*\).*/\1/')" = "$(cat one/kept/* | wc -c)" ] ||
    fail "kept_bytes are not those of the files"

# A list meets the same out-of-memories again; explain says of the first what the run said.
verdicts() { # FILE
    sed -n 's/"largest_served_bytes":[0-9]*,//; s/^{"type":"verdict",\("scenario":"[^"]*","trial":[0-9]*,\)*\(.*\),"message":.*/\2/p' "$1"
}
while IFS= read -r line; do
    list=$(sed 's/.*"kept":"\([^"]*\)"}$/\1/' <<<"$line")
    place=$(sed 's/.*\("scenario":"[^"]*","trial":[0-9]*\),.*/\1/' <<<"$line")
    seed=$(sed 's/.*"seed":"*\([0-9]*\).*/\1/' <<<"$line")
    case $list in *-"$seed".ops) ;; *) fail "$list is not named for seed $seed" ;; esac
    grep -q "^# trial .* seed $seed: [0-9]* out-of-memor[a-z]* ([0-9]* justified, 0 premature, 0 unknown)$" "$list" ||
        fail "$list does not begin with what it is: $(grep '^#' "$list")"
    expect_exit 0 replay "$list" --json
    grep "\"verdict\",$place," one/results.jsonl >run.txt
    verdicts run.txt >run.verdicts
    verdicts out.txt >replay.verdicts
    [ -s run.verdicts ] && cmp -s run.verdicts replay.verdicts || fail "$list: the replay met others: $(diff run.verdicts replay.verdicts | head -n 2)"
    # explain: the causes of the first.
    grep "\"diagnosis\",$place,\"seed\":\"$seed\"," one/results.jsonl >diagnoses.txt
    [ "$(sort -u diagnoses.txt | wc -l)" = "$(wc -l <diagnoses.txt)" ] || fail "$list: a diagnosis stands there twice"
    head -n 1 diagnoses.txt >diagnosis.txt
    first=$(head -n 1 run.verdicts | sed 's/"op":\([0-9]*\),.*/\1/')
    expect_text diagnosis.txt "\"op\":$first,\"verdict\":\"justified\",\"causes\":["
    expect_exit 0 explain "$list" --json
    sed -n 's/^{"type":"cause",\(.*\)}$/{\1}/p' out.txt | paste -sd , >causes.txt
    grep -qF -- "\"causes\":[$(cat causes.txt)]}" diagnosis.txt || fail "$list: explain says $(cat causes.txt), the run $(cat diagnosis.txt)"
done < <(grep '"kept":"' one/results.jsonl)

# Any number of workers; a kill, and on.
expect_exit 0 run --job job.ini --out three --workers 3
essence three >three.txt
cmp one.txt three.txt || fail "1 and 3 workers differ: $(diff one.txt three.txt | head -n 3)"
"$hbmstress" run --job job.ini --out killed --workers 2 >/dev/null 2>&1 &
process=$!
disown
while kill -0 "$process" 2>/dev/null && ! ls killed/kept/*.ops >/dev/null 2>&1; do
    sleep 0.01
done
kill -9 "$process" 2>/dev/null
wait "$process" 2>/dev/null
expect_exit 0 run --resume killed
essence killed >killed.txt
cmp one.txt killed.txt || fail "killed and resumed it is another: $(diff one.txt killed.txt | head -n 3)"
# Another bound is another campaign.
sed -i 's/^keep = 2/keep = 3/' job.ini
refuse "the job file, a trace or the program has changed" run --resume killed
sed -i 's/^keep = 3/keep = 2/' job.ini

# Shards keep together what the whole does; merge takes it, and nothing else that lies there.
for i in 1 2; do
    expect_exit 0 run --job job.ini --out "part-$i" --shard "$i/2"
done
touch part-1/kept/older.ops
expect_exit 0 merge part-1 part-2 --out merged
expect_text out.txt "merged/kept: the op lists of 4 trials"
(cd one/kept && ls) >one.names
(cd merged/kept && ls) | cmp one.names - || fail "merged are $(ls merged/kept)"
for file in $(cat one.names); do
    grep -v '^# replay: ' "one/kept/$file" >a && grep -v '^# replay: ' "merged/kept/$file" | cmp -s - a || fail "$file is another behind a merge"
done

# The limit: no file takes it beyond, and the end says so.
expect_exit 0 run exact_edge --seed 1 --seeds 3 --faults none --lanes none --keep 3 --results-limit 300K --out limited
size=$(cat limited/results.jsonl limited/kept/* | wc -c)
kept=$(find limited/kept -type f | wc -l)
[ "$kept" = 1 ] || fail "with --results-limit 300K, $kept lists are kept ($size bytes)"
expect_text out.txt "limited/kept: the op lists of 1 trial; 2 more are not kept, because of --results-limit"
expect_text limited/results.jsonl '"kept_omitted":2'
[ "$(grep '"type":"diagnosis"' limited/results.jsonl | sed 's/.*"trial":\([0-9]*\),.*/\1/' | sort -u)" = 0 ] ||
    fail "a list that is not kept has a diagnosis"

# None by default, and the command line has the last word.
expect_exit 0 run exact_edge --seed 1 --seeds 1 --out none
[ ! -e none/kept ] || fail "kept without --keep"
expect_no_text none/results.jsonl kept
# The lists of justified ones that are saved all the same have theirs, too.
diagnosed() { # DIR
    sed -n 's/.*"diagnosis","scenario":"\([^"]*\)","trial":[0-9]*,"seed":"\([0-9]*\)","op":\([0-9]*\),.*/\1-\2-op\3/p' "$1/results.jsonl" | sort
}
(cd none/certificates && ls -- *.ops) | sed 's/^justified-//; s/\.ops$//' | sort >saved.txt
diagnosed none | cmp -s - saved.txt && [ -s saved.txt ] || fail "saved are $(cat saved.txt), with a diagnosis $(diagnosed none)"
expect_exit 0 run churn --job job.ini --keep 0 --out none
[ ! -e none/kept ] || fail "kept with --keep 0"

# Each premature one that is found has one, however late its trial came; results do not depend on the number of workers.
for workers in 1 3; do
    expect_exit 1 run fragmentation_storm --target plant_premature_at_count --seed 4 --seeds 20 --lanes none --shrink-budget 0 \
        --workers "$workers" --out found
    grep '"type":"diagnosis"' found/results.jsonl >"diagnoses.$workers"
done
cmp -s diagnoses.1 diagnoses.3 || fail "diagnoses depend on the number of workers: $(diff diagnoses.1 diagnoses.3 | head -n 2)"
places() { # TYPE VERDICT
    grep "\"type\":\"$1\"" found/results.jsonl | grep "\"$2\"" |
        sed 's/.*\("scenario":"[^"]*","trial":[0-9]*\),.*\("op":[0-9]*\),.*/\1,\2/' | sort
}
places found premature >found.txt
[ "$(grep -vc '"trial":[0-7],' found.txt)" -gt 0 ] || fail "all are of the first trials: $(cat found.txt)"
places diagnosis premature | cmp -s - found.txt || fail "found are $(cat found.txt), with a diagnosis $(places diagnosis premature)"

# What broke: the whole list beside the shrunk one; each kind of verdict has a diagnosis.
expect_exit 1 run queued_free_race --target plant_premature_undrained --seed 1 --seeds 1 --keep 1 --out broke
[ "$(find broke/kept -type f | wc -l)" = 1 ] || fail "the list of a trial that broke is not kept"
expect_exit 1 replay broke/kept/*.ops
grep '"type":"diagnosis".*"verdict":"premature"' broke/results.jsonl | grep -q '"causes":\[{"cause":"refused_though_it_fits"' || fail "no cause of the premature one: $(grep diagnosis broke/results.jsonl)"
# So is that of a target that took its process with it.
expect_exit 1 run fragmentation_storm --target plant_crash_segv --seed 1 --seeds 1 --keep 1 --out died
grep -q '"signature":"crash: .*"kept":"died/kept/' died/results.jsonl || fail "the list of a crash is not kept"
grep -q '^# trial 0 of fragmentation_storm, seed [0-9]*: .*SIGSEGV' died/kept/* || fail "it does not say how it died: $(grep '^#' died/kept/*)"

# With lanes the list is the one that was dealt.
expect_exit 0 run queued_free_race --lanes 2 --schedules 3 --seed 3 --seeds 1 --keep 1 --out lanes
grep -q '^# trial 0 of queued_free_race, seed [0-9]*: .* under 3 schedules (' lanes/kept/* || fail "lanes: $(grep '^#' lanes/kept/*)"
expect_text lanes/results.jsonl '"kept":"lanes/kept/'
expect_exit 0 replay lanes/kept/*.ops

refuse "--keep: 'x' is not a number" run exact_edge --keep x
refuse "--keep applies to a campaign" run exact_edge --sweep --keep 2
finish
