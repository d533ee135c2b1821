#!/usr/bin/env bash
# A plug-in that is an explored target: it exports its table and no more, calls the program's runtime, and runs.
#
#     tests/explore/explored_plugin.sh HBMSTRESS PLUGIN.so
set -euo pipefail
hbmstress=$1
plugin=$2

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

command -v nm >/dev/null || exit 77
exported=$(nm -D --defined-only "$plugin" | awk '{print $3}')
if [[ $exported != hbmstress_target ]]; then
    echo "it exports $exported" >&2
    exit 1
fi
if ! nm -D --undefined-only "$plugin" | grep -q '__tsan_init'; then
    echo "it does not ask the program for the runtime" >&2
    exit 1
fi
"$hbmstress" run --target "$plugin" queued_free_race --ops 2000 --seed 1 --out "$out/run"
