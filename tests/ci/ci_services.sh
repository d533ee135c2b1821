#!/usr/bin/env bash
# What action.yml and the template of GitLab make of a change, with the built program: promises kept, a new finding, a known
# one, a budget, bad input. The steps are those of the YAML (tests/ci/stand_in.py); only the build is spared.
#
#     tests/ci/ci_services.sh HBMSTRESS TREE
# shellcheck disable=SC2016 # hostile inputs
tree=$(realpath "$2")
set -- "$(realpath "$1")"
python3 -c 'import yaml' 2>/dev/null || { echo "skipped: python3-yaml is not installed"; exit 77; }
# shellcheck source=tests/cli/cli_common.sh
. "$tree/tests/cli/cli_common.sh"
stand_in=$tree/tests/ci/stand_in.py

# The action's own checkout, without what takes long: the program is there as from a cache.
mkdir -p action/ci change
cp "$tree/action.yml" action
cp "$tree"/ci/{install,review,help.sh,setup} action/ci
printf '#!/bin/sh\nexit 0\n' >action/ci/setup
put_program() { # DIRECTORY
    mkdir -p "$1/bin" "$1/share/hbmstress"
    ln -sf "$hbmstress" "$1/bin/hbmstress"
    action/ci/install --key "$1" | sed -n 's/^key=//p' >"$1/share/hbmstress/key"
}

# expect_action CODE NAME=INPUT...: its output is in out.txt, without colours and commands of others.
expect_action() {
    local wanted=$1 got
    shift
    rm -rf temp change/out
    mkdir temp
    put_program "$work/temp/hbmstress"
    python3 "$stand_in" action "$work/action" --workspace "$work/change" --temp "$work/temp" "$@" >out.txt 2>&1
    got=$?
    [ "$got" = "$wanted" ] || fail "the action with $*: exit $got, should be $wanted; $(tail -n 5 out.txt)"
    [ "$wanted" = 70 ] || expect_text out.txt "step.exit-code=$wanted"
}

cat >change/job.ini <<'END'
[global]
target = plant_premature_last_hole
seed = 7

[storm]
scenario = fragmentation_storm
seeds = 1
END
printf 'hbmstress-ops 1\ncapacity 8K\n\n0: alloc size=1K\n1: alloc size=3K\n' >change/trace.ops

# Promises kept.
expect_action 0 job=job.ini target=hbm
expect_text out.txt "every promise kept"
expect_text out.txt "step.sarif=out/results.sarif"
! grep -q '^::' out.txt || fail "a sound run is annotated"
[ -s change/out/results.sarif ] || fail "no results.sarif"

# A new finding: next to the job, and on the page of the step. The same is no failure once it is known.
expect_action 1 job=job.ini options="--shrink-budget 200"
grep -q '^::error file=job.ini,line=5,title=premature' out.txt || fail "no annotation: $(tail -n 3 out.txt)"
expect_text temp/step_summary "a promise was broken"
expect_text out.txt "step.sarif=out/results.sarif"
"$hbmstress" report --baseline change/out >change/known.txt
expect_action 0 job=job.ini baseline=known.txt options="--shrink-budget
200"
grep -q '^::notice file=job.ini,line=5' out.txt || fail "a known finding is no notice: $(tail -n 3 out.txt)"

# A budget: met, exceeded.
expect_action 0 budget=trace.ops options="--peak 4K"
expect_text out.txt "within budget"
expect_action 1 budget=trace.ops options="--peak 1K"
grep -q '^::error file=trace.ops,line=5,title=budget exceeded' out.txt || fail "no annotation: $(tail -n 3 out.txt)"
grep -qx 'step.sarif=' out.txt || fail "a budget has SARIF: $(tail -n 3 out.txt)"

# Bad input: nothing ran, so nothing is shown.
expect_action 2 job=none.ini
expect_text out.txt "none.ini"
grep -qx 'step.sarif=' out.txt || fail "SARIF of a run that was refused: $(tail -n 3 out.txt)"
expect_action 2 budget=trace.ops job=job.ini
expect_text out.txt "ci/review: a budget has neither a job nor a baseline"
expect_action 2 budget=trace.ops
expect_action 70 jobs=job.ini

# A file that is there already is of another run.
mkdir -p old/out && echo old >old/out/results.sarif
for options in --version --seed=none; do
    : >github.txt
    (cd old && PATH=$(dirname "$hbmstress"):$PATH GITHUB_OUTPUT=../github.txt HBMSTRESS_OPTIONS=$options \
        "$tree/ci/review" github >../out.txt 2>&1)
    ! grep -q '^sarif=' github.txt || fail "$options: SARIF of another run: $(cat github.txt)"
    expect_text github.txt "exit-code="
done

# Inputs from a change are words and nothing else: no command, no pattern, no option, no output of their own.
expect_action 2 job='$(touch hit)`touch hit`;touch hit' options='$(touch hit) ; touch hit * "a b"'
expect_action 2 job='--help'
expect_action 2 budget='--help' options='--peak 4K'
expect_action 2 out=$'o\nsarif=/etc/passwd' job=job.ini
expect_text out.txt "ci/review: a path with a control character"
grep -qx 'step.sarif=' out.txt || fail "an input forged an output"
expect_action 0 job=job.ini target=hbm options='--out elsewhere --annotate gitlab'
expect_text out.txt "step.sarif=out/results.sarif"
[ ! -e change/elsewhere ] || fail "an option moved what the outputs name"
[ -z "$(find . -name 'hit*')" ] || fail "an input ran"

# ci/review alone.
! PATH=/usr/bin:/bin "$tree/ci/review" github >out.txt 2>&1 || fail "a review without a program"
expect_text out.txt "ci/review: no hbmstress on the PATH; ci/install installs it"
! "$tree/ci/review" >out.txt 2>&1 || fail "a review without a service"
expect_text out.txt "ci/review: github or gitlab is needed"

# An installation that is cut short does not leave the old program's name on what is there.
put_program "$work/cut"
echo '#' >>action/ci/help.sh
mkdir bin && printf '#!/bin/sh\nexit 1\n' >bin/cmake && chmod +x bin/cmake
PATH=$work/bin:$PATH action/ci/install cut >out.txt 2>&1
[ $? = 4 ] || fail "an installation without a build: should be 4; $(tail -n 3 out.txt)"
[ ! -e cut/share/hbmstress/key ] || fail "an installation that was cut short counts as whole"

# GitLab: the lines of its job. A repository of the action's checkout is what it clones.
command -v git >which.txt || { echo "git is not installed: the template of GitLab is left out"; finish; }
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
HOME=$work git init --quiet --initial-branch main action
HOME=$work git -C action add . && HOME=$work git -C action commit --quiet --message "the checkout"
# apt-get is not for a test at a desk: where root runs it, it would change the machine.
sed '/^    - apt-get /d' "$tree/ci/hbmstress.gitlab-ci.yml" >template.yml
[ "$(diff template.yml "$tree/ci/hbmstress.gitlab-ci.yml" | grep -c '^> ')" = 2 ] || fail "the template has other lines"
expect_gitlab() { # CODE NAME=VARIABLE...
    local wanted=$1 got
    shift
    rm -rf change/out change/.hbmstress
    put_program "$work/change/.hbmstress/program"
    python3 "$stand_in" gitlab template.yml --project "$work/change" HBMSTRESS_REF=main "$@" >out.txt 2>&1
    got=$?
    [ "$got" = "$wanted" ] || fail "GitLab with $*: exit $got, should be $wanted; $(tail -n 5 out.txt)"
}
url="HBMSTRESS_URL=file://$work/action"
expect_gitlab 0 "$url" HBMSTRESS_JOB=job.ini HBMSTRESS_TARGET=hbm
[ "$(cat change/out/gl-code-quality-report.json)" = "[]" ] || fail "a sound run has a report"
expect_gitlab 1 "$url" HBMSTRESS_JOB=job.ini
expect_text change/out/gl-code-quality-report.json '"location":{"path":"job.ini","lines":{"begin":5}}'
[ -s change/out/junit.xml ] || fail "no junit.xml"
expect_gitlab 0 "$url" HBMSTRESS_JOB=job.ini HBMSTRESS_BASELINE=known.txt
expect_gitlab 1 "$url" HBMSTRESS_BUDGET=trace.ops HBMSTRESS_OPTIONS="--peak 1K"
expect_text change/out/gl-code-quality-report.json '"path":"trace.ops"'
expect_gitlab 2 "$url" HBMSTRESS_JOB='$(touch hit);*'
expect_gitlab 1 HBMSTRESS_JOB=job.ini
expect_text out.txt "is not set to a repository of hbmstress"
[ -z "$(find . -name 'hit*')" ] || fail "a variable ran"
finish
