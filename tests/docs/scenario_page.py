#!/usr/bin/env python3
"""Builds the scenario that docs/scenario.md shows into hbmstress, and runs the commands of the page that need it.

    tests/docs/scenario_page.py BUILD_DIRECTORY        for example tests/docs/scenario_page.py build/dev

The page has one fence of C and one line for scenarios/list.h.  Both are added to a copy of scenarios/, compiled and linked
with the commands of the build, so the source tree stays as it is.  Then the fences tagged `sh scenario` are run as
tests/docs/run_pages.py runs others.  Exits with 0 when all holds, 1 when something does not, 2 on bad usage.
"""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import run_pages

PAGE = run_pages.SOURCE_TREE / 'docs/scenario.md'


def read_scenario():
    """Gives the name, the line of list.h and the source that the page shows."""
    fences, _, _ = run_pages.split_fences(PAGE.read_text(encoding='utf-8'))
    texts = ['\n'.join(line for _, line in fence.body) + '\n' for fence in fences if fence.tag == 'c']
    line, source = sorted(texts, key=len)
    return re.fullmatch(r'SCENARIO\((\w+)\)\n', line)[1], line, source


def build_commands(build, target):
    """Gives the commands that ninja runs for the target, the last one the target's own."""
    printed = subprocess.run(['ninja', '-C', build, '-t', 'commands', target], check=True, stdout=subprocess.PIPE, text=True)
    return printed.stdout.splitlines()


def compile_in(copy, build, name, commands):
    """Compiles scenarios.c and the new scenario as the build compiles scenarios.c; gives the object files."""
    words = shlex.split(next(command for command in commands if command.endswith('/scenarios/scenarios.c')))
    flags = words[:words.index('-MD')]
    objects = []
    for stem in ('scenarios', name):
        objects.append(copy / f'{stem}.o')
        source = copy / 'scenarios' / f'{stem}.c'
        subprocess.run([*flags, f'-I{copy}', '-iquote', copy, '-c', source, '-o', objects[-1]], cwd=build, check=True)
    return objects


def build_program(copy, build):
    """Builds COPY/cli/hbmstress, which has the scenario of the page."""
    name, line, source = read_scenario()
    shutil.copytree(run_pages.SOURCE_TREE / 'scenarios', copy / 'scenarios')
    (copy / 'scenarios' / f'{name}.c').write_text(source, encoding='utf-8')
    with open(copy / 'scenarios/list.h', 'a', encoding='utf-8') as listed:
        listed.write(line)
    commands = build_commands(build, 'cli/hbmstress')
    objects = compile_in(copy, build, name, commands)
    program = copy / 'cli/hbmstress'
    program.parent.mkdir()
    link = commands[-1].replace(' -o cli/hbmstress ', f' {shlex.join(map(str, objects))} -o {shlex.quote(str(program))} ')
    subprocess.run(link, shell=True, cwd=build, check=True)


def main():
    if len(sys.argv) != 2 or not (pathlib.Path(sys.argv[1]) / 'build.ninja').is_file():
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix='scenario-') as folder:
        copy = pathlib.Path(folder)
        build_program(copy, pathlib.Path(sys.argv[1]).resolve())
        report = run_pages.run_page(PAGE, copy, 180, ('sh', 'sh scenario'))
    run_pages.print_report(report)
    return 1 if report.faults or not report.run_count else 0


if __name__ == '__main__':
    sys.exit(main())
