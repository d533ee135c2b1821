#!/usr/bin/env python3
"""Prints where the instructions of trials go, as a table: they do not depend on the load of a machine.

    trial_tables.py BENCH_TRIAL scenarios|options [--ops N] [--seed N]
    for example trial_tables.py build/release/bench/bench_trial scenarios

scenarios: of one trial of each scenario the instructions an op, the costliest room and function, and
what running its list again costs, in per cent of the trial.  options: what an option of libhbm
changes, in times of the instructions without it; rows are options, columns scenarios.
It needs valgrind, and takes minutes.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

SCENARIOS = ["fragmentation_storm", "eviction_pressure", "training_step", "deep_queue"]
OPTIONS = ["log_allocations_on_oom=yes", "message_code=no", "owners=yes", "order_binds=yes"]
LOADER = "./elf/"  # of the C library: before main, and at the first call of a function
ROOM = re.compile(r"/(harness/\w+/\w+|harness/\w+|allocator|scenarios|targets|explore)/\w+\.[ch]$")


def run_trial(program, words, directory):
    """The ops of the trial, and its profile: the instructions of each (file, function)."""
    profile = pathlib.Path(directory, "profile")
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}",
                           program, *words], capture_output=True, text=True, check=False)
    found = re.match(r"(\d+) ops, (\d+) OOMs", done.stdout)
    if done.returncode != 0 or found is None:
        sys.exit(f"{' '.join(words)} failed: {done.stderr[-300:]}")
    listed = subprocess.run(["callgrind_annotate", "--threshold=100", "--auto=no", str(profile)],
                            capture_output=True, text=True, check=True).stdout
    costs = collections.Counter()
    for line in listed.splitlines():
        row = re.match(r"\s*([\d,]+) \([ \d.]+%\)  (.+?)( \[.*)?$", line)
        if row is not None and "PROGRAM TOTALS" not in line:
            path, _, function = row[2].rpartition(":")
            if path.startswith(LOADER):
                continue
            function = re.split(r"\.(?:lto_priv|isra|part|constprop|cold)|'", function)[0]
            costs[path, function] += int(row[1].replace(",", ""))
    return int(found[1]), int(found[2]), costs


def room_of(path):
    """The room of a source file; what is of no room is a library."""
    found = ROOM.search(path)
    return found[1] if found is not None else "libraries"


def print_scenarios(program, ops, seed, directory):
    """A row for each scenario."""
    listed = subprocess.run([str(pathlib.Path(program).parent.parent / "cli/hbmstress"), "list",
                             "scenarios"], capture_output=True, text=True, check=True).stdout
    print("| scenario | ops | OOMs | instructions an op | costliest room | costliest function | again |")
    print("|---|---|---|---|---|---|---|")
    for name in re.findall(r"^scenario\s+(\w+)", listed, re.M):
        words = [name, str(ops), str(seed)]
        count, ooms, costs = run_trial(program, words, directory)
        again = sum(run_trial(program, [*words, "again=yes"], directory)[2].values())
        total = sum(costs.values())
        rooms = collections.Counter()
        for (path, _), cost in costs.items():
            rooms[room_of(path)] += cost
        (room, room_cost), = rooms.most_common(1)
        ((_, function), cost), = costs.most_common(1)
        print(f"| `{name}` | {count:,} | {ooms} | {total // count:,} | `{room}` {100 * room_cost / total:.0f} % | "
              f"`{function}` {100 * cost / total:.0f} % | {100 * (again - total) / total:.0f} % |",
              flush=True)


def print_options(program, ops, seed, directory):
    """A row for each option."""
    print(f"| option | {' | '.join(f'`{name}`' for name in SCENARIOS)} |")
    print("|---" * (len(SCENARIOS) + 1) + "|")
    plain = [run_trial(program, [name, str(ops), str(seed)], directory) for name in SCENARIOS]
    per_op = [sum(costs.values()) / count for count, _, costs in plain]
    print(f"| none: instructions an op | {' | '.join(f'{each:,.0f}' for each in per_op)} |", flush=True)
    for option in OPTIONS:
        cells = []
        for name, before in zip(SCENARIOS, per_op):
            count, _, costs = run_trial(program, [name, str(ops), str(seed), option], directory)
            cells.append(f"{sum(costs.values()) / count / before:.2f} x")
        print(f"| `{option}` | {' | '.join(cells)} |", flush=True)


def main():
    """Reads the arguments and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("table", choices=["scenarios", "options"])
    parser.add_argument("--ops", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        table = print_scenarios if arguments.table == "scenarios" else print_options
        table(arguments.program, arguments.ops, arguments.seed, directory)


if __name__ == "__main__":
    main()
