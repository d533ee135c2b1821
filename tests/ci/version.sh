#!/usr/bin/env bash
# cmake/version.cmake finds the version of each kind of tree, and is asked again when a commit or a tag changes it.
#
#     tests/ci/version.sh TREE
set -u
tree=$(realpath "$1")
if ! command -v git >/dev/null; then
    echo "skipped: git is missing"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export HOME=$work GIT_CONFIG_NOSYSTEM=1 GIT_CEILING_DIRECTORIES=$work GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org \
    GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org

# find_version SOURCE [PROJECT]: what it prints is in version, the warning in $work/warning.
find_version() {
    cmake -DSOURCE="$1" -DPROJECT="${2:-0.1.0}" -P "$tree/cmake/version.cmake" >"$work/out" 2>&1 || fail "$1: cmake fails"
    version=$(tail -n 1 "$work/out")
    sed '$d' "$work/out" >"$work/warning"
}
# expect WANTED SOURCE [PROJECT]: without a warning.
expect() {
    find_version "${@:2}"
    [ "$version" = "$1" ] || fail "$2: is '$version', should be '$1'"
    [ ! -s "$work/warning" ] || fail "$2: warns: $(cat "$work/warning")"
}
# expect_warning WANTED SOURCE [PROJECT]
expect_warning() {
    find_version "${@:2}"
    [ "$version" = "$1" ] || fail "$2: is '$version', should be '$1'"
    grep -q 'differ' "$work/warning" || fail "$2: has no warning"
}
commit() { git -C "$1" commit -q --allow-empty -m "$2" || exit 1; }
hash_of() { git -C "$1" rev-parse --short=12 HEAD; }

mkdir "$work/archive"
expect 0.1.0 "$work/archive"

repo="$work/a tree"
git init -q "$repo"
expect 0.1.0 "$repo" # no commit yet
commit "$repo" one
expect 0.1.0 "$repo"
git -C "$repo" tag v0.1.0
expect 0.1.0 "$repo"
expect_warning 0.1.0 "$repo" 0.2.0
commit "$repo" two
commit "$repo" three
expect "0.1.0+2.g$(hash_of "$repo")" "$repo"
ln -s "$repo" "$work/link"
expect "0.1.0+2.g$(hash_of "$repo")" "$work/link"
touch "$repo/not-committed"
expect "0.1.0+2.g$(hash_of "$repo")" "$repo"
# Tags of another form are none.
for tag in v0.3 v0.3.0-rc1 v0.3.0.1 0.4.0 v0.3.x release; do git -C "$repo" tag "$tag"; done
expect "0.1.0+2.g$(hash_of "$repo")" "$repo"
# Another working tree of the repository, and a variable that a hook has left.
git -C "$repo" worktree add -q "$work/beside" v0.1.0
expect 0.1.0 "$work/beside"
git init -q "$work/other"
commit "$work/other" one
git -C "$work/other" tag v9.9.9
GIT_DIR=$work/other/.git GIT_WORK_TREE=$work/other expect "0.1.0+2.g$(hash_of "$repo")" "$repo"
# Annotated, and lower or higher than project(VERSION).
git -C "$repo" tag -a -m two v0.2.0
expect 0.2.0 "$repo" 0.2.0
expect_warning 0.2.0 "$repo" 0.1.0
expect_warning 0.2.0 "$repo" 0.3.0
commit "$repo" four
expect_warning "0.2.0+1.g$(hash_of "$repo")" "$repo" 0.1.0

# A clone that is too short for the tag, and one that has it.
git clone -q --depth 1 "file://$repo" "$work/shallow"
expect 0.1.0 "$work/shallow"
git clone -q --depth 1 --branch v0.2.0 "file://$repo" "$work/released" 2>/dev/null
expect 0.2.0 "$work/released" 0.2.0
# Inside a repository that is not its own; one of somebody else; a git that does not run.
mkdir "$repo/vendored"
expect 0.1.0 "$repo/vendored"
GIT_TEST_ASSUME_DIFFERENT_OWNER=1 expect 0.1.0 "$repo"
mkdir "$work/bin"
printf '#!/bin/sh\nexit 127\n' >"$work/bin/git"
chmod +x "$work/bin/git"
PATH=$work/bin:$PATH expect 0.1.0 "$repo"

# A build asks again when there is another commit or tag, and only then.
project=$work/project
git init -q "$project"
cat >"$project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(asks VERSION 0.1.0 LANGUAGES NONE)
include("${MODULE}")
file(WRITE "${CMAKE_BINARY_DIR}/version" "${HBMSTRESS_VERSION}")
file(APPEND "${CMAKE_BINARY_DIR}/asked" "asked\n")
END
git -C "$project" add CMakeLists.txt
commit "$project" one
# expect_built WANTED TIMES: after a build.
expect_built() {
    cmake --build "$work/build" >"$work/log" 2>&1 || fail "the build fails: $(tail -n 5 "$work/log")"
    [ "$(cat "$work/build/version")" = "$1" ] || fail "the build has $(cat "$work/build/version"), should have $1"
    [ "$(wc -l <"$work/build/asked")" -le "$2" ] || fail "$1: asked $(wc -l <"$work/build/asked") times, should be $2"
}
if command -v ninja >/dev/null; then
    cmake -G Ninja -DMODULE="$tree/cmake/version.cmake" -S "$project" -B "$work/build" >/dev/null || fail "cmake -S fails"
    expect_built 0.1.0 1
    git -C "$project" tag v0.1.0
    expect_built 0.1.0 2
    commit "$project" two
    expect_built "0.1.0+1.g$(hash_of "$project")" 3
    git -C "$project" tag v0.1.1
    expect_built 0.1.1 4
    git -C "$project" checkout -q -b branch v0.1.0
    expect_built 0.1.0 5
    git -C "$project" pack-refs --all
    commit "$project" three
    expect_built "0.1.0+1.g$(hash_of "$project")" 6
    touch "$project/not-committed"
    git -C "$project" status >/dev/null
    expect_built "0.1.0+1.g$(hash_of "$project")" 6
fi
echo "version: $failures failures"
[ "$failures" = 0 ]
