#!/usr/bin/python3
"""Records commands of README.md in a terminal of 80 columns and 24 rows, as a picture that moves: docs/pictures/first-run.svg.

    tests/docs/record.py BUILD_DIRECTORY            for example tests/docs/record.py build/release
    tests/docs/record.py BUILD_DIRECTORY --check    runs the commands again, and compares what they print with the picture,
                                                    or with another one that is named last

The picture has no script: CSS shows line after line, three times, and the last frame stays.  A viewer without animation, or
one who prefers reduced motion, sees that frame.  Colours follow the viewer's scheme.  Times and rates are those of the
recording; --check masks them as tests/docs/run_pages.py does.  Needs python3-pyte.

Exits with 0 when all holds, 1 when the picture is out of date, 2 on bad usage, 77 without python3-pyte.
"""
import fcntl
import html
import itertools
import os
import pathlib
import pty
import re
import struct
import sys
import tempfile
import termios
import xml.etree.ElementTree

import run_pages

try:
    import pyte
except ImportError:
    print('skipped: python3-pyte is not there: see ci/setup')
    sys.exit(77)

PICTURE = run_pages.SOURCE_TREE / 'docs/pictures/first-run.svg'
README = run_pages.SOURCE_TREE / 'README.md'
# How the commands begin that are recorded, in their order; the whole of each is README.md's.
BEGINNINGS = ('hbmstress run fragmentation_storm --target first_fit ', 'tail -n 4 ', 'hbmstress replay ')
COLUMNS, ROWS, ROWS_MAX = 80, 24, 400
PICTURE_BYTES_MAX = 100_000

COLUMN_PIXELS, ROW_PIXELS, MARGIN_PIXELS = 8.4, 18, 14
SECONDS_PER_CHARACTER, SECONDS_BEFORE_OUTPUT, SECONDS_PER_LINE, SECONDS_AT_END = 0.015, 0.5, 0.07, 6.0
PAUSE_SECONDS = 1.5
CLASSES = {'red': 'r', 'green': 'g', 'brown': 'y'}
STYLE = '''text{font:14px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;white-space:pre;fill:#1f2328}
.w{fill:#f6f8fa;stroke:#d1d9e0}.c text{font-weight:bold}.r{fill:#b3261e}.g{fill:#1a7f37}.y{fill:#7a5200}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.w{fill:#0d1117;stroke:#3d444d}.r{fill:#ff7b72}.g{fill:#56d364}.y{fill:#e3b341}}
'''


class Screen(pyte.Screen):
    """A terminal that knows which of its rows go on with the row above."""

    def __init__(self):
        self.is_drawing = False
        self.continuing = set()
        super().__init__(COLUMNS, ROWS_MAX)

    def draw(self, data):
        self.is_drawing = True
        super().draw(data)
        self.is_drawing = False

    def linefeed(self):
        super().linefeed()
        (self.continuing.add if self.is_drawing else self.continuing.discard)(self.cursor.y)

    def read_lines(self):
        """Gives the lines, each a list of rows; a row is a list of (text, class)."""
        lines = []
        for y in range(self.cursor.y + (self.cursor.x > 0)):
            row = read_row(self.buffer[y])
            if y in self.continuing and lines:
                lines[-1].append(row)
            else:
                lines.append([row])
        return lines


def read_row(cells):
    """Runs of one colour, without the blanks at the end."""
    pieces = [(''.join(cell.data for cell in group), name)
              for name, group in itertools.groupby((cells[x] for x in range(COLUMNS)), lambda cell: CLASSES.get(cell.fg, ''))]
    if pieces and not pieces[-1][1]:
        pieces[-1] = (pieces[-1][0].rstrip(), '')
    return [piece for piece in pieces if piece[0]]


def text_of(line):
    return ''.join(text for row in line for text, _ in row)


# -- Running ----------------------------------------------------------------------------------------------------------

def read_commands():
    """The commands of README.md that are recorded."""
    commands, _ = run_pages.read_page(README)
    return [next(command.text for command in commands if command.text.startswith(beginning)) for beginning in BEGINNINGS]


def run_in_terminal(command, scratch, environment):
    """Gives all that the command writes to its terminal."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', ROWS, COLUMNS, 0, 0))
        os.chdir(scratch)
        os.execvpe('bash', ['bash', '-c', command], environment)
    written = b''
    while True:
        try:
            some = os.read(terminal, 65536)
        except OSError:  # the last writer is gone
            some = b''
        if not some:
            break
        written += some
    os.close(terminal)
    os.waitpid(child, 0)
    return written.decode('utf-8', 'replace')


def record(build):
    """Gives (command, lines) for each command, as a terminal shows them when it has ended."""
    recorded = []
    with tempfile.TemporaryDirectory(prefix='record-') as scratch:
        environment = {**os.environ, 'PATH': os.pathsep.join([*run_pages.program_folders(build), os.environ['PATH']]),
                       'LC_ALL': 'C.UTF-8', 'HOME': scratch, 'TERM': 'xterm-256color'}
        for command in read_commands():
            screen = Screen()
            pyte.Stream(screen).feed(run_in_terminal(command, scratch, environment))
            recorded.append((command, screen.read_lines()))
    return recorded


# -- Drawing ----------------------------------------------------------------------------------------------------------

def wrap_command(command):
    """A command as it is typed, in rows, and its lines joined where a backslash continues them."""
    lines = (run_pages.PROMPT + command).split('\n')
    return [[(line[i:i + COLUMNS], '')] for line in lines for i in range(0, len(line), COLUMNS)]


def plan_frames(recorded):
    """Gives (rows, seconds when they appear, whether it is a command) of each line, and the length of it all."""
    frames, now = [], 0.5
    for command, lines in recorded:
        frames.append((wrap_command(command), now, True))
        now += SECONDS_PER_CHARACTER * len(command) + SECONDS_BEFORE_OUTPUT
        for line in lines:
            frames.append((line, now, False))
            now += SECONDS_PER_LINE
        now += PAUSE_SECONDS
    return frames, now + SECONDS_AT_END


def draw_row(row, y):
    text = ''.join(text for text, _ in row)
    spans = ''.join(f'<tspan class="{name}">{html.escape(piece)}</tspan>' if name else html.escape(piece) for piece, name in row)
    length = f' textLength="{len(text) * COLUMN_PIXELS:g}"' if text.strip() else ''
    return f'<text y="{y}"{length}>{spans}</text>'


def draw(recorded):
    """The whole picture, as text."""
    frames, length = plan_frames(recorded)
    body, rules, scroll, y = [], [], [], 0
    height = ROWS * ROW_PIXELS
    for index, (rows, seconds, is_command) in enumerate(frames):
        drawn = ''.join(draw_row(row, y + ROW_PIXELS * (i + 1) - 5) for i, row in enumerate(rows))
        y += ROW_PIXELS * len(rows)
        share = 100 * seconds / length
        body.append(f'<g id="l{index}"{" class=" + chr(34) + "c" + chr(34) if is_command else ""}>{drawn}</g>')
        rules.append(f'@keyframes k{index}{{0%{{opacity:0}}{share:.2f}%{{opacity:1}}}}#l{index}{{animation-name:k{index}}}')
        if y > height:
            scroll.append(f'{share:.2f}%{{transform:translateY({height - y}px)}}')
    end = min(0, height - y)
    width = COLUMNS * COLUMN_PIXELS
    animation = (f'@media(prefers-reduced-motion:no-preference){{g{{animation:{length:.1f}s step-end 3 forwards}}'
                 f'{"".join(rules)}@keyframes s{{0%{{transform:translateY(0)}}{"".join(scroll)}'
                 f'100%{{transform:translateY({end}px)}}}}#s{{animation-name:s}}}}')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 2 * MARGIN_PIXELS:g}" height="{height + 2 * MARGIN_PIXELS}" '
            f'viewBox="0 0 {width + 2 * MARGIN_PIXELS:g} {height + 2 * MARGIN_PIXELS}" role="img">\n'
            '<title>A terminal: hbmstress finds a premature out-of-memory, and replays it</title>\n'
            f'<style>{STYLE}#s{{transform:translateY({end}px)}}\n{animation}</style>\n'
            f'<rect class="w" x=".5" y=".5" width="{width + 2 * MARGIN_PIXELS - 1:g}" height="{height + 2 * MARGIN_PIXELS - 1}" rx="8"/>\n'
            f'<svg x="{MARGIN_PIXELS}" y="{MARGIN_PIXELS}" width="{width:g}" height="{height}"><g id="s">\n'
            + '\n'.join(body) + '\n</g></svg>\n</svg>\n')


# -- Comparing --------------------------------------------------------------------------------------------------------

def read_picture(picture):
    """Gives the lines of a picture, a command as it is shown."""
    name = '{http://www.w3.org/2000/svg}'
    root = xml.etree.ElementTree.parse(picture).getroot()
    groups = root.find(f'.//{name}g[@id="s"]').findall(f'{name}g')
    return [''.join(''.join(text.itertext()) for text in group.findall(f'{name}text')) for group in groups]


def lines_of(recorded):
    return [text for command, lines in recorded
            for text in [text_of(wrap_command(command)), *(text_of(line) for line in lines)]]


def check(recorded, picture):
    """Gives what is wrong with a picture."""
    faults = []
    if picture.stat().st_size > PICTURE_BYTES_MAX:
        faults.append(f'it has more than {PICTURE_BYTES_MAX} bytes')
    if re.search(r'<script|<image|<foreignObject|\bon\w+=|href|url\(|@import', picture.read_text(encoding='utf-8'), re.IGNORECASE):
        faults.append('it has more than text and style')
    expected, actual = run_pages.mask(read_picture(picture)), run_pages.mask(lines_of(recorded))
    if expected != actual:
        faults += ['what the commands print has changed; record it again', *run_pages.show_difference(expected, actual)]
    return faults


def main():
    words = sys.argv[1:]
    if len(words) not in (1, 2, 3) or words[1:2] not in ([], ['--check']):
        print(__doc__, file=sys.stderr)
        return 2
    picture = pathlib.Path(words[2]) if len(words) == 3 else PICTURE
    recorded = record(pathlib.Path(words[0]).resolve())
    if len(words) == 1:
        picture.write_text(draw(recorded), encoding='utf-8')
    faults = check(recorded, picture)
    for fault in faults:
        print(f'{picture.name}: {fault}' if fault is faults[0] else fault)
    print(f'record: {len(lines_of(recorded))} lines, {picture.stat().st_size} bytes, {len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
