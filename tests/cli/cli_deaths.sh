#!/usr/bin/env bash
# A target that dies, hangs or spoils memory is a finding: the run goes on to its end, the repro is kept, and a replay of
# it ends in the same finding.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

finding() { # FILE
    sed -n 's/.*"signature":"\([^"]*\)".*/\1/p' "$1" | head -n 1
}

dies() { # TARGET SCENARIO OPS SIGNATURE
    local signature repro
    rm -rf out
    expect_exit 1 run "$2" --target "$1" --seed 1 --ops "$3" --op-timeout 100ms --shrink-budget 150 --workers 2 --out out
    tail -n 1 out/results.jsonl | grep -q '"type":"end".*"exit":1}$' || fail "$1: the run did not go on to its end"
    grep '"type":"broken"' out/results.jsonl | grep '"repro"' | head -n 1 >first.txt
    signature=$(finding first.txt)
    case $signature in
    "$4"*) ;;
    *) fail "$1: the finding is '$signature', should be '$4'" ;;
    esac
    repro=$(sed -n 's/.*"repro":"\([^"]*\)".*/\1/p' first.txt)
    expect_no_text "$repro" "not shrunk"
    expect_exit 1 replay "$repro" --op-timeout 100ms --json
    [ "$(finding out.txt)" = "$signature" ] || fail "$1: the replay finds '$(finding out.txt)', not '$signature'"
    expect_exit 1 replay --shrink "$repro" --op-timeout 100ms --shrink-budget 50 -o small.ops
    expect_exit 1 replay small.ops --op-timeout 100ms --json
    [ "$(finding out.txt)" = "$signature" ] || fail "$1: the shrunk list finds '$(finding out.txt)', not '$signature'"
    expect_exit 1 explain "$repro" --op-timeout 100ms
}
dies plant_crash_segv fragmentation_storm 2000 "crash: SIGSEGV at "
dies plant_crash_abort fragmentation_storm 600 "crash: SIGABRT at "
dies plant_crash_exit queued_free_race 200 "crash: exit status 3 in free_after"
dies plant_hang_spin queued_free_race 60 "hang in free_after"
dies plant_overrun fragmentation_storm 60 "overrun: answer"
dies plant_host_memory_grow fragmentation_storm 600 "host_memory: answer"
finish
