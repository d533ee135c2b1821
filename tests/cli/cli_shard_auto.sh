#!/usr/bin/env bash
# run --shard auto: each rank takes its shard from the variables of its launcher; what is contradictory, half set or
# malformed is refused; and the merge of four ranks is what one run leaves, file by file.
# shellcheck source=tests/cli/shard_common.sh
. "$(dirname "$0")/shard_common.sh"
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
while IFS= read -r name; do unset "$name"; done < <(compgen -v | grep -E '^(OMPI|PMI|SLURM)_')

# as VARIABLE=VALUE ... -- COMMAND ...: with these variables alone of all that a launcher sets.
as() {
    local -a variables=()
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    (
        export "${variables[@]}"
        "$@"
        exit "$failures"
    ) || failures=$((failures + 1))
}
refuse_auto() { # TEXT VARIABLE=VALUE ...
    local text=$1
    shift
    as "$@" -- expect_refusal 2 "$text" run exact_edge --seed 1 --seeds 4 --shard auto
}

# --- which rank ---

refuse_auto "OMPI_COMM_WORLD_RANK is set, but OMPI_COMM_WORLD_SIZE is not" OMPI_COMM_WORLD_RANK=0
refuse_auto "PMI_SIZE is set, but PMI_RANK is not" PMI_SIZE=4
refuse_auto "ranks go from 0 to the size less 1" SLURM_PROCID=4 SLURM_NTASKS=4
refuse_auto "PMI_RANK is 'one', which is not a number" PMI_RANK=one PMI_SIZE=2
refuse_auto "say rank 1 of 4, but PMI_RANK and PMI_SIZE say 2 of 4" OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 \
    PMI_RANK=2 PMI_SIZE=4
refuse_auto "start hbmstress with srun" SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_ID=7

# Without a seed for all, each rank would run trials of its own; that of a commit is none that was given.
as PMI_RANK=0 PMI_SIZE=2 -- expect_refusal 2 "needs one seed for all ranks" run exact_edge --seeds 4 --shard auto
printf '%s\n' '[exact_edge]' >unseeded.ini
as PMI_RANK=0 PMI_SIZE=2 -- expect_refusal 2 "needs one seed for all ranks" run --job unseeded.ini --seeds 4 --shard auto
printf '%s\n' '[global]' 'seed = 3' 'lanes = none' '[exact_edge]' >seeded.ini
as PMI_RANK=1 PMI_SIZE=2 -- expect_exit 0 run --job seeded.ini --seeds 2 --shard auto
[ "$(ls out)" = rank-1 ] || fail "rank 1 should write to out/rank-1: $(ls out)"
# Inside of an allocation of Slurm, the rank is that of mpirun.
as OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 SLURM_PROCID=0 SLURM_NTASKS=3 SLURM_JOB_ID=7 -- \
    expect_exit 0 run exact_edge --seed 3 --seeds 2 --lanes none --shard auto --out inside
[ "$(ls inside)" = rank-1 ] || fail "rank 1 should write to inside/rank-1: $(ls inside)"

# --- the merge is one run ---

run_ranks() { # DIR EXIT ARGUMENT ...: as four ranks
    local folder=$1 wanted=$2 rank
    shift 2
    for rank in 0 1 2 3; do
        as OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=4 -- expect_exit_of "$wanted" "$@" --shard auto --out "$folder"
    done
}
# A rank may find less than all.
expect_exit_of() {
    local wanted=$1 got
    shift
    "$hbmstress" "$@" >out.txt 2>err.txt
    got=$?
    [ "$got" = "$wanted" ] || [ "$got" = 0 ] || fail "hbmstress $*: exit $got; $(head -c 300 err.txt)"
}
compare() { # NAME EXIT ARGUMENT ...
    local name=$1 wanted=$2
    shift 2
    expect_exit "$wanted" "$@" --out "$name-one"
    run_ranks "$name-ranks" "$wanted" "$@"
    # In whatever order they are named.
    expect_exit "$wanted" merge "$name-ranks"/rank-{3,1,0,2} --out "$name-all"
    expect_same "$name-one" "$name-all"
}

# Out-of-memories, faults, lanes, lists that are kept, a canary.
cat >job.ini <<'END'
[global]
seed = 5
keep = 3
[crowded]
[exact_edge]
[faults]
scenario = eviction_pressure
faults = all
[race]
scenario = queued_free_race
lanes = 3
schedules = 8
END
compare job 0 run --job job.ini --seeds 9
for folder in kept certificates; do [ -d "job-all/$folder" ] || fail "the comparison has no $folder"; done
# A line that no campaign writes is no guess: the merge writes nothing.
cp -r job-ranks job-odd
sed -i '/"type":"trial","scenario":"exact_edge"/s/"exact_edge"/"exact_odge"/' job-odd/rank-1/results.jsonl
expect_refusal 2 "job-odd/rank-1/results.jsonl: no campaign wrote one of its lines" merge job-odd/rank-*
# Findings: some move to a simpler one when they are shrunk, and their repros come from several ranks.
compare moved 1 run fragmentation_storm slow_leak --lanes none --target plant_classes_leaking --seed 1 --seeds 8 \
    --shrink-budget 60
[ "$(find moved-all/repros -name '*.ops' | wc -l)" -ge 2 ] || fail "the comparison has no findings"
compare premature 1 run queued_free_race --target plant_premature_undrained --seed 3 --seeds 8 --shrink-budget 60
# Each repro lies where its line says.
grep -ho 'hbmstress replay [^"]*' premature-all/summary.json | cut -d ' ' -f 3 >repros.txt
while IFS= read -r repro; do expect_exit 1 replay "$repro"; done <repros.txt
[ -s repros.txt ] || fail "the merged summary has no repro"

# The logs of the hosts are those of trial 0, so of the first shard; logs of more hosts from before go.
mkdir -p story-all/logs
echo "of another campaign" >story-all/logs/host-7.log
compare story 0 run training --hosts 2 --chip v4 --until 60 --seed 1 --seeds 4 --shrink-budget 0
[ "$(ls story-all/logs)" = "host-0.log
host-1.log" ] || fail "the merge has other logs: $(ls story-all/logs)"
expect_exit 4 merge story-ranks/rank-{1,2,3} --out story-short
[ ! -e story-short/logs ] || fail "logs without the shard that has them"

# --- a rank that dies ---

slow=(run fragmentation_storm slow_leak --lanes none --seed 2 --seeds 64)
expect_exit 0 "${slow[@]}" --out slow-one
for rank in 0 1 3; do
    as PMI_RANK=$rank PMI_SIZE=4 -- expect_exit 0 "${slow[@]}" --shard auto --out slow-ranks
done
PMI_RANK=2 PMI_SIZE=4 "$hbmstress" "${slow[@]}" --workers 1 --shard auto --out slow-ranks >out.txt 2>err.txt &
process=$!
has_trials() { [ "$(grep -c '"type":"trial"' slow-ranks/rank-2/results.jsonl 2>/dev/null || true)" -ge 2 ] 2>/dev/null; }
wait_until has_trials
kill -9 "$process"
wait "$process" 2>/dev/null
[ ! -e slow-ranks/rank-2/summary.json ] || fail "rank 2 was killed too late to show anything"
expect_exit 4 merge slow-ranks/rank-* --out slow-short
expect_text err.txt "slow-ranks/rank-2: this shard did not end"
# Whoever goes on with it is no rank.
expect_exit 0 run --resume slow-ranks/rank-2
expect_exit 0 merge slow-ranks/rank-* --out slow-all
expect_same slow-one slow-all

finish
