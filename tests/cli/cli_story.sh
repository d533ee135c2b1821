#!/usr/bin/env bash
# run training --until: the story that users tell, from one command to the log of each host, and what explain finds in
# these logs alone and in the list; the options of the scenario, and what is wrong with them.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
refuse() { expect_refusal 2 "$@"; }

# story ARGUMENT...: runs $steps steps into the folder `story`; the ops of its list are in list.txt.
steps=300
story() {
    rm -rf story
    expect_exit 0 run training --chip v4 --until "$steps" --shrink-budget 0 --out story "$@"
    cat story/kept/*.ops >list.txt
}
# The host that ran out, by its log; its step, by the executions of train_step in the list: numbered from 0, and the last
# one that its log prints is the one before.
failed_host() { grep -l RESOURCE_EXHAUSTED story/logs/*.log | sed 's/.*host-\([0-9]*\).*/\1/'; }
last_printed() { # HOST
    sed -n 's/.*completed step: \([0-9]*\),.*/\1/p' "story/logs/host-$1.log" | tail -1
}
executed_steps() { # HOST
    local step_tag
    step_tag=$(sed -n 's/^tag \([0-9]*\) "train_step"$/\1/p' list.txt)
    awk -v host="$1" -v tag="tag=$step_tag" '
        { own = host == 0 ? $0 !~ / host=/ : $0 ~ " host=" host "( |$)"; sub(":", "", $1) }
        own && $2 == "load" && index($0 " ", " " tag " ") { loaded["program=" $1] }
        own && $2 == "execute" && ($3 in loaded) { count++ }
        END { print count + 0 }' list.txt
}

# --- out of memory on one host, the others wait for it; several meshes ---

check_mesh() { # HOSTS SEED OPTION...
    local hosts=$1 seed=$2 host step
    shift 2
    story --hosts "$hosts" --seed "$seed" "$@"
    expect_text out.txt "every promise kept"
    [ "$(find story/logs -name 'host-*.log' | wc -l)" = "$hosts" ] || fail "$*: not one log for each host"
    host=$(failed_host)
    [ -n "$host" ] && [ "$(wc -w <<<"$host")" = 1 ] || fail "$*: ran out: '$host', should be one host"
    step=$(($(last_printed "$host") + 1))
    ((step > steps / 2 && step < steps)) || fail "$*: step $step is not in the second half"
    local executed
    executed=$(executed_steps "$host")
    [ "$executed" = "$step" ] || [ "$executed" = $((step + 1)) ] ||
        fail "$*: step $step by the log, $executed executions of train_step"
    # From the logs alone.
    cat story/logs/*.log >all.log
    expect_exit 0 explain all.log
    expect_text out.txt "first failure: task $host, the device's memory ran out"
    expect_text out.txt ", in step $step"
    expect_text out.txt "exhausted (likely)"
    expect_text out.txt 'capacity 30.75G: that of chip v4, which the log names: "TPU v4"'
    expect_text out.txt "missing: the others waited for rank $host, which failed first"
    expect_exit 0 explain "story/logs/host-$host.log"
    expect_text out.txt ", in step $step"
    # From the list.
    expect_exit 0 explain story/kept/*.ops
    expect_text out.txt ", on host $host"
    expect_text out.txt "On host $host 'logged_metrics' piles up"
    ! grep -qi 'hbmstress\|leak\|host [0-9]\|\bop [0-9]' story/logs/*.log || fail "$*: a log has hints of ours"
}
check_mesh 4 1
! grep -L 'DEADLINE_EXCEEDED: Barrier timed out' story/logs/host-[0-2].log | grep -q . || fail "a host did not time out"
expect_text all.log "Barrier_id: data 0. Timed out task names:"
steps=100
check_mesh 8 3 --scenario-option pipeline=2
grep -q '^group 200 0-1 "pipeline 0 stage 0 to 1"$' list.txt || fail "no pair of stages: $(grep ^group list.txt)"
check_mesh 8 2 -S tensor=2 -S pipeline=2 -S leak=5
[ "$(failed_host)" = 5 ] || fail "leak=5: host $(failed_host) ran out"
[ "$(grep -c '^group ' list.txt)" = 12 ] || fail "2 x 2 x 2 hosts have $(grep -c '^group ' list.txt) groups, not 12"

# The same again, byte by byte, whoever runs it; and its list replays to the same end.
mv story first
story --hosts 8 --seed 2 -S tensor=2 -S pipeline=2 -S leak=5 --workers 1
cmp <(cat first/logs/*) <(cat story/logs/*) || fail "the logs of the same seed differ"
expect_exit 0 replay story/kept/*.ops
expect_text out.txt "1 justified"

# --- a host that leaves without a word ---

story --hosts 4 --seed 7 -S silent=2 -S leak=none
! grep -q RESOURCE_EXHAUSTED story/logs/*.log || fail "silent=2: somebody ran out of memory"
[ "$(last_printed 2)" -lt 60 ] || fail "silent=2: it goes on after step $(last_printed 2)"
! grep -q 'Traceback\|DEADLINE' story/logs/host-2.log || fail "silent=2: it says why"
for host in 0 1 3; do
    grep -qF 'task:2' "story/logs/host-$host.log" || fail "silent=2: host $host does not name it"
done
cat story/logs/*.log >all.log
expect_exit 0 explain all.log
expect_text out.txt "waited for another one until a time-out"
expect_text out.txt "rank 2"

expect_text out.txt "missing: the others waited for rank 2, which ends without a word"

# Waiting without a bound: the others print nothing more, either.
story --hosts 4 --seed 7 -S silent=2 -S leak=none -S timeout=never
! grep -q DEADLINE story/logs/*.log || fail "timeout=never: a host timed out"
grep -q '^collective_bound never$' list.txt || fail "timeout=never: the list has a bound"

# --- a host that leaves, and another one that runs out of memory, in one run ---

# Copies of the model that reduce seldom go their own ways: each failure stops its own copy, until all wait.
check_both() { # HOSTS AT WORD OPTION...: host 2 leaves at that percent of the steps
    local hosts=$1 at=$2 word=$3 host
    shift 3
    story --hosts "$hosts" --seed 3 -S reduce_every=100 -S "silent_at=$at" "$@"
    host=$(failed_host)
    [ "$(wc -w <<<"$host")" = 1 ] || fail "$*: ran out: '$host', should be one host"
    [ "$host" != 2 ] || fail "$*: the host that leaves ran out of memory"
    expect_exit 0 explain story/logs
    grep -q "host-$host, [a-z]* $host, the device's memory ran out" out.txt || fail "$*: host $host is not told"
    expect_text out.txt ", in step $(($(last_printed "$host") + 1))"
    expect_text out.txt "$word"
    ! grep -qi 'hbmstress\|leak\|host [0-9]\|\bop [0-9]' story/logs/*.log || fail "$*: a log has hints of ours"
    expect_exit 0 replay story/kept/*.ops
    expect_text out.txt "it ran out of memory at step"
}
check_both 4 60 "before that failure: it was gone by then" -S silent=2
expect_text out.txt "host 2 does not come: it left without a word"
expect_exit 0 explain story/logs
expect_text out.txt "first error: host-"
expect_text out.txt "rank 2, which ends without a word"
expect_text out.txt "rank $(failed_host), whose failure is above"
check_both 4 90 "after that failure" -S silent=2
check_both 8 70 "before that failure: it was gone by then" -S silent=2 -S tensor=2
check_both 8 70 "before that failure: it was gone by then" -S silent=2 -S tensor=2 -S pipeline=2
check_both 8 90 "after that failure" -S silent=2 -S pipeline=4
check_both 4 60 "before that: launcher, the host's memory ran out, not the device's, lines 1 to 2 of" -S killed=2
expect_exit 0 explain story/logs
expect_text out.txt "rank 2, which was killed"
check_both 4 90 "afterwards: launcher, killed from outside, line 1 of launcher.log" -S killed=2 -S killed_by=signal
check_both 4 90 "afterwards: launcher, killed from outside" -S killed=2 -S launcher=mpirun

# --- a host that is killed: the launcher alone says so ---

story --hosts 4 --seed 7 -S killed=2 -S leak=none
! grep -q 'Traceback\|DEADLINE\|illed' story/logs/host-2.log || fail "killed=2: its own log says why"
expect_text story/logs/launcher.log "slurmstepd: error: Detected 1 oom_kill event in StepId="
expect_exit 0 explain story/logs
expect_text out.txt "first failure: launcher, the host's memory ran out, not the device's"
expect_text out.txt "rank 2 is host-2, task 2: it ends at step"
expect_text out.txt "missing: the others waited for rank 2, which was killed"
story --hosts 4 --seed 7 -S killed=2 -S leak=none -S launcher=mpirun -S killed_by=signal
expect_text story/logs/launcher.log "mpirun noticed that process rank 2 with PID"
expect_exit 0 explain story/logs
expect_text out.txt "first failure: launcher, killed from outside"
story --hosts 4 --seed 7 -S leak=none
[ ! -e story/logs/launcher.log ] || fail "a job in which nobody was killed has a launcher's log"

# --- the same in the words of PyTorch/XLA ---

story --hosts 4 --seed 1
jax_host=$(failed_host)
jax_step=$(($(last_printed "$jax_host") + 1))
story --hosts 4 --seed 1 -S framework=torch_xla
! grep -qi 'jax\.\|hbmstress' story/logs/*.log || fail "torch_xla: a log has words of JAX or of ours"
expect_exit 0 explain story/logs
expect_text out.txt "first failure: host-$jax_host, task $jax_host, the device's memory ran out"
expect_text out.txt ", in step $jax_step"
expect_text out.txt "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: "
expect_text out.txt "torchrun saw rank $jax_host on node-$jax_host end first"
expect_text out.txt "missing: the others waited for rank $jax_host, which failed first"
expect_text out.txt "exhausted (likely)"
expect_text out.txt "bytes_used of xm.get_memory_info()"
story --hosts 4 --seed 7 -S framework=torch_xla -S killed=2 -S leak=none -S killed_by=signal
expect_exit 0 explain story/logs
expect_text out.txt "first failure: host-2, task 2, killed from outside"
expect_text out.txt "torchrun saw rank 2 on node-2 end first"

# --- remedies, and a job that ends ---

remedy() { # OPTION
    story --hosts 4 --seed 1 -S "$1"
    ! grep -q RESOURCE_EXHAUSTED story/logs/*.log || fail "$1: out of memory all the same"
    for host in 0 1 2 3; do
        [ "$(last_printed "$host")" = 99 ] || fail "$1: host $host ends after step $(last_printed "$host")"
    done
}
remedy leak=none
remedy batch=4
remedy remat=yes
remedy accumulation=4
remedy sharding=full
story --hosts 4 --seed 1 -S donation=no
grep -q 'completed step' story/logs/host-0.log && fail "donation=no: a step fits that should not"

# --- options ---

expect_exit 0 list scenarios
expect_text out.txt "batch=1..4096"
expect_text out.txt "leak=drawn|none|all|0..63"
refuse "scenario 'slow_leak' has no option 'batch'" run slow_leak -S batch=2
refuse "scenario 'training' has no option 'bach'; did you mean 'batch'?" run training -S bach=2
refuse "scenario 'training' has no option 'temperature'; it has: batch sequence" run training -S temperature=2
refuse "silent and killed: one host leaves a job" run training --hosts 4 -S silent=1 -S killed=2 --until 10
refuse "killed=4: the hosts are 0 to 3" run training --hosts 4 -S killed=4 --until 10
refuse "batch=0: valid values are 1..4096" run training -S batch=0
refuse "leak=some: valid values are drawn|none|all|0..63" run training -S leak=some
refuse "tensor * pipeline is 3, and --hosts 4 is no multiple of it" run training --hosts 4 -S tensor=3 --until 10
refuse "silent=4: the hosts are 0 to 3" run training --hosts 4 -S silent=4 --until 10
refuse "--scenario-option: 'batch' is not KEY=VALUE" run training -S batch
refuse "sets a key that was set before" run training -S batch=1 -S batch=2
refuse "scenario 'slow_leak' counts no steps" run slow_leak --until 10
refuse "--until: '0' is not a number of steps" run training --until 0
refuse "its hosts have a time of their own" run training --lanes 2
printf '[training]\nuntil = 20\nhosts = 2\nscenario.batch = 99999\n' >wrong.ini
refuse "wrong.ini:1: batch=99999: valid values are 1..4096" run --job wrong.ini
printf '[training]\nuntil = 20\nhosts = 2\nscenario.batch = 4\n' >right.ini
expect_exit 0 run --job right.ini --seed 1 --out job
[ -s job/logs/host-1.log ] || fail "a job file's story leaves no logs"
expect_exit 0 run training --hosts 1 --until 10 --seed 1 --out job
[ -s job/logs/host-0.log ] && [ ! -e job/logs/host-1.log ] || fail "logs of an earlier run with more hosts stay"

finish
