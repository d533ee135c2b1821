"""The engine of ci/plant-times: runs hbmstress on planted targets and measures processor time."""
import argparse
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36
FACTOR, SLACK_SECONDS = 2.0, 0.1
POLL_SECONDS = 0.5


def fail(text):
    print(f"plant-times: {text}", file=sys.stderr)
    sys.exit(2)


def adopt_orphans():
    """Workers whose parent is ended become children of this process, whose times it then gets."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        print("plant-times: the kernel does not let this process adopt workers", file=sys.stderr)
        sys.exit(4)


def list_children():
    """Process ids by the id of the parent."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append((int(name), fields))
    return children


def list_tree(root, children):
    """The process and all below it, each with the fields of its stat that follow the name."""
    found = [entry for entries in children.values() for entry in entries if entry[0] == root]
    for pid, _ in found:
        found.extend(children.get(pid, []))
    return found


def read_ticks(root):
    """Seconds of processor time of the tree so far, in steps of a clock tick."""
    tree = list_tree(root, list_children())
    return sum(sum(map(int, fields[11:15])) for _, fields in tree) / os.sysconf("SC_CLK_TCK")


def end_all():
    """Ends every process below this one, and returns the processor seconds of all that were.

    What is forked meanwhile, or adopted, is seen by the next look."""
    seconds = 0.0
    while True:
        for pid, _ in list_tree(os.getpid(), list_children())[1:]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return seconds
        if pid == 0:
            time.sleep(0.001)
        else:
            seconds += usage.ru_utime + usage.ru_stime


def find_rule(line):
    """The rule that a line of results says is broken; None: it says no such thing."""
    if not line.startswith((b'{"type":"found"', b'{"type":"broken"', b'{"type":"verdict"')):
        return None
    record = json.loads(line)
    if record["type"] in ("found", "broken"):
        return record["rule"]
    return "premature" if record.get("verdict") == "premature" else None


def read_results(process, limit):
    """Reads lines until one is a finding, the run ends or uses more than its limit."""
    os.set_blocking(process.stdout.fileno(), False)
    rest = b""
    last_look = time.monotonic()
    while True:
        data = process.stdout.read(1 << 16)
        if data == b"":
            return None
        if data is None:
            time.sleep(0.001)
            if time.monotonic() - last_look > POLL_SECONDS:
                last_look = time.monotonic()
                if read_ticks(process.pid) > limit:
                    return None
            continue
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            rule = find_rule(line)
            if rule is not None:
                return rule


def run_once(program, plant, seed, options):
    """The processor seconds to the first finding and its rule; the rule is None: none was found."""
    out = tempfile.mkdtemp(prefix="plant-times-")
    command = [program, "run", "--target", plant, "--seed", str(seed), "--workers", "1",
               "--shrink-budget", "0", "--json", "--out", os.path.join(out, "out"), *options.run]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        rule = read_results(process, options.limit)
        seconds = end_all()
        process.returncode = 0  # it is awaited already
    shutil.rmtree(out)
    return seconds, rule


def find_median(values):
    """The middle one, or the mean of the two in the middle; None stands for never."""
    ordered = sorted(float("inf") if value is None else value for value in values)
    middle = len(ordered) // 2
    median = (ordered[middle] + ordered[-middle - 1]) / 2
    return None if median == float("inf") else median


def measure(program, plant, breaks, options):
    times, others = [], set()
    for seed in range(1, options.seeds + 1):
        seconds, rule = run_once(program, plant, seed, options)
        times.append(None if rule is None else round(seconds, 4))
        others |= {rule} - {None, breaks}
    return {"plant": plant, "rule": breaks, "median_s": find_median(times),
            "found": sum(value is not None for value in times), "seeds": options.seeds,
            "other_rules": sorted(others), "times_s": times}


def list_plants(program):
    """The rule that each planted target breaks."""
    try:
        text = subprocess.run([program, "list", "plants", "--json"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        fail(f"{program} does not list its plants: {error}")
    records = [json.loads(line) for line in text.splitlines()]
    return {record["name"]: record["breaks"] for record in records
            if record.get("kind") == "plant" and record["name"].startswith("plant_")}


def read_table(path):
    try:
        with open(path, encoding="utf-8") as file:
            records = [json.loads(line) for line in file if line.strip()]
            return {record["plant"]: record["median_s"] for record in records}
    except (OSError, ValueError, KeyError, TypeError) as error:
        fail(f"{path}: {error}")


def is_later(median, before):
    """Later than promised; what was never found before cannot be later."""
    if before is None:
        return False
    return median is None or median > FACTOR * before + SLACK_SECONDS


def print_seconds(value):
    return "never" if value is None else f"{value:.3f}"


def print_row(record, before):
    plant = record["plant"]
    columns = [f"{plant:34} {record['rule']:15} {print_seconds(record['median_s']):>8}",
               f"{record['found']:>3} of {record['seeds']:<3}"]
    if before is not None:
        columns.append(f"{print_seconds(before[plant]) if plant in before else 'new':>8}")
        later = plant in before and is_later(record["median_s"], before[plant])
        columns.append("LATER" if later else "")
    if record["other_rules"]:
        columns.append("also as " + ", ".join(record["other_rules"]))
    print(" ".join(columns).rstrip(), flush=True)


def read_options():
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(prog="ci/plant-times", add_help=False)
    parser.add_argument("program")
    parser.add_argument("plants", nargs="*")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--json")
    parser.add_argument("--against")
    options = parser.parse_intermixed_args(words[:split])
    options.run = words[split + 1:]
    if options.seeds < 1:
        fail("--seeds must be at least 1")
    return options


def main():
    options = read_options()
    breaks = list_plants(options.program)
    before = None if options.against is None else read_table(options.against)
    for plant in options.plants:
        if plant not in breaks:
            fail(f"no planted target is called '{plant}' (hbmstress list plants)")
    adopt_orphans()
    head = f"{'plant':34} {'rule':15} {'seconds':>8} {'found':>9}"
    print(head if before is None else head + f" {'before':>8}")
    records = []
    for plant in options.plants or breaks:
        records.append(measure(options.program, plant, breaks[plant], options))
        print_row(records[-1], before)
        if options.json is not None:
            with open(options.json, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in records)
    late = [record["plant"] for record in records if before is not None and
            record["plant"] in before and is_later(record["median_s"], before[record["plant"]])]
    sys.exit(1 if late else 0)


main()
