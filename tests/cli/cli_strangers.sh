#!/usr/bin/env bash
# merge, run --resume and watch take folders from strangers: no link below such a folder is followed, nothing waits for
# a pipe, and what is refused changes nothing, in the folder or elsewhere.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
refuse() { expect_refusal 2 "$@"; }
link="it is a link, and none is followed there"

run=(run fragmentation_storm --target plant_premature_undrained --capacity 64M --seed 1 --seeds 2 --ops 800 --shrink-budget 0)
expect_exit 1 "${run[@]}" --out good
[ -n "$(ls good/repros)" ] || fail "there is no repro to be replaced by a link"
[ -n "$(ls good/certificates)" ] || fail "there is no certificate to be replaced by a link"
mkdir victim
echo "not yours" >victim/file

# plant PATH: a fresh copy of the campaign in bad/, and PATH out of the way.
plant() {
    rm -rf bad
    cp -r good bad
    rm -rf "bad/$1"
}

# check_refused TEXT COMMAND...: COMMAND refuses bad/, and neither bad/ nor what its links name has changed.
check_refused() {
    local text=$1 before
    shift
    before=$(find bad victim -exec ls -ld --time-style=full-iso {} + | sort)
    refuse "$text" "$@"
    [ "$before" = "$(find bad victim -exec ls -ld --time-style=full-iso {} + | sort)" ] || fail "hbmstress $*: it wrote"
}

# Everything that such a folder has, as a link to a good one, and as a pipe.
for name in campaign checkpoint; do
    plant "$name"
    ln -s "../good/$name" "bad/$name"
    for command in "watch bad" "merge bad --out out" "run --resume bad" "report --baseline bad"; do
        check_refused "bad/$name: $link" $command
    done
    plant "$name"
    mkfifo "bad/$name"
    for command in "watch bad" "merge bad --out out" "run --resume bad"; do
        check_refused "bad/$name: it is no regular file" $command
    done
done
plant results.jsonl
ln -s ../victim/file bad/results.jsonl
check_refused "bad/results.jsonl: $link" merge bad --out out
check_refused "bad/results.jsonl: $link" run --resume bad
expect_exit 0 watch bad
plant results.jsonl
mkfifo bad/results.jsonl
check_refused "bad/results.jsonl: it is no regular file" merge bad --out out
check_refused "bad/results.jsonl: it is no regular file" run --resume bad
expect_exit 0 watch bad
plant results.jsonl
head -c 10 good/results.jsonl >bad/results.jsonl
check_refused "bad/results.jsonl: the file is shorter than its checkpoint records" merge bad --out out
check_refused "bad/results.jsonl: the file is shorter than its checkpoint records" run --resume bad
plant results.jsonl
sed '2s/^./\x1b/' good/results.jsonl >bad/results.jsonl
check_refused "bad/results.jsonl:2: no campaign wrote this line" merge bad --out out
plant results.jsonl
sed '3s/"/\x07/' good/results.jsonl >bad/results.jsonl
check_refused "bad/results.jsonl:3: no campaign wrote this line" merge bad --out out
plant results.jsonl
cp good/results.jsonl victim/results.jsonl
ln victim/results.jsonl bad/results.jsonl
check_refused "bad/results.jsonl: it has another name, too" run --resume bad
rm victim/results.jsonl

repro=$(cd good && echo repros/*.ops | cut -d ' ' -f 1)
certificate=$(cd good && echo certificates/premature*.json | cut -d ' ' -f 1)
for name in "$repro" "$certificate"; do
    plant "$name"
    ln -s "$work/victim/file" "bad/$name"
    check_refused "bad/$name: $link" merge bad --out out
    check_refused "bad/$name: $link" run --resume bad
    plant "$name"
    mkfifo "bad/$name"
    check_refused "bad/$name: it is no regular file" merge bad --out out
done
for folder in repros certificates; do
    plant "$folder"
    ln -s ../victim "bad/$folder"
    check_refused "bad/$folder: $link" merge bad --out out
    check_refused "bad/$folder: $link" run --resume bad
done
plant disputes
ln -s ../victim bad/disputes
check_refused "bad/disputes: $link" run --resume bad

# A run that begins anew writes over no link either.
rm -rf bad
mkdir bad
ln -s ../victim/file bad/results.jsonl
check_refused "bad/results.jsonl: $link" "${run[@]}" --out bad
[ "$(cat victim/file)" = "not yours" ] || fail "a file elsewhere was written to"

# The folder itself may be a link: it is what the user typed.  What was removed since stays so.
ln -s good linked
expect_exit 0 watch linked
rm "good/$certificate"
expect_exit 1 merge linked --out merged
[ ! -e "merged/$certificate" ] && [ -e "merged/$repro" ] || fail "merged are $(find merged -type f | tr '\n' ' ')"
expect_exit 1 run --resume linked
finish
