#!/usr/bin/env bash
# ci/stress and ci/nightly: which words reach hbmstress.  Everything that they call is a stand-in.
# shellcheck disable=SC2016 # for the stand-ins
set -u
tree=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/ci" "$work/bin" "$work/tests/fuzz" "$work/build/release/cli"
cp "$tree/ci/stress" "$tree/ci/nightly" "$tree/ci/fuzz_common.sh" "$tree/ci/help.sh" "$tree/ci/progress.sh" "$work/ci"
printf '#!/bin/sh\necho "setup $*" >>"%s/steps"\n' "$work" >"$work/ci/setup"
printf '#!/bin/sh\necho "cmake $*" >>"%s/steps"\n' "$work" >"$work/bin/cmake"
printf '#!/bin/sh\necho "$*"\n' >"$work/build/release/cli/hbmstress"
printf '#!/bin/sh\necho "fuzz $*"\nexit 1\n' >"$work/ci/fuzz-nightly"
printf '#!/bin/sh\necho "fleet"\nexit 77\n' >"$work/tests/fuzz/fuzz_fleet.sh"
mkdir -p "$work/tests/ci"
printf '#!/bin/sh\necho mpirun\n' >"$work/tests/ci/cluster_mpirun.sh"
printf '#!/bin/sh\necho slurm\nexit 77\n' >"$work/tests/ci/cluster_slurm.sh"
chmod +x "$work/tests/ci/cluster_mpirun.sh" "$work/tests/ci/cluster_slurm.sh"
mkdir -p "$work/tests/page" "$work/tests/docs"
printf '#!/bin/sh\necho "pages $*"\n' >"$work/tests/docs/run_pages.py"
chmod +x "$work/tests/docs/run_pages.py"
printf '#!/bin/sh\necho "page $4 $HBMSTRESS_NEEDS_BROWSER"\n' >"$work/tests/page/page_report.py"
chmod +x "$work/tests/page/page_report.py"
# A Debian that can be made: by root, and with debootstrap.
printf '#!/bin/sh\necho "first minutes"\n' >"$work/ci/prove-first-minutes"
printf '#!/bin/sh\necho "steps of CI"\n' >"$work/ci/prove-ci"
chmod +x "$work/ci/prove-first-minutes" "$work/ci/prove-ci"
printf '#!/bin/sh\necho "coverage $*"\n' >"$work/ci/coverage"
printf '#!/bin/sh\necho "proof $*"\n' >"$work/ci/prove-package"
printf '#!/bin/sh\nexit 0\n' >"$work/bin/debootstrap"
printf '#!/bin/sh\necho "${USER_ID:-0}"\n' >"$work/bin/id"
chmod +x "$work/ci/prove-package" "$work/bin/debootstrap" "$work/bin/id"
printf '#!/bin/sh\nexit "${MOUNT_STATUS:-0}"\n' >"$work/bin/unshare"
printf '#!/bin/sh\necho "mutants $1"\n' >"$work/ci/mutants"
chmod +x "$work/bin/unshare" "$work/ci/mutants"
printf '#!/bin/sh\necho "exhaustive $*"\n' >"$work/ci/exhaustive"
printf '#!/bin/sh\necho "build-types $*"\n' >"$work/ci/build-types"
printf '#!/bin/sh\necho "reproducible $*"\n' >"$work/ci/reproducible"
printf '#!/bin/sh\necho "determinism $*"\n' >"$work/ci/check-determinism"
chmod +x "$work/ci/fuzz-nightly" "$work/ci/coverage" "$work/ci/exhaustive" "$work/ci/build-types" "$work/ci/reproducible" "$work/ci/check-determinism" "$work/tests/fuzz/fuzz_fleet.sh" "$work/ci/setup" "$work/bin/cmake" "$work/build/release/cli/hbmstress"
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

# A first run installs and builds the program and the kit, nothing for tests, and says what comes next.
said=$(cd / && PATH="$work/bin:$PATH" "$work/ci/stress" 2>&1 >"$work/printed")
for wanted in "setup --to-build" "cmake --preset release -DHBMSTRESS_TESTS=OFF" "--target hbmstress kit"; do
    grep -q -e "$wanted" "$work/steps" || { echo "FAILED: ci/stress: no step '$wanted'" >&2 && failures=$((failures + 1)); }
done
for wanted in "hbmstress report out " "new-target"; do
    [[ $said == *"$wanted"* ]] || { echo "FAILED: ci/stress does not name '$wanted'" >&2 && failures=$((failures + 1)); }
done
for words in "--out elsewhere" "--out=elsewhere"; do
    # shellcheck disable=SC2086 # words
    said=$(cd / && PATH="$work/bin:$PATH" "$work/ci/stress" $words 2>&1 >/dev/null)
    [[ $said == *"hbmstress report elsewhere "* ]] || { echo "FAILED: ci/stress $words: '$said'" >&2 && failures=$((failures + 1)); }
done
smoke="run --job scenarios/jobs/smoke.ini --workers 2 --out out"
expect "$smoke" stress
expect "$smoke --time 10m --seed 7" stress --time 10m --seed 7
expect "run --job mine.ini" stress --job mine.ini
expect "run --time 5s --job=mine.ini slow_leak" stress --time 5s --job=mine.ini slow_leak
night="run --job scenarios/jobs/nightly.ini --out out-nightly"
expect "$night" nightly --fuzz 0
expect "$night --time 1h" nightly --time 1h --fuzz=0
# A finding of the fuzzers is one of the night.
expect "exit 1" nightly --time 1h
night_said() { PATH="$work/bin:$PATH" "$work/ci/nightly" --fuzz 2h --time 1h; }
said=$(night_said)
traces="run --job scenarios/jobs/traces.ini --time 30m --out out-traces"
[ "$said" = "$night --time 1h"$'\n'"$traces"$'\nbuild-types \nreproducible \ndeterminism \nexhaustive \npages build/release --nightly\nmpirun\nslurm\nreport out-nightly -o out-nightly/report.html\npage out-nightly/report.html yes\nfuzz --time 2h\nfleet\nproof \nfirst minutes\nsteps of CI\ncoverage --check\nmutants --check\nmutants --count' ] || {
    echo "FAILED: ci/nightly --fuzz 2h --time 1h: '$said'" >&2
    failures=$((failures + 1))
}
# Only root that may mount can make a Debian.
for lack in USER_ID=1000 MOUNT_STATUS=1; do
    said=$(export "${lack?}" && night_said)
    [[ $said == *$'\nskipped: ci/prove-package, ci/prove-first-minutes, ci/prove-ci: they need root that may mount, and debootstrap (ci/setup --with-package)\ncoverage'* ]] || {
        echo "FAILED: ci/nightly with $lack: '$said'" >&2
        failures=$((failures + 1))
    }
done
# Words that are wrong are told before the night.
expect "exit 2" nightly --fuzz soon 2>/dev/null
expect "exit 2" nightly --fuzz 2>/dev/null
# What has died has judged nothing; a run that was interrupted starts nothing more.
printf '#!/bin/sh\necho "fuzz $*"\n' >"$work/ci/fuzz-nightly"
for status in 77 134 137; do
    printf '#!/bin/sh\nexit %s\n' $status >"$work/build/release/cli/hbmstress"
    expect "exit 4" nightly --fuzz 0
done
for status in 0 3; do
    rm -f "$work/said"
        printf '#!/bin/sh\ntrap "exit %s" TERM\necho started\ni=0\nwhile [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done\n' \
        $status >"$work/build/release/cli/hbmstress"
    PATH="$work/bin:$PATH" "$work/ci/nightly" >"$work/said" &
    night_run=$!
    for ((i = 0; i < 100; i++)); do
        if [ -s "$work/said" ]; then break; fi
        sleep 0.1
    done
    kill -TERM "$night_run"
    wait "$night_run"
    got=$?
    if [ "$got" != $((status ? status : 130)) ] || [ "$(cat "$work/said")" != started ]; then
        echo "FAILED: ci/nightly, interrupted with $status: exit $got, '$(cat "$work/said")'" >&2
        failures=$((failures + 1))
    fi
done
for job in smoke nightly; do
    [ -e "$tree/scenarios/jobs/$job.ini" ] || failures=$((failures + 1))
done
[ "$failures" = 0 ]
