# shellcheck shell=bash
# What the tests of ci/cluster share; sourced behind tests/cli/cli_common.sh, with TREE.  The campaign has four ranks, and
# the rank that is to die waits for nobody else.

# shellcheck disable=SC2154 # work and hbmstress are of cli_common.sh
# One worker each: four ranks share this machine.
campaign=(fragmentation_storm slow_leak --lanes none --seed 2 --seeds 96 --workers 1)
export CAMPAIGN="${campaign[*]}" OUT=$work/out PIDS=$work/pids
export HBMSTRESS=$work/noting HBMSTRESS_ITSELF=$hbmstress
mkdir "$PIDS"
# Notes which process is which rank, and becomes hbmstress.
cat >"$work/noting" <<'END'
#!/bin/sh
if [ "$1 $2" != "run --resume" ]; then echo $$ >"$PIDS/${OMPI_COMM_WORLD_RANK-$SLURM_PROCID}"; fi
exec "$HBMSTRESS_ITSELF" "$@"
END
chmod +x "$work/noting"

has_trials() { [ "$(grep -c '"type":"trial"' "$OUT/rank-2/results.jsonl" 2>/dev/null)" -ge 2 ] 2>/dev/null; }

# Kills rank 2 when it has counted some of its trials.
kill_rank() {
    wait_until has_trials
    kill -9 "$(cat "$PIDS/2")" || fail "rank 2 had ended by itself"
    [ ! -e "$OUT/rank-2/summary.json" ] || fail "rank 2 was killed too late to show anything"
}

# The ranks that were not killed have ended, and the merge is one run.
check_whole() {
    local rank
    for rank in 0 1 3; do
        [ -s "$OUT/rank-$rank/summary.json" ] || fail "rank $rank ended with the one that was killed"
        [ ! -e "$OUT/resumed-rank-$rank.txt" ] || fail "rank $rank had to be resumed"
    done
    [ -s "$OUT/resumed-rank-2.txt" ] || fail "rank 2 was not resumed"
    expect_exit 0 run "${campaign[@]}" --out one
    mv "$OUT/whole" all
    for file in all/results.jsonl all/summary.json all/junit.xml all/results.sarif all/*/*.ops; do
        sed -i "s#file://$OUT/whole/#all/#g; s#$OUT/whole/#all/#g" "$file"
    done
    expect_same one all
}
