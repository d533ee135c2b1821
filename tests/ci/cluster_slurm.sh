#!/usr/bin/env bash
# ci/cluster/campaign.sbatch with a Slurm of one machine: four ranks, of which one is killed, are one run after all; and a pod
# whose ranks srun starts.  The daemons run as root without systemd, from a folder of their own and on ports of their own.
#
#     tests/ci/cluster_slurm.sh HBMSTRESS TREE          exits with 77 where Slurm is not installed, or without root
tree=$(realpath "$2")
for program in slurmctld slurmd srun sbatch munged; do
    if ! PATH=$PATH:/usr/sbin command -v "$program" >/dev/null; then
        echo "skipped: $program is not installed; ci/setup --with-cluster installs it"
        exit 77
    fi
done
if [ "$(id -u)" != 0 ]; then
    echo "skipped: the daemons of Slurm need root"
    exit 77
fi
# shellcheck source=tests/cli/shard_common.sh
. "$tree/tests/cli/shard_common.sh"
# shellcheck source=tests/cli/cli_common.sh
. "$tree/tests/cli/cli_common.sh"
# shellcheck source=tests/ci/cluster_common.sh
. "$tree/tests/ci/cluster_common.sh"
PATH=$PATH:/usr/sbin

daemons=$work/daemons
mkdir -m 755 "$daemons" "$daemons/state" "$daemons/spool"
chmod 755 "$work"
# Two of these tests may run at once.
port=$((20000 + $$ % 20000))
cat >"$daemons/slurm.conf" <<END
ClusterName=one
SlurmctldHost=$(hostname)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$daemons/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
StateSaveLocation=$daemons/state
SlurmdSpoolDir=$daemons/spool
SlurmctldPidFile=$daemons/slurmctld.pid
SlurmdPidFile=$daemons/slurmd.pid
SlurmctldLogFile=$daemons/slurmctld.log
SlurmdLogFile=$daemons/slurmd.log
NodeName=$(hostname) CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$daemons/slurm.conf

# shellcheck disable=SC2317 # called by the trap
stop_daemons() {
    local name
    scancel --user=root >/dev/null 2>&1
    for name in slurmd slurmctld munge; do
        if [ -s "$daemons/$name.pid" ]; then kill "$(cat "$daemons/$name.pid")" 2>/dev/null; fi
    done
    for name in slurmd slurmctld munge; do
        while [ -s "$daemons/$name.pid" ] && kill -0 "$(cat "$daemons/$name.pid")" 2>/dev/null; do sleep 0.1; done
    done
    rm -rf "$work"
}
trap stop_daemons EXIT

head -c 1024 /dev/urandom >"$daemons/munge.key"
chmod 600 "$daemons/munge.key"
# --force: the folder of the socket is not munge's own.
munged --force --socket="$daemons/munge.socket" --key-file="$daemons/munge.key" --pid-file="$daemons/munge.pid" \
    --log-file="$daemons/munge.log" --seed-file="$daemons/munge.seed" 2>munged.txt || fail "munged: $(tail -n 1 munged.txt)"
slurmctld 2>slurmctld.txt || fail "slurmctld: $(tail -n 1 slurmctld.txt)"
slurmd 2>slurmd.txt || fail "slurmd: $(tail -n 1 slurmd.txt)"
# shellcheck disable=SC2317 # called by wait_until
is_idle() { [ "$(sinfo --noheader --format=%t 2>/dev/null)" = idle ]; }
wait_until is_idle

# The example asks for four nodes; here is one, which has four tasks.
sbatch --wait --nodes=1 --ntasks=4 --ntasks-per-node=4 --output="$work/job.txt" "$tree/ci/cluster/campaign.sbatch" \
    >sbatch.txt 2>&1 &
job=$!
kill_rank
wait "$job"
got=$?
[ "$got" = 0 ] || fail "ci/cluster/campaign.sbatch: exit $got, should be 0: $(tail -n 3 "$work/job.txt")"
check_whole

# Tasks of srun are the ranks of a pod: one list, one meeting point, one result.
printf '%s\n' 'hbmstress-ops 1' 'capacity 16M' 'hosts 3' 'clocks own' 'target hbm' 'seed 1' 'tag 1 "train_step"' '' \
    '0: load size=1M tag=1' '1: load size=1M tag=1 host=1' '2: load size=1M tag=1 host=2' '3: alloc size=20M host=1' \
    '4: execute program=0 delay=1ms collective=1' '5: execute program=1 delay=1ms collective=1 host=1' \
    '6: execute program=2 delay=1ms collective=1 host=2' >"$work/pod.ops"
srun --ntasks=3 --overcommit "$hbmstress" pod "$work/pod.ops" --out "$work/pod" --meet "127.0.0.1:$((port + 2))" \
    >pod.txt 2>&1 || fail "srun hbmstress pod: exit $?: $(tail -n 3 pod.txt)"
expect_text pod.txt "3 ranks, 3 ended, 0 dead, 0 without progress; 1 OOMs (1 justified, 0 premature, 0 unknown), 0 waits in vain"
expect_exit 0 pod --merge "$work/pod" -o pod-merged.ops
expect_text pod-merged.ops "merged from the 3 ranks of a pod, with 3 arrivals"
expect_exit 0 replay pod-merged.ops
# Another number of tasks than hosts is refused by each.
srun --ntasks=2 --overcommit "$hbmstress" pod "$work/pod.ops" --out "$work/two" --meet "127.0.0.1:$((port + 2))" \
    >two.txt 2>&1
[ "$?" = 2 ] || fail "srun with two tasks for three hosts should be exit 2: $(cat two.txt)"
expect_text two.txt "2 ranks were started, but the list has 3 hosts"

# The script of a job that forgets srun would run the first shard alone.
sbatch --wait --ntasks=2 --output="$work/alone.txt" \
    --wrap "$hbmstress run exact_edge --seed 1 --seeds 2 --shard auto --out $work/alone" >sbatch.txt 2>&1
[ "$?" = 2 ] || fail "hbmstress without srun in a job should be exit 2"
expect_text "$work/alone.txt" "start hbmstress with srun"
finish
