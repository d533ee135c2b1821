#!/usr/bin/env bash
# When the judges of hbmstress disagree that ends the run, whoever of them is wrong: exit 4, one line, the state kept; and
# it is never told as the target's fault.
lying_checker=$(realpath "$2")
lying_judge=$(realpath "$3")
lying_oracle=$(realpath "$4")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
honest=$hbmstress

# expect_alarm ARGUMENT...: exit 4 and one line.
expect_alarm() {
    expect_exit 4 "$@"
    [ "$(wc -l <err.txt)" = 1 ] || fail "$*: $(wc -l <err.txt) lines of error, should be 1"
    expect_text err.txt "hbmstress: internal error: the two judges disagree on op "
    expect_no_text out.txt BROKEN
}

# One dispute of a run: its list and its certificate are in out/disputes, and no trial comes after it.
expect_kept() { # WORDS-OF-THE-REASON
    expect_text out.txt "DISPUTED: op "
    expect_text out.txt "internal error: the two judges disagree, so no verdict counts"
    expect_text out/results.jsonl '"type":"disputed","scenario":"fragmentation_storm","trial":0,'
    expect_text out/results.jsonl "$1"
    tail -n 1 out/results.jsonl | grep -q '"disputed":[1-9].*"exit":4}$' || fail "end: $(tail -n 1 out/results.jsonl)"
    list=$(find out/disputes -name 'fragmentation_storm-*.ops' | head -n 1)
    [ -s "$list" ] || fail "no list is kept"
    [ -s "${list%.ops}.json" ] || fail "no certificate is kept"
    expect_text out/results.jsonl "\"repro\":\"$list\",\"certificate\":\"${list%.ops}.json\""
    trials=$(sed -n 's/.*"type":"scenario".*"trials":\([0-9]*\).*/\1/p' out/results.jsonl)
    [ "$trials" -le 9 ] || fail "$trials trials: the run went on"
}
storm=(run fragmentation_storm --lanes none --capacity 64M --seed 1 --workers 1 --target first_fit)

# The checker refutes what the oracle says, of justified verdicts and of premature ones.
hbmstress=$lying_checker
expect_alarm "${storm[@]}"
expect_kept "the oracle says justified, but the checker rejects its certificate: this checker accepts nothing"
tail -n 1 "$list" | grep -q "^$(sed -n 's/.*"type":"disputed".*"op":\([0-9]*\),.*/\1/p' out/results.jsonl | head -n 1): " ||
    fail "the list does not end with the disputed op"
expect_alarm "${storm[@]}" --target-option defrag=slide --json
[ ! -e out/repros ] || fail "a disputed verdict is kept as the target's"
hbmstress=$honest
expect_exit 0 check "${list%.ops}.json"

# Merged it is a dispute as well, with its files and no others.
rm -rf out
hbmstress=$lying_checker
expect_alarm "${storm[@]}"
hbmstress=$honest
cp -r out/disputes disputes
: >out/disputes/of_an_earlier_campaign.ops
expect_exit 4 merge out --out merged
diff -r -I '^# replay: ' disputes merged/disputes || fail "merge has not the disputes of the campaign"

# The second judge says premature where the oracle says justified.
rm -rf out
hbmstress=$lying_judge
expect_alarm "${storm[@]}"
expect_kept "the oracle reports justified, the exhaustive search reports premature"
[ ! -e out/repros ] || fail "a disputed verdict is kept as the target's"

# A replay of that list is disputed as well, and explain and shrink say so.
expect_alarm replay "$list"
expect_text out.txt "DISPUTED: op "
expect_alarm replay "$list" --json --certificates proofs
expect_text out.txt '"type":"disputed",'
tail -n 1 out.txt | grep -q '"disputed":1,.*"exit":4}$' || fail "the end of a replay: $(tail -n 1 out.txt)"
disputed=$(find proofs -name 'op-*-disputed.json')
expect_text out.txt "\"certificate\":\"$disputed\""
expect_exit 4 explain "$list"
expect_text out.txt "Verdict: disputed"
expect_exit 4 replay --shrink "$list" -o small.ops
expect_text small.ops "the judges of hbmstress disagree"
expect_alarm replay small.ops
hbmstress=$honest
expect_exit 0 check "$disputed"
expect_exit 0 replay small.ops

# The oracle contradicts itself about the same state with all sizes doubled.
rm -rf out
hbmstress=$lying_oracle
expect_alarm "${storm[@]}"
expect_kept "the oracle reports justified, and premature of the same state when all its sizes are doubled"
[ ! -e out/repros ] || fail "a disputed verdict is kept as the target's"
expect_alarm replay "$list"
expect_text out.txt "DISPUTED: op "
hbmstress=$honest
expect_exit 0 replay "$list"

hbmstress=$lying_checker
rm -rf proofs
expect_alarm replay small.ops --certificates proofs
[ -n "$(find proofs -name 'op-*-disputed.json')" ] || fail "a replay keeps no refuted certificate"
expect_text out.txt "DISPUTED: op "
hbmstress=$honest

# A certificate in the middle of a list is refused again when the list is replayed, and not only the first one.  Which
# one is refused depends on its text, so seeds are tried until it is not that of the list's first OOM.
hbmstress=$lying_checker
export LIAR_PERIOD=32
middle=
for ((seed = 1; seed <= 40 && ${#middle} == 0; seed++)); do
    rm -rf out
    "$hbmstress" run fragmentation_storm --capacity 64M --seed $seed --workers 1 --target first_fit >out.txt 2>err.txt
    list=$(find out -path '*/disputes/*.ops' | head -n 1)
    [ -n "$list" ] || continue
    expect_alarm replay "$list" --json
    middle=$(tail -n 1 out.txt | grep '"ooms":\([2-9]\|1[0-9]\)')
done
[ -n "$middle" ] || fail "no seed has a dispute in the middle of a list"
unset LIAR_PERIOD
hbmstress=$honest

# Without a liar nothing is disputed, though both look.
expect_exit 0 "${storm[@]}" --json
tail -n 1 out.txt |
    grep -q '"disputed":0,"second_opinions":[1-9][0-9]*,"relations_checked":[1-9][0-9]*,"certificates_checked":[1-9]' ||
    fail "the other judges did not look: $(tail -n 1 out.txt)"

# A state that cannot be kept does not hide the alarm.
rm -rf out
mkdir out
: >out/disputes
hbmstress=$lying_checker
expect_exit 4 "${storm[@]}"
expect_text err.txt "out/disputes: Not a directory"
expect_text err.txt "internal error: the two judges disagree on op "
expect_text err.txt "Nothing was saved"
finish
