#!/usr/bin/env bash
# Certificates: every verdict can leave its proof, the independent checker accepts it, and a wrong one it does not.
unknown=$(realpath "$(dirname "$0")/cli_unknown.ops")
jobs=$(realpath "$(dirname "$0")/../../scenarios/jobs")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# What a run keeps, and says that it kept.
expect_exit 1 run fragmentation_storm --target first_fit --target-option defrag=slide --capacity 64M --seed 1 --out slide
expect_kept() { # DIR COUNT: of so many premature findings
    expect_text out.txt "  proof   $1/certificates/premature-fragmentation_storm-"
    expect_text out.txt "$1/certificates: $(($2 + 2)) for hbmstress check; "
    [ "$(find "$1/repros" -name 'premature-*.ops' | wc -l)" = "$2" ] || fail "$1 should have $2 premature findings"
    [ "$(find "$1/certificates" -name 'premature-*.json' | wc -l)" = "$2" ] || fail "$1: not one certificate for each repro"
    [ "$(find "$1/certificates" -name 'justified-*.json' | wc -l)" = 2 ] || fail "$1: not two of the justified ones"
    for repro in "$1"/repros/premature-*.ops; do
        certificate=$1/certificates/$(basename "$repro" .ops).json
        expect_exit 0 check "$certificate"
        expect_text out.txt "$certificate: valid: premature"
        grep -qF "\"repro\":\"$repro\",\"certificate\":\"$certificate\"}" "$1/results.jsonl" ||
            fail "$certificate is not in its line"
        # The shrunk list's own, not that of the whole.
        [ "$(grep -c '"kind":' "$certificate")" -le "$(grep -c '^[0-9]' "$repro")" ] || fail "$certificate is of another list"
    done
    for certificate in "$1"/certificates/justified-*.json; do
        grep -qF "\"certificate\":\"$certificate\"}" "$1/results.jsonl" || fail "$certificate is not in its line"
    done
    for certificate in "$1"/certificates/*.json; do
        list=$1/repros/$(basename "$certificate" .json).ops
        case $certificate in */justified-*) list=${certificate%.json}.ops ;; esac
        expect_exit 0 check --list "$list" "$certificate"
        expect_text out.txt "; the op is that of the list"
    done
    expect_exit 0 check "$1"/certificates/*.json
    [ "$(grep -c ': valid: ' out.txt)" = $(($2 + 2)) ] || fail "$1: not one line for each file"
    expect_exit 0 check "$1"/certificates/*.json --json
    [ "$(grep -c '^{"type":"certificate","file":"[^"]*","result":"valid","reason":"..*"}$' out.txt)" = $(($2 + 2)) ] ||
        fail "$1: check --json: $(head -n 1 out.txt)"
}
expect_kept slide 1
# Several in one trial: each has its own.
expect_exit 1 run fragmentation_storm --target plant_classes_leaking --seed 1 --seeds 1 --shrink-budget 100 --out several
expect_kept several 3
expect_exit 1 run fragmentation_storm --target first_fit --target-option defrag=slide --capacity 64M --seed 1 --out whole \
    --shrink-budget 0 --ops 3000
expect_exit 0 check whole/certificates/*.json

# What is wrong is refuted, what is none is unreadable, and the worse of them is the exit code.
good=$(find slide/certificates -name 'premature-*.json' | head -n 1)
sed 's/"claim": "premature"/"claim": "justified"/' "$good" >other_claim.json
sed 's/"address": [0-9]*, "evict"/"address": 1152921504606846976, "evict"/' "$good" >other_place.json
sed 's/"until": 0/"until": 5/' "$good" >refuted.json
expect_exit 1 check refuted.json
[ ! -s err.txt ] || fail "a refuted certificate is told on standard error"
expect_text out.txt "refuted.json: refuted: "
expect_exit 1 check "$good" refuted.json "$good"
[ "$(wc -l <out.txt)" = 3 ] || fail "not one line for each of three files"
expect_exit 1 check refuted.json --json
expect_text out.txt '{"type":"certificate","file":"refuted.json","result":"refuted","reason":"'
for file in other_claim.json other_place.json; do
    "$hbmstress" check "$file" >out.txt 2>err.txt && fail "$file is accepted"
done
head -c 200 "$good" >cut.json
: >empty.json
head -c 3000 "$hbmstress" >binary.json
for file in cut.json empty.json binary.json nope.json; do
    expect_refusal 2 "$file: " check "$file"
    expect_exit 2 check "$file" --json
    expect_text out.txt "{\"type\":\"certificate\",\"file\":\"$file\",\"result\":\"unreadable\",\"reason\":\""
    [ ! -s err.txt ] || fail "check --json writes to standard error"
done
truncate -s 2G huge.json
expect_refusal 2 "huge.json: is larger than 1G" check huge.json
rm -f huge.json
expect_exit 2 check "$good" refuted.json cut.json
[ "$(wc -l <out.txt)" = 2 ] || fail "an unreadable file hides the others"
"$hbmstress" check - <"$good" >out.txt || fail "standard input is not read"
expect_text out.txt "-: valid: premature"
printf '\033[31m' >"$(printf 'red\033.json')"
expect_exit 2 check red*
[ "$(tr -d '\n\040-\176' <err.txt | wc -c)" = 0 ] || fail "a control character of a name reached the terminal"

# replay: one file for each OOM, and other files stay.
whole=$(find whole/repros -name 'premature-*.ops' | head -n 1)
mkdir -p proofs/deep
echo mine >proofs/mine.json
expect_exit 1 replay "$whole" --certificates proofs --json
ooms=$(grep -c '"type":"verdict"' out.txt)
[ "$(find proofs -name 'op-*.json' | wc -l)" = "$ooms" ] || fail "not one certificate for each of $ooms OOMs"
[ "$(find proofs -name 'op-*-premature.json' | wc -l)" = 1 ] || fail "not one premature one"
[ "$(cat proofs/mine.json)" = mine ] || fail "another file was touched"
[ -z "$(find . -name '*.partial')" ] || fail "left $(find . -name '*.partial')"
tail -n 1 out.txt | grep -q "\"certificates_checked\":$ooms," || fail "not all were checked: $(tail -n 1 out.txt)"
for file in $(sed -n 's/.*"certificate":"\([^"]*\)".*/\1/p' out.txt); do
    [ -s "$file" ] || fail "$file is said to be there"
done
expect_exit 0 check proofs/op-*.json
find proofs -name 'op-*' -exec md5sum {} + | sort >first.md5
expect_exit 1 replay "$whole" --certificates proofs
expect_text out.txt "  proof   proofs/op-"
find proofs -name 'op-*' -exec md5sum {} + | sort | cmp - first.md5 || fail "the second time the certificates are others"
expect_refusal 2 "$whole: Not a directory" replay "$whole" --certificates "$whole"
expect_refusal 2 "/dev/null/deep: Not a directory" replay "$whole" --certificates /dev/null/deep
expect_refusal 2 "--certificates needs a value" replay "$whole" --certificates
expect_refusal 2 "--certificates: '' is empty" replay "$whole" --certificates ""
long=$(printf '%03000d' 0)
expect_refusal 2 "File name too long" replay "$whole" --certificates "$long/$long"

# Each is of its list, and of what that met: anybody can make its facts again.
expect_bound() { # DIR FILE...: all facts of the files follow
    expect_exit 0 check --list "$1/list.ops" --observations "$1/observations.jsonl" "${@:2}"
    [ "$(grep -c '; the state is that of the list and its observations$' out.txt)" = $(($# - 1)) ] ||
        fail "$1: not every state is made again: $(grep -v 'its observations$' out.txt)"
}
expect_bound proofs proofs/op-*.json
sed '/^#/d' "$whole" | cmp - proofs/list.ops || fail "the list that was run is not the file's"
expect_exit 0 check --list "$whole" proofs/op-*.json
# Not of that list, not of that target, not of another answer.
sed '0,/size=/s/size=\([0-9]*\)/size=1\1/' proofs/list.ops >other_list.ops
cmp -s proofs/list.ops other_list.ops && fail "the other list is the same"
first=$(find proofs -name 'op-*' | sort -V | head -n 1)
expect_exit 1 check --list other_list.ops "$first"
expect_text out.txt "$first: refuted: list: its SHA-256 is "
sed '1s/first_fit/other_fit/' proofs/observations.jsonl >other_target.jsonl
expect_refusal 2 "other_target.jsonl:1: target, options, capacity or hosts are not those of the list" \
    check --list proofs/list.ops --observations other_target.jsonl "$first"
awk 'NR > 1 && !done && sub(/"address": /, "&51") { done = 1 } { print }' proofs/observations.jsonl >other_place.jsonl
expect_exit 1 check --list proofs/list.ops --observations other_place.jsonl "$first"
expect_text out.txt ": refuted: "
expect_exit 0 replay "$whole" --target hbm --certificates elsewhere
for proof in elsewhere/op-*.json; do
    [ -e "$proof" ] && expect_exit 1 check --list proofs/list.ops --observations proofs/observations.jsonl "$proof"
done
expect_refusal 2 "--observations goes with a list; also give --list LIST" check --observations other_place.jsonl "$first"
expect_refusal 2 "nope.ops: No such file or directory" check --list nope.ops "$first"
expect_refusal 2 "proofs/list.ops:1: " check --list "$whole" --observations proofs/list.ops "$first"
expect_refusal 2 "$first:1: " check --list "$first" "$first"

# Time, faults, moves, evictions, donations, several hosts, blocks in host memory: made again all the same.
grep -v '^probes' "$jobs/nightly.ini" >many.ini
expect_exit 0 run --job many.ini --seed 3 --seeds 1 --ops 400 --capacity 24M --lanes none --out many --workers 1
lists=0
period=7
[ "${HBMSTRESS_TESTS:-}" != full ] || period=3
for list in $(grep -L 'lane=' many/certificates/justified-*.ops | awk -v period=$period 'NR % period == 0'); do
    "$hbmstress" replay "$list" --certificates made --replay-sample 0 >out.txt 2>err.txt || fail "$list: $(cat err.txt)"
    expect_bound made made/op-*.json
    rm -r made
    lists=$((lists + 1))
done
[ "$lists" -ge 30 ] || fail "only $lists lists"

# What completed between the last looks of a refused request is no part of its state: it counts as lost until the next op.
expect_exit 0 run eviction_pressure --faults poll_jump --lanes none --capacity 24M --seed 3 --seeds 12 --keep 12 --workers 1 \
    --out looks
late=0
for list in $(grep -l call=poll_jump looks/kept/*.ops | head -n 2); do
    "$hbmstress" replay "$list" --certificates made --replay-sample 0 >out.txt 2>err.txt || fail "$list: $(cat err.txt)"
    expect_bound made made/op-*.json
    late=$((late + $(grep -c '"answer": "no_memory".*"due": \[\[[0-9]*, "never"' made/observations.jsonl)))
    rm -r made
done
[ "$late" -gt 0 ] || fail "no request was refused with an event that completed too late"

# A target that takes the process with it leaves whole lines, and what was proved until then.
printf '%s\n' 'hbmstress-ops 1' 'capacity 16K' 'target plant_crash_abort' '' '0: alloc size=8K' '1: alloc size=20K' >crash.ops
for ((i = 2; i < 600; i++)); do printf '%d: alloc size=512\n%d: free block=%d\n' $((2 * i)) $((2 * i + 1)) $((2 * i)); done >>crash.ops
echo '1200: alloc size=20K' >>crash.ops
expect_exit 1 replay crash.ops --certificates crash
expect_bound crash crash/op-*.json

# An OOM that stays unknown has one, too: its bounds.
expect_exit 3 replay "$unknown" --certificates unknown
expect_text out.txt "  proof   unknown/op-26-unknown.json"
expect_exit 0 check unknown/op-26-unknown.json unknown/op-27-unknown.json
expect_text out.txt ": valid: unknown"

# A file that may not grow.
said=$( (ulimit -f 0 && exec "$hbmstress" replay "$whole" --certificates full >/dev/null) 2>&1)
[ "$?" = 4 ] || fail "a full disk should be exit 4"
[ "$(echo "$said" | wc -l)" = 1 ] || fail "a full disk should be one line: $said"
[ "$said" = "hbmstress: full/list.ops: File too large" ] || fail "a full disk: $said"
[ -z "$(find full -type f)" ] || fail "a full disk leaves $(find full -type f)"
if [ -w /dev/full ]; then
    "$hbmstress" check "$good" >/dev/full 2>err.txt
    [ "$?" = 4 ] || fail "check: a full standard output should be exit 4"
    expect_text err.txt "standard output: No space left on device"
fi
"$hbmstress" check slide/certificates/*.json 2>err.txt | true
[ ! -s err.txt ] || fail "check: a closed pipe is not quiet"
mkdir -p blocked/certificates/"$(basename "$good")" && touch blocked/certificates/"$(basename "$good")"/in_the_way
(exec "$hbmstress" run fragmentation_storm --target first_fit --target-option defrag=slide --capacity 64M --seed 1 \
    --out blocked >out.txt 2>err.txt)
[ "$?" = 4 ] || fail "a directory in place of a certificate should be exit 4"
[ "$(wc -l <err.txt)" = 1 ] || fail "a directory in place of a certificate should be one line: $(cat err.txt)"
expect_text err.txt "$(basename "$good"): Is a directory"
[ -z "$(find blocked -name '*.partial')" ] || fail "left $(find blocked -name '*.partial')"

# Of calls that overlap each has the proof of its own state: other requests are judged before it is told.
printf '%s\n' 'hbmstress-ops 1' 'capacity 16K' 'target threaded' 'option defrag=none' 'seed 3' '' '0: alloc size=8K' \
    '1: alloc size=20K lane=1' '2: alloc size=6K lane=2' '3: alloc size=6K' '4: switch op=3 point=1 to=1' >lanes.ops
expect_exit 0 replay lanes.ops --certificates lanes
expect_exit 0 check lanes/op-1-justified.json lanes/op-3-justified.json
expect_exit 0 check --list lanes/list.ops --observations lanes/observations.jsonl lanes/op-1-justified.json lanes/op-3-justified.json
[ "$(grep -c '; the op is that of the list, whose lanes overlap$' out.txt)" = 2 ] || fail "lanes: $(cat out.txt)"
grep -q '"bytes": 20480' lanes/op-1-justified.json || fail "the proof of op 1 is another's"
grep -q '"bytes": 6144' lanes/op-3-justified.json || fail "the proof of op 3 is another's"

finish
