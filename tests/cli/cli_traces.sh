#!/usr/bin/env bash
# Field traces as workloads: run --trace, and a job file that names some. As it is in the first trial, varied by seed in
# the others; the same with any number of workers, after a kill and behind a merge; refused with one line where it cannot
# be a workload, or has changed.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
refuse() { expect_refusal 2 "$@"; }
field=$2/field

cp "$field/rmm/two_threads.csv" rmm.csv
cp "$field/torch_snapshot/ring.pickle" ring.pickle
cat >job.ini <<'END'
[global]
seed = 5
seeds = 9
keep = 9
[alone]
trace = rmm.csv
vary = amplify=5 scale=50,317
[both]
trace = rmm.csv
vary = interleave=ring.pickle
faults = all
[hosts]
trace = ring.pickle
hosts = 3
vary = skew=10ms
[scenario]
scenario = exact_edge
ops = 500
END

# The first trial is the trace, without faults.
ops_of() { sed -n 's/^[0-9]*: //p' "$1" | sed 's/ lane=[0-9]*//'; }
expect_exit 0 run --trace rmm.csv --seeds 1 --keep 1 --faults all --seed 3 --out as_it_is
expect_exit 0 convert rmm.csv -o rmm.ops
ops_of rmm.ops | grep -v '^switch' >wanted.txt
ops_of "$(find as_it_is/kept -name '*.ops')" | cmp -s - wanted.txt || fail "the first trial is not the trace"
[ -s wanted.txt ] || fail "the trace has no ops"

# Each trial of a job: the same with any number of workers.
essence() { # DIR
    sed "s/\"seconds\":[0-9.e-]*//; s/\"kept_bytes\":[0-9]*//; s#$1/##g" "$1/results.jsonl"
    for file in "$1"/kept/*; do
        basename "$file" && sed "s#$1/##g" "$file"
    done
}
expect_exit 0 run --job job.ini --out one --workers 1
essence one >one.txt
expect_text out.txt "  hosts = trace: seed 5, target hbm"
expect_text out.txt "every promise kept, every OOM judged"
[ "$(find one/kept -name 'hosts-*' | wc -l)" = 9 ] || fail "not nine lists of [hosts]"
[ "$(grep -l '^clocks own' one/kept/hosts-* | wc -l)" = 8 ] || fail "not each trial but the first has hosts of their own"
[ "$(grep -l 'host=2' one/kept/hosts-* | wc -l)" = 8 ] || fail "not each trial but the first is on three hosts"
expect_exit 0 run --job job.ini --out three --workers 3
essence three | cmp -s - one.txt || fail "three workers give something else"

# A kept list replays to the same.
list=$(grep -l '^clocks own' one/kept/hosts-* | head -n 1)
expect_exit 0 replay "$list"
expect_text out.txt "every promise kept"

# On from a kill, and merged from shards.
"$hbmstress" run --job job.ini --out killed --workers 2 >/dev/null 2>&1 &
process=$!
wait_until test -e killed/checkpoint
kill -9 "$process" 2>/dev/null
wait "$process" 2>/dev/null
expect_exit 0 run --resume killed
essence killed | cmp -s - one.txt || fail "a resumed run gives something else"
expect_exit 0 run --job job.ini --shard 1/2 --out part-1
expect_exit 0 run --job job.ini --shard 2/2 --out part-2
expect_exit 0 merge part-1 part-2 --out merged
kept() { find "$1/kept" -name '*.ops' -printf '%f\n' | sort; }
kept one | grep -v '^scenario-' >wanted.txt # a bound in ops is divided: the shards have other trials of that part
kept merged | grep -v '^scenario-' | cmp -s - wanted.txt || fail "the shards keep others: $(kept merged)"
parts() { sed -n 's/"seconds":.*//; /^{"type":"scenario","name":"[abh]/p' "$1/results.jsonl"; }
parts one >wanted.txt
[ "$(wc -l <wanted.txt)" = 3 ] || fail "not three parts with a trace"
parts merged | cmp -s - wanted.txt || fail "the shards count something else"

# A file that has changed is refused.
echo >>rmm.csv
expect_exit 2 run --resume one
expect_text err.txt "hbmstress: one: the job file, a trace or the program has changed since then"
expect_exit 0 run --job job.ini --shard 2/2 --out changed
expect_exit 2 merge part-1 changed --out never
expect_text err.txt "changed: it is not a shard of the same campaign as part-1"

# Defects show on the traces: a shrunk list that replays.
expect_exit 1 run --trace "$2/healthy/training_steps.ops" --target plant_premature_undrained --seeds 12 --seed 1 --out found
expect_text out.txt "premature"
repro=$(find found/repros -name '*.ops' | head -n 1)
expect_exit 1 replay "$repro"
[ "$(grep -c '^[0-9]*: ' "$repro")" -lt 30 ] || fail "$repro is not shrunk"

# What cannot be run is refused before anything is.
refuse "tf11.log: it shows the blocks of one moment; a workload needs" run --trace "$field/bfc/tf11.log"
refuse "sections.log: nothing ends in it" run --trace "$field/hbm_report/sections.log"
refuse "no.csv: No such file or directory" run --trace no.csv
refuse "cut.csv:" run --trace "$field/rmm/cut.csv"
refuse "-: a workload is a file" run --trace -
refuse "unknown format 'rmn'; did you mean 'rmm'?" run --trace rmm.csv --vary format=rmn
refuse "has the unknown key 'amplfy'; did you mean 'amplify'?" run --trace rmm.csv --vary amplfy=2
refuse "amplify '0' is not a number from 1" run --trace rmm.csv --vary amplify=0
refuse "scale '50,0' is not a list of percentages" run --trace rmm.csv --vary "amplify=2 scale=50,0"
refuse "skew 'soon' is not a duration" run --trace rmm.csv --vary skew=soon
refuse "amplify '3' appears twice" run --trace rmm.csv --vary "amplify=2 amplify=3"
refuse "is not none, nor a list of KEY=VALUE: 'all'" run --trace rmm.csv --vary all
refuse "--vary applies to a trace" run exact_edge --vary none
refuse "--trace runs in place of scenarios; leave out 'exact_edge'" run exact_edge --trace rmm.csv
refuse "--job and --trace both say what to run" run --job job.ini --trace rmm.csv
refuse "a trace is run by one client" run --trace rmm.csv --lanes 3
refuse "a trace accepts no weights" run --trace rmm.csv --weights alloc:200
refuse "--trace applies to a campaign; --sweep does not accept it" run --trace rmm.csv --sweep
refuse "job.ini: alone runs a trace, but --sweep accepts scenarios alone" run --job job.ini --sweep --faults none
refuse "two_devices_both_fail.json: it has 2 hosts of its own" run --hosts 3 \
    --trace "$field/torch_snapshot/two_devices_both_fail.json"
refuse "only traces of one host each are interleaved" run --trace rmm.csv \
    --vary "interleave=$field/torch_snapshot/two_devices_both_fail.json"

# In a job file with its line.
wrong() { # TEXT LINE ...
    local text=$1
    shift
    printf '%s\n' "$@" >wrong.ini
    refuse "$text" run --job wrong.ini
}
wrong "wrong.ini:2: unknown key 'trce'; did you mean 'trace'?" '[a]' 'trce = rmm.csv'
wrong "wrong.ini:2: 'trace' belongs in a section" '[global]' 'trace = rmm.csv'
wrong "wrong.ini:3: key 'trace' appears twice" '[a]' 'trace = rmm.csv' 'trace = rmm.csv'
wrong "wrong.ini:1: scenario and trace both say what is run" '[a]' 'scenario = exact_edge' 'trace = rmm.csv'
wrong "wrong.ini:1: vary applies to a trace, and the section names none" '[exact_edge]' 'vary = none'
wrong "wrong.ini:1: no.csv: No such file or directory" '[a]' 'trace = no.csv'
wrong "wrong.ini:3: vary: 'scal=50' has the unknown key 'scal'; did you mean 'scale'?" '[a]' 'trace = rmm.csv' 'vary = scal=50'

finish
