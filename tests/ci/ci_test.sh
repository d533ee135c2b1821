#!/usr/bin/env bash
# ci/test: what it runs where, and what it exits with. Compilers, ctest and the other checks are stand-ins.
#
#     tests/ci/ci_test.sh TREE
# shellcheck disable=SC2016 # for the stand-ins
set -u
tree=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*; it printed" >&2
    sed 's/^/    /' "$work/out.txt" >&2
    failures=$((failures + 1))
}

mkdir -p "$work/ci" "$work/bin" "$work/build/"{tsan,warnings}
cp "$tree/ci/test" "$tree/ci/help.sh" "$tree/ci/progress.sh" "$work/ci"
stand_in() { # PATH BODY
    printf '#!/usr/bin/env bash\n%s\n' "$2" >"$work/$1"
    chmod +x "$work/$1"
}
for name in ci/setup ci/check-hardening ci/check-determinism; do
    stand_in "$name" 'echo "${0##*/} $*" >>ran.txt'
done
# Each says which of them it is, and fails where the variable of that name says so.
stand_in bin/cmake 'case "$*" in
*--build\ --preset*) what=build_${3//-/_} ;;
*--build*) what=build_O3 ;;
*) exit 0 ;;
esac
echo "$what" >>ran.txt
if [[ $what == build_dev && -n ${waits-} ]]; then until [[ -s session.txt ]]; do read -r -t 0.02 _ <> <(:); done; fi
exit "${!what-0}"'
stand_in bin/ctest 'case "$*" in
*nothing*) exit 0 ;;
*--show-only*) echo "  Test #1: test_some"; exit 0 ;;
*--preset\ tsan*) what=tests_tsan ;;
*fuzz-plant*) what=tests_fuzz ;;
*--preset\ dev*) what=tests_dev ;;
*) what=tests_O3 ;;
esac
echo "$what" >>ran.txt
if [[ $what == tests_O3 && -n ${waits-} ]]; then
    timeout 300 sleep 300 &
    echo $$ $! >session.txt
    read -r _ <> <(:)
fi
echo "output of $what"
exit "${!what-0}"'

# expect CODE [VARIABLE=VALUE …] [-- OPTION …]
expect() {
    local wanted=$1 got settings=()
    shift
    while [[ $# -gt 0 && $1 != -- ]]; do settings+=("$1") && shift; done
    if [[ $# -gt 0 ]]; then shift; fi
    rm -f "$work/ran.txt" "$work/session.txt"
    (cd "$work" && env PATH="$work/bin:$PATH" "${settings[@]}" ci/test "$@" >out.txt 2>&1 </dev/null)
    got=$?
    [ "$got" = "$wanted" ] || fail "ci/test ${settings[*]} $*: exit $got, should be $wanted"
}
ran() { grep -qx "$1" "$work/ran.txt" || fail "$1 did not run"; }
ran_not() { ! grep -q "$1" "$work/ran.txt" || fail "$1 ran"; }

all=(setup\ .* build_tsan tests_tsan build_O3 check-hardening\ .* tests_O3 build_fuzz_fast tests_fuzz build_dev
    check-determinism\ .* tests_dev)
expect 0
for what in "${all[@]}"; do ran "$what"; done
[ "$(wc -l <"$work/ran.txt")" = ${#all[@]} ] || fail "more ran than ${all[*]}"
for what in tests_tsan tests_O3; do grep -qx "output of $what" "$work/out.txt" || fail "what $what prints is not shown"; done

# Whatever fails is told, also what runs beside something else.
for what in tests_tsan build_O3 build_fuzz_fast tests_fuzz build_dev tests_dev tests_O3; do expect 3 $what=3; done
grep -qx "output of tests_O3" "$work/out.txt" || fail "what failed at -O3 is not shown"
ran tests_dev
expect 5 tests_O3=5 tests_dev=6

# Nothing is left behind by a build that fails.
expect 3 build_dev=3 waits=1
ran_not tests_dev
for process in $(cat "$work/session.txt"); do
    # They end soon after the signal.
    for ((i = 0; i < 250; i++)); do
        kill -0 "$process" 2>/dev/null || break
        read -r -t 0.02 _ <> <(:)
    done
    [ "$i" -lt 250 ] || fail "the tests at -O3 run on"
done

expect 8 -- -R nothing
ran_not tests_O3
[ "$failures" = 0 ]
