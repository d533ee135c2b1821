#!/usr/bin/env python3
"""Runs the commands that README.md, docs/ and each folder's README.md show, and compares what they print.

    tests/docs/run_pages.py BUILD_DIRECTORY [PAGE ...]        for example tests/docs/run_pages.py build/dev README.md

A fence tagged `sh` holds commands that begin with "$ " and what they print, standard error included; a backslash at the
end of a line continues the command.  A command must exit with 0.  One without output shown is judged by that alone.  In
the output a line that is only "…" stands for any lines, and "…" within a line for any text; times, rates and absolute
paths are masked.  A command in another fence, or in an indented code block, is refused.

    sh              run here
    sh nightly      run with --nightly alone, for what takes minutes: a build, a campaign
    sh scenario     run by tests/docs/scenario_page.py, with the scenario that the page shows
    sh norun WORD   only parsed; the table of docs/testing.md gives the reason for each WORD

The commands of a page run one after the other in an empty directory of their own, with links to the folders of the
source tree, its CMakeLists.txt and VERSION, the built programs on PATH and the built kit for pkg-config.  With --nightly the directory is a copy of the
source tree, and only pages with a fence tagged `sh nightly` are run.  Options: --deadline SECONDS a command (180; 7200 with
--nightly), --jobs N pages at a time.
Exits with 0 when every page holds, 1 when one does not, 2 on bad usage.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import difflib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE_TREE = pathlib.Path(__file__).resolve().parents[2]
ANY = '…'
PROMPT = '$ '
# What begins a line that a reader would type.
TYPED = (PROMPT, 'hbmstress ', 'ci/', 'cmake ', 'ctest ', 'jq ', 'build/', 'bench/', 'tests/')
SHELL_TAGS = ('sh', 'bash', 'shell', 'console')
NIGHTLY = 'sh nightly'
# Who runs the commands of a fence: this script by day or by night, or scenario_page.py.
RUN_TAGS = ('sh', NIGHTLY, 'sh scenario')
NORUN = re.compile(r'sh norun (\w+)')
REASONS_PAGE = SOURCE_TREE / 'docs/testing.md'
REASON = re.compile(r'\| `sh norun (\w+)` \|')
# A page that prints more than this is shown in part: a difference is to be read by a person.
DIFFERENCE_LINES_MAX = 60


@dataclasses.dataclass
class Fence:
    line: int
    tag: str
    body: list  # of (line number, text)


@dataclasses.dataclass
class Command:
    line: int
    text: str
    tag: str
    expected: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Report:
    """What came of one page; faults are (line, text)."""
    page: pathlib.Path
    run_count: int = 0
    elsewhere_count: int = 0  # run at night, or by another test
    parsed: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # by reason
    seconds: float = 0.0
    faults: list = dataclasses.field(default_factory=list)


# -- Reading a page ---------------------------------------------------------------------------------------------------

def split_fences(text):
    """Gives the fences, the lines outside of them (inside, an empty one stands for each), and the faults."""
    fences, outside, faults, fence = [], [], [], None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r'( *)```(.*)', line)
        if fence is None and mark is None:
            outside.append(line)
            continue
        outside.append('')
        if fence is None:
            indent = len(mark[1])
            fence = Fence(number, mark[2].strip(), [])
        elif mark and not mark[2].strip():
            fences.append(fence)
            fence = None
        else:
            fence.body.append((number, line[min(indent, len(line) - len(line.lstrip(' '))):]))
    if fence is not None:
        faults.append((fence.line, 'a fence that is not closed'))
    return fences, outside, faults


def check_outside(lines):
    """Refuses indented code and commands between the fences.  An indented line that goes on with an item of a list is
    neither: code in an item is indented by 4 more than the item's text."""
    faults, items, may_begin_code = [], [], True
    for number, line in enumerate(lines, 1):
        stripped = line.expandtabs(4).lstrip(' ')
        indent = len(line.expandtabs(4)) - len(stripped)
        if not stripped:
            may_begin_code = True
            continue
        if may_begin_code:
            while items and indent < items[-1]:
                items.pop()
        base = items[-1] if items else 0
        is_code = may_begin_code and indent >= base + 4
        if is_code:
            faults.append((number, 'an indented code block: use a fence with a tag'))
        elif stripped.startswith(PROMPT):
            faults.append((number, 'a command outside a fence tagged sh'))
        item = re.match(r'(?:[-*+]|\d+[.)]) +', stripped)
        if item and not is_code:
            while items and indent < items[-1]:
                items.pop()
            items.append(indent + len(item[0]))
        may_begin_code = stripped.startswith('#')
    return faults


def check_other_fence(fence):
    """Refuses a fence without a tag, and a command in one that is not tagged sh."""
    if not fence.tag:
        return [(fence.line, 'a fence without a tag: sh, text, json, c, ini, ops, csv')]
    if fence.tag.split()[0] in SHELL_TAGS:
        return [(fence.line, f'a fence tagged "{fence.tag}": see tests/docs/run_pages.py --help, and docs/testing.md')]
    return [(number, f'a command outside a fence tagged sh: {line.strip()}')
            for number, line in fence.body if line.lstrip().startswith(TYPED)]


def read_commands(fence):
    """Gives the commands of a fence tagged sh, and the faults."""
    commands, faults, continues = [], [], False
    for number, line in fence.body:
        if continues:
            commands[-1].text += '\n' + line
            continues = line.endswith('\\')
        elif line.startswith(PROMPT):
            commands.append(Command(number, line[len(PROMPT):], fence.tag))
            continues = line.endswith('\\')
        elif commands and (fence.tag in RUN_TAGS or not line.startswith(TYPED)):
            commands[-1].expected.append(line)
        elif commands:
            faults.append((number, f'not compared, and no command without "{PROMPT}": {line}'))
        else:
            faults.append((number, f'a fence tagged sh begins with a command, "{PROMPT}…"'))
            break
    if not fence.body:
        faults.append((fence.line, 'an empty fence tagged sh'))
    return commands, faults


def read_reasons():
    """Gives the words that docs/testing.md has for commands that nobody runs."""
    return set(REASON.findall(REASONS_PAGE.read_text(encoding='utf-8')))


def is_command_tag(tag, reasons):
    norun = NORUN.fullmatch(tag)
    return tag in RUN_TAGS or norun is not None and norun[1] in reasons


def read_page(path):
    """Gives the commands of a page in their order, and the faults of its form."""
    reasons = read_reasons()
    fences, outside, faults = split_fences(path.read_text(encoding='utf-8'))
    faults += check_outside(outside)
    commands = []
    for fence in fences:
        if is_command_tag(fence.tag, reasons):
            found, wrong = read_commands(fence)
            commands += found
            faults += wrong
        else:
            faults += check_other_fence(fence)
    return commands, faults


# -- Comparing --------------------------------------------------------------------------------------------------------

NUMBER = r'(?<![\w.,=+-])\d[\d.,]*'
MASKS = (
    # Absolute paths, with at least one folder; "…/" and "a/b" are none.
    (re.compile(r'(?<![\w./…~-])/(?:[\w.+@~-]+/)+[\w.+@~-]*'), '<path>'),
    # 91.2k/s, 12.5 MiB/s, 126 ops/s
    (re.compile(rf' *{NUMBER} ?[A-Za-z]*/s\b'), ' <rate>'),
    # 0.026 s, 12 ms, 30 m; not "64M", nor "delay=5ms" of an op.
    (re.compile(rf' *{NUMBER} ?(?:ns|us|µs|ms|s|m|h|min|seconds?|minutes?|hours?)(?![\w/=])'), ' <time>'),
    (re.compile(r'("seconds": ?)[\d.]+'), r'\1<time>'),
)


def mask_rate_columns(lines):
    """In a table whose last column is ops/s that number depends on the machine, and so do the columns' widths."""
    masked, in_table = [], False
    for line in lines:
        words = line.split()
        if words and words[-1] == 'ops/s':
            in_table = True
            line = ' '.join(words)
        elif in_table and words:
            line = ' '.join(words[:-1] + [ANY if words[-1] == ANY else '<rate>'])
        in_table = in_table and bool(words)
        masked.append(line)
    return masked


def mask(lines):
    """Gives the lines without what may differ from run to run, and without empty lines at the end."""
    masked = []
    for line in mask_rate_columns([line.rstrip() for line in lines]):
        for pattern, name in MASKS:
            line = pattern.sub(name, line)
        masked.append(line)
    while masked and not masked[-1]:
        masked.pop()
    return masked


def line_matches(expected, actual):
    pattern = '.*'.join(re.escape(piece) for piece in expected.split(ANY))
    return re.fullmatch(pattern, actual) is not None


def match_count(segment, window):
    return sum(line_matches(*pair) for pair in zip(segment, window))


def split_segments(expected):
    """The runs of lines between the lines that are only "…"; an empty one at an end where "…" stands there."""
    segments = [[]]
    for line in expected:
        if line.strip() == ANY:
            segments.append([])
        else:
            segments[-1].append(line)
    return segments


def find_difference(expected, actual):
    """None when the output is as shown, else the lines of a diff.  Each run of lines is looked for after the one before
    it; where one is absent it is compared with the place that is most like it."""
    segments = split_segments(expected)
    if len(segments) == 1:
        return None if is_at(segments[0], actual) else show_difference(segments[0], actual)
    position = 0
    for index, segment in enumerate(segments):
        last = max(position, len(actual) - len(segment))
        if index == 0:
            places = [0]
        elif index == len(segments) - 1:
            places = [last]
        else:
            places = range(position, last + 1)
        found = next((place for place in places if is_at(segment, actual[place:place + len(segment)])), None)
        if found is None:
            best = max(places, key=lambda place: match_count(segment, actual[place:]))
            return show_difference(segment, actual[best:best + len(segment)])
        position = found + len(segment)
    return None


def is_at(segment, window):
    return len(segment) == len(window) and match_count(segment, window) == len(segment)


def show_difference(expected, actual):
    """A diff; lines that match by their wildcards count as equal."""
    alike = [next((line for line in expected if line_matches(line, seen)), seen) for seen in actual]
    lines = list(difflib.unified_diff(expected, alike, 'expected', 'actual', lineterm='', n=1))
    if len(lines) > DIFFERENCE_LINES_MAX:
        lines[DIFFERENCE_LINES_MAX:] = [f'({len(lines) - DIFFERENCE_LINES_MAX} more lines)']
    return lines


# -- Running ----------------------------------------------------------------------------------------------------------

def program_folders(build):
    """The folders of the build that have programs; the one of hbmstress first."""
    folders = []
    for folder, below, files in os.walk(build):
        below[:] = sorted(name for name in below if name not in ('CMakeFiles', 'tests'))
        paths = [os.path.join(folder, name) for name in files if not re.search(r'\.so\b', name)]
        if any(os.path.isfile(path) and os.access(path, os.X_OK) for path in paths):
            folders.append(folder)
    return sorted(folders, key=lambda folder: not os.path.exists(os.path.join(folder, 'hbmstress')))


def link_folders(scratch):
    """Makes the folders of the source tree reachable from a page's directory, but not what builds and runs leave.  With
    the files that CMake reads first, a page can build the tree."""
    for name in ('CMakeLists.txt', 'VERSION'):
        (scratch / name).symlink_to(SOURCE_TREE / name)
    for entry in sorted(SOURCE_TREE.iterdir()):
        if entry.is_dir() and not re.match(r'\.|out|build', entry.name):
            (scratch / entry.name).symlink_to(entry)


def run_shell(words, scratch, environment, deadline_seconds):
    """Gives the exit code and what was printed; the code is None after the deadline.  The command's whole process group
    is killed then, so that nothing it started goes on."""
    process = subprocess.Popen(['bash', *words], cwd=scratch, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        printed, _ = process.communicate(timeout=deadline_seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        printed, _ = process.communicate()
        code = None
    return code, printed.decode('utf-8', 'replace').splitlines()


def parse_command(command, scratch, environment):
    code, printed = run_shell(['-n', '-c', command.text], scratch, environment, None)
    return None if code == 0 else '\n'.join(['bash cannot parse: ' + command.text, *printed])


def run_command(command, scratch, environment, deadline_seconds):
    """Gives what is wrong with the command, or None."""
    code, printed = run_shell(['-c', command.text], scratch, environment, deadline_seconds)
    title = PROMPT + command.text
    if code is None:
        return '\n'.join([f'not ended after {deadline_seconds:g} s, killed: {title}', *printed[-5:]])
    expected, actual = mask(command.expected), mask(printed)
    difference = find_difference(expected, actual) if expected else None
    if difference is not None:
        return '\n'.join([f'prints something else: {title}', *difference])
    if code != 0:
        return '\n'.join([f'exits with {code}, not 0: {title}', *printed[-5:]])
    return None


def copy_tree(scratch):
    """Copies the source tree for commands that build in it; libraries that ci/setup fetched come along."""
    for entry in sorted(SOURCE_TREE.iterdir()):
        if entry.is_dir() and not re.match(r'\.git$|out|build', entry.name):
            shutil.copytree(entry, scratch / entry.name, symlinks=True)
        elif entry.is_file():
            shutil.copy2(entry, scratch)
    libraries = SOURCE_TREE / 'build/libraries'
    if libraries.is_dir():
        shutil.copytree(libraries, scratch / 'build/libraries')


def judge_command(command, tags, report, scratch, environment, deadline_seconds):
    """Runs or parses one command, and counts it."""
    if command.tag in tags:
        report.run_count += 1
        fault = run_command(command, scratch, environment, deadline_seconds)
    else:
        norun = NORUN.fullmatch(command.tag)
        report.parsed.update([norun[1]] if norun else [])
        report.elsewhere_count += norun is None
        fault = parse_command(command, scratch, environment)
    if fault is not None:
        report.faults.append((command.line, fault))


def run_page(path, build, deadline_seconds, tags=('sh',)):
    """Reads one page, and runs its commands with these tags in a directory that is removed afterwards."""
    report = Report(path)
    started = time.monotonic()
    commands, report.faults = read_page(path)
    with tempfile.TemporaryDirectory(prefix='page-') as name:
        scratch = pathlib.Path(name)
        (copy_tree if NIGHTLY in tags else link_folders)(scratch)
        environment = {**os.environ, 'PATH': os.pathsep.join([*program_folders(build), os.environ['PATH']]),
                       'PKG_CONFIG_PATH': str(build / 'kit'), 'LC_ALL': 'C.UTF-8', 'HOME': name}
        for command in commands:
            judge_command(command, tags, report, scratch, environment, deadline_seconds)
    report.seconds = time.monotonic() - started
    return report


def check_reasons(reports):
    """Of all pages: no word of the table in docs/testing.md is without a command."""
    used = {word for report in reports for word in report.parsed}
    return [f'{REASONS_PAGE.relative_to(SOURCE_TREE)}: no page has a fence tagged "sh norun {word}"'
            for word in sorted(read_reasons() - used)]


def default_pages(tree=SOURCE_TREE):
    pages = [tree / 'README.md', *tree.glob('docs/**/*.md'), *tree.glob('*/README.md')]
    return sorted({page for page in pages if not re.match(r'\.|out|build', page.relative_to(tree).parts[0])})


def print_report(report):
    name = os.path.relpath(report.page, SOURCE_TREE) if report.page.is_relative_to(SOURCE_TREE) else report.page
    for line, text in sorted(report.faults):
        print(f'{name}:{line}: {text}')
    print(f'{name}: {describe_counts([report])}, {len(report.faults)} wrong, {report.seconds:.1f} s', flush=True)


def describe_counts(reports):
    parsed = sum((report.parsed for report in reports), collections.Counter())
    words = ', '.join(f'{count} {word}' for word, count in sorted(parsed.items()))
    return (f'{sum(report.run_count for report in reports)} run, {sum(report.elsewhere_count for report in reports)} run elsewhere, '
            f'{parsed.total()} only parsed' + (f' ({words})' if words else ''))


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build', type=pathlib.Path, metavar='BUILD_DIRECTORY')
    parser.add_argument('pages', type=pathlib.Path, nargs='*', metavar='PAGE')
    parser.add_argument('--nightly', action='store_true')
    parser.add_argument('--deadline', type=float, metavar='SECONDS')
    parser.add_argument('--jobs', type=int, default=len(os.sched_getaffinity(0)), metavar='N')
    arguments = parser.parse_intermixed_args()
    if not any(os.path.exists(os.path.join(folder, 'hbmstress')) for folder in program_folders(arguments.build)):
        parser.error(f'{arguments.build}: no program hbmstress was built there')
    if arguments.deadline is None:
        arguments.deadline = 7200 if arguments.nightly else 180
    absent = [str(page) for page in arguments.pages if not page.is_file()]
    if absent:
        parser.error(f'{absent[0]}: no such page')
    return arguments


def has_nightly(page):
    return any(command.tag == NIGHTLY for command in read_page(page)[0])


def main():
    arguments = read_arguments()
    pages = [page.resolve() for page in arguments.pages] or default_pages()
    tags = ('sh', NIGHTLY) if arguments.nightly else ('sh',)
    if arguments.nightly:
        pages = [page for page in pages if has_nightly(page)]
    build = arguments.build.resolve()
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        futures = [pool.submit(run_page, page, build, arguments.deadline, tags) for page in pages]
        reports = []
        for future in concurrent.futures.as_completed(futures):
            reports.append(future.result())
            print_report(reports[-1])
    wrong = [] if arguments.pages or arguments.nightly else check_reasons(reports)
    for line in wrong:
        print(line)
    wrong_count = sum(len(report.faults) for report in reports) + len(wrong)
    pages_text = '1 page' if len(reports) == 1 else f'{len(reports)} pages'
    print(f'in all: {pages_text}, {describe_counts(reports)}, {wrong_count} wrong')
    return 1 if wrong_count else 0


if __name__ == '__main__':
    sys.exit(main())
