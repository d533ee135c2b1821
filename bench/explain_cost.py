#!/usr/bin/env python3
"""Prints what import, replay and explain of snapshots cost, by the size of the file.

    explain_cost.py HBMSTRESS [MEGABYTES...]        for example explain_cost.py build/release/cli/hbmstress

The snapshots are those of make_torch_snapshot.py, about 1, 4, 16 and 57 MB large; and one log of RMM
of 198,000 rows, which gives no capacity either.  Seconds are those of the processor, and MB the
most memory that the process had at once.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

EVENT_BYTES = 57
RMM_ROWS = 198_000


def measure(command):
    """Processor seconds, and the peak of resident memory in MB, of the command and its children."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1, 3):
        sys.exit(f"{' '.join(command)} failed")
    return f"{usage.ru_utime + usage.ru_stime:.2f} s", f"{usage.ru_maxrss / 1000:.0f} MB"


def write_rmm(path):
    """2,000 blocks of 256 bytes to 2 MiB, one of which goes for each that comes, in no order."""
    draws = random.Random(3)
    live, end = [], 0x7F0000000000
    with open(path, "w", encoding="ascii") as file:
        file.write("Thread,Time,Action,Pointer,Size,Stream\n")
        for row in range(RMM_ROWS):
            if len(live) < 2000 or (draws.random() < 0.5 and len(live) < 2400):
                action, at, size = "allocate", end, 256 * int(2 ** draws.uniform(0, 13))
                live.append((at, size))
                end += size
            else:
                action, (at, size) = "free", live.pop(draws.randrange(len(live)))
            time = f"{row // 60_000_000:02}:{row // 1_000_000 % 60:02}:00.{row % 1_000_000:06}"
            file.write(f"1,{time},{action},0x{at:x},{size},0x0\n")


def print_row(hbmstress, folder, name, path):
    ops = os.path.join(folder, "list.ops")
    cells = [name, f"{os.path.getsize(path) / 1e6:.1f} MB"]
    for command in (["convert", path, "--to", "ops", "-o", ops], ["replay", ops], ["explain", path]):
        cells += measure([hbmstress, *command])
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    hbmstress = sys.argv[1]
    maker = pathlib.Path(__file__).with_name("make_torch_snapshot.py")
    print("| file | size | import | | replay | | explain | |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        for size in [float(text) for text in sys.argv[2:]] or [1, 4, 16, 57]:
            subprocess.run([maker, path, str(int(size * 1e6 / EVENT_BYTES))], check=True)
            print_row(hbmstress, folder, "snapshot", path)
        write_rmm(path)
        print_row(hbmstress, folder, "RMM", path)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
