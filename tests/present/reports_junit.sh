#!/usr/bin/env bash
# Readers that are not ours take the JUnit XML: xmllint with our schema, and junitparser, which must find as many cases
# of each kind as there are.  A reader that is absent is skipped; without any of them, all is.
set -u
program=$1 # writes NAME.xml, NAME.counts and more into a directory
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
readers=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# The first python that has junitparser; the first one of all may be without Debian's packages.
find_python() {
    local python
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import junitparser' 2>"$work/python.txt" && echo "$python" && return
    done
}

read_with_xmllint() {
    local file
    for file in "$work"/*.xml; do
        xmllint --noout --schema "$here/junit.xsd" "$file" 2>"$work/err.txt" || fail "xmllint: $(head -n 5 "$work/err.txt")"
    done
    # A schema that takes everything would prove nothing.
    sed 's/<testcase /<testcase hostname="here" /' "$work/good.xml" >"$work/named"
    ! xmllint --noout --schema "$here/junit.xsd" "$work/named" 2>"$work/err.txt" || fail "the schema takes a hostname"
}

read_with_junitparser() { # PYTHON
    "$1" - "$work"/*.xml <<'PYTHON'
import sys
from junitparser import Error, Failure, JUnitXml, Skipped

failures = 0
for path in sys.argv[1:]:
    document = JUnitXml.fromfile(path)
    suites = list(document)
    cases = [case for suite in suites for case in suite]
    found = [len(suites), len(cases)]
    for kind in (Failure, Error, Skipped):
        found.append(sum(isinstance(result, kind) for case in cases for result in case.result))
    written = [len(suites), document.tests, document.failures, document.errors, document.skipped]
    sums = [len(suites)] + [sum(getattr(suite, key) for suite in suites)
                            for key in ("tests", "failures", "errors", "skipped")]
    wanted = [int(word) for word in open(path[:-len("xml")] + "counts").read().split()]
    if not found == written == sums == wanted:
        print(f"FAILED: {path}: found {found}, written {written}, sums {sums}, wanted {wanted}", file=sys.stderr)
        failures += 1
    names = [case.classname + case.name for case in cases]
    if len(set(names)) != len(names):
        print(f"FAILED: {path}: two cases of one name", file=sys.stderr)
        failures += 1
sys.exit(failures > 0)
PYTHON
}

"$program" "$work" || fail "$program wrote nothing"
[ "$(find "$work" -name '*.xml' | wc -l)" = "$(find "$work" -name '*.counts' | wc -l)" ] || fail "files are missing"
[ -s "$work/hostile.xml" ] || fail "there is no hostile.xml"

if command -v xmllint >"$work/which.txt"; then
    readers=$((readers + 1))
    read_with_xmllint
else
    echo "skipped: xmllint is not installed (libxml2-utils)"
fi
python=$(find_python)
if [ -n "$python" ]; then
    readers=$((readers + 1))
    read_with_junitparser "$python" || fail "junitparser reads something else"
else
    echo "skipped: junitparser is not installed (python3-junitparser)"
fi
[ "$failures" = 0 ] || exit 1
[ "$readers" != 0 ] || exit 77
