#!/usr/bin/env bash
# ci/prove-bare and its sisters refuse in one line, with exit 4, what they cannot do, and with exit 2 what they do not
# understand. The Debian itself takes minutes: nobody makes it here.
#
#     tests/ci/ci_prove_bare.sh TREE
set -u
ci=$(realpath "$1")/ci
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

for name in bash dirname mktemp mkdir realpath rm umount; do ln -s "$(command -v $name)" "$work/$name"; done
stand_in() { # NAME BODY
    printf '#!%s/bash\n%s\n' "$work" "$2" >"$work/$1"
    chmod +x "$work/$1"
}
# expect_refusal CODE SCRIPT TEXT [WORD …]
expect_refusal() {
    local wanted=$1 script=$2 text=$3 got said
    shift 3
    said=$(PATH=$work TMPDIR=$work "$work/bash" "$ci/$script" "$@" 2>&1)
    got=$?
    if [ "$got" != "$wanted" ] || [ "${said#== a minimal Debian 12$'\n'}" != "ci/$script: $text" ]; then
        echo "FAILED: exit $got and '$said', should be $wanted and '$text'" >&2
        failures=$((failures + 1))
    fi
}

mkdir "$work/packages"
touch "$work/packages/hbmstress_1-1_amd64.deb"
expect_all() { # TEXT
    expect_refusal 4 prove-bare "$1"
    expect_refusal 4 prove-first-minutes "$1"
    expect_refusal 4 prove-ci "$1"
    expect_refusal 4 prove-package "$1" --packages "$work/packages"
}
expect_all "debootstrap is missing: apt-get install debootstrap"
stand_in debootstrap 'exit 1'
stand_in id 'echo 1000'
expect_all "only root can make a Debian and change into it"
stand_in id 'echo 0'
stand_in cat 'exit 0'
stand_in python3 'exit 0'
expect_all "debootstrap has failed"
asked="; ci/prove-package --help has an example"
expect_refusal 2 prove-package "unknown option '--package'$asked" --package x
expect_refusal 2 prove-package "--packages needs a folder$asked" --packages
expect_refusal 2 prove-package "$work/bin has no packages$asked" --packages "$work/bin"
expect_refusal 2 prove-package "one directory is enough$asked" a b
[ -z "$(find "$work" -mindepth 1 -name "tmp.*")" ] || { echo "FAILED: files are left behind" >&2 && failures=$((failures + 1)); }
[ "$failures" = 0 ]
