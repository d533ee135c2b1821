#!/usr/bin/env python3
"""Reads what `hbmstress convert --to csv` wrote as the tools would for which it was written; exits with 1 and one line otherwise.

    check_export.py snapshot JSON PICKLE    both are one document, and memory_viz knows each opcode of the pickle
    check_export.py perfetto JSON CSV OPS   a trace in the Trace Event Format, which agrees with the other exports
    check_export.py pprof PROFILE CSV [JSON]    a gzip'd profile.proto, with the sums of the table after the op that it names
    check_export.py svg SVG CSV [JSON]      a picture that stands alone, with the blocks of the table; prints how many

JSON is the trace of the same run: ops of lanes come in its order, which is not that of their numbers.
"""
import collections
import csv
import gzip
import json
import pickle
import pickletools
import re
import sys
import xml.etree.ElementTree

# What the unpickler of MemoryViz.js executes, by the names of pickletools.
VIEWER_OPCODES = {
    'APPEND', 'APPENDS', 'BINGET', 'BININT', 'BININT1', 'BININT2', 'BINPUT', 'BINUNICODE', 'EMPTY_DICT', 'EMPTY_LIST',
    'EMPTY_TUPLE', 'FRAME', 'LONG1', 'LONG_BINGET', 'MARK', 'MEMOIZE', 'NEWFALSE', 'NEWTRUE', 'NONE', 'PROTO', 'SETITEM',
    'SETITEMS', 'SHORT_BINUNICODE', 'STOP', 'TUPLE', 'TUPLE2'}


def check(is_true, text):
    if not is_true:
        sys.exit(text)


def check_snapshot(json_path, pickle_path):
    with open(json_path, encoding='utf-8') as file:
        expected = json.load(file)
    with open(pickle_path, 'rb') as file:
        data = file.read()
    opcodes = {opcode.name for opcode, _, _ in pickletools.genops(data)}
    check(opcodes <= VIEWER_OPCODES, f'opcodes that the viewer lacks: {opcodes - VIEWER_OPCODES}')
    check(pickle.loads(data) == expected, 'the pickle is another document than the JSON')


# What the page of the format demands of an event, by its phase, besides name, ph, pid and tid.
MEMBERS = {'X': {'ts', 'dur'}, 'M': {'args'}, 'C': {'ts', 'args'}, 'i': {'ts', 's'}, 'b': {'ts', 'cat', 'id'},
           'e': {'ts', 'cat', 'id'}, 's': {'ts', 'cat', 'id'}, 't': {'ts', 'cat', 'id'}, 'f': {'ts', 'cat', 'id'}}


def check_members(event):
    wanted = MEMBERS.get(event['ph'], {'unknown phase'}) | {'name', 'pid', 'tid'}
    check(wanted <= event.keys(), f'{event} has no {wanted - event.keys()}')
    check(isinstance(event['pid'], int) and isinstance(event['tid'], int), f'{event}: ids that are no numbers')


def check_slices(events):
    """Slices of a thread stand one behind the other; the time of the file is exact to a nanosecond."""
    ends = collections.defaultdict(int)
    for event in events:
        if event['ph'] == 'X':
            begin, end = round(event['ts'] * 1000), round(event['ts'] * 1000) + round(event['dur'] * 1000)
            check(begin >= ends[event['tid']], f'{event} begins before the slice before it has ended')
            ends[event['tid']] = end


def check_counters(events):
    """A counter goes on in time, and has another value than before."""
    last = {}
    for event in events:
        if event['ph'] == 'C':
            counter = (event['pid'], event['name'])
            time, value = last.get(counter, (-1, None))
            check(time < event['ts'] and value != event['args']['bytes'], f'{event} repeats, or goes back in time')
            last[counter] = (event['ts'], event['args']['bytes'])


def check_pairs(events, first, last):
    """What ends was begun before it in the file, and not later."""
    begun = {}
    for event in events:
        if event['ph'] == first:
            begun[event['cat'], event['id']] = event['ts']
        if event['ph'] == last:
            check(begun.pop((event['cat'], event['id']), float('inf')) <= event['ts'], f'{event} was not begun')


def check_flows(events):
    """An arrow begins and ends where a slice of its thread begins."""
    slices = {(event['tid'], event['ts']) for event in events if event['ph'] == 'X'}
    for event in events:
        if event['ph'] in 'stf':
            check((event['tid'], event['ts']) in slices, f'{event} is at no slice')
    check_pairs(events, 's', 'f')


def check_memory(events, rows):
    """After each op that has rows the counters of its hosts are those of the table."""
    expected = collections.defaultdict(dict)
    for row in rows:
        expected[int(row['op'])][int(row['host']) + 1] = row
    counters, op = {}, None
    for event in events + [{'cat': 'op', 'args': {'op': None}}]:
        if event.get('cat') == 'op':
            for pid, row in expected[op].items():
                found = (counters[pid, 'in use'], counters[pid, 'largest hole'])
                check(found == (int(row['in_use']), int(row['largest_hole'])), f'after op {op}: {found}, not {row}')
            op = event['args']['op']
        elif event['ph'] == 'C':
            counters[event['pid'], event['name']] = event['args']['bytes']


def check_perfetto(json_path, csv_path, ops_path):
    with open(json_path, encoding='utf-8') as file:
        events = json.load(file)['traceEvents']
    with open(csv_path, encoding='utf-8', newline='') as file:
        rows = list(csv.DictReader(file))
    with open(ops_path, encoding='utf-8') as file:
        ops = [line.split(':', 1) for line in file if line.split(':')[0].isdigit()]
    for event in events:
        check_members(event)
    check_slices(events)
    check_counters(events)
    check_pairs(events, 'b', 'e')
    check_flows(events)
    named = {event['tid'] for event in events if event['name'] == 'thread_name'}
    check({event['tid'] for event in events if event['ph'] == 'X'} <= named, 'a thread without a name')
    told = sorted(event['args']['op'] for event in events if event.get('cat') == 'op')
    # A switch is a step of the schedule that the ops were run by, and no op of a lane.
    check(told == [int(number) for number, text in ops if not text.startswith(' switch')] or
          told == list(range(len(ops))), 'not a slice for each op')
    failures = [event for event in events if event['name'] == 'out of memory']
    check([event['args']['op'] for event in failures] == [int(row['op']) for row in rows if row['action'] == 'failed'],
          'other out-of-memories than in the table')
    check_memory(events, rows)
    kinds = collections.Counter(event['cat'] for event in events if 'cat' in event)
    print(' '.join(f'{kind}={count}' for kind, count in sorted(kinds.items())))


def read_rows(csv_path, json_path):
    """The rows of a table, and when each op ran: of a list with lanes by its trace, otherwise by its number."""
    with open(csv_path, encoding='utf-8', newline='') as file:
        rows = list(csv.DictReader(file))
    if json_path is None:
        return rows, {number: number for number in range(1 << 16)}
    with open(json_path, encoding='utf-8') as file:
        ops = [event['args']['op'] for event in json.load(file)['traceEvents'] if event.get('cat') == 'op']
    turns = {op: turn for turn, op in enumerate(ops)}
    return [{**row, 'op': turns[int(row['op'])]} for row in rows], turns


def count_stays(rows):
    """How often a block keeps its place and its state beyond the op in which that began."""
    begins, count = {}, 0
    for row in rows:
        place, op = (row['host'], row['address']), int(row['op'])
        if row['action'] == 'free_requested' and place not in begins:
            continue  # in host memory: it left its place before
        if row['action'] in ('free_requested', 'free_completed', 'evicted', 'moved_out'):
            count += begins.pop(place) < op
        if row['action'] in ('alloc', 'moved_in', 'retired', 'free_requested'):
            begins[place] = op
    return count + len(begins)


SVG = '{http://www.w3.org/2000/svg}'
SVG_ELEMENTS = {'svg', 'title', 'desc', 'style', 'defs', 'pattern', 'rect', 'path', 'circle', 'line', 'text'}


def check_svg(svg_path, csv_path, json_path=None):
    root = xml.etree.ElementTree.parse(svg_path).getroot()
    rows, _ = read_rows(csv_path, json_path)
    for element in root.iter():
        check(element.tag.removeprefix(SVG) in SVG_ELEMENTS, f'an element {element.tag}')
        check(not any(name.startswith('on') or 'href' in name for name in element.attrib), f'{element.attrib}')
    check(root[0].tag == SVG + 'title' and root[1].tag == SVG + 'desc', 'no title and description come first')
    check('prefers-color-scheme:dark' in root.find(SVG + 'style').text, 'one colour scheme only')
    # Each rectangle is of a block that the table has, at its address.
    blocks = {(int(row['address']), row['tag']) for row in rows if row['action'] in ('alloc', 'moved_in', 'retired')}
    titles = [element.text for element in root.iterfind(f'{SVG}rect/{SVG}title')]
    count = 0
    for title in titles:
        match = re.fullmatch(r'(?:(.*), )?[0-9.]+[BKMGT] at 0x([0-9a-f]+), .*, made by op \d+, so for \d+ ops?', title)
        if match is not None:
            check((int(match[2], 16), match[1] or '') in blocks, f'{title}: no such block')
            count += 1
    check(count == min(count_stays(rows), 2000), f'{count} of {count_stays(rows)} rectangles')
    lines = sum(element.get('class') == 'failure' for element in root.iter(SVG + 'line'))
    moves = sum(element.get('class') == 'move' for element in root.iter(SVG + 'line'))
    print(f'blocks={count} failures={lines - 1} moves={moves - 1}')


def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def read_message(data):
    """Fields by number, each a list: numbers, and bytes of texts and messages."""
    fields, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = read_varint(data, at)
        check(key & 7 in (0, 2), f'a field of wire type {key & 7}')
        value, at = read_varint(data, at)
        if key & 7 == 2:
            check(at + value <= len(data), 'a field beyond its message')
            value, at = data[at:at + value], at + value
        fields[key >> 3].append(value)
    return fields


def read_packed(data):
    numbers, at = [], 0
    while at < len(data):
        number, at = read_varint(data, at)
        numbers.append(number)
    return numbers


def sum_table(rows, last_op):
    """What is there after an op, by host, tag, and whether it is a queued free: blocks and bytes."""
    there = {}
    for row in rows:
        place = (row['host'], row['address'])
        if int(row['op']) > last_op or row['action'] == 'failed':
            continue
        block = there.pop(place, None)
        if row['action'] in ('alloc', 'moved_in', 'retired'):
            there[place] = (row['host'], row['tag'], False, int(row['size']))
        elif row['action'] == 'free_requested' and block is not None:
            there[place] = block[:2] + (True, block[3])
    sums = collections.defaultdict(lambda: [0, 0])
    for host, tag, is_queued, size in there.values():
        sums[host, tag, is_queued][0] += 1
        sums[host, tag, is_queued][1] += size
    return dict(sums)


def check_pprof(profile_path, csv_path, json_path=None):
    with open(profile_path, 'rb') as file:
        data = file.read()
    check(data[:4] == b'\x1f\x8b\x08\x00' and data[4:8] == bytes(4), 'no gzip without a name and a time')
    profile = read_message(gzip.decompress(data))
    texts = [text.decode('utf-8') for text in profile[6]]
    check(texts[0] == '', 'the first text is not empty')
    types = [read_message(part) for part in profile[1]]
    check([(texts[part[1][0]], texts[part[2][0]]) for part in types] ==
          [('inuse_objects', 'count'), ('inuse_space', 'bytes')], 'other types of samples')
    functions = {part[1][0]: texts[part[2][0]] for part in map(read_message, profile[5])}
    locations = {part[1][0]: functions[read_message(part[4][0])[1][0]] for part in map(read_message, profile[4])}
    check(0 not in functions and 0 not in locations, 'an id of 0')
    sums, stack_bytes = collections.defaultdict(lambda: [0, 0]), 0
    for sample in map(read_message, profile[2]):
        stack = '/'.join(reversed([locations[number] for number in read_packed(sample[1][0])]))
        labels = {texts[part[1][0]]: texts[part[2][0]] for part in map(read_message, sample[3])}
        values = read_packed(sample[2][0])
        if labels['state'] == 'stack':
            stack_bytes += values[1]
            continue
        entry = sums[labels['host'].removeprefix('host '), stack, labels['state'] == 'queued free']
        entry[0] += values[0]
        entry[1] += values[1]
    op = int(texts[profile[13][1]].removeprefix('after op '))
    rows, turns = read_rows(csv_path, json_path)
    expected = collections.defaultdict(lambda: [0, 0])
    for (host, tag, is_queued), entry in sum_table(rows, turns[op]).items():
        stack = '/'.join(part for part in re.split('[/;]', tag) if part) or tag or '(no tag)'
        expected[host, stack, is_queued] = [a + b for a, b in zip(expected[host, stack, is_queued], entry)]
    check(dict(sums) == dict(expected), f'after op {op}: {dict(sums)}, not {dict(expected)}')
    print(f'op={op} samples={len(profile[2])} stack={stack_bytes}')


CHECKS = {'snapshot': check_snapshot, 'perfetto': check_perfetto, 'svg': check_svg, 'pprof': check_pprof}

if __name__ == '__main__':
    CHECKS[sys.argv[1]](*sys.argv[2:])
