#!/usr/bin/env bash
# A plug-in with a thread of its own, compiled by a plain compiler without anything of this project but one header, is
# explored by the test program as it is.
#
#     tests/targets/explored_worker.sh TEST_WORKER
set -euo pipefail
test_worker=$1
source_dir=$(cd "$(dirname "$0")/../.." && pwd)

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

command -v "${CC:-cc}" >/dev/null || exit 77
compile() {
    "${CC:-cc}" -shared -fPIC -O2 -pthread -I "$source_dir" "$source_dir/targets/example/reaper.c" "$@"
}
compile -o "$out/reaper.so"
compile -DREAPER_LOSES_WAKEUP -o "$out/reaper_lossy.so"
"$test_worker" "$out"
