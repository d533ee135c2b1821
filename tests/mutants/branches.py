"""What ci/branches does once all is built; its options are explained there."""
import concurrent.futures
import json
import tempfile
from pathlib import Path
from typing import NamedTuple

import build
import command
import listed
import mutate


class Line(NamedTuple):
    file: str
    number: int
    text: str
    count: int
    branches: int
    missed: int

    @property
    def key(self):
        return self.file, self.text, f'{self.missed} of {self.branches} not taken'

    def __str__(self):
        return f'{self.file}:{self.number}: `{self.text}`, {self.key[2]}'


def checked_lines(text):
    """The lines of checks, whose failing side no run takes."""
    return {statement.first + i + 1 for statement in mutate.statements(text) if mutate.is_check(statement)
            for i in range(len(statement.lines))}


def lines_of(built, file):
    """Every line of the file that has code.  A check is a line without branches."""
    text = (command.TREE / file).read_text()
    source, checks = text.split('\n'), checked_lines(text)
    said = json.loads(built.output_of('gcov', '--json-format', '--stdout', '--branch-probabilities',
                                      built.object_of(command.TREE / file)))
    for found in said['files']:
        if (built.folder / found['file']).resolve() != command.TREE / file:
            continue
        for line in found['lines']:
            number = line['line_number']
            taken = [branch['count'] > 0 for branch in line['branches'] if number not in checks]
            yield Line(file, number, source[number - 1].strip(), line['count'], len(taken), taken.count(False))


def run_tests(built, tests, jobs):
    """Runs the tests in the build with counters, after those of runs before are gone."""
    def run(test):
        return build.run_limited(test.command, test, {}, build.CLEAN_S_MAX, Path(scratch))
    for path in built.folder.rglob('*.gcda'):
        path.unlink()
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for test, result in zip(tests, pool.map(run, tests)):
            if result != 'passed':
                print(f'{test.name} has {result} in the build with counters, so what it takes may be missing')


class Report:
    def __init__(self, entries, is_listing):
        self.entries = entries
        self.is_listing = is_listing
        self.rows = []
        self.unlisted = []
        self.used = set()

    def add_room(self, name, lines):
        missed = [line for line in lines if line.missed > 0]
        for line in missed:
            heading = self.entries.get(line.key, 'new')
            if self.is_listing:
                print(f'{heading}: {line}')
            if heading == 'new':
                self.unlisted.append(line)
            self.used.add(line.key)
        argued = sum(line.missed for line in missed if self.entries.get(line.key) == 'unreachable')
        self.rows.append((name, sum(line.count > 0 for line in lines), len(lines), sum(line.branches for line in lines),
                          sum(line.missed for line in missed), argued))

    def print_table(self):
        print(f'\n{"room":<12}   lines  executed          branches   taken  unreachable  taken of the others')
        for name, executed, lines, branches, missed, argued in self.rows:
            others = branches - argued
            print(f'{name:<12} {lines:7} {executed:9} {100 * executed / max(lines, 1):6.1f} % {branches:9} '
                  f'{branches - missed:7} {argued:12} {100 * (branches - missed) / max(others, 1):18.1f} %')


def main():
    arguments = command.Arguments('ci/branches')
    arguments.add_argument('--lines', action='store_true')
    options = arguments.read()
    entries = listed.read(command.HERE / 'branches.txt', ('unreachable', 'open'))
    if options.dry:
        return 0
    built = build.Build(options.build)
    names = sorted({name for room in options.rooms for name in room.tests})
    run_tests(built, built.tests_named(names), options.jobs)
    report = Report(entries, options.lines)
    for room in options.rooms:
        lines = [line for file in room.files for line in lines_of(built, file)]
        if not lines:
            raise build.Failed(f'gcov knows no line of {room.name}')
        report.add_room(room.name, lines)
    report.print_table()
    files = {file for room in options.rooms for file in room.files}
    stale = [key for key in entries if key[0] in files and key not in report.used]
    for file, text, missed in stale:
        print(f'listed, but no longer so: {file}: `{text}`, {missed}')
    return 1 if options.check and (report.unlisted or stale) else 0


if __name__ == '__main__':
    command.run('ci/branches', main)
