"""What ci/mutants and ci/branches share: rooms, arguments, and how they end."""
import argparse
import configparser
import sys
import traceback
from pathlib import Path
from typing import NamedTuple

import build
import listed

TREE = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


class Room(NamedTuple):
    name: str
    files: list
    tests: list


def read_rooms():
    parser = configparser.ConfigParser()
    parser.read(HERE / 'rooms.ini')
    rooms = {}
    taken = set()
    for name in parser.sections():
        found = {str(path.relative_to(TREE)) for pattern in parser[name]['files'].split() for path in TREE.glob(pattern)}
        rooms[name] = Room(name, sorted(found - taken), parser[name]['tests'].split())
        taken |= found
    return rooms


def fail(script, code, text):
    print(f'{script}: {text}', file=sys.stderr)
    sys.exit(code)


def positive(text):
    if not text.isdecimal() or not 0 < int(text) < 10 ** 9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 to 999999999")
    return int(text)


class Arguments(argparse.ArgumentParser):
    """Those that both scripts have.  --build and --dry (reads everything, does nothing) are the scripts' own."""

    def __init__(self, script):
        super().__init__(prog=script, add_help=False, allow_abbrev=False)
        self.add_argument('rooms', nargs='*')
        self.add_argument('--build', required=True)
        self.add_argument('--jobs', type=positive, default=2)
        for flag in ('--check', '--dry'):
            self.add_argument(flag, action='store_true')

    def error(self, message):
        fail(self.prog, 2, f'{message}; {self.prog} --help lists the arguments')

    def read(self):
        """With the rooms themselves in the place of their names; all of them when none is named."""
        rooms = read_rooms()
        options = self.parse_args()
        for name in options.rooms:
            if name not in rooms:
                fail(self.prog, 2, f"there is no room '{name}'; the rooms are: {' '.join(rooms)}")
        options.rooms = [rooms[name] for name in options.rooms] or list(rooms.values())
        return options


def run(script, main):
    try:
        sys.exit(main())
    except listed.Wrong as wrong:
        fail(script, 2, wrong)
    except (build.Failed, OSError) as failed:
        fail(script, 4, failed)
    except Exception:  # a bug of ours is no surviving mutant
        traceback.print_exc()
        sys.exit(4)
