"""What ci/mutants does once all is built; its options are explained there."""
import collections
import concurrent.futures
import itertools
import re
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

import build
import command
import listed
import mutate
import reach

QUICK_S = 2  # a test that takes longer runs when the quicker ones have let a mutant live
AHEAD = 4  # mutants that wait for each job


class Result(NamedTuple):
    mutant: mutate.Mutant
    killer: str  # a test; empty: it survived
    how: str
    is_sanitized: bool = False  # only the tests with sanitizers killed it


def mutants_of_file(file):
    path = command.TREE / file
    return list(mutate.mutants_of(file, path.read_text())) if path.exists() else []


def mutants_by_file(files):
    return {file: mutants_of_file(file) for file in files}


def changed_lines(base):
    """{file: the numbers of its lines that base had not}."""
    said = subprocess.run(['git', 'diff', '-U0', '--no-color', base, '--', '*.c'], cwd=command.TREE, capture_output=True,
                          text=True, check=False)
    if said.returncode != 0:
        raise build.Failed(said.stderr.strip())
    lines, file = {}, None
    for line in said.stdout.splitlines():
        hunk = re.match(r'@@ -\S+ \+(\d+)(?:,(\d+))? @@', line)
        if line.startswith('+++ '):
            file = line[6:]
        elif hunk:
            first, count = int(hunk[1]), int(hunk[2] or 1)
            lines.setdefault(file, set()).update(range(first, first + count))
    return lines


class Killing:
    """The mutants of one room, and who kills them."""

    def __init__(self, built, sanitized, room, work):
        self.built, self.sanitized, self.room, self.work = built, sanitized, room, work
        self.tests = built.tests_named(room.tests)
        self.sanitized_tests = {test.name: test for test in sanitized.tests_named(room.tests)}
        self.clean_objects = {}
        self.blocks = None
        self.last_killer = {}  # of a file: the test that is tried first
        self.lock = threading.Lock()

    def measure(self, jobs):
        self.built.learn_programs(self.tests)
        self.sanitized.learn_programs(self.sanitized_tests.values())
        self.blocks = reach.Blocks({file: (command.TREE / file).read_text() for file in self.room.files})
        noting = self.built.compile_noting(self.blocks, command.TREE, self.work)
        for test in self.tests:
            self.built.command_with(test, noting[0], self.work / 'programs', [noting[1]])
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda test: self.built.measure(test, self.blocks, noting, self.work), self.tests))
        self.tests.sort(key=lambda test: test.clean_s)

    def tests_for(self, mutant):
        """Those that enter its block, the quickest first; before them what killed the last one in the file."""
        first = self.last_killer.get(mutant.file)
        reaching = [test for test in self.tests if self.blocks.has(test.reached, mutant)]
        return sorted(reaching, key=lambda test: test.name != first or test.clean_s > QUICK_S)

    def clean_object(self, file):
        with self.lock:
            if file not in self.clean_objects:
                target = self.work / 'clean.o'
                if not self.built.compile(command.TREE / file, (command.TREE / file).read_text(), target):
                    raise build.Failed(f'{file} does not compile')
                self.clean_objects[file] = target.read_bytes()
            return self.clean_objects[file]

    def kill(self, mutant):
        """None when it is no mutant: it does not compile, or compiles to the same code."""
        source = command.TREE / mutant.file
        # What a mutant leaves running may still write there.
        with tempfile.TemporaryDirectory(dir=self.work, ignore_cleanup_errors=True) as name:
            scratch = Path(name)
            changed = scratch / 'mutant.o'
            if (not self.built.compile(source, mutant.applied_to(source.read_text()), changed) or
                    changed.read_bytes() == self.clean_object(mutant.file)):
                return None
            tests = self.tests_for(mutant)
            for test in tests:
                how = self.built.run_changed(test, source, changed, scratch)
                if how != 'passed':
                    self.last_killer[mutant.file] = test.name
                    return Result(mutant, test.name, how)
            return self.kill_sanitized(mutant, tests, scratch / 'sanitized') or Result(
                mutant, '', 'survived' if tests else 'not reached')

    def kill_sanitized(self, mutant, tests, scratch):
        """The quick ones as ci/test runs them: the sanitizers see what goes beyond an end, and what is never released."""
        source = command.TREE / mutant.file
        scratch.mkdir()
        changed = scratch / 'mutant.o'
        if not self.sanitized.compile(source, mutant.applied_to(source.read_text()), changed):
            raise build.Failed(f'{mutant} compiles without sanitizers only')
        for test in [self.sanitized_tests[test.name] for test in tests if test.clean_s <= QUICK_S]:
            with test.lock:
                if test.clean_s is None:
                    self.sanitized.time_clean(test, test.command, {}, self.work)
            how = self.sanitized.run_changed(test, source, changed, scratch)
            if how != 'passed':
                return Result(mutant, test.name, how, True)
        return None

    def results(self, candidates, count, jobs):
        """The first `count` candidates that are mutants, in their order, whichever is done first."""
        left = count
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            running = collections.deque()
            coming = iter(candidates)
            while left > 0:
                running.extend(pool.submit(self.kill, each) for each in itertools.islice(coming, AHEAD * jobs - len(running)))
                if not running:
                    return
                result = running.popleft().result()
                if result is not None:
                    left -= 1
                    yield result
            for each in running:
                each.cancel()


class Report:
    """Survivors as they are found, and a table in the end."""

    def __init__(self, entries):
        self.entries = entries
        self.rows = []
        self.unlisted = []

    def heading_of(self, mutant):
        return self.entries.get((mutant.file, mutant.old, mutant.new))

    def add_room(self, name, results):
        row = dict.fromkeys(('mutants', 'killed', 'hung', 'sanitized', 'unreached', 'equivalent', 'open', 'new'), 0)
        for result in results:
            heading = self.heading_of(result.mutant)
            row['mutants'] += 1
            if result.killer:
                row['killed'] += 1
                row['hung'] += result.how == 'hung'
                row['sanitized'] += result.is_sanitized
                if heading:
                    print(f'listed as {heading}, but {result.killer} kills it: {result.mutant}', flush=True)
                continue
            row[heading or 'new'] += 1
            row['unreached'] += result.how == 'not reached'
            where = ', which no test reaches' if result.how == 'not reached' else ''
            print(f'{heading or "new"}: {result.mutant}{where}', flush=True)
            if heading is None:
                self.unlisted.append(result.mutant)
        self.rows.append((name, row))

    def print_table(self):
        total = collections.Counter()
        for _, row in self.rows:
            total.update(row)
        print(f'\n{"room":<12} mutants  killed  (hanging)  (sanitizers)  survived: open   new  (unreached)  equivalent  '
              'killed of the others')
        for name, row in [*self.rows, ('all', total)]:
            others = row['mutants'] - row['equivalent']
            percent = f'{100 * row["killed"] / others:.1f} %' if others else '-'
            print(f'{name:<12} {row["mutants"]:7} {row["killed"]:7} {row["hung"]:10} {row["sanitized"]:13} {row["open"]:15} '
                  f'{row["new"]:5} {row["unreached"]:12} {row["equivalent"]:11} {percent:>21}')


def read_options():
    arguments = command.Arguments('ci/mutants')
    arguments.add_argument('--count', type=command.positive, default=20)
    arguments.add_argument('--seed', default='1')
    arguments.add_argument('--sanitized', required=True)
    arguments.add_argument('--list', action='store_true')
    arguments.add_argument('--change', nargs='?', const='HEAD~1')
    return arguments.read()


def print_rooms(rooms):
    print('room         files  mutants  tests')
    for room in rooms:
        count = sum(len(mutants) for mutants in mutants_by_file(room.files).values())
        print(f'{room.name:<12} {len(room.files):5} {count:8} {len(room.tests):6}')


def candidates_of(room, options):
    """In the order in which they are taken.  The files that a change left alone have none."""
    by_file = mutants_by_file(room.files)
    if options.change:
        lines = changed_lines(options.change)
        by_file = {file: [each for each in mutants if each.line in lines.get(file, ())] for file, mutants in by_file.items()}
    return mutate.in_order({file: mutants for file, mutants in by_file.items() if mutants}, options.seed)


def run_room(built, sanitized, room, options):
    candidates = candidates_of(room, options)
    if not candidates:
        return
    with tempfile.TemporaryDirectory() as work:
        killing = Killing(built, sanitized, room, Path(work))
        killing.measure(options.jobs)
        yield from killing.results(candidates, options.count, options.jobs)


def main():
    options = read_options()
    entries = listed.read(command.HERE / 'listed.txt', ('equivalent', 'open'))
    if options.list:
        print_rooms(options.rooms)
    if options.list or options.dry:
        return 0
    report = Report(entries)
    built, sanitized = build.Build(options.build), build.Build(options.sanitized)
    for room in options.rooms:
        report.add_room(room.name, run_room(built, sanitized, room, options))
    report.print_table()
    stale = listed.stale(entries, [each for file in {key[0] for key in entries} for each in mutants_of_file(file)])
    for file, old, new in stale:
        print(f'listed, but no mutant: {file}: `{old}` -> `{new}`')
    return 1 if options.check and (report.unlisted or stale) else 0


if __name__ == '__main__':
    command.run('ci/mutants', main)
