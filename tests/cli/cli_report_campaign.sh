#!/usr/bin/env bash
# The page of a campaign: what it says is what the campaign's folder says, whoever wrote that folder.
# cli_report_campaign.sh HBMSTRESS SMOKE_INI
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
smoke=$2

# page OUT [OPTION...]: the page of it, held against it.
page() {
    expect_exit 0 report "$1" -o "$1.html" "${@:2}"
    "$here/report_page.py" "$1.html" "$1" || fail "the page of $1"
}
# page_has OUT TEXT: the page shows that text, as text.
page_has() {
    "$here/report_page.py" "$1.html" --texts >texts.txt || fail "the page of $1"
    grep -qF -- "$2" texts.txt || fail "the page of $1 does not show '$2'"
}
page_lacks() {
    "$here/report_page.py" "$1.html" --texts >texts.txt
    ! grep -qF -- "$2" texts.txt || fail "the page of $1 shows '$2'"
}

# --- real campaigns ---
expect_exit 1 run fragmentation_storm --target plant_premature_last_hole --seed 7 --seeds 1 --out premature
page premature
page_has premature "a promise was broken: 1 finding, 1 new, 0 known"
page_has premature "Claim: premature"
page_has premature "Run it again, have it explained, check its proof:"
page_has premature "Other broken promises"
page_has premature "It lands at 0x"
grep -q 'class="strip"' premature.html || fail "no picture of the proof"
"$here/report_page.py" premature.html --copy >copy.txt
grep -q '^hbmstress replay premature/repros/' copy.txt || fail "no line that repeats it"
# What is there to be copied works.
while read -r _ subcommand file rest; do
    case $subcommand in
    replay) expect_exit 1 replay "$file" ;;
    explain) expect_exit 1 explain "$file" ;;
    check) expect_exit 0 check "$file" ;;
    *) fail "unknown line to copy: $subcommand $file $rest" ;;
    esac
done <copy.txt

# Each mitigation that was missing is named with its op.
expect_exit 1 run fragmentation_storm --target plant_premature_undrained --seed 3 --seeds 1 --lanes none --out undrained
page undrained
page_has undrained "await 1 queued free, "
expect_exit 1 run fragmentation_storm --target plant_premature_evicted_once --seed 3 --seeds 1 --lanes none --out unevicted
page unevicted
page_has unevicted "unload 1 idle program, "
expect_exit 1 run fragmentation_storm --target plant_premature_defragmented_once --seed 3 --seeds 1 --lanes none \
    --out unmoved
page unmoved
page_has unmoved "move 1 block, "
page_has unmoved "The moves that make room"

expect_exit 1 run queued_free_race --target plant_crash_segv --seed 3 --ops 4000 --shrink-budget 20 --out crash
page crash
page_has crash "Run it again, have it explained:"
page_has crash "the target ended its process: SIGSEGV"

expect_exit 1 run queued_free_race --target race_lock_order --seed 3 --seeds 2 --out race
page race
page_has race "Not checked: error texts: the contract has no documented_messages"
page_has race "The interleaving, a column for each lane"
grep -q '^<pre> turn  lane 0 ' race.html || fail "no columns"

expect_exit 0 run --job "$smoke" --seeds 1 --ops 2000 --seed 1 --out clean
page clean
page_has clean "every promise kept, every OOM judged"
page_has clean "Why memory ran out"
page_lacks premature "Regret:"

# Known findings.
expect_exit 0 report --baseline premature
cp out.txt known.txt
expect_exit 0 run fragmentation_storm --target plant_premature_last_hole --seed 7 --seeds 1 --baseline known.txt \
    --out known
page known
page_has known "nothing but known findings: 1 finding, 0 new, 1 known"

# --- two campaigns ---
page premature --against crash
page_has premature "1 new finding, 1 gone"
page_has premature "new since: premature: "
page_has premature "gone: crash: "
page known --against premature
page_has known "0 new findings, 0 gone"
page_has known "stayed: premature: "
expect_refusal 2 "is the directory of a campaign" report premature --against known.txt -o x.html
# More drains, and nothing else: no finding is new, but a number is worse.
cp -r premature draining
sed -i -E 's/"drains":( ?)([0-9]+)/"drains":\19\2/g' draining/results.jsonl draining/summary.json
page draining --against premature
page_has draining "0 new findings, 0 gone; 1 number worse"
grep -q '<p class="verdict warn">0 new' draining.html || fail "a number that is worse is no warning"

# --- one that runs, or was killed ---
mkdir running
grep -v '"type":"scenario"\|"type":"end"' premature/results.jsonl | head -c -20 >running/results.jsonl
expect_exit 0 report running -o running.html
page_has running "it has no end, so it was killed; up to there a promise was broken"
page_has running "The last line of results.jsonl is not whole"
# Of a part without trials nothing is said.
head -n 1 premature/results.jsonl >running/results.jsonl
expect_exit 0 report running -o running.html
page_has running "up to there every promise kept"
# What only an end knows is not better or worse without one.
expect_exit 0 report running -o running.html --against premature
page_has running "not known yet"
sed -n '/Both campaigns/,/<.table>/p' running.html | grep -q 'ops a second.*\(better\|worse\)' &&
    fail "the speed of a campaign without an end is compared"
(
    exec 9<running/results.jsonl
    flock -x 9
    "$hbmstress" report running -o running.html >/dev/null || exit 1
) || fail "report of a campaign that runs"
page_has running "still running; so far "

# Trials without a line count, too.
expect_exit 0 run exact_edge --target hbm --seed 3 --seeds 40 --ops 20000 --results-limit 2K --out omitted
page omitted
grep -o '<dt>\(Trials\|Ops\|Out-of-memories\)</dt><dd>[^<]*' omitted.html >ended.txt
grep -v '"type":"scenario"\|"type":"end"' omitted/results.jsonl >killed.jsonl
mv killed.jsonl omitted/results.jsonl
rm omitted/summary.json
[ "$(grep -c '"type":"trial"' omitted/results.jsonl)" -lt 40 ] || fail "every trial has its line"
expect_exit 0 report omitted -o omitted.html
page_has omitted "it has no end, so it was killed; up to there every promise kept"
page_has omitted "(--results-limit). All numbers are those that the campaign saved last."
page_has omitted "this run has none: only a job file asks for it"
grep -o '<dt>\(Trials\|Ops\|Out-of-memories\)</dt><dd>[^<]*' omitted.html >so_far.txt
cmp -s ended.txt so_far.txt || fail "numbers of a campaign without an end: $(tr '\n' ' ' <so_far.txt)"

# --- texts of a stranger ---
tag='<script>alert(1)</script>"'"'"'&'
mkdir -p hostile/repros hostile/certificates
python3 - "$tag" <<'PYTHON'
import json, sys
tag = sys.argv[1] + "\x07\x1b[31m\u202e"
name = "x/../../hostile/repros/evil.ops"
lines = [
    {"type": "start", "seed": tag, "seed_source": tag, "target": tag,
     "scenarios": [{"name": tag, "target": tag, "chip": tag, "capacity_bytes": 5, "options": {tag: tag}}]},
    {"type": "found", "rule": tag, "scenario": tag, "trial": 1, "op": 2, "reason": tag, "message": tag,
     "signature": "first " + tag, "hang": tag},
    {"type": "broken", "rule": "crash", "scenario": tag, "trial": 1, "op": 2, "reason": tag, "message": tag,
     "signature": "first " + tag, "repro": name, "certificate": "hostile/certificates/evil.json", "after": [name, 5, tag]},
    {"type": "broken", "rule": "crash", "scenario": tag, "trial": 1, "op": 2, "signature": "out " + tag,
     "repro": "/etc/passwd", "certificate": "../../../etc/passwd", "reason": "", "message": ""},
    {"type": "diagnosis", "scenario": tag, "trial": 1, "op": 1, "verdict": tag,
     "causes": [{"cause": tag, "kind": tag, "text": tag}]},
    {"type": "trial", "scenario": tag, "trial": -5, "ops": "many", "ooms": 1e300, "seed": tag},
    {"type": "verdict", "verdict": "justified", "requested_bytes": 18446744073709551615,
     "scenario": tag, "message": tag, "certificate": "hostile/certificates/evil.json"},
    {"type": tag}, {"type": 7}, {},
    {"type": "scenario", "name": tag, "ops": 9, "note": tag, "by_kind": {tag: 3}, "skipped_by_kind": {"z" + tag: 1},
     "costs": {"calls": {"growth": tag}}},
    {"type": "canary", "target": tag, "trials": 1},
    {"type": "end", "not_tried": [{"what": tag, "why": tag, "how": tag}, 5], "not_checked": [tag, 7],
     "probes": {tag: 0}, "regret": {"requests": 1, tag: 2}, "exit": 255, "seconds": 1e308},
]
with open("hostile/results.jsonl", "w") as file:
    file.writelines(json.dumps(line) + "\n" for line in lines)
with open("hostile/repros/evil.ops", "wb") as file:
    file.write(b"hbmstress-ops 1\ncapacity 1M\ntarget /nowhere/evil.so\n# " + tag.encode() + b" \xff\xfe\n\n0: alloc size=1\n")
with open("hostile/certificates/evil.json", "w") as file:
    json.dump({"format": "hbmstress-certificate", "claim": tag, "device": {"capacity": 4096, "granule": 0},
               "contract": {"defrag": tag}, "request": {"class": tag, "bytes": 2**63 - 1, "stack": 2**62},
               "blocks": [{"address": 2**62, "size": 2**63 - 1, "kind": tag, "state": tag, "stack": -3}, 7,
                          {"address": 0, "size": 100, "kind": "retired"}],
               "proof": {"kind": "plan", "address": 2**63 - 1, "evict": [9, tag, -1], "until": -1,
                         "moves": [{"block": 1, "to": -1}, {"block": 99, "to": 5}, tag]}}, file)
PYTHON
expect_exit 0 report hostile -o hostile.html
[ ! -s err.txt ] || fail "report of a stranger's folder: $(head -c 300 err.txt)"
page_has hostile "$tag"
page_has hostile "\\x07"
page_has hostile "/etc/passwd is left out: it is no file of this campaign"
page_has hostile "its target is no part of hbmstress"
page_lacks hostile "root:"
LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' hostile.html && fail "a control character is in the page"
"$here/report_page.py" hostile.html --copy >copy.txt
grep -vE '^hbmstress (replay|explain|check|report) ' copy.txt && fail "a stranger's words are there to be copied"

# --- memory ---
expect_exit 0 watch clean --json
cp out.txt watch.jsonl
"$here/report_page.py" clean.html --memory watch.jsonl || fail "memory on the page of clean"
[ "$(grep -o 'class="sparkline"' clean.html | wc -l)" = "$(wc -l <watch.jsonl)" ] || fail "a job without its line"
cp -r premature bent
truncate -s -1 bent/checkpoint
expect_exit 0 report bent -o bent.html
page_has bent "It is left out: the file is damaged"

# --- a sweep ---
expect_exit 0 run exact_edge --target hbm --sweep --seed 1 --ops 200 --out sweep
expect_exit 0 report sweep -o sweep.html
page_has sweep "every promise kept"
page_has sweep "Device calls that were made to fail"
[ "$(grep -c '"type":"sweep"' sweep/results.jsonl)" = \
    "$(sed -n '/made to fail/,/<.table>/p' sweep.html | grep -c '<th scope="row"')" ] || fail "rows of the sweep"

# --- more findings than anybody reads ---
mkdir thousand
python3 - <<'PYTHON'
import json
with open("thousand/results.jsonl", "w") as file:
    file.write(json.dumps({"type": "start", "seed": "1", "target": "hbm"}) + "\n")
    for i in range(3000):
        file.write(json.dumps({"type": "broken", "rule": "counters" if i < 2999 else "overlap", "scenario": "s", "trial": i,
                               "op": 1, "reason": "r" * 9000, "message": "m" * 9000, "signature": f"finding {i}"}) + "\n")
PYTHON
expect_exit 0 report thousand -o thousand.html
page_has thousand "3000 findings, 3000 new"
page_has thousand "1. finding 2999 new"
page_has thousand "2900 more findings are left out."
[ "$(wc -c <thousand.html)" -lt 3000000 ] || fail "the page has $(wc -c <thousand.html) bytes"

# Two such campaigns are compared by their signatures in a moment.
mkdir many others
python3 - <<'PYTHON'
import json
for name in ("many", "others"):
    with open(name + "/results.jsonl", "w") as file:
        file.write(json.dumps({"type": "start", "seed": "1", "scenarios": [
            {"name": "a", "target": "hbm", "options": {"defrag": "none"}}, {"name": "b", "target": "hbm"}]}) + "\n")
        for i in range(16000):
            file.write(json.dumps({"type": "broken", "rule": "overlap", "signature": f"{name} {i}"}) + "\n")
PYTHON
timeout 20 "$hbmstress" report many --against others -o many.html >out.txt 2>err.txt || fail "two campaigns of many findings"
page_has many "16000 new findings, 16000 gone"
page_has many "new since: and 15800 more"
# A target is named although another one's name begins with it.
page_has many "hbm defrag=none, hbm"

# --- texts that are longer than ours ---
mkdir long
python3 - <<'PYTHON'
import json
word = "\u00e4" * 70000
with open("long/results.jsonl", "w") as file:
    for line in [{"type": "start", "seed": "1", "scenarios": [{"name": word, "target": word, "capacity_bytes": 1}]},
                 {"type": "broken", "rule": word, "scenario": word, "trial": 1, "signature": word, "reason": word,
                  "message": word, "repro": "x/repros/" + word, "hang": word},
                 {"type": "diagnosis", "verdict": word, "scenario": word, "causes": [{"cause": word, "kind": word, "text": word}]},
                 {"type": "scenario", "name": word, "note": word},
                 {"type": "end", "exit": 1, "not_tried": [{"what": word, "why": word, "how": word}] * 20, "not_checked": [word] * 20}]:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
PYTHON
expect_exit 0 report long -o long.html
page_has long "a promise was broken: 1 finding"
[ "$(wc -c <long.html)" -lt 3000000 ] || fail "the page of long texts has $(wc -c <long.html) bytes"
expect_exit 0 report long --against long -o long.html
[ "$(wc -c <long.html)" -lt 3000000 ] || fail "the page of long texts has $(wc -c <long.html) bytes"

# Each text that a page has: none of them makes it large, and findings are shown first.
mkdir -p huge/certificates
python3 - <<'PYTHON'
import json
word = '<"' * 1000000
blocks = [{"op": i, "kind": ["buffer", "program"][i % 2], "address": i * 4096, "size": 4096} for i in range(2000)]
with open("huge/certificates/c.json", "w") as file:
    json.dump({"format": "hbmstress-certificate", "claim": word, "device": {"capacity": 4096 * 3000, "granule": 128},
               "request": {"class": word, "bytes": 5000}, "blocks": blocks, "proof": {"kind": "plan", "address": 0}}, file)
cut = word[:6000]
with open("huge/results.jsonl", "w") as file:
    for line in [{"type": "start", "seed": word, "seed_source": word, "target": word},
                 *({"type": "broken", "rule": cut, "signature": f"{i} {cut}", "reason": cut, "message": cut, "hang": cut,
                    "scenario": cut, "repro": cut, "after": ["repros/x"] * 5000, "certificate": "certificates/c.json"}
                   for i in range(40)),
                 *({"type": "scenario", "name": f"{i} {cut}", "note": cut, "costs": {"calls": {"growth": cut}}}
                   for i in range(300)),
                 {"type": "canary", "target": word, "trials": 1},
                 {"type": "end", "exit": 1, "not_tried": [{"what": cut, "why": cut, "how": cut}] * 300,
                  "probes": {f"{i} {cut}": 0 for i in range(300)},
                  "regret": {"requests": 1, **{f"{i} {cut}": 0 for i in range(900)}}}]:
        file.write(json.dumps(line) + "\n")
PYTHON
expect_exit 0 report huge -o huge.html
[ "$(wc -c <huge.html)" -lt 3000000 ] || fail "the page of huge texts has $(wc -c <huge.html) bytes"
page_has huge "a promise was broken: 40 findings"
page_has huge "The proof, in words"
page_has huge "What was run: left out, the page has no room for it."

# --- links ---
ln -s premature a-link
expect_exit 0 report a-link -o a-link.html
cp -r premature linked
rm -r linked/repros
ln -s "$PWD/premature/repros" linked/repros
expect_exit 0 report linked -o linked.html
page_has linked "is left out: "
page_lacks linked "hbmstress-ops 1"
rm linked/results.jsonl
ln -s "$PWD/premature/results.jsonl" linked/results.jsonl
expect_refusal 2 "results.jsonl: it is a link" report linked -o x.html
rm linked/results.jsonl
mkfifo linked/results.jsonl
expect_refusal 2 "results.jsonl: it is no regular file" report linked -o x.html
rm linked/results.jsonl
cp premature/results.jsonl linked/results.jsonl
rm linked/summary.json
ln -s "$PWD/premature/summary.json" linked/summary.json
expect_refusal 2 "summary.json: it is a link" report linked -o x.html

# --- files that are damaged ---
mkdir damaged
{
    head -n 2 premature/results.jsonl
    echo '{"type":"trial",'
} >damaged/results.jsonl
expect_refusal 2 "damaged/results.jsonl:3: " report damaged -o x.html
printf '[5]\n' >damaged/results.jsonl
expect_refusal 2 "damaged/results.jsonl:1: a line must be an object" report damaged -o x.html
printf '{"type":"start","x":"a\0b"}\n' >damaged/results.jsonl
expect_refusal 2 "damaged/results.jsonl:1: " report damaged -o x.html
: >damaged/results.jsonl
expect_refusal 2 "no line of type start" report damaged -o x.html
{
    head -n 1 premature/results.jsonl
    head -c 70000000 /dev/zero | tr '\0' 'x'
    echo
} >damaged/results.jsonl
expect_refusal 2 "damaged/results.jsonl:2: the line is longer than 64M" report damaged -o x.html
head -n -1 premature/results.jsonl >damaged/results.jsonl
tail -n 1 premature/results.jsonl >>damaged/results.jsonl
echo '{"findings":' >damaged/summary.json
expect_refusal 2 "damaged/summary.json:" report damaged -o x.html

# --- where it is written ---
expect_exit 4 report premature -o /dev/full
[ "$(wc -l <err.txt)" = 1 ] || fail "a full disk: $(wc -l <err.txt) lines"
expect_exit 2 report premature -o nowhere/x.html
expect_unread 0 report premature -o y.html
[ -s y.html ] || fail "with a closed pipe the page is not written"
