#!/usr/bin/env bash
# hbm-certificate-check as a program: its options, its files, what it prints and what it exits with.
#
#     tests/checker/checker_program.sh HBMSTRESS HBM-CERTIFICATE-CHECK TREE
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/../cli/cli_common.sh"
checker=$2 tree=$3

# expect_line CODE TEXT ARGUMENT...: TEXT is the whole of what the checker prints.
expect_line() {
    local wanted=$1 text=$2
    shift 2
    expect_exit "$wanted" "$@"
    [ "$(cat out.txt err.txt)" = "$text" ] || fail "$*: '$(cat out.txt err.txt)', should be '$text'"
}

expect_exit 0 replay "$tree/corpus/causes/fragmented.ops" --certificates one
expect_exit 0 replay "$tree/corpus/causes/padding.ops" --certificates two
one=one/op-12-justified.json
hbmstress=$checker

# --- one file, several files --------------------------------------------------------------------------------------
expect_line 0 "valid: justified, spans" $one
expect_line 0 "valid: justified, spans" - <$one
sed 's/"bytes": 16777216/"bytes": 4096/' $one >wrong.json
expect_line 1 "refuted: proof: the request fits before blocks[0]" wrong.json
echo '{' >broken.json
expect_line 2 "unreadable: line 2, column 0: this is not JSON" broken.json
expect_line 2 "absent.json: cannot be read, or is larger than 1 GiB" absent.json
expect_line 2 ".: cannot be read, or is larger than 1 GiB" .
expect_line 1 "$one: valid: justified, spans
wrong.json: refuted: proof: the request fits before blocks[0]
$one: valid: justified, spans" $one wrong.json $one
expect_exit 2 $one broken.json wrong.json
[ "$(wc -l <out.txt)" = 2 ] || fail "a file that is unreadable ends the others"
[ "$(cat err.txt)" = "broken.json: unreadable: line 2, column 0: this is not JSON" ] || fail "$(cat err.txt)"

# --- files of many bytes, and output that is lost -----------------------------------------------------------------
# expect_padded BYTES: the certificate with blanks before it, up to so many bytes.
expect_padded() {
    { head -c $(($1 - $(wc -c <$one))) /dev/zero | tr '\0' ' ' && cat $one; } >padded.json
    [ "$(wc -c <padded.json)" = "$1" ] || fail "padded.json has not $1 bytes"
    expect_line 0 "valid: justified, spans" padded.json
}
expect_padded 65536
expect_padded 65537
expect_padded 300000
# A file that the memory is too small for.
truncate -s 40M zeros
code=0
case $(grep -ao '__[at]san_init' "$checker" | head -1) in
    *san_init)
        small=allocator_may_return_null=1:max_allocation_size_mb=16
        ASAN_OPTIONS=${ASAN_OPTIONS-}:$small TSAN_OPTIONS=${TSAN_OPTIONS-}:$small "$checker" zeros 2>err.txt || code=$?
        ;;
    *) (ulimit -v 50000 && exec "$checker" zeros) 2>err.txt || code=$? ;;
esac
[ $code = 2 ] || fail "zeros: exit code $code, should be 2"
expect_text err.txt "zeros: cannot be read, or is larger than 1 GiB"
# expect_lost FILE: the checker exits with 2 if what it prints cannot be written.
expect_lost() {
    local code=0
    "$checker" "$1" 2>/dev/full >/dev/full || code=$?
    [ $code = 2 ] || fail "$1 with full output: exit code $code, should be 2"
    code=0
    "$checker" "$1" 2>&- >&- || code=$?
    [ $code = 2 ] || fail "$1 with closed output: exit code $code, should be 2"
}
expect_lost $one
expect_lost wrong.json
expect_lost broken.json

# --- a list, and what it met --------------------------------------------------------------------------------------
expect_line 0 "valid: justified, spans; the op is that of the list" --list one/list.ops $one
expect_line 0 "valid: justified, spans; the state is that of the list and its observations" \
    --observations one/observations.jsonl --list one/list.ops $one
sed 's/^seed .*/seed 2/' one/list.ops >seed.ops
expect_exit 1 --list seed.ops $one
expect_text out.txt "refuted: list: its SHA-256 is "
sed '/"op": 8,/s/"holds": 0/"holds": 1/' $one >held.json
cmp -s $one held.json && fail "no block of the certificate is where the test expects it"
expect_line 0 "valid: justified, spans; the op is that of the list" --list one/list.ops held.json
expect_line 1 "refuted: blocks[0]: holds is 1, by list and observations 0" \
    --list one/list.ops --observations one/observations.jsonl held.json

# --- what is neither list nor log ---------------------------------------------------------------------------------
expect_line 2 "list.ops: cannot be read, or is larger than 1 GiB" --list list.ops $one
expect_line 2 "log.jsonl: cannot be read, or is larger than 1 GiB" \
    --list one/list.ops --observations log.jsonl $one
expect_line 2 ".: cannot be read, or is larger than 1 GiB" --list one/list.ops --observations . $one
expect_line 2 "$one:1: the first line is not 'hbmstress-ops 1'" --list $one $one
expect_line 2 "one/list.ops:1: column 9: this is not JSON" --list one/list.ops --observations one/list.ops $one
expect_line 2 "two/observations.jsonl:1: target, options, capacity or hosts are not those of the list" \
    --list one/list.ops --observations two/observations.jsonl $one
: >empty
expect_line 2 "empty:0: the log has no head" --list one/list.ops --observations empty $one

# --- usage --------------------------------------------------------------------------------------------------------
expect_exit 0 --help
expect_text out.txt "usage: hbm-certificate-check [--list LIST [--observations LOG]] FILE..."
[ ! -s err.txt ] || fail "--help writes to standard error"
usage=$(cat out.txt)
expect_line 2 "$usage"
expect_line 2 "$usage" --list one/list.ops
expect_line 2 "$usage" --list
expect_line 2 "$usage" --observations one/observations.jsonl $one
expect_line 2 "$usage" --list one/list.ops --list one/list.ops $one
expect_line 2 "$usage" --lists one/list.ops $one

finish
