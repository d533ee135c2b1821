#!/usr/bin/env bash
# ci/cluster/mpirun-campaign with Open MPI on this machine: four ranks, of which one is killed, are one run after all.
#
#     tests/ci/cluster_mpirun.sh HBMSTRESS TREE          exits with 77 where mpirun is not installed
tree=$(realpath "$2")
if ! command -v mpirun >/dev/null; then
    echo "skipped: mpirun is not installed; ci/setup --with-cluster installs it"
    exit 77
fi
# shellcheck source=tests/cli/shard_common.sh
. "$tree/tests/cli/shard_common.sh"
# shellcheck source=tests/cli/cli_common.sh
. "$tree/tests/cli/cli_common.sh"
# shellcheck source=tests/ci/cluster_common.sh
. "$tree/tests/ci/cluster_common.sh"

options=(--oversubscribe -n 4)
if [ "$(id -u)" = 0 ]; then options+=(--allow-run-as-root); fi
"$tree/ci/cluster/mpirun-campaign" "${options[@]}" >mpirun.txt 2>&1 &
launcher=$!
kill_rank
wait "$launcher"
got=$?
[ "$got" = 0 ] || fail "ci/cluster/mpirun-campaign: exit $got, should be 0: $(tail -n 3 mpirun.txt)"
check_whole

# A rank that finds something ends with 1, and the others go on.
rm -rf "$OUT" "${PIDS:?}"/*
CAMPAIGN="fragmentation_storm --lanes none --target plant_classes_rounding --seed 1 --seeds 8 --shrink-budget 20 --workers 1"
"$tree/ci/cluster/mpirun-campaign" "${options[@]}" >mpirun.txt 2>&1
[ "$?" = 1 ] || fail "ranks with findings should be exit 1: $(tail -n 3 mpirun.txt)"
[ "$(find "$OUT" -path '*/rank-*/summary.json' | wc -l)" = 4 ] || fail "a rank ended with another one"
[ -z "$(find "$OUT" -name 'resumed-*')" ] || fail "a rank with findings was resumed"
finish
