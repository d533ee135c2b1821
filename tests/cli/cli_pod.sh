#!/usr/bin/env bash
# Ranks as processes: what is refused, what is told of ranks that die, stop, wait for each other or never come, hostile
# messages, a dead meeting point, and that what the ranks left runs in lock step.
# shellcheck source=tests/cli/cli_common.sh
storm=$(dirname "$(readlink -f "$0")")/pod_storm.py
. "$(dirname "$0")/cli_common.sh"
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE SLURM_PROCID SLURM_NTASKS
refuse() { expect_refusal 2 "$@"; }

# list FILE HOSTS: head of a list with a program for each host, and then the ops on standard input, from 10 on.
list() {
    {
        printf 'hbmstress-ops 1\ncapacity 16M\nhosts %s\nclocks own\ngroup 1 0-1 "data 0"\n' "$2"
        printf 'target hbm\nseed 1\ntag 1 "train_step"\n\n'
        for host in $(seq 0 $(($2 - 1))); do
            echo "$host: load size=1M stack=64K tag=1 host=$host"
        done
        cat
    } >"$1"
}
list plain.ops 3 <<'END'
10: alloc size=8M
11: alloc size=20M host=1
12: execute program=0 delay=1ms collective=1
13: execute program=1 delay=1ms collective=1 host=1
14: execute program=2 delay=1ms collective=7 host=2
15: execute program=0 delay=1ms collective=7
16: execute program=1 delay=1ms collective=7 host=1
17: advance delay=5ms host=1
18: alloc size=20M host=1
19: free block=10
END

# --- what is refused ----------------------------------------------------------------------------------------------
refuse "give LIST.ops, or --merge DIR" pod --out out
refuse "give --out DIR" pod plain.ops
refuse "is not a number from 0 to 1000" pod plain.ops --out out --pace fast
refuse "is not a duration of at least 500ms" pod plain.ops --out out --patience 1ms
refuse "is not a rank from 0 to 63" pod plain.ops --out out --rank 64
refuse "also give --meet" pod plain.ops --out out --rank 1
refuse "--rank 3: the list has 3 hosts" pod plain.ops --out out --rank 3 --meet ./socket
refuse "neither HOST:PORT nor a path" pod plain.ops --out made --rank 0 --meet nowhere
refuse "--merge runs no rank: --pace does not apply" pod --merge made --pace 1
refuse "there is no rank-R.ops of a pod" pod --merge "$work"
refuse "applies to --merge" pod plain.ops --out out -o file.ops
OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 refuse "one of 3 processes" pod plain.ops --out out
OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 refuse "4 ranks were started, but the list has 3 hosts" pod plain.ops --out out --meet ./socket

# --- all ranks end, and what they left runs in lock step ------------------------------------------------------------
expect_exit 0 pod plain.ops --out pod
expect_text out.txt "rank 1   ended at op 11, step 2; out of memory 2 times, first at op 4, step 0 (justified)"
expect_text out.txt "3 ranks, 3 ended, 0 dead, 0 without progress; 2 OOMs (2 justified, 0 premature, 0 unknown), 0 waits in vain"
[ "$(wc -l <pod/processes)" = 3 ] || fail "not three processes"
expect_exit 0 pod --merge pod -o merged.ops
expect_text merged.ops "5 arrivals at collectives in their order"
expect_exit 0 replay merged.ops
expect_text out.txt "13 ops, 2 OOMs (2 justified"
"$hbmstress" pod --merge pod | cmp - merged.ops || fail "two merges differ"
head -c -1 pod/rank-2.ops >cut && mv cut pod/rank-2.ops
expect_exit 0 pod --merge pod -o merged.ops
grep -q 'host=2 collective=7' merged.ops && fail "half a line was merged"
echo "join 9 1" >>pod/arrivals
refuse "pod/arrivals:6: no pod wrote this line" pod --merge pod

# --- a broken promise, and a crash ------------------------------------------------------------------------------------
list premature.ops 2 <<'END'
10: alloc size=256K host=1
11: alloc size=256K host=1
12: free block=10 host=1
13: alloc size=16128K host=1
END
sed -i 's/^target hbm/target first_fit\noption defrag=slide/; /load/d' premature.ops
expect_exit 1 replay premature.ops
expect_exit 1 pod premature.ops --out broken
expect_text out.txt "a promise was broken at op 3: "
expect_text out.txt "a promise was broken: 2 ranks, 2 ended, 0 dead, 0 without progress; 1 OOMs (0 justified, 1 premature, 0 unknown)"
expect_exit 1 run fragmentation_storm --target plant_crash_segv --capacity 64M --seed 1 --seeds 5
crash=(out/repros/crash-*.ops)
expect_exit 1 pod "${crash[0]}" --out crashed
expect_text out.txt "crashed: "
expect_text out.txt "1 ranks, 0 ended, 1 dead"
expect_exit 0 pod --merge crashed -o merged.ops
expect_exit 1 replay merged.ops

# --- in another order: each waits for the other ------------------------------------------------------------------------
list circle.ops 3 <<'END'
10: execute program=0 delay=1ms collective=1
11: alloc size=1K
12: execute program=0 delay=1ms collective=0
13: execute program=1 delay=1ms collective=0 host=1
14: alloc size=1K host=1
15: execute program=1 delay=1ms collective=1 host=1
16: execute program=2 delay=1ms collective=0 host=2
END
expect_exit 0 pod circle.ops --out circle
expect_text out.txt 'rank 0   waited in vain for rank 1 (each waits for another), in group 1 "data 0", since op 3, step 0'
expect_text out.txt 'rank 1   waited in vain for rank 0 (each waits for another), in group 0, since op 6, step 0'
expect_exit 0 pod --merge circle -o merged.ops
expect_exit 0 replay merged.ops

# --- out of memory at a collective: that rank does not join --------------------------------------------------------------
list refused.ops 2 <<'END'
10: alloc size=15360K host=1
11: execute program=0 delay=1ms collective=1
12: execute program=1 delay=1ms collective=1 host=1
END
expect_exit 0 pod refused.ops --out refused
expect_text out.txt '; rank 1 was out of memory at op 4, step 0, and did not join'

# It is one behind from then on: two later ones of its own join the first two of the others, here and in lock step.
list behind.ops 2 <<'END'
10: alloc size=15360K host=1
11: execute program=0 delay=1ms collective=1
12: execute program=1 delay=1ms collective=1 host=1
13: free block=10 host=1
14: alloc size=1K
15: execute program=0 delay=1ms collective=1
16: execute program=1 delay=1ms collective=1 host=1
17: alloc size=1K host=1
18: alloc size=1K
19: execute program=0 delay=1ms collective=1
20: execute program=1 delay=1ms collective=1 host=1
END
expect_exit 0 pod behind.ops --out behind
expect_text out.txt 'rank 0   waited in vain for rank 1 (ended), in group 1 "data 0", since op 11, step 2'
expect_text out.txt ', 1 waits in vain'
expect_exit 0 pod --merge behind -o merged.ops
expect_exit 0 replay merged.ops
[ "$(grep -c "^hang: host 0 waits in collective 'data 0' since step 2" out.txt)" = 1 ] || fail "lock step: not the third one"

# --- the same request, another answer ------------------------------------------------------------------------------------
# Rank 3 does not drain.  No collective lies between the requests: the merged list has all of a rank before the next.
list odd.ops 4 <<'END'
10: alloc size=10M host=1
11: alloc size=10M host=3
12: free_after block=10 delay=1h host=1
13: free_after block=11 delay=1h host=3
14: alloc size=1M host=1 spmd=1
15: alloc size=1M host=3 spmd=1
16: alloc size=12M host=1 spmd=1
17: alloc size=12M host=3 spmd=1
18: alloc size=512 host=1 spmd=1
19: alloc size=512 host=3 spmd=1
END
sed -i 's/^group .*/group 1 1,3 "data 1"/; s/^target hbm/target plant_spmd_one_host\noption defrag=slide/' odd.ops
expect_exit 1 pod odd.ops --out odd
expect_text out.txt 'rank 3   got another answer than rank 1 to the same request, in group 1 "data 1": out of memory at op 11, step 0, not granted at op 10, step 0 (rule spmd)'
expect_text out.txt "a promise was broken: 4 ranks, 4 ended"
expect_exit 1 pod --json odd.ops --out odd
expect_text out.txt '{"type":"differs","rule":"spmd","group":1,"group_name":"data 1","first":{"rank":1,"op":10,"step":0,"answer":"granted"},"other":{"rank":3,"op":11,"step":0,"answer":"out of memory"},"times":1}'
expect_exit 0 pod --merge odd -o merged.ops
expect_exit 1 replay merged.ops
expect_text out.txt 'BROKEN spmd:'
sed 's/^target .*/target hbm/' odd.ops >even.ops
expect_exit 0 pod even.ops --out even
grep -q 'another answer' out.txt && fail "libhbm answers ranks differently"

# --- one that does not come, killed or stopped ---------------------------------------------------------------------------
list absent.ops 3 <<'END'
10: execute program=0 delay=1ms collective=1
11: alloc size=1M host=1
END
expect_exit 0 pod absent.ops --out absent
expect_text out.txt 'rank 0   waited in vain for rank 1 (ended), in group 1 "data 0", since op 3, step 0'
# Rank 1 pauses for an hour before it comes; meanwhile it is sent a signal.
list late.ops 3 <<'END'
10: execute program=0 delay=1ms collective=1
11: advance delay=1h host=1
12: alloc size=1M host=1
13: execute program=1 delay=1ms collective=1 host=1
14: alloc size=1M host=2
END
is_paused() { [ -s "$1/processes" ] && grep -qs advance "$1/rank-1.ops"; }
strike() { # SIGNAL DIR ARGUMENT...: rank 1 is sent it while it pauses
    local number=$1 directory=$2
    shift 2
    "$hbmstress" pod late.ops --out "$directory" --pace 1 "$@" >out.txt 2>err.txt &
    local pod=$!
    wait_until is_paused "$directory"
    kill "-$number" "$(sed -n 's/^1 //p' "$directory/processes")"
    wait "$pod" || fail "a pod with a rank that was sent $number: exit $?"
}
strike KILL killed
expect_text out.txt "rank 1   killed by signal 9 (SIGKILL); its last op was"
expect_text out.txt 'rank 0   waited in vain for rank 1 (dead), in group 1 "data 0", since op 3, step 0'
expect_text out.txt "3 ranks, 2 ended, 1 dead, 0 without progress; 0 OOMs (0 justified, 0 premature, 0 unknown), 1 waits in vain"
strike STOP stopped --patience 1s
expect_text out.txt "rank 1   stopped by a signal, and ended here; its last op was"
expect_text out.txt 'rank 0   waited in vain for rank 1 (no progress), in group 1 "data 0", since op 3, step 0'
expect_text out.txt "3 ranks, 2 ended, 0 dead, 1 without progress;"
# Ctrl-C is no rank's fault.
"$hbmstress" pod late.ops --out interrupted --pace 1 >out.txt 2>err.txt &
pod=$!
wait_until is_paused interrupted
kill -INT "$pod"
wait "$pod"
[ $? = 4 ] || fail "an interrupted pod: not exit 4"
expect_text out.txt "rank 1   interrupted by the user; its last op was"
expect_text out.txt " 0 dead, 0 without progress;"
expect_exit 0 pod --merge killed -o merged.ops
expect_exit 0 replay merged.ops
[ "$(grep -c '^[0-9]*: ' merged.ops)" = 6 ] || fail "not the six ops that were begun"

# --- ranks that meet at a socket -------------------------------------------------------------------------------------------
meet() { # ARGUMENT...: ranks 1 and 2 in the background, rank 0 here; exit codes in codes.txt
    : >codes.txt
    for rank in 1 2; do
        (
            "$hbmstress" pod "$@" --meet ./socket --rank "$rank" >rank.$rank.txt 2>&1
            echo "$rank $?" >>codes.txt
        ) &
    done
    "$hbmstress" pod "$@" --meet ./socket --rank 0 >out.txt 2>err.txt
    echo "0 $?" >>codes.txt
    wait
}
meet plain.ops --out met
[ "$(sort codes.txt | tr '\n' ' ')" = "0 0 1 0 2 0 " ] || fail "ranks that meet: $(cat codes.txt err.txt rank.?.txt)"
expect_text out.txt "3 ranks, 3 ended, 0 dead, 0 without progress; 2 OOMs"
[ ! -e socket ] || fail "the socket is left"
expect_exit 0 pod --merge met -o merged.ops
expect_exit 0 replay merged.ops

# Who is no rank gets nowhere, and the pod goes on: other bytes, half a message, another list.
sed 's/size=8M/size=9M/' plain.ops >other.ops
"$hbmstress" pod late.ops --out hostile --meet ./socket --rank 0 --pace 1 >out.txt 2>err.txt &
keeper=$!
wait_until test -S socket
python3 - <<'END'
import socket
for text in (b'GET / HTTP/1.1\r\n\r\n' * 20, b'1oph', b''):
    other = socket.socket(socket.AF_UNIX)
    other.connect('socket')
    other.sendall(text)
    other.close()
END
expect_exit 2 pod other.ops --out hostile --meet ./socket --rank 2
expect_text err.txt "rank 2 is refused: it has another list, or other options, than the meeting point"
"$hbmstress" pod late.ops --out hostile --meet ./socket --rank 1 --pace 1 >rank.1.txt 2>&1 &
rank=$!
wait_until test -s hostile/rank-1.ops
wait_until is_paused hostile
expect_text err.txt ""
# The meeting point dies: its rank is told so in one line.
kill -KILL "$keeper"
wait "$rank"
[ $? = 4 ] || fail "a rank whose meeting point died: not exit 4"
[ "$(wc -l <rank.1.txt)" = 1 ] || fail "a rank whose meeting point died: not one line"
expect_text rank.1.txt "the meeting point is gone"
wait "$keeper"
expect_exit 0 pod --merge hostile -o merged.ops

# --- at random ---------------------------------------------------------------------------------------------------------------
runs=4
[ "${HBMSTRESS_TESTS:-}" != full ] || runs=10
python3 "$storm" "$hbmstress" --runs "$runs" --ranks 4 || fail "the storm"
finish
