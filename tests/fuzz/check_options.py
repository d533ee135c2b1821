#!/usr/bin/env python3
"""Checks what fuzz/build.sh left beside the programs: NAME.options, NAME.dict, NAME_seed_corpus.zip.

    check_options.py OUT TARGETS.TXT ENGINE OPTIONS

TARGETS.TXT is the list of the build. ENGINE is a program that libFuzzer is linked to. OPTIONS has a line for each
target: its name, then what ci/fuzz_common.sh gives to libFuzzer.
"""
import configparser
import os
import re
import subprocess
import sys
import zipfile

# Each fleet has its own: ClusterFuzz cuts both limits to its own maximum, and sets the rest.
OF_THE_FLEET = {'timeout', 'rss_limit_mb', 'report_slow_units', 'print_final_stats'}
failures = []


def expect(name, holds, text):
    if not holds:
        failures.append(f'{name}: {text}')


def run_engine(engine, *arguments):
    done = subprocess.run([engine, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def read_options(path):
    """As the base runner of OSS-Fuzz and ClusterFuzz read the file."""
    parser = configparser.ConfigParser()
    with open(path, encoding='ascii') as file:
        parser.read_file(file)
    expect(path, parser.sections() == ['libfuzzer'], f'has the sections {parser.sections()}')
    return dict(parser.items('libfuzzer'))


def check_flags(name, kind, found, known, wanted):
    for key, value in found.items():
        expect(name, key in known, f'libFuzzer does not know {key}')
        # ClusterFuzz takes a key of other letters for no flag at all, and then gives none.
        expect(name, re.fullmatch('[a-z_]+', key), f'{key} cannot be read by ClusterFuzz')
        expect(name, key not in OF_THE_FLEET, f'{key} is for the fleet to say')
        expect(name, key == 'dict' or value.isdecimal(), f'{key} = {value} is not a number')
    expect(name, found.get('entropic') == '0', 'entropic is on')
    expect(name, found.get('use_counters') == ('0' if kind == 'ops' else None), 'use_counters is not as its kind asks')
    expect(name, 'len_control' not in found, 'len_control is set')
    expect(name, found == wanted, f'{found} is not {wanted}, which ci/fuzz_common.sh gives')


def check_dictionary(name, out, found, engine):
    beside = os.path.exists(f'{out}/{name}.dict')
    expect(name, found.get('dict') == (f'{name}.dict' if beside else None), f'dict is {found.get("dict")}')
    if beside:
        status, said = run_engine(engine, f'-dict={out}/{name}.dict', '-runs=0')
        entries = re.search(r'^Dictionary: (\d+) entries', said, re.MULTILINE)
        expect(name, status == 0 and entries and int(entries[1]) > 0, f'libFuzzer cannot read the dictionary: {said[-300:]}')


def check_seeds(name, kind, out, max_len):
    path = f'{out}/{name}_seed_corpus.zip'
    if not os.path.exists(path):
        expect(name, kind == 'bytes', 'has no seeds')
        return
    with zipfile.ZipFile(path) as archive:
        seeds = archive.infolist()
        expect(name, archive.testzip() is None and seeds, 'its seeds cannot be unpacked')
        expect(name, len({seed.filename for seed in seeds}) == len(seeds), 'two seeds have one name')
        for seed in seeds:
            expect(name, '/' not in seed.filename, f'the seed {seed.filename} has a folder')
            expect(name, kind == 'bytes' or seed.file_size <= max_len, f'libFuzzer would cut the seed {seed.filename}')


def main():
    out, targets, engine, options = sys.argv[1:]
    # ` name   1   what it is for`, where 1 is the default.
    known = set(re.findall(r'^ (\w+)\s+-?\d+\s', run_engine(engine, '-help=1')[1], re.MULTILINE)) | {'dict'}
    expect(engine, 'max_len' in known and len(known) > 40, f'knows only {len(known)} flags')
    given = {}
    with open(options, encoding='utf-8') as lines:
        for line in lines:
            name, *words = line.split()
            pairs = (word[1:].split('=', 1) for word in words)
            given[name] = {key: os.path.basename(value) for key, value in pairs if key not in OF_THE_FLEET}
    with open(targets, encoding='ascii') as lines:
        rows = [line.split() for line in lines]
    expect(targets, len(rows) > 20, f'only {len(rows)} targets')
    for name, _, kind in rows:
        found = read_options(f'{out}/{name}.options')
        check_flags(name, kind, found, known, given[name])
        check_dictionary(name, out, found, engine)
        check_seeds(name, kind, out, int(found['max_len']))
    for failure in failures:
        print(f'FAILED: {failure}', file=sys.stderr)
    sys.exit(1 if failures else 0)


main()
