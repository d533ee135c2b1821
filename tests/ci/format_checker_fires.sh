#!/usr/bin/env bash
# The checker of the format finds each kind of breach in a tree made for it, and nothing in a good one.
set -euo pipefail
source_tree=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
if ! command -v clang-format-14 >/dev/null; then
    echo "skipped: clang-format-14 is missing"
    exit 77
fi
mkdir "$tree/ci" "$tree/harness"
cp "$source_tree/ci/check-format" "$source_tree/ci/help.sh" "$tree/ci/"
cp "$source_tree/.clang-format" "$tree/"
failure_count=0

# check EXIT "TEXT of the file"
check() {
    printf '%b' "$2" >"$tree/harness/thing.c"
    local code=0
    "$tree/ci/check-format" >"$tree/said.txt" || code=$?
    if [[ $code -ne $1 ]] || { [[ $1 -ne 0 ]] && ! grep -q 'harness/thing.c:' "$tree/said.txt"; }; then
        echo "exit $code, should be $1, for: $2"
        cat "$tree/said.txt"
        failure_count=$((failure_count + 1))
    fi
}

check 0 'int f(int a)\n{\n    if (a > 0) {\n        return 1;\n    }\n    return 0;\n}\n'
check 1 'int f(int a)\n{\n    if (a > 0)\n        return 1;\n    return 0;\n}\n'
check 1 'int f(int a)\n{\n    while (a > 0)\n        a--;\n    return a;\n}\n'
check 1 'int f(int a) {\n    return a;\n}\n'
check 1 'int f(int a)\n{\n  return a;\n}\n'
check 1 'int f(int *a);\nint g(int* a);\n'

echo "format_checker_fires: $failure_count failures"
[[ $failure_count -eq 0 ]]
