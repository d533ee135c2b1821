#!/usr/bin/env python3
"""Runs the commands of a .snap file and holds what they print against what stands there.

    tests/snap/run.py BUILD FILE.snap         HBMSTRESS_SNAP=update rewrites the file

The form is that of cram: tests/snap/README.md.  Exits with 1 when an answer differs, with 2 when nothing was run."""

import difflib
import os
import re
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]

MARK = "<<hbmstress-snap>>"

TRY = 'try() { "$@" || echo "[$?]"; }'  # its exit code where that is not 0, for commands in loops

# What differs from one machine or moment to the next, in the order in which it is replaced.
MASKS = [
    (r"(?m)^(\.\./)+tests/", "tests/"),  # a compiler may have been called with such a path
    (r'"((?:elapsed|cost|wall|cpu)_ns|cost_instructions|ops_per_second|pid|seconds)":[0-9.]+', r'"\1":~'),
    (r"\b\d+ ops/s\b", "~ ops/s"),
    (r"\b\d+\.\d{3}(\s+)s\b", r"~\1s"),
    (r"(?m) +ops/s\n(?:.+\n)+", lambda table: re.sub(r" +(\d+|ops/s)\n", lambda end: f" {end[1] if end[1] == 'ops/s' else '~'}\n", table[0])),
    (r"\b\d+(\.\d+)? ?(ns|us|ms|s|min|h) (elapsed|of wall time|of processor time)", r"~ \3"),
    (r"\b0x7[0-9a-f]{11}\b", "0x~"),
    (r"\b(SIG[A-Z]+) at \w+( \([\w.]+:\d+\))?( < \w+( \([\w.]+:\d+\))?)*", r"\1 at ~"),  # what is inlined differs
]


class Command:
    """Its lines, the words above it, and what it must print."""

    def __init__(self, above, line):
        self.above, self.lines, self.wanted = above, [line], []


def read_commands(text):
    """The commands of a file, and what stands behind the last one."""
    commands, above = [], []
    for line in text.splitlines():
        if line.startswith("  $ "):
            commands.append(Command(above, line[4:]))
            above = []
        elif line.startswith("  > ") or line == "  >":
            if above or not commands or commands[-1].wanted:
                sys.exit(f"a line that continues no command: {line}")
            commands[-1].lines.append(line[4:])
        elif line.startswith("  "):
            if not commands or any(above):
                sys.exit(f"an answer to no command: {line}")
            commands[-1].wanted += above + [line[2:]]
            above = []
        else:
            above.append(line)
    return commands, above


def environment(build, scratch):
    """What commands see: the program in PATH, and nothing that changes what it prints."""
    kept = {"FIELD", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "LD_PRELOAD"}
    result = {name: value for name, value in os.environ.items() if name in kept or name.endswith("SAN_OPTIONS")}
    path = f"{build}/cli:{build}/tests/snap:{TREE}/tests/snap:" + os.environ.get("PATH", "/usr/bin:/bin")
    result.update(PATH=path, TREE=str(TREE), BUILD=str(build), PWD=scratch, TZ="UTC", LC_ALL="C.UTF-8", TERM="dumb")
    return result


def masks_of(build, scratch):
    """The masks, behind those of this machine's paths and of the program's version."""
    version = subprocess.run([f"{build}/cli/hbmstress", "--version"], capture_output=True, text=True, check=True).stdout
    places = [(re.escape(os.environ.get("FIELD", "$FIELD")), "$FIELD"), (re.escape(str(build)), "$BUILD"),
              (re.escape(str(TREE)), "$TREE"), (re.escape(scratch), "$PWD")]
    return places + [(re.escape(version.split()[1]), "VERSION")] + MASKS


def answers(commands, scratch, variables, masks):
    """What each prints, masked, as lines, with its exit code where that is not 0.  One shell runs them all."""
    script = ["set -o pipefail", TRY]
    for command in commands:
        script += [*command.lines, f"echo '{MARK}' $?"]
    with tempfile.TemporaryFile() as printed:  # no pipe: a process that stays behind may hold its end open
        subprocess.run(["bash", "-c", "\n".join(script)], cwd=scratch, env=variables, stdin=subprocess.DEVNULL,
                       stdout=printed, stderr=subprocess.STDOUT, check=False)
        printed.seek(0)
        text = "".join(map(show, printed.read().decode("utf-8", "surrogateescape")))
    parts = re.split(MARK + r" (\d+)\n", text)
    for i in range(0, 2 * len(commands), 2):
        printed, code = (parts[i], int(parts[i + 1])) if i + 1 < len(parts) else (parts[-1] + "the shell ended\n", 0)
        for pattern, words in masks:
            printed = re.sub(pattern, words, printed)
        yield answer(printed, code)


def answer(text, code):
    """The lines of a file for what a command printed."""
    lines = [re.sub(" $", "<<20>>", line) for line in text.split("\n")]
    lines[-1] += " (no-eol)" if lines[-1] else ""
    while lines and not lines[-1]:
        lines.pop()
    shown = [] if code in (0, 141) else [f"[{code}]"]  # 141: the reader of a pipe has read enough
    return ["<<24>>" + line[1:] if line.startswith(("$ ", "> ")) else line for line in lines] + shown


def show(character):
    """A character that controls or is none, or a byte that is not UTF-8, as <<1b>>."""
    code = ord(character)
    if 0xDC80 <= code < 0xDD00:
        return f"<<{code - 0xDC00:02x}>>"
    return character if character == "\n" or unicodedata.category(character)[0] != "C" else f"<<{code:02x}>>"


def main():
    """Exit code."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, file = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    update = os.environ.get("HBMSTRESS_SNAP", "")
    if update not in ("", "update") or update and "CI" in os.environ:
        print(f"HBMSTRESS_SNAP={update} is refused: it may be update, where CI is not set, as a snapshot is reviewed")
        return 2
    if file.parent.name == "field" and not Path(os.environ.get("FIELD", "/nowhere")).is_dir():
        print("skipped: the field data are not here")
        return 77
    old = file.read_text(encoding="utf-8")
    commands, below = read_commands(old)
    if not commands:
        print(f"{file}: it has no command")
        return 2
    new = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = os.path.realpath(scratch)
        variables, masks = environment(build, scratch), masks_of(build, scratch)
        for command, printed in zip(commands, answers(commands, scratch, variables, masks)):
            new += command.above + ["  $ " + command.lines[0]] + ["  > " + line if line else "  >" for line in command.lines[1:]]
            new += ["  " + line if line else "" for line in printed]
    text = "\n".join(new + below) + "\n"
    if text == old:
        return 0
    if update:
        file.write_text(text, encoding="utf-8")
        print(f"{file}: rewritten")
        return 0
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), str(file), "what is printed", n=3))
    print("HBMSTRESS_SNAP=update ctest rewrites it, for review")
    return 1


if __name__ == "__main__":
    sys.exit(main())
