#!/usr/bin/env bash
# ci/prove-bare refuses in one line, with exit 4, what it cannot do. The Debian itself takes half an hour: nobody makes it here.
#
#     tests/ci/ci_prove_bare.sh TREE
set -u
script=$(realpath "$1")/ci/prove-bare
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

for name in bash dirname mktemp rm umount; do ln -s "$(command -v $name)" "$work/$name"; done
stand_in() { # NAME BODY
    printf '#!%s/bash\n%s\n' "$work" "$2" >"$work/$1"
    chmod +x "$work/$1"
}
# expect_refusal TEXT
expect_refusal() {
    local got said
    said=$(PATH=$work TMPDIR=$work "$work/bash" "$script" 2>&1)
    got=$?
    if [ "$got" != 4 ] || [ "$said" != "ci/prove-bare: $1" ]; then
        echo "FAILED: exit $got and '$said', should be 4 and '$1'" >&2
        failures=$((failures + 1))
    fi
}

expect_refusal "debootstrap is missing: apt-get install debootstrap"
stand_in debootstrap 'exit 1'
stand_in id 'echo 1000'
expect_refusal "only root can make a Debian and change into it"
stand_in id 'echo 0'
stand_in cat 'exit 0'
expect_refusal "debootstrap has failed"
[ -z "$(find "$work" -mindepth 1 -name "tmp.*")" ] || { echo "FAILED: files are left behind" >&2 && failures=$((failures + 1)); }
[ "$failures" = 0 ]
