#!/usr/bin/env python3
"""Prints what a training story costs, by its number of hosts.

    training_cost.py HBMSTRESS [--steps N] [--reads] [HOSTS...]
    for example training_cost.py build/release/cli/hbmstress --steps 80000 1 2 4

Hosts are 1, 2, 4 and so on up to 64 unless given.  A row comes as soon as its run is over.  Seconds
are those of the processor, of all processes together; MB the most memory that the largest one had at
once.  --reads adds rows of `replay` of the list up to the out-of-memory and of `explain` of the logs.
With three hosts or more the last line fits a fixed part and one an op to the runs.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def measure(command):
    """Processor seconds, and the peak of resident memory in MB, of the command and its children."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1, 3):
        sys.exit(f"{' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def count_ops(results):
    """The ops of a run, from the last line of its results."""
    return json.loads(pathlib.Path(results).read_text(encoding="utf-8").splitlines()[-1])["ops"]


def print_row(hosts, what, ops, seconds, megabytes):
    """One row of the table."""
    print(f"| {hosts} | {what} | {ops:,} | {seconds:.1f} s | {seconds * 1e6 / ops:.1f} us | "
          f"{megabytes:,.0f} MB | {megabytes * 1e6 / ops:.0f} |", flush=True)


def measure_hosts(program, hosts, steps, has_reads):
    """A row of the run; returns hosts, ops, seconds and MB of it."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "story"
        seconds, megabytes = measure(
            [program, "run", "training", "--hosts", str(hosts), "--chip", "v4", "--until", str(steps), "--seed", "1",
             "--workers", "1", "--trial-timeout", "8h", "--out", str(out)])
        ops = count_ops(out / "results.jsonl")
        print_row(hosts, "run", ops, seconds, megabytes)
        lists = list((out / "certificates").glob("*.ops"))
        if has_reads and lists:
            print_row(hosts, "replay", ops, *measure([program, "replay", str(lists[0])]))
            print_row(hosts, "explain logs", ops, *measure([program, "explain", str(out / "logs")]))
        return hosts, ops, seconds, megabytes


def fit(rows, column):
    """A fixed part and one for each op, by least squares in which each row weighs the same."""
    points = [(row[1], row[column], 1 / row[column] ** 2) for row in rows]
    weight = sum(w for _, _, w in points)
    middle_x = sum(x * w for x, _, w in points) / weight
    middle_y = sum(y * w for _, y, w in points) / weight
    slope = (sum((x - middle_x) * (y - middle_y) * w for x, y, w in points) /
             sum((x - middle_x) ** 2 * w for x, _, w in points))
    return middle_y - slope * middle_x, slope


def main():
    """Measures each number of hosts in turn."""
    arguments = argparse.ArgumentParser(description="what a training story costs, by hosts")
    arguments.add_argument("program")
    arguments.add_argument("--steps", type=int, default=80_000)
    arguments.add_argument("--reads", action="store_true")
    arguments.add_argument("hosts", type=int, nargs="*", default=[])
    given = arguments.parse_intermixed_args()
    print("| hosts | what | ops | processor time | an op | memory | bytes an op |\n|---|---|---|---|---|---|---|")
    rows = [measure_hosts(given.program, hosts, given.steps, given.reads)
            for hosts in given.hosts or [1, 2, 4, 8, 16, 32, 64]]
    if len(rows) >= 3:
        time, memory = fit(rows, 2), fit(rows, 3)
        print(f"\nfitted: {time[0]:.1f} s and {time[1] * 1e6:.1f} us an op; "
              f"{memory[0]:.0f} MB and {memory[1] * 1e6:.0f} bytes an op")


if __name__ == "__main__":
    main()
