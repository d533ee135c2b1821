#!/usr/bin/env python3
"""Prints what each option of the scenario `training` changes, as a table for docs/training.md.

    training_knobs.py HBMSTRESS [--hosts 4] [--chip v4] [--until 600] [--seed 1] [OPTIONS...]

OPTIONS are rows such as "tensor=2 model=100"; without any, all of the page are run, one after the
other.  What happened is read from the logs that the hosts leave, how full the fullest host was from
`hbmstress watch`.  The same arguments give the same table.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROWS = (
    '', 'batch=6', 'batch=9', 'sequence=1024', 'sequence=4096', 'remat=yes', 'accumulation=2',
    'accumulation=4', 'sharding=optimizer', 'sharding=full', 'tensor=2', 'tensor=2 model=100',
    'pipeline=2', 'pipeline=2 model=100', 'pipeline=4', 'pipeline=2 accumulation=4', 'model=96',
    'model=110', 'donation=no', 'prefetch=1', 'prefetch=4', 'held=0', 'held=32', 'cache=1',
    'cache=8', 'shapes=1', 'shapes=4', 'shapes=8', 'checkpoint=weights', 'checkpoint=shards',
    'checkpoint_every=10', 'checkpoint_every=never', 'evaluate_every=10', 'evaluate_every=never',
    'log_every=1', 'log_every=10', 'reduce_every=10', 'reduce_every=600', 'leak=none', 'leak=all',
    'silent=2', 'silent=2 leak=none', 'silent=2 reduce_every=600', 'killed=2 reduce_every=600',
    'framework=torch_xla', 'timeout=never',
)


def read_log(path):
    """The last step that the host printed (-1: none), and how its log ends."""
    text = path.read_text()
    steps = re.findall(r'(?:completed step: |INFO - step )(\d+)', text)
    if 'RESOURCE_EXHAUSTED' in text:
        end = 'ran out'
    elif 'Training finished' in text:
        end = 'finished'
    elif 'DEADLINE_EXCEEDED' in text:
        end = 'waited'
    else:
        end = 'silent'
    return (int(steps[-1]) if steps else -1), end


def name_hosts(hosts):
    words = [str(host) for host in sorted(hosts)]
    return ('host ' if len(words) == 1 else 'hosts ') + \
        (words[0] if len(words) == 1 else ', '.join(words[:-1]) + ' and ' + words[-1])


def describe(folder, hosts):
    """What happened, of each kind of end the step in which it came."""
    ends = {}
    for host in range(hosts):
        step, end = read_log(folder / 'logs' / f'host-{host}.log')
        ends.setdefault((end, step), []).append(host)
    words = []
    for (end, step), which in sorted(ends.items(), key=lambda item: item[0][1]):
        who = 'every host' if len(which) == hosts else name_hosts(which)
        if end == 'ran out':
            words.append(f'{who} out of memory in step {step + 1}')
        elif end == 'silent' and not any(kind == 'finished' for kind, _ in ends):
            words.append(f'{who} silent after step {step}')
    return '; '.join(words) or ('all steps fit' if all(kind == 'finished' for kind, _ in ends)
                                else 'somebody waits in vain')


def measure(options, arguments):
    command = [arguments.program, 'run', 'training', '--hosts', str(arguments.hosts), '--chip',
               arguments.chip, '--until', str(arguments.until), '--seed', str(arguments.seed),
               '--shrink-budget', '0']
    for option in options.split():
        command += ['-S', option]
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(command + ['--out', folder], capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"{' '.join(command)} exits with {run.returncode}: {run.stderr}")
        watched = subprocess.run([arguments.program, 'watch', folder], capture_output=True,
                                 text=True, check=True).stdout
        full = re.search(r'peak .*\((\d+)%\)', watched)
        ops = re.search(r': (\d+) ops', run.stdout)
        return (describe(pathlib.Path(folder), arguments.hosts), full.group(1) if full else '?',
                int(ops.group(1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('options', nargs='*')
    parser.add_argument('--hosts', type=int, default=4)
    parser.add_argument('--chip', default='v4')
    parser.add_argument('--until', type=int, default=600)
    parser.add_argument('--seed', type=int, default=1)
    arguments = parser.parse_args()
    print('| options | what happens | fullest | ops |\n|---|---|---|---|')
    for options in arguments.options or ROWS:
        what, full, ops = measure(options, arguments)
        name = ' '.join(f'`{option}`' for option in options.split()) or 'the defaults'
        print(f'| {name} | {what} | {full} % | {ops:,} |', flush=True)


if __name__ == '__main__':
    main()
