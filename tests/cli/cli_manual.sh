#!/usr/bin/env bash
# Manual pages and completions: all that --help has, correct mdoc, the same bytes each time.
# Arguments: the program, hbmstress-manual, the source tree, hbm-certificate-check.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
manual=$2
source=$3
checker=$4
PATH=$(dirname "$hbmstress"):$PATH
unset SOURCE_DATE_EPOCH
pages=$work/pages
mkdir "$pages" "$work/again" "$work/later"
"$manual" "$pages" "$source" || fail "no pages"
"$manual" "$work/again" "$source" || fail "no pages the second time"
diff -r "$pages" "$work/again" >/dev/null || fail "pages differ when they are made twice"
SOURCE_DATE_EPOCH=86400 "$manual" "$work/later" "$source" || fail "no pages of another day"
grep -q '^\.Dd January 2, 1970$' "$work/later/hbmstress.1" || fail "the day is not that of SOURCE_DATE_EPOCH"
if "$manual" "$work/missing" "$source" 2>/dev/null; then fail "a folder that is not there is no failure"; fi

# The meanings of exit codes, whole: a broken one goes on in the column where it began.
whole() { sed -z 's/\n     \([^ ]\)/ \1/g'; }
subcommands=$("$hbmstress" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p')
[ "$(echo "$subcommands" | wc -l)" -ge 17 ] || fail "--help lists too few subcommands: $subcommands"
for subcommand in $subcommands; do
    page=$pages/hbmstress-$subcommand.1
    [ -e "$page" ] || { fail "$subcommand has no page"; continue; }
    grep -qE "(^|[ (])$subcommand([ )]|\$)" "$source/cli/manual/CMakeLists.txt" ||
        fail "$subcommand: its page is not installed"
    plain=$(sed 's/\\-/-/g; s/Fl Fl /--/g' "$page")
    help=$("$hbmstress" "$subcommand" --help | whole)
    grep -q '^Exit codes:$' <<<"$help" || help=$("$hbmstress" --help | whole)
    diff <(sed -n '/^Exit codes:$/,/^$/s/^  \([0-4]\)  //p' <<<"$help" | tr -d '\n') \
        <(sed -n '/^\.Sh EXIT STATUS/,/^\.El/{/^\./d;s/\\-/-/g;p;}' "$page" | tr -d '\n') >/dev/null ||
        fail "$subcommand: the exit codes on its page are not those of --help"
    options=$("$hbmstress" "$subcommand" --help | sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p')
    for option in $options; do
        grep -qE -- "^\.It (Fl [a-zA-Z] , )?$option( |\$)" <<<"$plain" || fail "$subcommand: $option is not on its page"
        grep -qF -- "'$subcommand $option'" "$pages/hbmstress" || grep -E "^ *$subcommand\) echo" "$pages/hbmstress" |
            grep -qF -- "$option" || fail "bash: $subcommand $option is not completed"
    done
done

# These have exit codes of their own.
for subcommand in check watch explain infer compare report-bug pod scale budget doctor list; do
    "$hbmstress" "$subcommand" --help | grep -q '^Exit codes:$' || fail "$subcommand --help has no exit codes"
done

# That of the checker is written by hand.
page=$source/checker/hbm-certificate-check.1
for option in $("$checker" --help | grep -o -- '--[a-z]*' | sort -u); do
    grep -qE "^\.(It |Op )?Fl Fl ${option#--}( |\$)" "$page" || fail "hbm-certificate-check(1) lacks $option"
done
cp "$page" "$pages/"

# The words of the parser are those of hbmstress-ops(5).
words() { sed -n "/$1\[\] = {/,/^};/s/^    {\"\([a-z_]*\)\".*/\1/p" "$source/$2" | sort -u; }
named() { sed -n "/^\.Sh $1/,/^\.Sh/s/^\.It Ic \"*\(\\\\&\)*\([a-z_]*\).*/\2/p" "$pages/hbmstress-ops.5" | sort -u; }
[ -n "$(words heads harness/op/ops_parse_head.c)" ] || fail "no words of the head found"
diff <(words heads harness/op/ops_parse_head.c) <(named HEAD) || fail "hbmstress-ops(5): the head"
diff <(words fields harness/op/ops_fields.c) <(named FIELDS) || fail "hbmstress-ops(5): the fields"
diff <("$hbmstress" list faults | sed -n 's/^fault  *\([^ ]*\).*/\1/p' | sort) <(named FAULTS) || fail "hbmstress-ops(5): the faults"

# References lead somewhere.
sed -n 's/^\(\.It \)*\.*Xr \([^ ]*\) \([0-9]\).*/\2.\3/p' "$pages"/*.[135] | sort -u >"$work/references"
[ -s "$work/references" ] || fail "no page refers to another one"
while read -r reference; do
    [ -e "$pages/$reference" ] || fail "there is no $reference"
done <"$work/references"

# Each name that a header declares is on its page.
check_header() {
    local page=$pages/$1 header=$source/$2 name
    for name in $(sed -n 's/^\(struct\|enum\) \([a-z_]*\) {.*/\2/p; s/^[A-Za-z].*[ *]\([a-z][a-z_]*\)(.*/\1/p; s/^ *\([A-Z][A-Z_0-9]*\),.*/\1/p' "$header"); do
        grep -q "^\.It Ic .*\b$name\b" "$page" || fail "$1 lacks $name of $2"
    done
}
check_header hbmstress-target.3 harness/target.h
check_header libhbm.3 allocator/hbm.h
check_header libhbm.3 allocator/hbm_shape.h
grep -qE "pragma|HBM_MUST_USE __" "$pages"/*.3 && fail "a page has what is for the compiler alone"

if command -v mandoc >/dev/null; then
    for page in "$pages"/*.[135]; do
        mandoc -T lint -W warning "$page" >"$work/lint" || fail "$(head -3 "$work/lint")"
        wide=$(mandoc -T ascii -O width=80 "$page" | col -bx | grep -E '^.{81}' | grep -v '|[a-z]*|')
        [ -z "$wide" ] || fail "$(basename "$page") has more than 80 columns: $wide"
    done
else
    echo "skipped: mandoc is not installed"
fi

# complete_bash WORD ...: what bash offers for the last word, with a blank between.
complete_bash() {
    bash -c 'source "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _hbmstress; printf "%s\n" "${COMPREPLY[@]}" | sort | paste -sd " "' \
        bash "$pages/hbmstress" "$@"
}
expect_bash() {
    local expected=$1
    shift
    [ "$(complete_bash "$@")" = "$expected" ] || fail "bash: '$*' gives '$(complete_bash "$@")', not '$expected'"
}
mkdir "$work/some_folder"
: >"$work/some_file.ops"
cd "$work" || exit 1
expect_bash "replay" hbmstress repl
expect_bash "--target --target-option" hbmstress run --ta
expect_bash "first_fit" hbmstress run --target first_f
expect_bash "v5e v5p" hbmstress run --chip = v5
expect_bash "--chip=v5e --chip=v5p" hbmstress run --chip=v5
expect_bash "github gitlab" hbmstress run --annotate ""
expect_bash "copy,wait copy,wait_timeout" hbmstress run --faults copy,wa
expect_bash "perfetto pprof" hbmstress convert some_file.ops --to p
expect_bash "fragmentation_storm" hbmstress run --json frag
expect_bash "some_folder" hbmstress run --out some_
expect_bash "some_file.ops some_folder" hbmstress replay some_
expect_bash "" hbmstress run --seed ""
expect_bash "targets" hbmstress list t

if command -v fish >/dev/null; then
    fish -c "source $pages/hbmstress.fish; complete -C 'hbmstress run --target first_f'" >"$work/fish" 2>&1
    grep -q '^first_fit' "$work/fish" || fail "fish: $(cat "$work/fish")"
    fish -c "source $pages/hbmstress.fish; complete -C 'hbmstress run --ta'" >"$work/fish" 2>&1
    grep -q '^--target-option' "$work/fish" || fail "fish: $(cat "$work/fish")"
    fish -c "source $pages/hbmstress.fish; complete -C 'hbmstress help repl'" >"$work/fish" 2>&1
    grep -q '^replay' "$work/fish" || fail "fish: help: $(cat "$work/fish")"
else
    echo "skipped: fish is not installed"
fi
if command -v zsh >/dev/null; then
    zsh -n "$pages/_hbmstress" || fail "zsh cannot read its completion"
else
    echo "skipped: zsh is not installed"
fi
finish
