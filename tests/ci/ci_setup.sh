#!/usr/bin/env bash
# ci/setup says what it would install: without root and sudo a line to copy, and with --to-build nothing that only tests
# need. Nothing is installed: the machine has neither packages nor sudo.
#
#     tests/ci/ci_setup.sh TREE
set -u
script=$(realpath "$1")/ci/setup
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}
for name in bash dirname; do ln -s "$(command -v $name)" "$work/$name"; done
printf '#!%s/bash\necho 1000\n' "$work" >"$work/id"
chmod +x "$work/id"

# expect_packages WANTED NOT_WANTED [OPTION …]
expect_packages() {
    local wanted=$1 unwanted=$2 said got
    shift 2
    said=$(PATH=$work "$work/bash" "$script" "$@" 2>&1)
    got=$?
    [ "$got" = 4 ] || fail "ci/setup $*: exit $got, should be 4"
    [[ $said == *"as root: apt-get install "*" $wanted"* ]] || fail "ci/setup $*: no $wanted in '$said'"
    [[ -z $unwanted || $said != *" $unwanted"* ]] || fail "ci/setup $*: $unwanted in '$said'"
}
expect_packages valgrind ""
expect_packages "g++ make git" ""
expect_packages libjansson-dev valgrind --to-build
expect_packages libjansson-dev clang --to-build
expect_packages zlib1g cmake --to-run
expect_npm() { # COUNT OPTION …
    local count=$1
    shift
    [ "$(PATH=$work "$work/bash" "$script" "$@" 2>&1 | grep -c "npm is not installed")" = "$count" ] ||
        fail "ci/setup $*: not $count lines about npm"
}
expect_npm 1 --to-build
expect_npm 0 --to-run
PATH=$work "$work/bash" "$script" --to-bild >/dev/null 2>&1
[ $? = 2 ] || fail "ci/setup --to-bild: should be 2"
[ "$failures" = 0 ]
