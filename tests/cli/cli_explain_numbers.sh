#!/usr/bin/env bash
# explain's numbers, for lists that fail and for lists that do not: what is lost, what still fits, the smallest device,
# the point of no return; the peak and who holds it; steps; other hosts; the pictures.
causes=$(realpath "$2")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# member KEY TYPE: the value of a member in the first JSON line of that type.
member() {
    grep -m 1 "\"type\":\"$2\"" out.txt | grep -o "\"$1\":[^,}]*" | head -n 1 | cut -d : -f 2-
}

# Fragmentation: 4K of 8K are free in two holes of 2K, and nothing moves.
cat >holes.ops <<'END'
hbmstress-ops 1
capacity 8K
granule 512
target first_fit
tag 1 "weights"
0: alloc size=2K
1: alloc size=2K tag=1
2: alloc size=2K
3: alloc size=2K tag=1
4: free block=0
5: free block=2
6: alloc size=3K
END
expect_exit 0 explain holes.ops
expect_text out.txt "The numbers, at the failure: op 6"
expect_text out.txt "  Lost to fragmentation: 2.0K of the 4.0K free (50 %) lie outside the largest hole"
expect_text out.txt "  Requests succeed:      up to 2.0K; larger ones fit nowhere"
expect_text out.txt "    8.0K       as the requests ask (op 3)"
expect_text out.txt "    8.0K       packed without gaps: a plan that knows the future fits in it, one place for each block"
expect_text out.txt "    11.0K      with this allocator, as "
expect_text out.txt "  Point of no return:    never."
expect_text out.txt "  [================................================................]"
expect_exit 0 explain holes.ops --json
[ "$(member lost_bytes numbers)" = 2048 ] || fail "lost bytes: $(cat out.txt)"
[ "$(member lost_share numbers)" = 0.500000 ] || fail "share: $(cat out.txt)"
[ "$(member largest_request_bytes numbers)" = 2048 ] || fail "largest: $(cat out.txt)"
[ "$(member least_capacity_bytes numbers)" = 11264 ] || fail "least: $(cat out.txt)"
expect_text out.txt '"no_return":{"kind":"never","kept_bytes":4096,"request_bytes":3072}'
# What it says is so: 11K serve the list, 10.5K do not.
sed 's/^capacity .*/capacity 11K/' holes.ops >enough.ops
sed 's/^capacity .*/capacity 10752/' holes.ops >less.ops
expect_exit 0 explain enough.ops
expect_text out.txt "Nothing failed: 7 ops"
expect_exit 0 explain less.ops
expect_text out.txt "Verdict: justified"

# With moves the same list has its room; what is too much for any allocator has a point of no return.
sed 's/^target .*/target hbm/; s/size=3K/size=5K/' holes.ops >full.ops
expect_exit 0 explain full.ops
expect_text out.txt "  Point of no return:    op 3. From then on 4.0K that are never freed before the failure, and the request (5.0K),"
expect_exit 0 explain full.ops --json
expect_text out.txt '"no_return":{"kind":"op","op":3,"kept_by_op_bytes":4096,"kept_bytes":4096,"request_bytes":5120}'
sed 's/size=3K/size=9K/' holes.ops >huge.ops
expect_exit 0 explain huge.ops
expect_text out.txt "  Point of no return:    from the start. The request alone (9.0K) is more than 8.0K."

# A plan that knows all requests beforehand needs no more than the most that is live.
expect_exit 0 explain holes.ops --json
[ "$(member planned_capacity_bytes numbers)" = 8192 ] || fail "plan: $(member planned_capacity_bytes numbers)"
[ "$(member planned_capacity_is_least numbers)" = true ] || fail "the plan is not the least"

# The words are the reader's: PyTorch moves nothing, blocks may have no source line, and a file may not say how much
# memory there is.
{
    printf 'hbmstress-ops 1\ncapacity 8K\ngranule 512\ntarget hbm\nsystem pytorch\n'
    printf '# assumed: capacity 8192, the peak of live bytes\n0: alloc size=2K\n1: alloc size=6K\n'
} >torch.ops
expect_exit 0 explain torch.ops
expect_text out.txt "The GPU is fullest at op 1: 8.00 KiB. How much it has is not in the file."
expect_text out.txt "of '(no source line)'"
expect_text out.txt "What is free is not known, as the capacity is not in the file: --capacity SIZE"
expect_text out.txt "with an allocator that moves blocks"
expect_no_text out.txt "movable"
expect_no_text out.txt "Requests succeed"

# Nothing failed: the peak, and who holds it.
sed '/^6: /d' holes.ops >sound.ops
expect_exit 0 explain sound.ops
[ "$(head -n 1 out.txt)" = "Nothing failed: 6 ops, no out-of-memory, every promise kept." ] || fail "first line: $(head -n 1 out.txt)"
expect_text out.txt "The device is fullest at op 3: 8.00 KiB of 8.00 KiB (100 %)"
grep -Eq "^Who holds memory then +blocks +bytes +oldest +newest, ops ago$" out.txt || fail "no holders"
grep -Eq "^of 'weights' +2 +4\.0K +2 +0$" out.txt || fail "who: $(grep of out.txt)"
expect_text out.txt "The numbers, at the peak: op 3"
expect_no_text out.txt "Point of no return"
expect_text out.txt "Memory over time"
expect_text out.txt "The heap at op 3, from address 0 to the end"
expect_exit 0 explain sound.ops --json
[ "$(sed -n 1p out.txt)" = '{"type":"explanation","verdict":"none","ops":6,"reason":"no out-of-memory, every promise kept"}' ] ||
    fail "the first line of JSON: $(sed -n 1p out.txt)"
[ "$(member op peak)" = 3 ] || fail "peak: $(cat out.txt)"
expect_text out.txt '"tags":[{"tag":"tag 0","blocks":2,"bytes":4096,"oldest_op":0,"newest_op":2},{"tag":"weights",'
grep -vq '^{.*}$' out.txt && fail "a line that is no object"
printf 'hbmstress-ops 1\ncapacity 1M\ntarget hbm\n' >empty.ops
expect_exit 0 explain empty.ops
[ "$(cat out.txt)" = "Nothing failed: 0 ops, no out-of-memory, every promise kept." ] || fail "an empty list: $(cat out.txt)"

# With lanes, too.
sed 's/^\(3: .*\)$/\1 lane=1/' sound.ops >lanes.ops
sed -i 's/^target .*/target hbm/; s/^capacity .*/capacity 16K/' lanes.ops
expect_exit 0 explain lanes.ops
expect_text out.txt "The device is fullest at op "
expect_text out.txt "not tried: the list has lanes"

# Over time, with steps; the last row is the failure.
expect_exit 0 explain "$causes/leak.ops" --timeline
expect_text out.txt "op 1409: output size=96K tag=3, for 'losses', in about step "
sed -n '/^Over time/,/^$/p' out.txt >rows.txt
[ "$(wc -l <rows.txt)" -ge 20 ] || fail "few rows: $(cat rows.txt)"
grep -Eq '^ +1409 +[0-9]+ +63\.97M +32\.0K +32\.0K +0B +32\.0K$' rows.txt || fail "the failure is no row: $(cat rows.txt)"
expect_exit 0 explain "$causes/leak.ops" --timeline --json
[ "$(grep -c '"type":"numbers_at"' out.txt)" -ge 18 ] || fail "few lines over time"
grep '"type":"numbers_at"' out.txt | grep -v '"step":[0-9]*,"step_is_about":true' && fail "a row without a step"
ops=$(grep '"type":"numbers_at"' out.txt | grep -o '"op":[0-9]*' | cut -d : -f 2)
[ "$ops" = "$(echo "$ops" | sort -nu)" ] || fail "rows out of order: $ops"

# The host that grows is named though another one fails, and where none fails the fullest is described.
{
    printf 'hbmstress-ops 1\ncapacity 64M\nhosts 3\ntarget hbm\ntag 1 "batch"\ntag 2 "losses"\n\n'
    number=0
    for _ in $(seq 300); do
        for host in 0 1 2; do
            block=$number
            echo "$((number++)): alloc size=4M tag=1 host=$host"
            if [ $host = 2 ]; then
                echo "$((number++)): output size=96K tag=2 host=2"
            fi
            echo "$((number++)): free block=$block host=$host"
        done
    done
} >hosts.ops
expect_exit 0 explain hosts.ops
expect_text out.txt "(host 2 of 3)"
expect_text out.txt "leak (sure"
{
    cat hosts.ops
    echo "2100: alloc size=63M tag=1"
    echo "2101: alloc size=63M tag=1"
} >fails.ops
expect_exit 0 explain fails.ops
expect_text out.txt "on host 0"
expect_text out.txt "  on host 2, which did not fail:"
sed -n '/on host 2, which did not fail/,$p' out.txt | sed -n 2p | grep -q '^  leak (sure' || fail "host 2 is not said to leak"
expect_exit 0 explain fails.ops --json
grep '"cause":"leak"' out.txt | grep -q '"host":2}' || fail "no host in the JSON: $(grep leak out.txt)"

# In the reader's words.
sed 's/^target hbm$/target hbm\nsystem pytorch/' fails.ops >gpu.ops
expect_exit 0 explain gpu.ops
expect_text out.txt ", on GPU 0"
expect_text out.txt "GPU 0 has 64.00M"
expect_text out.txt "when PyTorch's caching allocator gave up"
expect_no_text out.txt "the target"
sed 's/^target hbm$/target hbm\nsystem xla_tpu/' full.ops >tpu.ops
expect_exit 0 explain tpu.ops
expect_text out.txt "The TPU has 8.0K"

# The picture: well formed, whatever the file calls things; nothing else is written, and nothing is replaced that may not be.
sed 's/"weights"/"<\&weights>"/' sound.ops >evil.ops
expect_exit 0 explain evil.ops --svg memory.svg
grep -q '^<svg xmlns=' memory.svg || fail "no picture"
grep -q '&lt;&amp;weights' memory.svg || fail "the name is not escaped: $(grep text memory.svg)"
[ "$(tail -n 1 memory.svg)" = "</svg>" ] || fail "the picture does not end"
if command -v xmllint >/dev/null; then
    xmllint --noout memory.svg || fail "the picture is no XML"
fi
cp evil.ops same.ops
expect_exit 2 explain same.ops --svg same.ops
cmp -s evil.ops same.ops || fail "the input was replaced"
expect_exit 2 explain sound.ops --svg no/such/folder.svg
expect_exit 0 explain holes.ops --svg failure.svg --json
grep -q 'at op 6' failure.svg || fail "the picture is not of the failure"
expect_exit 0 explain empty.ops --svg none.svg
[ ! -e none.svg ] || fail "a picture of nothing"

finish
