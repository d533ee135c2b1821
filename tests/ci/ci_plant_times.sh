#!/usr/bin/env bash
# ci/plant-times measures a program that finds, one that works before it finds, and one that finds nothing, and compares them.
#
#     tests/ci/ci_plant_times.sh TREE HBMSTRESS
set -u
tree=$(realpath "$1")
hbmstress=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cd "$work" || exit 1

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

times() { # EXIT WORD...
    local want=$1 got
    shift
    timeout 60 "$tree/ci/plant-times" "$@" >out.txt 2>err.txt
    got=$?
    [ "$got" = "$want" ] || fail "plant-times $*: exit $got, should be $want: $(cat out.txt err.txt)"
}

# A program with one plant, which its worker finds after so much work; the worker would go on.
write_program() { # NAME WORK FINDING
    cat >"$1" <<END
#!/usr/bin/env bash
if [ "\$1" = list ]; then
    echo '{"kind":"plant","name":"plant_one","breaks":"counters"}'
    exit
fi
{
    for ((i = 0; i < $2; i++)); do :; done
    echo '$3'
    [ -z '$3' ] || sleep 100
} &
wait
END
    chmod +x "$1"
}
write_program quick 1 '{"type":"broken","rule":"counters"}'
write_program slow 600000 '{"type":"verdict","verdict":"premature"}'
write_program blind 1 ''

times 0 ./quick --seeds 3 --json quick.jsonl
grep -qE '^plant_one +counters +0\.[0-9]+ +3 of 3$' out.txt || fail "no row of the quick one: $(cat out.txt)"
times 1 ./slow --seeds 1 --against quick.jsonl
grep -qE '^plant_one .* 1 of 1 .* LATER also as premature$' out.txt || fail "the slow one is not later: $(cat out.txt)"
times 1 ./blind --seeds 2 --against quick.jsonl
grep -qE '^plant_one +counters +never +0 of 2 .* LATER$' out.txt || fail "the blind one is not later: $(cat out.txt)"
times 0 ./quick plant_one --seeds 1 --against quick.jsonl
! grep -q LATER out.txt || fail "the quick one is later than itself: $(cat out.txt)"

times 2 ./quick plant_two
grep -q "no planted target is called 'plant_two'" err.txt || fail "an unknown plant: $(cat err.txt)"
times 2 ./quick --against nothing.jsonl
grep -q '^plant-times: nothing.jsonl: ' err.txt || fail "a table that is not there: $(cat err.txt)"
times 2 ./missing
grep -q '^plant-times: ./missing does not list its plants: ' err.txt || fail "no program: $(cat err.txt)"

times 0 "$hbmstress" plant_overlap --seeds 1 -- fragmentation_storm --ops 5000
grep -qE '^plant_overlap +overlap +[0-9.]+ +1 of 1$' out.txt || fail "plant_overlap is not found: $(cat out.txt)"
[ "$failures" = 0 ]
