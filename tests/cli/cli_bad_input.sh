#!/usr/bin/env bash
# Bad usage and bad input: exit 2, one line that says what, where and why, nothing run, nothing written.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

expect_refusal 2 "no subcommand"
expect_refusal 2 "valid subcommands: new-target, infer, list, doctor, run, replay, pod, watch, merge, explain, check, report" frobnicate
expect_refusal 2 "did you mean 'run'" rnu
expect_refusal 2 "unknown scenario 'fragmentation_strom'; did you mean 'fragmentation_storm'?" run fragmentation_strom
expect_refusal 2 "unknown scenario 'xyzzy'" run slow_leak xyzzy
expect_refusal 2 "unknown option '--sed'; did you mean '--seed'?" run --sed 1
expect_refusal 2 "--out has no meaning with --shrink" replay --shrink x.ops --out y
expect_refusal 2 "--shrink-budget applies to a search for fewer ops" replay x.ops --shrink-budget 5
expect_refusal 2 "unknown option '--seed'; see hbmstress list --help" list --seed 1
expect_refusal 2 "--seed needs a value" run --seed
expect_refusal 2 "--seed: '-1'" run --seed -1
expect_refusal 2 "--seed: ''" run --seed ""
expect_refusal 2 "--seed: '18446744073709551616'" run --seed 18446744073709551616
expect_refusal 2 "--seed: '1x'" run --seed=1x
expect_refusal 2 "--json takes no value" run --json=yes
expect_refusal 2 "--ops: '0'" run --ops 0
expect_refusal 2 "--ops: '1.5'" run --ops 1.5
expect_refusal 2 "--time: '5x'" run --time 5x
expect_refusal 2 "--time: '0s'" run --time 0s
expect_refusal 2 "--time: 'never'" run --time never
expect_refusal 2 "--hosts: '0'" run --hosts 0
expect_refusal 2 "--hosts: '65'" run --hosts 65
expect_refusal 2 "--workers: '0'" run --workers 0
expect_refusal 2 "--regret-max: 'some' is not a number" run --regret-max some
expect_refusal 2 "--regret-max: '-1'" replay x.ops --regret-max -1
expect_refusal 2 "--capacity: '0'" run --capacity 0
expect_refusal 2 "--capacity: '12Q'" run --capacity 12Q
expect_refusal 2 "--capacity: '16E'" run --capacity 16E
expect_refusal 2 "multiple of the granule" run --capacity 1000
expect_refusal 2 "multiple of the granule" run --capacity 1536 --target-option granule=1024
expect_refusal 2 "unknown chip 'v9'; valid chips: v2, v3, v4" run --chip v9
expect_refusal 2 "give one of them" run --chip v4 --capacity 1G
expect_refusal 2 "unknown target 'hbn'; did you mean 'hbm'?" run --target hbn
expect_refusal 2 "./nope.so" run --target ./nope.so
expect_refusal 2 "." run --target ./
expect_refusal 2 "is not KEY=VALUE" run --target-option defrag
expect_refusal 2 "none, slide, repack" run --target-option defrag=sometimes
expect_refusal 2 "valid are" run --target-option colour=red
expect_refusal 2 "set before" run --target-option granule=512 --target-option granule=1024
expect_refusal 2 "/dev/null: Not a directory" run --ops 10 --out /dev/null
expect_refusal 2 "no scenario can run: late_program needs programs, and target null has none" run late_program --target null
expect_refusal 2 "unknown kind 'target'; did you mean 'targets'?" list target
expect_refusal 2 "one word too many" list targets rules

# What is typed by instinct is answered with what to type.
touch mine.so mine.c mine.log
expect_refusal 2 "a plug-in is a target: --target FILE.so" run ./mine.so
expect_refusal 2 "--job FILE.ini" run mine.ini
expect_refusal 2 "hbmstress replay FILE.ops" run mine.ops
expect_refusal 2 "build a shared object of it first" run mine.c
expect_refusal 2 "target './mine.c' is source: build a shared object" run --target ./mine.c
expect_refusal 2 "unknown target 'mine'; did you mean './mine.so'?" run --target mine
expect_refusal 2 "for such a file: hbmstress run --target FILE.so" ./mine.so
expect_refusal 2 "for such a file: hbmstress replay FILE.ops" mine.ops
expect_refusal 2 "for such a file: hbmstress explain FILE" mine.log
expect_refusal 2 "unknown option '-v'; options follow the subcommand" -v
expect_refusal 2 "explain needs a FILE, a DIR, or - for standard input" explain
rm mine.so mine.c mine.log

expect_refusal 2 "/dev/zero: it is a device, not a file" explain /dev/zero
for subcommand in replay convert explain "replay --shrink"; do
    # shellcheck disable=SC2086
    expect_refusal 2 "needs a FILE" $subcommand
    # shellcheck disable=SC2086
    expect_refusal 2 "nope.ops: No such file or directory" $subcommand nope.ops
    case $subcommand in # which compares two, and reads a directory of logs
    explain)
        expect_refusal 2 "one word too many" explain a b c
        expect_refusal 2 ".: the directory has no log" explain .
        ;;
    *)
        # shellcheck disable=SC2086
        expect_refusal 2 "one word too many" $subcommand a b
        # shellcheck disable=SC2086
        expect_refusal 2 ".: is a directory" $subcommand .
        ;;
    esac
    : >empty.ops
    # shellcheck disable=SC2086
    expect_refusal 2 "empty.ops" $subcommand empty.ops
    head -c 3000 "$hbmstress" >binary.ops
    # shellcheck disable=SC2086
    expect_refusal 2 "binary.ops" $subcommand binary.ops
done

cat >good.ops <<'OPS'
hbmstress-ops 1
capacity 1M
target hbm
seed 1

0: alloc size=512
1: free block=0
OPS
expect_exit 0 replay good.ops
sed 's/free block/fere block/' good.ops >word.ops
expect_refusal 2 "word.ops:7:4: " replay word.ops
sed 's/size=512/size=5X2/' good.ops >size.ops
expect_refusal 2 "size.ops:6:" replay size.ops
head -c 74 good.ops >cut.ops
expect_refusal 2 "cut.ops:7:" replay cut.ops
sed 's/target hbm/target hbn/' good.ops >target.ops
expect_refusal 2 "unknown target 'hbn'" replay target.ops
expect_refusal 2 "granule" replay good.ops --capacity 1000
expect_refusal 2 "breaks no promise" replay --shrink good.ops
expect_refusal 2 "--output applies to a search for fewer ops; also give --shrink" replay good.ops -o small.ops
expect_refusal 2 "--certificates has no meaning with --shrink" replay good.ops --shrink --certificates out
expect_refusal 2 "small.txt: its name does not say what it is; give --to; valid kinds: ops, csv" convert good.ops -o small.txt
expect_refusal 2 "unknown kind 'cvs'; did you mean 'csv'" convert good.ops --to cvs
for name in shrink import export bench baseline; do
    expect_refusal 2 "'$name' is now: hbmstress " "$name" good.ops
done
printf 'Current allocation summary\n' >crash.log
gzip -c good.ops >good.ops.gz
for subcommand in replay "replay --shrink"; do
    for file in crash.log good.ops.gz; do
        # shellcheck disable=SC2086
        expect_refusal 2 "; hbmstress convert makes one from a log, and hbmstress replay --compare reads" $subcommand "$file"
    done
done
for subcommand in convert explain "convert --to csv" "explain --timeline" "replay --compare"; do
    # shellcheck disable=SC2086
    expect_refusal 2 "good.ops: --kv-bytes-per-token applies to a request trace, and this file has the format ops" \
        $subcommand good.ops --kv-bytes-per-token 100
done
expect_refusal 2 "--kv-tokens-per-second applies to a request trace" convert good.ops --kv-tokens-per-second 100
printf 'hbmstress-ops 1\ncapacity 1M\ntarget \033[31mhbm\n' >escape.ops
expect_exit 2 replay escape.ops
[ "$(tr -d '\n\040-\176' <err.txt | wc -c)" = 0 ] || fail "a control character of a file reached the terminal"
expect_refusal 2 "format" convert good.ops --format nonsense
expect_refusal 2 "granule" convert good.ops --capacity 1000
expect_refusal 2 "unknown target 'hbn'" convert good.ops --target hbn
expect_refusal 2 "nowhere/two.ops: No such file or directory" convert good.ops -o nowhere/two.ops
expect_refusal 2 "good.ops/two.ops: Not a directory" convert good.ops -o good.ops/two.ops
mkdir -p taken/results.jsonl
expect_refusal 2 "taken: Is a directory" convert --to ops good.ops -o taken
expect_refusal 2 "taken/results.jsonl: Is a directory" run --ops 10 --out taken
[ -z "$(find . -name '*.partial')" ] || fail "refused, and left $(find . -name '*.partial')"

expect_refusal 2 "./nope.ini: No such file or directory" run --job ./nope.ini
expect_refusal 2 "unknown job 'nope.ini'; no such file; see hbmstress list jobs" run --job nope.ini
expect_refusal 2 "unknown job 'smok'; did you mean 'smoke'?" run --job smok
expect_refusal 2 "./: Is a directory" run --job ./
job() { # TEXT-OF-FILE WANTED
    printf '%b' "$1" >job.ini
    expect_refusal 2 "$2" run --job job.ini
}
job '' "job.ini: no section"
job 'ops = 3\n' "job.ini:1: key 'ops' comes before"
job '[slow_leak]\nnonsense\n' "job.ini:2: neither"
job '[slow_leak]\n\n; words\ntarg = hbm\n' "job.ini:4: unknown key 'targ'; did you mean 'target'?"
job '[slow_leak]\nops = 0\n' "job.ini:2: ops: '0'"
job '[slow_leak]\nregret_max = few\n' "job.ini:2: regret_max: 'few'"
job '[slow_leak]\nregret_max = 1\nregret_max = 1\n' "job.ini:3: key 'regret_max' appears twice"
job '[slow_leak]\nops = 1\nops = 2\n' "job.ini:3: key 'ops' appears twice"
job '[slow_leak]\n[slow_leak]\n' "job.ini:2: section [slow_leak] appears twice"
job '[slow_lea]\n' "job.ini:1: unknown scenario 'slow_lea'; did you mean 'slow_leak'?"
job '[global]\nscenario = slow_leak\n' "job.ini:2: 'scenario' belongs in a section"
job '[a]\nscenario = slow_leak\nchip = v4\ncapacity = 1G\n' "job.ini:4: chip and capacity"
job '[slow_leak]\noption.defrag = sometimes\n' "none, slide, repack"
# Keys and values of a campaign.
job '[slow_leak]\nfaults = cpoy\n' "job.ini:2: faults: 'cpoy' names the unknown fault 'cpoy'; did you mean 'copy'?"
job '[slow_leak]\nfaults = copy wiat\n' "unknown fault 'wiat'; did you mean 'wait'?"
job '[slow_leak]\nfaults = xyzzyxyzzy\n' "valid names: copy, wait, unload,"
job '[slow_leak]\nfaults =\n' "job.ini:2: faults: '' is empty"
job '[slow_leak]\nfaults = all, copy\n' "stand alone"
job '[slow_leak]\nfaults = copy none\n' "stand alone"
job '[slow_leak]\nfaults = copy copy\n' "names 'copy' twice"
job '[slow_leak]\nfaults = copy\nfaults = wait\n' "job.ini:3: key 'faults' appears twice"
job '[slow_leak]\nfault = copy\n' "unknown key 'fault'; did you mean 'faults'?"
job '[slow_leak]\nseeds = 0\n' "job.ini:2: seeds: '0'"
job '[slow_leak]\nseeds = 1\nseeds = 1\n' "job.ini:3: key 'seeds' appears twice"
job '[queued_free_race]\nweights = alloc\n' "is not a list of KIND:PERCENT: 'alloc'"
job '[queued_free_race]\nweights = aloc:30\n' "unknown kind of op 'aloc'; did you mean 'alloc'?"
job '[queued_free_race]\nweights = retire:30\n' "unknown kind of op 'retire'"
job '[queued_free_race]\nweights = alloc:10001\n' "gives alloc the weight '10001', which is not a number from 0 to 10000"
job '[queued_free_race]\nweights = alloc:-1\n' "gives alloc the weight '-1'"
job '[queued_free_race]\nweights = alloc:\n' "gives alloc the weight ''"
job '[queued_free_race]\nweights = alloc:0 output:0\n' "leaves no request"
job '[queued_free_race]\nweights = use:1 use:2\n' "names 'use' twice"
job '[queued_free_race]\nweights =\n' "is empty"
job '[queued_free_race]\nweights = use:1\nweights = use:2\n' "job.ini:3: key 'weights' appears twice"
job '[a]\nscenario = queued_free_race\n[slow_leak]\nweights = use:3\n' \
    "job.ini:3: scenario 'slow_leak' accepts no weights; only scenarios that draw from the generator do: fragmentation_storm queued_free_race"
job '[global]\nweights = use:3\n[queued_free_race]\n[slow_leak]\n' "job.ini:4: scenario 'slow_leak' accepts no weights"
job '[slow_leak]\nlanes = 1\n' "job.ini:2: lanes: '1' is neither none nor a number from 2 to 16"
job '[global]\nlanes = 2\nlanes = 3\n[slow_leak]\n' "job.ini:3: key 'lanes' appears twice"
job '[slow_leak]\nseed = 4\n' "job.ini:2: 'seed' applies to the whole run: it belongs in [global]"
job '[slow_leak]\ntime = 4s\n' "job.ini:2: 'time' applies to the whole run"
job '[slow_leak]\nprobes = required\n' "job.ini:2: 'probes' applies to the whole run"
job '[global]\nprobes = wanted\n[slow_leak]\n' "job.ini:2: probes: 'wanted' is not valid; the only value is 'required'"
job '[global]\nprobes = required\nprobes = required\n[slow_leak]\n' "job.ini:3: key 'probes' appears twice"
job '[global]\nprobe = required\n[slow_leak]\n' "unknown key 'probe'; did you mean 'probes'?"
job '[a]\nscenario = al\n' "unknown scenario 'al'"
job '[a_name_that_is_much_too_long_for_this_purpose]\nscenario = all\n' "too long for 'scenario = all'"
expect_refusal 2 "did you mean 'copy'?" run --faults cpoy
expect_refusal 2 "--faults: '' is empty" run --faults ""
expect_refusal 2 "--weights: scenario 'slow_leak' accepts no weights" run slow_leak --weights use:3
expect_refusal 2 "did you mean 'alloc'?" run fragmentation_storm --weights aloc:3
expect_refusal 2 "--seeds: '0'" run --seeds 0
expect_refusal 2 "unknown option '--seeds'" replay x.ops --seeds 3
head -c 3000 "$hbmstress" >job.ini
expect_refusal 2 "job.ini:1: " run --job job.ini
printf '[slow_leak]\n' >job.ini
expect_refusal 2 "unknown scenario 'late_program'" run late_program --job job.ini
finish
