#!/usr/bin/env bash
# --annotate: findings beside the change under review, as GitHub and GitLab read them, and results.sarif beside them.
#
#     tests/cli/cli_annotate.sh HBMSTRESS READ_REVIEWS
reader=$(realpath "$2")
command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# What the services' readers make of a folder: its SARIF, and what else is named.
expect_readable() { # FILE...
    python3 "$reader" "$@" >read.txt 2>&1 || fail "$*: $(cat read.txt)"
}

hostile="<script>alert(1)</script>\"'&::error,x%0A"
cat >job.ini <<END
[global]
target = plant_premature_last_hole
seed = 7

# The section begins in line 6.
[storm]
scenario = fragmentation_storm
seeds = 2

[$hostile]
scenario = slow_leak
seeds = 2
END
job=(run --job ./job.ini --shrink-budget 200)

# GitHub: an error at the section of the job, behind what people read; a page for the step, behind what is there.
echo "from before" >step.md
GITHUB_STEP_SUMMARY=$work/step.md expect_exit 1 "${job[@]}" --annotate github --out github
grep '^::' out.txt >github.commands
[ "$(tail -n "$(wc -l <github.commands)" out.txt)" = "$(cat github.commands)" ] || fail "the commands are not last"
grep -q '^::error file=job.ini,line=6,title=premature%3A buffer fits at once.*%0Arepeat it: hbmstress replay github/repros/' \
    github.commands || fail "no error at job.ini:6: $(cat github.commands)"
expect_text out.txt "a promise was broken: "
[ "$(head -n 1 step.md)" = "from before" ] || fail "the page of the step was replaced"
expect_text step.md "a promise was broken: "
expect_text step.md "| error | job.ini:6 | **premature: buffer fits at once"
[ ! -e github/gl-code-quality-report.json ] || fail "GitHub gets a report of GitLab"
expect_readable github.commands github/results.sarif

# With --json standard output has JSON lines alone.
expect_exit 1 "${job[@]}" --annotate github --json --out github
[ "$(grep -c '^{' out.txt)" = "$(wc -l <out.txt)" ] || fail "not JSON: $(grep -v '^{' out.txt | head -n 2)"
cmp -s err.txt github.commands || fail "standard error has other commands: $(head -c 300 err.txt)"

# GitLab: a report in the folder; the next run there that is not asked for one removes it.
expect_exit 1 "${job[@]}" --annotate gitlab --out gitlab
! grep -q '^::' out.txt || fail "GitLab gets commands of GitHub"
cp gitlab/gl-code-quality-report.json report.gitlab
expect_text report.gitlab '"severity":"critical","location":{"path":"job.ini","lines":{"begin":6}}'
expect_readable report.gitlab gitlab/results.sarif
diff <(sed 's,gitlab/,github/,g' gitlab/results.sarif) github/results.sarif >difference.txt ||
    fail "two runs leave another results.sarif: $(head -c 300 difference.txt)"
expect_exit 1 run --resume gitlab --annotate github
grep -q '^::error file=job.ini,line=6' out.txt || fail "a campaign that goes on annotates nothing"
[ ! -e gitlab/gl-code-quality-report.json ] || fail "a report of a run before is left"
[ -s gitlab/results.sarif ] || fail "a campaign that went on has no results.sarif"

# A section whose name is hostile is text in every form.
expect_exit 1 "${job[@]}" --annotate gitlab --out hostile "$hostile"
expect_text hostile/junit.xml "&lt;script&gt;alert(1)&lt;/script&gt;&quot;'&amp;::error,x%0A"
grep -q 'of <script>alert(1)</script>' hostile/gl-code-quality-report.json || fail "the name is not there as text"
cp hostile/gl-code-quality-report.json section.gitlab
expect_exit 1 "${job[@]}" --annotate github --out hostile "$hostile"
grep '^::' out.txt >section.commands
grep -q "of <script>alert(1)</script>\"'&::error,x%250A (seed" section.commands || fail "$(cat section.commands)"
expect_readable section.gitlab section.commands hostile/results.sarif
if command -v xmllint >which.txt; then
    xmllint --noout hostile/junit.xml || fail "xmllint does not read junit.xml"
fi

# A name that begins a line of what people read, or stands in a line of JSON, is no command.
printf '[global]\ntarget = plant_premature_last_hole\nseed = 7\n[::error::x ##[warning]\nscenario = slow_leak\nseeds = 2\n' >named.ini
named=(run --job ./named.ini --ops 200 --annotate github --out named)
"$hbmstress" "${named[@]}" >out.txt 2>err.txt
expect_text out.txt ": :error::x ## [warning"
! grep -v '^::[a-z]* file=' out.txt | grep -e '^[[:space:]]*::' -e '##\[' || fail "a name is a command"
"$hbmstress" "${named[@]}" --json >out.txt 2>err.txt
grep -q '"name":"::error::x #.u0023\[warning"' out.txt || fail "the name is not there: $(head -c 600 out.txt)"
expect_no_text out.txt '##['
expect_text named/results.jsonl '##[warning'

# What the baseline knows is a notice, and unchanged in SARIF.
expect_exit 0 report --baseline github
mv out.txt known.txt
expect_exit 0 "${job[@]}" --annotate github --baseline known.txt --out known
grep -q '^::notice file=job.ini,line=6,' out.txt || fail "a known finding is no notice: $(grep '^::' out.txt)"
! grep -q '^::error' out.txt || fail "a known finding is an error"
expect_text known/results.sarif '"baselineState":"unchanged"'
expect_no_text known/results.sarif '"baselineState":"new"'
expect_no_text github/results.sarif baselineState

# Shards, joined: as one run.
for i in 1 2; do
    "$hbmstress" "${job[@]}" --shard "$i/2" --out "shard-$i" >out.txt 2>err.txt
done
expect_exit 1 merge shard-1 shard-2 --annotate gitlab --out whole
diff <(sed 's,gitlab/,whole/,g' report.gitlab) whole/gl-code-quality-report.json >difference.txt ||
    fail "the merged report differs: $(head -c 600 difference.txt)"
expect_readable whole/results.sarif

# A trace is where its findings are.
cp "$(find github/repros -name 'premature-storm-*.ops' | sort | tail -n 1)" trace.ops
expect_exit 1 run --trace trace.ops --target plant_premature_last_hole --seeds 1 --seed 7 --annotate github --out traced
grep -q '^::error file=trace.ops,title=premature' out.txt || fail "no error at the trace: $(cat err.txt; grep '^::' out.txt)"

# Nothing found: nothing is said, and GitLab reads an empty array.
expect_exit 0 run slow_leak --seed 1 --ops 500 --annotate github --out sound
! grep -q '^::' out.txt || fail "a sound run is annotated: $(grep '^::' out.txt)"
expect_exit 0 run slow_leak --seed 1 --ops 500 --annotate gitlab --out sound
[ "$(cat sound/gl-code-quality-report.json)" = "[]" ] || fail "not an empty array"

# compare: each regression is an error at the list.
cat >holes.ops <<END
hbmstress-ops 1
capacity 8K

0: alloc size=1K
1: alloc size=3K
2: free block=0
3: alloc size=3K
END
compare=(compare first_fit buddy ./holes.ops --contract declared --shrink-budget 0)
expect_exit 1 "${compare[@]}" --annotate github
grep '^::' out.txt >compare.commands
grep -q '^::error file=holes.ops,title=holes%3A NEW ' compare.commands || fail "no error at the list: $(cat out.txt err.txt)"
expect_readable compare.commands
expect_exit 1 "${compare[@]}" --annotate github --json
[ "$(grep -c '^{' out.txt)" = "$(wc -l <out.txt)" ] || fail "not JSON: $(grep -v '^{' out.txt | head -n 2)"
cmp -s err.txt compare.commands || fail "standard error has other commands: $(head -c 300 err.txt)"
expect_exit 1 "${compare[@]}" --annotate gitlab --out compared
cp compared/gl-code-quality-report.json compare.gitlab
expect_text compare.gitlab '"location":{"path":"holes.ops","lines":{"begin":1}}'
expect_readable compare.gitlab
expect_exit 0 compare first_fit first_fit holes.ops --annotate gitlab --out compared
[ "$(cat compared/gl-code-quality-report.json)" = "[]" ] || fail "not an empty array: $(cat compared/*.json)"
rm -rf out

# What cannot be is said before anything is run; a page that cannot be written is a failed write.
mkdir -p blocked/gl-code-quality-report.json
expect_exit 4 compare first_fit first_fit holes.ops --annotate gitlab --out blocked
expect_text err.txt "blocked/gl-code-quality-report.json: Is a directory"
expect_exit 4 run slow_leak --seed 1 --ops 500 --out blocked
expect_text err.txt "blocked/gl-code-quality-report.json: Is a directory"
GITHUB_STEP_SUMMARY=$work/nowhere/step.md expect_exit 4 run slow_leak --seed 1 --ops 500 --annotate github --out sound
expect_text err.txt "nowhere/step.md: No such file or directory"
[ "$(wc -l <err.txt)" = 1 ] || fail "more than one line: $(cat err.txt)"
finish
