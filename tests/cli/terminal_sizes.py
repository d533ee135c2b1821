#!/usr/bin/env python3
"""What `run` and `watch` write to a real terminal: tables that fit it, and no control code where it has none.

    tests/cli/terminal_sizes.py HBMSTRESS
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time

HBMSTRESS = os.path.realpath(sys.argv[1])
# A machine under load starts slowly; nothing here waits so long unless it fails.
DEADLINE_SECONDS = 60
CONTROL = re.compile('\x1b\\[[0-9;]*[A-Za-z]|\r')
# A name of a tag has no other quotes, and nothing beyond ASCII: op lists write an underscore there.
HOSTILE, HOSTILE_TAG = '<script>alert(1)</script>\\"\'&漢字', "of '<script>alert(1)</script>__'&_"
JOBS = ('[recompilation_churn]\n[recompilation_churn_faults]\nscenario = recompilation_churn\nfaults = all\n'
        '[漢字漢字]\nscenario = slow_leak\n')


class Terminal:
    """A program on a pseudo-terminal of that many columns and 24 lines."""

    def __init__(self, columns, arguments, **environment):
        self.text = ''
        variables = {name: value for name, value in os.environ.items() if name not in ('COLUMNS', 'NO_COLOR', 'TERM')}
        variables.update(environment)
        outer, inner = pty.openpty()
        self.outer = outer
        self.resize(columns)
        self.process = os.fork()
        if self.process == 0:
            os.setsid()
            for descriptor in (0, 1, 2):
                os.dup2(inner, descriptor)
            os.closerange(3, 64)
            os.execve(HBMSTRESS, [HBMSTRESS] + arguments, variables)
        os.close(inner)

    def resize(self, columns):
        fcntl.ioctl(self.outer, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))

    def read_more(self):
        """False: the program has ended."""
        if not select.select([self.outer], [], [], DEADLINE_SECONDS)[0]:
            sys.exit(f'nothing came for {DEADLINE_SECONDS} s after {self.text[-300:]!r}')
        try:
            piece = os.read(self.outer, 65536)
        except OSError:
            return False
        self.text += piece.decode('utf-8', 'replace').replace('\r\n', '\n')
        return piece != b''

    def frames(self):
        """The whole tables drawn so far, without control codes, each as a list of lines."""
        drawn = [part for part in self.text.split('\x1b[J')[:-1] if '\x1b[K' in part]
        return [[CONTROL.sub('', line) for line in part.split('\n') if '\x1b[K' in line]
                for part in drawn]

    def wait_for_frame(self, wanted):
        """The first table after now of which wanted() is true."""
        count, end = len(self.frames()), time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < end and self.read_more():
            for frame in self.frames()[count:]:
                if wanted(frame):
                    return frame
        sys.exit(f'no such table: {self.text[-2000:]!r}')

    def end(self, interrupts):
        if interrupts:
            os.kill(self.process, signal.SIGINT)
        while self.read_more():
            pass
        status = os.waitpid(self.process, 0)[1]
        os.close(self.outer)
        return os.waitstatus_to_exitcode(status)


def columns_of(line):
    return len(line) + sum(character in '漢字' for character in line)


def check(holds, what):
    if not holds:
        sys.exit(f'FAILED: {what}')


def run_job(columns, **environment):
    return Terminal(columns, ['run', '--job', 'job.ini', '--time', '5m', '--workers', '1', '--out', 'out'], **environment)


def check_frame(frame, columns, churn, faults):
    titles = frame[0]
    check(all(columns_of(line) < columns for line in frame), f'at {columns} columns no line is cut by the terminal: {frame}')
    check(titles.startswith('job ') and ' found' in titles, f'at {columns} columns the findings are there: {frame}')
    check(frame[1].startswith(churn + ' ') and frame[2].startswith(faults + ' '), f'names at {columns} columns: {frame}')
    for line in frame[1:4]:
        check(re.search(r' \[#*-+\] ', line) and re.search(r' [0-9]+ [sm]$', line), f'a bar and the time left: {line}')
        check(columns_of(line) == columns_of(titles), f'aligned: {line}')


def tables_fit_and_follow_the_terminal():
    terminal = run_job(80, TERM='xterm', NO_COLOR='1')
    check_frame(terminal.wait_for_frame(lambda frame: len(frame) > 4), 80, 'recompi.._churn', 'recompi..faults')
    terminal.resize(40)
    check_frame(terminal.wait_for_frame(lambda frame: columns_of(frame[0]) < 40), 40, 'recompil..n_churn', 'recompil.._faults')
    terminal.resize(120)
    check_frame(terminal.wait_for_frame(lambda frame: columns_of(frame[0]) > 80), 120, 'recompilation_churn',
                'recompilation_churn_faults')
    check('\x1b[3' not in terminal.text, 'NO_COLOR')
    code = terminal.end(interrupts=True)
    check(code == 4 and 'interrupted; so far every promise kept' in terminal.text, f'interrupted: {code}')
    check(terminal.text.rstrip('\n').split('\n')[-1].endswith('; seed 1'), 'the last line ends with the seed')

    terminal = run_job(120, TERM='xterm', COLUMNS='40')
    check_frame(terminal.wait_for_frame(lambda frame: len(frame) > 4), 40, 'recompil..n_churn', 'recompil.._faults')
    terminal.end(interrupts=True)


def no_control_code_where_there_is_no_cursor():
    for environment in ({'TERM': 'dumb'}, {}):
        for arguments in (['run', 'slow_leak', '--ops', '20000', '--seed', '1', '--out', 'plain'], ['watch', 'plain'],
                          ['watch', 'plain', '--follow', '--alarm', '1%']):
            terminal = Terminal(40, arguments, **environment)
            check(terminal.end(interrupts=False) == ('--alarm' in arguments), f'{arguments}: {terminal.text}')
            check('\x1b' not in terminal.text and terminal.text.count('\n') > 1, f'{arguments} with {environment}: {terminal.text!r}')


def watch_fits_the_terminal():
    terminal = Terminal(40, ['watch', 'plain'], TERM='xterm', NO_COLOR='1')
    check(terminal.end(interrupts=False) == 0, terminal.text)
    lines = CONTROL.sub('', terminal.text).split('\n')
    check(len(lines) > 2 and all(columns_of(line) < 40 for line in lines), f'watch at 40 columns: {lines}')
    check(lines[0].startswith('slow_leak  ') and '\x1b[K' in terminal.text, f'watch: {terminal.text!r}')


def a_hostile_tag_is_text():
    with open('tag.ops', 'w', encoding='utf-8') as file:
        file.write('hbmstress-ops 1\ncapacity 64K\ntarget first_fit\noption defrag=slide\ntag 1 "' + HOSTILE + '"\n'
                   '0: alloc size=16K tag=1\n1: alloc size=16K tag=1\n2: free block=0\n3: alloc size=40K tag=1\n')
    for subcommand in ('replay', 'explain'):
        terminal = Terminal(80, [subcommand, 'tag.ops'], TERM='xterm')
        check(terminal.end(interrupts=False) == 1, f'{subcommand}: {terminal.text}')
        check('\x1b' not in terminal.text, f'{subcommand}: {terminal.text!r}')
    check(HOSTILE_TAG in terminal.text, terminal.text)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with open('job.ini', 'w', encoding='utf-8') as file:
        file.write('[global]\nseed = 1\n' + JOBS)
    tables_fit_and_follow_the_terminal()
    no_control_code_where_there_is_no_cursor()
    watch_fits_the_terminal()
    a_hostile_tag_is_text()
