#!/usr/bin/env python3
"""Counts again, by other means than the importers', what real files say; for field/imported_field.snap.

    recount.py KIND FILE [<what `imported` prints of it>]     prints one line, with "differs" where the list is otherwise

rmm, malloc_lab: the words that `imported` must say. azure_llm, xplane (its CSV), torch and torch_state (a pickle): their lists are
compared, too."""

import csv
import datetime
import gzip
import heapq
import pickle
import re
import sys


def open_text(path):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


def read_ops():
    """The ops of the list on standard input: name, members, and what is said of each."""
    ops = []
    for line in sys.stdin:
        if found := re.match(r"\d+: (\w+)(.*)", line):
            members = dict(re.findall(r" (\w+)=(\S+)", found[2]))
            ops.append((found[1], {key: parse(value) for key, value in members.items()}, dict(re.findall(r"\[([a-z ]+)\s?(\d*)\]", found[2]))))
    return ops


def parse(text):
    found = re.fullmatch(r"(\d+)([KMGT]?)", text)
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[found[2]] if found else text


def count_rmm(path):
    counts, live, peak = {}, 0, 0
    for _, _, action, _, size, _ in list(csv.reader(open_text(path)))[1:]:
        counts[action] = counts.get(action, 0) + 1
        live += int(size) * {"allocate": 1, "free": -1}.get(action, 0)
        peak = max(peak, live)
    return (f"{counts.get('allocate', 0)} allocations, {counts.get('free', 0)} frees, {counts.get('allocate failure', 0)} failures; "
            f"at most {peak} bytes live at a time; {live} bytes in")


def count_malloc_lab(path):
    sizes, live, peak, ops = {}, 0, 0, 0
    for words in map(str.split, open_text(path)):
        if words and words[0] in "arf":
            old = sizes.get(words[1], 0)
            sizes[words[1]] = 0 if words[0] == "f" else int(words[2])
            peak = max(peak, live + sizes[words[1]])
            live += sizes[words[1]] - old
            ops += 2 if words[0] == "r" and old else 1
    return f"malloc_lab, {ops} ops\nat most {peak} bytes live at a time; {live} at the end"


def count_azure_llm(path):
    tokens = count = peak = live = 0
    ends = []
    for time, context, generated in list(csv.reader(open_text(path)))[1:]:
        whole, fraction = time.split(".")
        begin = int(datetime.datetime.fromisoformat(whole + "+00:00").timestamp()) * 10**7 + int(fraction[:7])
        while ends and ends[0][0] <= begin:
            live -= heapq.heappop(ends)[1]
        made = int(context) + int(generated)
        heapq.heappush(ends, (begin + int(generated) * 10**7 // 25, made))
        live += made
        peak, tokens, count = max(peak, live), tokens + made, count + 1
    ops = read_ops()
    differs = len(ops) != 2 * count or sum(members.get("size", 0) for _, members, _ in ops) != tokens * 327680
    return f"{count} requests; at most {peak * 327680} bytes of KV cache live at a time" + " differs" * differs


def count_xplane(path):
    """Each row is an op: its size, what was requested, what is in use behind it, and the peak, where the list says one."""
    rows = list(csv.reader(open_text(path)))[1:]
    ops = read_ops()
    first = next(i for i, (_, _, said) in enumerate(ops) if said)
    wrong, peaks = abs(len(rows) - len(ops) + first), 0
    for row, (name, members, said) in zip(rows, ops[first:]):
        block = members if name == "alloc" else ops[members["block"]][1]
        wrong += (name == "alloc") != (row[2] == "MemoryAllocation") or block["size"] != int(row[9])
        wrong += name == "alloc" and block.get("unpadded", block["size"]) != int(row[8])
        wrong += int(said["in use "]) != int(row[10]) or int(said.get("peak ", row[14])) != int(row[14])
        peaks += "peak " in said
    return f"{len(rows)} events, of which {peaks} change the peak" + f" differs {wrong} times" * (wrong > 0)


def rounded(size):
    return (size + 511) // 512 * 512


def count_active(root):
    """From the address of each active block to its size; what was requested; the segments' own sums."""
    active, requested, sums = {}, 0, 0
    for segment in root["segments"]:
        at = segment["address"]
        sums += segment["active_size"]
        requested += segment["requested_size"]
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                active[at] = block["size"]
            at += block["size"]
    assert sums == sum(active.values())
    return active, requested


def count_peak(events, active):
    """Blocks that are live at the end take what the segments say; what no event names was there all the time."""
    seen, sizes = set(), []
    for event in reversed(events):
        is_last = event["action"] == "alloc" and event["addr"] not in seen
        sizes.append(active[event["addr"]] if is_last else rounded(event["size"]))
        seen.add(event["addr"])
    live, silent, now, most, base = {}, dict(active), 0, 0, 0
    for event, size in zip(events, reversed(sizes)):
        if event["action"] == "alloc":
            live[event["addr"]] = size
            now += size
        elif event["action"] == "free_completed":
            base += 0 if event["addr"] in live else size
            now -= live.pop(event["addr"], size)
        else:
            continue
        most = max(most, now)
        silent.pop(event["addr"], None)
    return base + sum(silent.values()) + most


def count_live(ops):
    """Bytes, requested bytes and blocks that are live behind the list, where the log says which requests failed."""
    live, most, now = {}, 0, 0
    for i, (name, members, said) in enumerate(ops):
        if name == "alloc" and "failed" not in said:
            live[i] = members
            now += members["size"]
        elif name in ("free", "complete"):
            made = live.pop(members["block"] if name == "free" else ops[members["event"]][1]["block"], None)
            now -= made["size"] if made else 0
        most = max(most, now)
    return now, sum(made.get("unpadded", made["size"]) for made in live.values()), len(live), most


def follows(events, ops):
    """Each op is the next alloc or free of the events."""
    made, at = {}, 0
    for event in events:
        if event["action"] == "alloc":
            name, members, _ = ops[at]
            if name != "alloc" or members["size"] != rounded(event["size"]) or members.get("unpadded", members["size"]) != event["size"]:
                return False
            made[event["addr"]] = at
        elif event["action"] == "free_completed":
            if ops[at][0] != "free" or ops[at][1]["block"] != made.pop(event["addr"]):
                return False
        at += event["action"] in ("alloc", "free_completed")
    return at == len(ops)


def count_torch(path):
    root = pickle.load(gzip.open(path))
    events, ops = root["device_traces"][0], read_ops()
    active, requested = count_active(root)
    actions = [event["action"] for event in events]
    peak = count_peak(events, active)
    bytes_live, requested_live, count, most = count_live(ops)
    differs = (bytes_live, requested_live, count) != (sum(active.values()), requested, len(active)) or ("alloc" in actions and most != peak)
    is_complete = "complete" in path
    return (f"{actions.count('alloc')} allocations, {actions.count('free_completed')} frees; at most {peak} bytes; at the end {bytes_live} bytes "
            f"in {count} blocks, of which {requested_live} were requested" + " differs" * differs
            + ", each event its op" * (is_complete and follows(events, ops)))


def count_torch_state(path):
    """The final heap: its blocks are those of the segments, whose places are said of the ops."""
    active, requested = count_active(pickle.load(gzip.open(path)))
    ops = read_ops()
    differs = count_live(ops)[:3] != (sum(active.values()), requested, len(active))
    places = sum("at " in said for _, _, said in ops)
    return f"{len(active)} blocks, {places} places" + " differs" * differs


print(globals()[f"count_{sys.argv[1]}"](sys.argv[2]))
