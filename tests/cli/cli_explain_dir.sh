#!/usr/bin/env bash
# explain reads a directory of logs as one story: who failed first over all files, who waited, and what is no log.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

words() {
    tr -s '\n ' ' ' <out.txt >words.txt
}
message="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 48.00 MiB. GPU 1 has a total capacity of 31.50 GiB of which 20.25 MiB is free. Including non-PyTorch memory, this process has 31.40 GiB memory in use. Of the allocated memory 30.00 GiB is allocated by PyTorch, and 700.00 MiB is reserved by PyTorch but unallocated."

# One file for each rank; the failing one is not the first, and its time decides.
mkdir -p ranks
printf '2031-04-02 08:00:02,100 - fit - INFO - completed step: 41\n2031-04-02 08:10:03,000 - fit - ERROR - [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.\n2031-04-02 08:10:09,000 - fit - ERROR - %s\n' "${message/48.00/64.00}" >ranks/rank0.log
printf '2031-04-02 08:00:02,100 - fit - INFO - completed step: 41\n2031-04-02 08:00:03,500 - fit - ERROR - %s\n' "$message" >ranks/rank1.log
printf '2031-04-02 08:00:00,100 - fit - INFO - completed step: 40\n' | gzip >ranks/rank2.log.gz
ln -s . ranks/loop
ln -s rank1.log ranks/a_latest.log
ln -s nowhere ranks/gone
mkfifo ranks/pipe
head -c 5000 /dev/zero >ranks/core.7
expect_exit 3 explain ranks
expect_text out.txt "What the log says: 6 lines of 3 sources in 3 files"
words
expect_text words.txt "not read: 4, such as core.7 (data, not a log)"
expect_text words.txt "pipe (no regular file)"
expect_text words.txt "first failure: rank 1, the device's memory ran out, line 2 of rank1.log, 04-02 08:00:03, after step 41"
expect_text words.txt "afterwards: rank 0, the device's memory ran out, line 3 of rank0.log"
expect_text words.txt "a consequence: rank 0 waited for another one until a time-out, line 2 of rank0.log"
expect_text words.txt "silent: rank 2 ends at step 40, line 1 of rank2.log.gz"
expect_text out.txt "Asked for:     48.00M"
expect_exit 3 explain ranks --json
expect_text out.txt '"source":"rank 1","file":"rank1.log","line":2,'
expect_text out.txt '"files":3,"files_left_out":4,"order_known":true,'

# Without a clock nobody knows which was first; torchrun's root cause tells.
mkdir -p blind
for rank in 0 1; do
    printf '%s\n' "${message/48.00/$((40 + 8 * rank)).00}" >blind/worker-$rank.txt
done
expect_exit 3 explain blind
words
expect_text words.txt "the two have no clock in common: which came first is not known"
cat >blind/launcher.log <<'END'
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
fit.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2031-04-02_08:00:06
  host      : tray-7
  rank      : 0 (local_rank: 0)
  exitcode  : -6 (pid: 82)
  traceback : Signal 6 (SIGABRT) received by PID 82
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2031-04-02_08:00:04
  host      : tray-7
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 81)
  error_file: <N/A>
============================================================
END
expect_exit 3 explain blind
expect_text out.txt "first failure: rank 1, the device's memory ran out, line 1 of worker-1.txt"
expect_text out.txt "torchrun saw rank 1 on tray-7 end first, line 13 of launcher.log: exit code 1"
expect_no_text out.txt "which came first is not known"
expect_no_text out.txt "SIGABRT"
sed 's/: 1 (pid: 81)/: -9 (pid: 81)/' blind/launcher.log >root.log
expect_exit 0 explain root.log
expect_text out.txt "torchrun saw rank 1 on tray-7 end first, line 13: signal 9, SIGKILL"
expect_text out.txt "first failure: the log, killed from outside, line 18"

# What Kubernetes says of a pod belongs to its log; JSON, YAML and what describe prints.
mkdir -p pods
printf '2031-04-02T08:00:00Z step 4\n2031-04-02T08:00:10Z RuntimeError: Connection closed by peer\n' >pods/fit-0-abcde.log
printf '2031-04-02T08:00:00Z step 4\n' >pods/fit-1-x7k2p.log
cat >pods/pods.json <<'END'
{
    "apiVersion": "v1",
    "items": [
        {"kind": "Pod", "metadata": {"name": "fit-1-x7k2p"}, "status": {"containerStatuses": [
            {"name": "trainer", "restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
             "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2031-04-02T08:00:09Z"}}}]}}
    ]
}
END
expect_exit 0 explain pods
words
expect_text words.txt "first failure: rank 1, the host's memory ran out, not the device's, line 4 of pods.json, 04-02 08:00:09, after step 4"
expect_text words.txt '"container trainer ended with exit code 137, reason OOMKilled, restarts 2"'
expect_text words.txt "a consequence: rank 0 found that another one was gone"
expect_exit 0 explain pods/pods.json
expect_text out.txt "first failure: pod fit-1-x7k2p, the host's memory ran out"
cat >pod.yaml <<'END'
apiVersion: v1
kind: Pod
metadata:
  name: fit-3-qq8zz
status:
  containerStatuses:
  - containerID: containerd://5f
    lastState:
      terminated:
        exitCode: 139
        message: |
          two
          lines
        reason: Error
    name: trainer
    restartCount: 1
END
expect_exit 0 explain pod.yaml
expect_text out.txt "first failure: pod fit-3-qq8zz, crashed, line 4"
cat >pod.txt <<'END'
Name:             fit-3-qq8zz
Namespace:        ml
Node:             tray-2/10.0.0.2
Containers:
  trainer:
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Ready:          False
END
expect_exit 0 explain pod.txt
expect_text out.txt '"container trainer ended with exit code 137, reason OOMKilled"'

# Nothing to read, and what cannot be read.
mkdir -p empty/below data well
expect_exit 2 explain empty
expect_text err.txt "empty: the directory has no log: it is empty"
head -c 100 /dev/zero >data/dump
expect_exit 2 explain data
expect_text err.txt "data: the directory has no log; left out: dump (data, not a log)"
echo "step 1" >well/rank0.log
expect_exit 2 explain well
expect_text err.txt "its 1 log tells of no failure and nobody who waits"
printf '\x1f\x8b\x08\x00' >well/cut.gz
expect_exit 2 explain well
expect_text err.txt "well: cut.gz: the gzip stream is cut off"
deep=well/$(printf 'd/%.0s' {1..20})
rm well/cut.gz
mkdir -p "$deep"
expect_exit 2 explain well
expect_text err.txt "too many folders within folders"
expect_exit 2 convert ranks
expect_text err.txt "ranks: is a directory, not a file"
expect_exit 2 explain ranks ranks
finish
