#!/usr/bin/env bash
# Job files: [global] holds for all, a section overrides it, the command line overrides both.
# shellcheck source=tests/cli_common.sh
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
expect_text out.txt '"name":"naive","scenario":"fragmentation_storm","seed":5,"target":"first_fit"'
expect_text out.txt '"options":{"defrag":"none"},"ops":800'
expect_text out.txt '"type":"scenario","name":"slow_leak","trials":1,"ops":6000'
expect_text out.txt '"growing_tag":'
expect_exit 0 run naive --job job.ini --json --seed 6 --ops 300
expect_text out.txt '"name":"naive","scenario":"fragmentation_storm","seed":6'
expect_no_text out.txt slow_leak
expect_exit 0 run --job job.ini --target first_fit
expect_text out.txt "slow_leak"

# The job that is shipped names every scenario.
for scenario in $("$hbmstress" list scenarios --json | sed 's/.*"name":"\([^"]*\)".*/\1/'); do
    grep -q "^\[$scenario\]\$" "$main_job" || fail "$main_job lacks $scenario"
done
"$hbmstress" run --job "$main_job" --ops 300 --time 60s --seed 1 >out.txt 2>err.txt
[ "$?" -le 1 ] || fail "the main job does not run: $(cat err.txt)"

# A scenario that needs programs is skipped on a target without, and the run says so.
"$hbmstress" run slow_leak late_program --target null --ops 200 --json --seed 1 >out.txt 2>err.txt
expect_text out.txt '"note":"skipped: it needs programs'
finish
