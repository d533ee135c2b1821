#!/usr/bin/env bash
# ci/stress and ci/nightly: which words reach hbmstress.  Everything that they call is a stand-in.
set -u
tree=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/ci" "$work/bin" "$work/build/release/cli"
cp "$tree/ci/stress" "$tree/ci/nightly" "$work/ci"
for name in ci/setup bin/cmake; do
    printf '#!/bin/sh\nexit 0\n' >"$work/$name"
done
printf '#!/bin/sh\necho "$*"\n' >"$work/build/release/cli/hbmstress"
chmod +x "$work/ci/setup" "$work/bin/cmake" "$work/build/release/cli/hbmstress"
failures=0

# expect WANTED SCRIPT ARGUMENT...
expect() {
    local wanted=$1 got
    shift
    got=$(cd / && PATH="$work/bin:$PATH" "$work/ci/$1" "${@:2}") || got="exit $?"
    [ "$got" = "$wanted" ] && return
    echo "FAILED: ci/$*: '$got', should be '$wanted'" >&2
    failures=$((failures + 1))
}

smoke="run --job scenarios/jobs/smoke.ini --workers 2 --out out"
expect "$smoke" stress
expect "$smoke --time 10m --seed 7" stress --time 10m --seed 7
expect "run --job mine.ini" stress --job mine.ini
expect "run --time 5s --job=mine.ini slow_leak" stress --time 5s --job=mine.ini slow_leak
expect "run --job scenarios/jobs/nightly.ini --out out-nightly" nightly
expect "run --job scenarios/jobs/nightly.ini --out out-nightly --time 1h" nightly --time 1h
for job in smoke nightly; do
    [ -e "$tree/scenarios/jobs/$job.ini" ] || failures=$((failures + 1))
done
[ "$failures" = 0 ]
