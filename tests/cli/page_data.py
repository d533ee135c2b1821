"""The data of a run in a page of `hbmstress report`, decoded as present/page/README.md has it, and held against what
`convert` and `explain` say of the same list."""
import base64
import csv
import html.parser
import json


class Page(html.parser.HTMLParser):
    """The JSON of the page by id, and its visible text without what scripts hold."""

    def __init__(self, path):
        super().__init__()
        self.data, self.text, self.elements = {}, [], []
        self.inside = None
        with open(path, encoding="utf-8") as file:
            self.bytes = file.read()
        self.feed(self.bytes)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if tag in ("script", "style"):
            self.inside = attributes.get("id", tag)

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside = None

    def handle_data(self, data):
        if self.inside is None:
            self.text.append(data)
        elif self.inside.startswith("run-"):
            self.data[self.inside] = json.loads(data)


class Numbers:
    def __init__(self, text):
        self.bytes = base64.b64decode(text, validate=True)
        self.at = 0

    def is_at_end(self):
        return self.at >= len(self.bytes)

    def unsigned(self):
        value = shift = 0
        while True:
            byte = self.bytes[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        value = self.unsigned()
        return -(value + 1) // 2 if value % 2 else value // 2


def decode_blocks(run):
    numbers, begin, address, unit = Numbers(run["blocks"]), 0, 0, run["unit"]
    blocks = []
    while not numbers.is_at_end():
        begin += numbers.unsigned()
        end = begin + numbers.unsigned()
        address += numbers.signed()
        size, state, tag = numbers.unsigned(), numbers.unsigned(), numbers.unsigned()
        maker, host = begin - numbers.unsigned(), numbers.unsigned()
        assert begin < end <= run["opCount"] and maker >= 0 and host < len(run["hosts"])
        blocks.append({"begin": begin, "end": end, "address": address * unit, "size": size * unit, "host": host,
                       "state": run["states"][state], "tag": run["tags"][tag], "maker": maker})
    assert len(blocks) == run["shown"]["blocks"]
    return blocks


def decode_ops(run):
    numbers, unit, ops, now = Numbers(run["ops"]), run["unit"], [], {}
    while not numbers.is_at_end():
        kind, lane, host, result = (numbers.unsigned() for _ in range(4))
        size, ref, tag, address, time = (numbers.unsigned() for _ in range(5))
        now[host] = now.get(host, 0) + time
        ops.append({"kind": run["kinds"][kind], "lane": lane, "host": host, "result": run["results"][result], "size": size,
                    "ref": len(ops) - ref if ref else None, "tag": run["tags"][tag], "now": now[host],
                    "address": (address - 1) * unit if address else None})
    assert len(ops) == run["opCount"]
    return ops


def decode_marks(run):
    numbers, unit, op, marks = Numbers(run["marks"]), run["unit"], 0, []
    while not numbers.is_at_end():
        op += numbers.unsigned()
        kind, host, maker = numbers.unsigned(), numbers.unsigned(), numbers.unsigned()
        start, end, size = (numbers.unsigned() * unit for _ in range(3))
        marks.append({"op": op, "kind": ("drain", "move", "eviction", "staging")[kind], "host": host,
                      "maker": maker - 1 if maker else None, "from": start, "to": end, "size": size})
    return marks


def decode_numbers(run):
    """The number in the list of each op of the run."""
    if "opNumbers" not in run:
        return list(range(run["opCount"]))
    numbers, found, op = Numbers(run["opNumbers"]), [], 0
    while not numbers.is_at_end():
        op += numbers.signed()
        found.append(op)
    assert len(found) == run["opCount"]
    return found


def replay_events(path, numbers):
    """By op of the run, in its order: what `convert --to csv` says is there then, as (host, address, size)."""
    turn_of = {number: turn for turn, number in enumerate(numbers)}
    by_turn = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            by_turn.setdefault(turn_of[int(row["op"])], []).append(row)
    there = {}
    for turn in sorted(by_turn):
        for row in by_turn[turn]:
            if row["action"] == "failed":
                continue
            key = (int(row["host"]), int(row["address"]), int(row["size"]))
            change = {"alloc": 1, "retired": 1, "moved_in": 1, "free_completed": -1, "evicted": -1, "moved_out": -1,
                      "free_requested": 0}[row["action"]]
            if change:
                there[key] = there.get(key, 0) + change
                if there[key] == 0:
                    del there[key]
        yield turn, there


def check_against_export(run, path):
    """Each op's blocks are exactly those of the events; on each host they are disjoint and inside the device."""
    blocks = decode_blocks(run)
    begins, ends = {}, {}
    for block in blocks:
        begins.setdefault(block["begin"], []).append(block)
        ends.setdefault(block["end"], []).append(block)
    events = dict((turn, dict(there)) for turn, there in replay_events(path, decode_numbers(run)))
    shown, expected, stacks = {}, {}, {}
    for turn in range(run["opCount"]):
        expected = events.get(turn, expected)
        if turn not in begins and turn not in ends and turn not in events:
            continue
        for block in ends.get(turn, []) + begins.get(turn, []):
            table = stacks if block["state"] == "stack" else shown
            key = (block["host"], block["address"], block["size"])
            table[key] = table.get(key, 0) + (1 if block["begin"] == turn else -1)
            if table[key] == 0:
                del table[key]
        assert shown == expected, (turn, sorted(shown.items() ^ expected.items())[:8])
        check_disjoint(run, list(shown.items()) + list(stacks.items()), turn)
    return blocks


def check_disjoint(run, blocks, turn):
    end_of = {}
    for (host, address, size), count in sorted(blocks):
        assert count == 1 and size > 0, (turn, host, address, count)
        assert address >= end_of.get(host, 0), (turn, host, address)
        end_of[host] = address + size
        assert end_of[host] <= run["hosts"][host]["capacity"], (turn, host, address, size)


def sum_states(blocks, turn, host):
    sums = {}
    for block in blocks:
        if block["begin"] <= turn < block["end"] and block["host"] == host:
            count, size = sums.get(block["state"], (0, 0))
            sums[block["state"]] = (count + 1, size + block["size"])
    return sums


def check_states(run, blocks, explanation, host):
    """The states at the failure are those that explain counts."""
    numbers = decode_numbers(run)
    sums = sum_states(blocks, numbers.index(explanation["op"]), host)
    names = {"movable": "movable", "held": "held", "idle_programs": "idle program", "busy_programs": "busy program",
             "queued_frees": "dying", "retired": "retired"}
    for member, state in names.items():
        wanted = (explanation[member]["blocks"], explanation[member]["bytes"])
        assert sums.get(state, (0, 0)) == wanted, (state, sums.get(state), wanted)
    assert sums.get("stack", (0, 0))[1] == explanation["reserved_bytes"], sums
