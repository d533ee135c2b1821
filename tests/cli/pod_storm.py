#!/usr/bin/env python3
"""Pods in which ranks are killed, stopped and paused at random moments, and whether `hbmstress pod` tells each of it.

    tests/cli/pod_storm.py HBMSTRESS [--runs N] [--ranks N] [--seed N] [--jobs N] [--log FILE]

Each run writes a job in a random mesh, starts it as processes, and sends SIGKILL, SIGSTOP, or SIGSTOP and later SIGCONT to some
of them: soon (a straggler), or when the others have given it up (away).  What was sent is compared with what was told:

    deaths  a killed rank is told as killed by that signal, a stopped one as stopped, and every other one as ended
    hangs   of each rank that ended: how often it waited in vain, and for whom; it waits in vain exactly where a member of the
            collective was killed or stopped before it came; for one that was away at least once, if it had a collective to go and
            no other was stopped, too
    ranks' files  each is what the list has for that host, from the first op on without a gap
    lock step  what the ranks left is one list; replay of it keeps every promise and meets as many OOMs as were told

Prints a line for each difference and one for all.  With --log each run is a line of JSON: what was sent and what was told.
Exits with 1 when anything differs.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import signal
import subprocess
import tempfile
import time

PATIENCE_S = 1.5
PAUSE_S = 0.3  # much less than the patience


class Job:
    """A list of ops: every step allocates, meets in two axes of a mesh and frees; some ask for more than there is."""

    def __init__(self, chance, ranks):
        self.ranks, self.lines, self.count = ranks, [], 0
        rows = chance.choice([i for i in range(1, ranks + 1) if ranks % i == 0])
        columns = ranks // rows
        self.groups = {0: set(range(ranks))}
        for i in range(rows):
            self.groups[1 + i] = set(range(i * columns, (i + 1) * columns))
        for i in range(columns):
            self.groups[1 + rows + i] = set(range(i, ranks, columns))
        self.by_rank = {rank: [] for rank in range(ranks)}  # (number of the op, group or None)
        programs = {rank: self.op(rank, 'load size=1M tag=1 stack=64K') for rank in range(ranks)}
        for step in range(chance.randint(20, 40)):
            self.step(chance, programs, rows, columns, step)

    def op(self, rank, text, group=None):
        host = f' host={rank}' if rank else ''
        self.lines.append(f'{self.count}: {text}{host}' + ('' if group is None else f' collective={group}'))
        self.by_rank[rank].append((self.count, group))
        self.count += 1
        return self.count - 1

    def step(self, chance, programs, rows, columns, step):
        blocks = {}
        for rank in range(self.ranks):
            blocks[rank] = self.op(rank, f'alloc size={chance.randint(1, 12)}M tag=2')
            self.op(rank, f'advance delay={chance.randint(1, 8)}ms')
            if chance.random() < 0.05:
                self.op(rank, f'free block={self.op(rank, f"alloc size={chance.randint(40, 80)}M tag=3")}')
        for axis in (0, 1):
            for rank in range(self.ranks):
                group = 1 + rank // columns if axis == 0 else 1 + rows + rank % columns
                self.op(rank, f'execute program={programs[rank]} delay=1ms', group)
            for rank in range(self.ranks):
                self.op(rank, f'use block={blocks[rank]} delay=1ms')
        for rank in range(self.ranks):
            self.op(rank, f'free_after block={blocks[rank]} delay=2ms')
        if step % 10 == 9:
            for rank in range(self.ranks):
                self.op(rank, f'execute program={programs[rank]} delay=1ms', 0)

    def write(self, path):
        head = ['hbmstress-ops 1', 'capacity 64M', f'hosts {self.ranks}', 'clocks own']
        for number, members in sorted(self.groups.items()):
            if number:
                head.append(f'group {number} {",".join(map(str, sorted(members)))} "group {number}"')
        head += ['target hbm', 'option defrag=slide', 'seed 1', 'tag 1 "train_step"']
        with open(path, 'w') as file:
            file.write('\n'.join(head + [''] + self.lines) + '\n')


def read_processes(directory, ranks, pod):
    """The process of each rank, once all have begun."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and pod.poll() is None:
        try:
            lines = open(os.path.join(directory, 'processes')).read().split('\n')
            if len(lines) == ranks + 1 and all(
                    os.path.exists(os.path.join(directory, f'rank-{i}.ops')) for i in range(ranks)):
                return {int(line.split()[0]): int(line.split()[1]) for line in lines[:-1]}
        except (OSError, ValueError, IndexError):
            pass
        time.sleep(0.005)
    raise RuntimeError('the ranks did not begin')


def resume(process):
    try:
        os.kill(process, signal.SIGCONT)
    except ProcessLookupError:
        pass


def storm(chance, processes, directory):
    """Sends signals; returns what was sent, and how many ops a rank that is away had begun, by rank."""
    sent, begun_ops, todo = {}, {}, []
    for rank in chance.sample(sorted(processes), chance.randint(0, min(4, len(processes) - 1))):
        todo.append((chance.uniform(0, 0.8), rank, chance.choice(['kill', 'stop', 'away', 'pause', 'pause'])))
    begun, back = time.monotonic(), []
    for at, rank, what in sorted(todo):
        time.sleep(max(0, at - (time.monotonic() - begun)))
        try:
            os.kill(processes[rank], signal.SIGKILL if what == 'kill' else signal.SIGSTOP)
        except ProcessLookupError:
            continue
        sent[rank] = what
        if what == 'pause':
            time.sleep(chance.uniform(0.01, PAUSE_S))
            resume(processes[rank])
        elif what == 'away':
            begun_ops[rank] = len(read_rank(directory, rank))
            back.append((time.monotonic() + PATIENCE_S + chance.uniform(0.6, 1.0), rank))
    for at, rank in back:
        time.sleep(max(0, at - time.monotonic()))
        resume(processes[rank])
    return sent, begun_ops


def read_rank(directory, rank):
    """The numbers of the ops that the rank wrote."""
    try:
        text = open(os.path.join(directory, f'rank-{rank}.ops')).read()
    except FileNotFoundError:
        return []
    return [int(number) for number in re.findall(r'^(\d+): .*\n', text, re.M)]


def compare(job, directory, sent, begun_ops, told):
    """What differs, in words."""
    wrong = []
    ranks = {line['rank']: line for line in told if line['type'] == 'rank'}
    waits = [line for line in told if line['type'] == 'waited']
    came = {}  # by rank: how often it joined each group, at least and at most
    struck, away = set(), set()
    for rank in range(job.ranks):
        own, state = read_rank(directory, rank), ranks[rank]['state']
        if own != [number for number, _ in job.by_rank[rank]][:len(own)]:
            wrong.append(f'rank {rank}: its file has gaps')
        is_whole = len(own) == len(job.by_rank[rank])
        wanted = {'kill': 'killed', 'stop': 'stopped'}.get(sent.get(rank), 'ended')
        if sent.get(rank) == 'away':
            wanted = state if state == 'stopped' else 'ended'  # all others may have ended before it came back
        if state != wanted and not (state == 'ended' and is_whole):  # the signal came too late
            wrong.append(f'rank {rank}: sent {sent.get(rank)}, told {state}')
        if state == 'ended' and not is_whole:
            wrong.append(f'rank {rank}: told as ended, but its file is not whole')
        if state == 'killed' and ranks[rank].get('signal') != signal.SIGKILL:
            wrong.append(f'rank {rank}: another signal is told')
        if state != 'ended':
            struck.add(rank)
        elif sent.get(rank) == 'away':
            away.add(rank)
        joins = [group for _, group in job.by_rank[rank][:len(own)]]
        sure = joins[:-1] if state != 'ended' else joins
        came[rank] = {group: (sure.count(group), joins.count(group)) for group in job.groups}
    # Who is stopped while it waits for another stopped one is not missed before that one is given up.
    is_alone = sum(what in ('stop', 'away') for what in sent.values()) == 1
    for rank in away if is_alone else ():
        left = [group for _, group in job.by_rank[rank][begun_ops[rank] + 1:] if group is not None]
        if any(job.groups[group] - struck - {rank} for group in left) and not any(rank in wait['missing'] for wait in waits):
            wrong.append(f'rank {rank}: nobody is told to have waited for it')
    for rank in set(range(job.ranks)) - struck:
        low = high = 0
        for group, members in job.groups.items():
            own = came[rank][group][1]
            others = [came[other][group] for other in members & struck]
            if rank in members and others:
                low += own - min(own, min(most for _, most in others))
                high += own - min(own, min(least for least, _ in others))
            elif rank in members and members & away - {rank}:
                high += own
        times = sum(wait['times'] for wait in waits if wait['rank'] == rank)
        if not low <= times <= high:
            wrong.append(f'rank {rank}: told {times} waits in vain, not {low} to {high}')
    for wait in waits:
        if not set(wait['missing']) <= struck | away - {wait['rank']}:
            wrong.append(f'rank {wait["rank"]}: told to wait for {wait["missing"]}, which came')
    return wrong, struck


def carry(hbmstress, directory, told, struck):
    """Whether lock step meets what was told, in words; None: it does."""
    merged = os.path.join(directory, 'merged.ops')
    made = subprocess.run([hbmstress, 'pod', '--merge', directory, '-o', merged], capture_output=True, text=True)
    if made.returncode != 0:
        return f'merge: {made.stderr.strip()}'
    run = subprocess.run([hbmstress, 'replay', merged, '--replay-sample', '0'], capture_output=True, text=True)
    last = re.sub(r'\n +', ' ', run.stdout).strip().split('\n')[-1]
    found = re.search(r'(\d+) OOMs', last)
    ooms = next(line['ooms'] for line in told if line['type'] == 'pod')
    if run.returncode != 0 or not found or not ooms <= int(found[1]) <= ooms + len(struck):
        return f'lock step: exit {run.returncode}, told {ooms} OOMs: {last or run.stderr.strip()}'
    return None


def run_once(arguments, number):
    chance = random.Random(f'{arguments.seed} {number}')
    job = Job(chance, arguments.ranks)
    with tempfile.TemporaryDirectory() as directory:
        path, out = os.path.join(directory, 'job.ops'), os.path.join(directory, 'pod')
        job.write(path)
        pod = subprocess.Popen([arguments.hbmstress, 'pod', path, '--out', out, '--json', '--pace', '4', '--patience',
                                f'{int(PATIENCE_S * 1000)}ms'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        sent, begun_ops = storm(chance, read_processes(out, arguments.ranks, pod), out)
        output, errors = pod.communicate(timeout=300)
        told = [json.loads(line) for line in output.split('\n') if line]
        if pod.returncode != 0 or not told:
            return {'run': number, 'sent': sent, 'wrong': [f'exit {pod.returncode}: {errors.strip()} {output}'], 'is_carried': False}
        wrong, struck = compare(job, out, sent, begun_ops, told)
        why_not = carry(arguments.hbmstress, out, told, struck)
        late = told[-1]['late_arrivals']
    return {'run': number, 'sent': sent, 'told': [line for line in told if line['type'] != 'pod'], 'late': late,
            'wrong': wrong + ([why_not] if why_not else []), 'is_carried': why_not is None}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('hbmstress', type=os.path.abspath)
    for name, default in (('runs', 10), ('ranks', 4), ('seed', 1), ('jobs', 1)):
        parser.add_argument(f'--{name}', type=int, default=default)
    parser.add_argument('--log')
    arguments = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda number: run_once(arguments, number), range(arguments.runs)))
    if arguments.log:
        with open(arguments.log, 'w') as log:
            log.writelines(json.dumps(result) + '\n' for result in results)
    sent = [what for result in results for what in result['sent'].values()]
    waits = sum(line['times'] for result in results for line in result.get('told', []) if line['type'] == 'waited')
    for result in results:
        for wrong in result['wrong']:
            print(f'run {result["run"]}: {wrong}')
    right = sum(not result['wrong'] for result in results)
    print(f'{len(results)} pods of {arguments.ranks} ranks, seed {arguments.seed}: {sent.count("kill")} killed, {sent.count("stop")} '
          f'stopped, {sent.count("away")} away, {sent.count("pause")} paused; {waits} waits in vain told; {right} told rightly, '
          f'{sum(result["is_carried"] for result in results)} carried into lock step')
    return 0 if right == len(results) and sent else 1


if __name__ == '__main__':
    raise SystemExit(main())
