# shellcheck shell=bash
# What the scripts about shards share; sourced behind tests/cli/cli_common.sh.

# files_of DIR: the files of a run or a merge that both have, one a line.
files_of() {
    (cd "$1" && find . -type f ! -path ./campaign ! -path ./checkpoint | sort)
}

# timeless DIR FILE: without times, and with the paths of any directory.
timeless() {
    sed -E "s#(^|[^a-zA-Z0-9_-])$1/#\1DIR/#g; s/\"seconds\": *[0-9.]+/\"seconds\":T/g; s/time=\"[0-9.]+\"/time=T/g" "$1/$2"
}

# expect_same DIR DIR: the same files, with the same bytes but for times and paths.
expect_same() {
    local file
    diff <(files_of "$1") <(files_of "$2") >difference.txt ||
        fail "$1 and $2 have other files: $(grep -c '^[<>]' difference.txt), such as $(grep -m 1 '^[<>]' difference.txt)"
    while IFS= read -r file; do
        diff <(timeless "$1" "$file") <(timeless "$2" "$file") >difference.txt ||
            fail "$1/$file is not $2/$file: $(head -n 4 difference.txt | cut -c 1-300)"
    done < <(files_of "$1")
}
