#!/usr/bin/env bash
# The test of the recording finds a line that has changed, a command that has changed, a script, and a picture that is too large.
#
#     tests/docs/record_fires.sh BUILD_DIRECTORY
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
/usr/bin/python3 -c 'import pyte' 2>/dev/null || {
    echo "skipped: python3-pyte is not there: see ci/setup"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
picture=$work/picture.svg
failure_count=0

# fires TEXT SED_COMMAND: of the picture, edited so, the test says TEXT.
fires() {
    local code=0 printed
    sed "$2" "$here/../../docs/pictures/first-run.svg" >"$picture"
    printed=$("$here/record.py" "$build" --check "$picture") || code=$?
    [[ $code -eq 1 && $printed == *"$1"* ]] && return
    echo "FAILED: '$1' wanted, exit $code: $printed"
    failure_count=$((failure_count + 1))
}

fires '-2: free block=1' 's/2: free block=0/2: free block=1/'
fires '-$ tail -n 5' 's/tail -n 4/tail -n 5/'
fires 'more than text and style' 's/<title>/<script>1<\/script><title>/'
fires 'more than text and style' 's/<title>/<image href="x.png"\/><title>/'
fires 'more than 100000 bytes' "s/<title>/<title>$(printf '%100000s' x)/"
echo "record_fires: $failure_count failures"
[[ $failure_count -eq 0 ]]
