#!/usr/bin/env bash
# The test of the pages finds each kind of breach in a page planted for it, and nothing in a good one.
#
#     tests/docs/run_pages_fires.sh BUILD_DIRECTORY
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
failure_count=0
fired_count=0

fail() {
    echo "FAILED: $*"
    failure_count=$((failure_count + 1))
}

# run PAGE OPTION...: what the runner prints is in printed, its exit code in code.  A command that hangs holds the
# runner's pipe, so that the time-out here says that its process group was not killed.
run() {
    local page=$1
    shift
    code=0
    printed=$(timeout 60 "$here/run_pages.py" "$build" "$here/planted/$page.md" "$@" 2>&1) || code=$?
}

# fires PAGE LINE "TEXT of the message" [OPTION...]
fires() {
    local page=$1 line=$2 text=$3
    shift 3
    fired_count=$((fired_count + 1))
    run "$page" "$@"
    [[ $code -eq 1 ]] || fail "$page: exit $code, should be 1: $printed"
    [[ $printed == "tests/docs/planted/$page.md:$line: "*"$text"* ]] || fail "$page: no \"$line: $text\" in: $printed"
    [[ $printed == *", 1 wrong, "* ]] || fail "$page: one fault, but: $printed"
}

fires wrong_output 2 $'-1127 OOMs\n+1126 OOMs'
fires wrong_size 4 $'-capacity 32M, delay=5ms\n+capacity 64M, delay=5ms'
fires wrong_order 2 '-first'
fires wrong_end 2 '+second'
fires wrong_exit 2 'exits with 3, not 0: $ printf'
fires not_there 2 'exits with 127, not 0'
fires indented 3 'an indented code block'
fires indented_in_item 3 'an indented code block'
fires other_fence 2 'a command outside a fence tagged sh: $ hbmstress run'
fires unprompted 2 'a command outside a fence tagged sh: ci/test'
fires no_fence 2 'a command outside a fence tagged sh'
fires other_shell 1 'a fence tagged "bash"'
fires no_tag 1 'a fence without a tag'
fires not_closed 1 'a fence that is not closed'
fires no_command 2 'begins with a command'
fires norun_unprompted 3 'no command without "$ ": ctest --preset dev'
fires norun_syntax 2 'bash cannot parse: for name in a b'
fires norun_without_reason 1 'a fence tagged "sh norun"'
fires norun_unlisted 1 'a fence tagged "sh norun tired"'
fires nightly 5 'exits with 1, not 0: $ false' --nightly
fires hangs 2 'not ended after 0.5 s, killed: $ sleep 600' --deadline 0.5

run holds
[[ $code -eq 0 ]] || fail "holds: exit $code, should be 0: $printed"
[[ $printed == *"in all: 1 page, 9 run, 0 run elsewhere, 1 only parsed (1 hours), 0 wrong" ]] || fail "holds: counts otherwise: $printed"
run nightly
[[ $printed == *"in all: 1 page, 0 run, 2 run elsewhere, 0 only parsed, 0 wrong" ]] || fail "nightly, by day: $printed"
run no_such_page
[[ $code -eq 2 ]] || fail "an absent page: exit $code, should be 2: $printed"

# Each planted page is asked for above.
planted_count=$(find "$here/planted" -name '*.md' | wc -l)
[[ $planted_count -eq $((fired_count + 1)) ]] || fail "$planted_count pages are planted, $((fired_count + 1)) were run"
echo "run_pages_fires: $failure_count failures"
[[ $failure_count -eq 0 ]]
