#!/usr/bin/env python3
"""What field files say, and whether `hbmstress explain` tells the same: a second reader that shares nothing with formats/.

    tests/cli/told.py HBMSTRESS DATA

Prints a table in Markdown, a row for each file below DATA.  Exits with 0 when each row agrees, with 1 when one does not, and
with 77 (skipped) when there is no DATA.

Four traces of malloc, of 8,000 to 24,000 ops near the peak of their heap, take forty times as long as all others, as the
replay moves blocks.  They are left out unless the environment variable HBMSTRESS_TESTS is "full", as it is at night.
"""
import csv
import gzip
import io
import json
import os
import pickle
import re
import subprocess
import sys

UNITS = {'B': 1, 'K': 2**10, 'M': 2**20, 'G': 2**30, 'T': 2**40}
AT_NIGHT = ('binary.rep.gz', 'binary-bal.rep.gz', 'binary2.rep.gz', 'binary2-bal.rep.gz')
SIZE = r'(\d+(?:\.\d+)?)([BKMGT])\b'


class Plain(pickle.Unpickler):
    """Dicts, lists, tuples, texts and numbers; nothing that would be called."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f'{module}.{name}')


def interval(number, unit, suffix=''):
    """The byte counts that print as that size."""
    digits = len(number.partition('.')[2])
    half = 0.5 * 10**-digits * UNITS[unit] if digits or unit != 'B' else 0
    return float(number) * UNITS[unit] - half, float(number) * UNITS[unit] + half


def holds(bounds, value):
    return value is not None and bounds[0] - 1 <= value <= bounds[1] + 1


def read_bytes(path):
    with open(path, 'rb') as file:
        data = file.read()
    return gzip.decompress(data) if data[:2] == b'\x1f\x8b' else data


def say_message(text):
    """The first whole sentence of the TPU runtime."""
    found = re.search(r'Attempting to (allocate|reserve) ' + SIZE + r'[^.]*\. That was not possible\. There are ' + SIZE +
                      r' free', text)
    if found is None:
        return None
    asked, free = interval(*found.group(2, 3)), interval(*found.group(4, 5))
    verdict = 'justified' if asked[0] > free[1] else 'unknown'
    return {'kind': 'message', 'asked': asked, 'free': free, 'verdict': verdict,
            'text': f'{found.group(1)} {"".join(found.group(2, 3))}, {"".join(found.group(4, 5))} free'}


def say_report(text):
    used = re.search(r'Used ' + SIZE + r' of ' + SIZE + r' hbm', text)
    total = re.search(r'Total hbm usage >= ' + SIZE, text) or re.search(r'Program hbm requirement ' + SIZE, text)
    if used is None and total is None:
        return None
    said = {'kind': 'report', 'text': 'the compiler needs ' + ''.join((used or total).group(1, 2))}
    said['used'] = interval(*(used or total).group(1, 2))
    if used is not None:
        said['capacity'] = interval(*used.group(3, 4))
        said['text'] += ' of ' + ''.join(used.group(3, 4))
    return said


def say_bfc(text):
    asked = re.search(r'an out of memory trying to allocate (\d+(?:\.\d+)?)(K|M|G)?i?B', text)
    limit, in_use = (re.search(r'^' + key + r':\s+(\d+)', text, re.M) for key in ('Limit', 'InUse'))
    if asked is None or limit is None:
        return None
    rounded = re.search(r'\(rounded to (\d+)\)', text)
    exact = int(rounded.group(1)) if rounded else None
    holes = [int(size) for size in re.findall(r'Free +at (?:0x)?[0-9A-Fa-f]+ of size (\d+)', text)]
    bounds = (exact, exact) if exact else interval(asked.group(1), asked.group(2) or 'B')
    fits = max(holes, default=0) >= bounds[1]
    free = int(limit.group(1)) - int(in_use.group(1))
    return {'kind': 'dump', 'asked': bounds, 'free': (free, free), 'verdict': 'premature' if fits else 'justified',
            'text': f'{asked.group(0)[22:]}, {free} free, largest hole {max(holes, default=0)}'}


def say_buffers(text):
    asked = re.search(r'allocate (?:request for [^(]*\()?(\d+) ?B\)|allocate (\d+) bytes', text)
    if 'BufferAssignment stats' not in text or asked is None:
        return None
    size = int(asked.group(1) or asked.group(2))
    return {'kind': 'buffers', 'asked': (size, size), 'text': f'{size} bytes asked for'}


def say_snapshot(data):
    root = Plain(io.BytesIO(data)).load()
    events = [event for trace in root.get('device_traces', []) for event in trace]
    failed = [event for event in events if event['action'] == 'oom']
    said = {'kind': 'trace', 'fails': len(failed), 'text': f'{len(events)} events, {len(failed)} out-of-memories'}
    if failed:
        said['asked'] = (failed[0]['size'],) * 2
    return said


def say_table(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    failed = sum(row.get('Action', '').strip() == 'allocate failure' for row in rows)
    return {'kind': 'trace', 'fails': failed, 'text': f'{len(rows)} rows, {failed} failures'}


def say_heap(text):
    """Blocks that are never freed, of a trace of malloc: nobody says whether they were meant to be."""
    left = set()
    for action, block in re.findall(r'^([arf]) (\d+)', text, re.M):
        (left.discard if action == 'f' else left.add)(block)
    return {'kind': 'trace', 'fails': 0, 'leaks': bool(left), 'text': f'{len(left)} blocks are never freed'}


def say(path):
    data = read_bytes(path)
    if '.pickle' in path:
        return say_snapshot(data)
    text = data.decode('utf-8', 'replace')
    for reader in say_bfc, say_message, say_report, say_buffers:
        said = reader(text)
        if said is not None:
            return said
    if '.csv' in path:
        return say_table(text)
    if '.rep' in path:
        return say_heap(text)
    return {'kind': 'trace', 'fails': 0, 'text': 'no failure'}


def explain(program, path):
    done = subprocess.run([program, 'explain', path, '--json'], capture_output=True, text=True, check=False, timeout=300)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]
    told = {'exit': done.returncode, 'error': done.stderr.strip().splitlines()[-1:], 'lines': lines}
    for kind in 'explanation', 'compile_report':
        told[kind] = next((line for line in lines if line['type'] == kind), None)
    told['sure'] = [line['cause'] for line in lines if line['type'] == 'cause' and line['level'] == 'sure']
    return told


def words(told):
    if told['compile_report'] is not None:
        return 'a compile-time report'
    explanation = told['explanation']
    if explanation is None:
        return f'exit {told["exit"]}: ' + ' '.join(told['error'])[-100:]
    text = explanation['verdict']
    if 'requested_bytes' in explanation:
        text += f', {explanation["requested_bytes"]} asked for, {explanation["free_bytes"]} free'
    return text + (', sure: ' + ' '.join(told['sure']) if told['sure'] else '')


def agree(said, told, path):
    explanation, report = told['explanation'] or {}, told['compile_report']
    if 'PARTIAL' in path and told['exit'] == 2:
        return True  # a cut file, refused with its reason
    if said['kind'] in ('message', 'dump'):
        return (holds(said['asked'], explanation.get('requested_bytes')) and holds(said['free'], explanation.get('free_bytes'))
                and explanation['verdict'] == said['verdict'])
    if said['kind'] == 'report':
        needed = [report.get(key) for key in ('used_bytes', 'total_bytes', 'requirement_bytes')] if report else []
        return any(holds(said['used'], value) for value in needed) and (
            'capacity' not in said or holds(said['capacity'], report.get('capacity_bytes')))
    if said['kind'] == 'buffers':
        return report is not None and holds(said['asked'], report.get('requested_bytes'))
    if said['fails']:
        return holds(said['asked'], explanation.get('requested_bytes'))
    return told['exit'] == 0 and explanation.get('verdict') == 'none' and (
        said.get('leaks') or not told['sure'])


def main():
    program, data = sys.argv[1:]
    if not os.path.isdir(data):
        print(f'skipped: there is no {data}')
        return 77
    wrong = left = 0
    print('| file | the file says | explain says | agreed |\n|---|---|---|---|')
    for folder, _, names in sorted(os.walk(data)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name == 'README.md' or name.endswith(('.events.csv.gz', '.segments.csv.gz', '.mem_events.csv.gz')):
                continue
            if name in AT_NIGHT and os.environ.get('HBMSTRESS_TESTS') != 'full':
                left += 1
                continue
            said, told = say(path), explain(program, path)
            agreed = agree(said, told, path)
            wrong += not agreed
            print(f'| {os.path.relpath(path, data)} | {said["text"]} | {words(told)} | {"yes" if agreed else "NO"} |', flush=True)
    print(f'\n{wrong} rows do not agree; {left} files are left to the night')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
