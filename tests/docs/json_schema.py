#!/usr/bin/env python3
"""Holds what the subcommands print with --json, and the files that a run leaves, against the schemas in docs/schema/.

    tests/docs/json_schema.py HBMSTRESS BAD_TARGET [--verbose]

BAD_TARGET is test_cli_bad_target.so of the build.  --verbose prints which members no command printed.

A published schema lets a reader accept members that are new to it.  Here each object is closed: a member that the program
prints and no schema describes is a failure, and so is a member, or a type of line, without a description.  The types of
lines in the schema, in the table of cli/README.md and in the C code are the same.  Each of them but those in UNSEEN is seen.

Exits with 0 when all holds, 1 when something does not, 2 on bad usage, 77 without python3-jsonschema.
"""
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print('python3-jsonschema is not there: see ci/setup')
    sys.exit(77)

SOURCE_TREE = pathlib.Path(__file__).resolve().parents[2]
SCHEMAS = SOURCE_TREE / 'docs/schema'
# Types that no sound program prints.
UNSEEN = {'disputed'}
# Folders whose code writes lines or the summary.
CODE = ('bug', 'campaign', 'cli', 'diagnosis', 'doctor', 'explain', 'infer', 'ladder', 'page', 'pod', 'present', 'recording',
        'replay')
# In them, what writes other documents: those of a code host and of SARIF, and the data of the page of a report.
OTHER_DOCUMENTS = ('present/annotation.c', 'present/sarif.c', 'present/page/', 'page/')
# Lines that are written under a type that a variable holds.
HELD_TYPES = {'verdict', 'disputed', 'told', 'assumed'}
FAULT_COUNT_MAX = 40

faults = []


def fault(text):
    faults.append(text)


# -- Schemas ----------------------------------------------------------------------------------------------------------

def read_schema(name):
    schema = json.loads((SCHEMAS / name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def close(definition, definitions):
    """The definition with the members of those that it includes, and no others."""
    if definition.get('type') != 'object' or 'properties' not in definition:
        return definition
    closed = copy.deepcopy(definition)
    for included in closed.pop('allOf', []):
        other = close(definitions[included['$ref'].rsplit('/', 1)[1]], definitions)
        closed['properties'] = {**other['properties'], **closed['properties']}
        closed['required'] = closed.get('required', []) + other.get('required', [])
    closed['additionalProperties'] = False
    return closed


def close_all(schema):
    return {**schema, '$defs': {name: close(each, schema['$defs']) for name, each in schema['$defs'].items()}}


def close_whole(schema):
    """The same of a schema that is an object itself."""
    return close(close_all(schema), schema['$defs'])


def make_validator(schema, name):
    """Of one definition; a line is held against that of its type, which says more than that none of seventy fits."""
    return jsonschema.Draft202012Validator(
        {'$schema': schema['$schema'], '$defs': schema['$defs'], '$ref': f'#/$defs/{name}'})


def find_types(schema):
    """The definitions that are lines, by their type."""
    return {each['properties']['type']['const']: name for name, each in schema['$defs'].items()
            if 'const' in each.get('properties', {}).get('type', {})}


def check_descriptions(where, schema):
    places = [(where, schema)] + [(f'{where}: {name}', each) for name, each in schema['$defs'].items()]
    for name, each in places:
        if not each.get('description'):
            fault(f'{name} has no description')
        for member, value in each.get('properties', {}).items():
            if member != 'type' and not value.get('description'):
                fault(f'{name}: {member} has no description')


# -- Where types are named --------------------------------------------------------------------------------------------

def find_types_in_readme():
    text = (SOURCE_TREE / 'cli/README.md').read_text()
    table = text[text.index('## JSON lines'):text.index('## Failures')]
    first_cells = [line.split('|')[1] for line in table.splitlines() if line.startswith('| `')]
    return {name for cell in first_cells for name in re.findall(r'`([a-z_]+)`', cell)}


def find_types_in_code():
    types = set()
    for folder in CODE:
        for path in (SOURCE_TREE / folder).rglob('*.c'):
            text = path.read_text()
            types.update(re.findall(r'(?:json|facts)_open\([^;"]*"([a-z_]+)"\)', text))
            types.update(re.findall(r'explain_lines\(\w+,\s*"[^"]*",\s*"([a-z_]+)"', text))
    return types | HELD_TYPES


def find_members(schema):
    return {member for each in (schema, *schema['$defs'].values()) for member in each.get('properties', {})}


def check_members(members):
    """No command makes the program print all members that it can; their names stand in the code."""
    for folder in CODE:
        for path in sorted((SOURCE_TREE / folder).rglob('*.c')):
            if str(path.relative_to(SOURCE_TREE)).startswith(OTHER_DOCUMENTS):
                continue
            text = path.read_text()
            named = re.findall(r'(?:json_(?:add_[a-z_]+|nest)|facts_(?!cell|open)[a-z_]+)\([^,;"]+,\s*"([a-z_0-9]+)"', text)
            named += re.findall(r'\{"([a-z_0-9]+)", TOTAL\(', text)
            for format in re.findall(r'say_json\(\w+,\s*((?:"[^"]*"|PRIu64|\s)+)', text):
                named += re.findall(r'([a-z][a-z_0-9.]*)\??:', format)
            for name in sorted(set(named) - members):
                fault(f'{path.relative_to(SOURCE_TREE)} names the member {name}, and no schema does')


def check_types(types):
    for where, named in (('cli/README.md', find_types_in_readme()), ('the C code', find_types_in_code())):
        for name in sorted(named - set(types)):
            fault(f'{where} names the type {name}, and the schema does not')
        for name in sorted(set(types) - named):
            fault(f'the schema names the type {name}, and {where} does not')


# -- What the program prints ------------------------------------------------------------------------------------------

class Lines:
    def __init__(self, schema):
        closed = close_all(schema)
        self.schema = schema
        types = find_types(schema)
        types[None] = 'entry'  # of list
        self.closed = {type_name: make_validator(closed, name) for type_name, name in types.items()}
        self.open = {type_name: make_validator(schema, name) for type_name, name in types.items()}
        self.seen = set()
        self.members = {}
        self.samples = {}

    def check_promises(self):
        """A new member is no reason for a reader to refuse a line; the lack of a required one is."""
        for name, value in self.samples.items():
            grown = {**value, 'member_of_a_later_version': 1}
            if not self.open[name].is_valid(grown) or self.closed[name].is_valid(grown):
                fault(f'{name}: a new member is refused by the published schema, or accepted by the closed one')
            required = list(value)[1]
            shrunk = {key: each for key, each in value.items() if key != required}
            if required in self.required(name) and (self.open[name].is_valid(shrunk) or self.closed[name].is_valid(shrunk)):
                fault(f'{name}: a line without {required} is accepted')

    def required(self, name):
        definition = self.schema['$defs'][find_types(self.schema).get(name, 'entry')]
        return close(definition, self.schema['$defs']).get('required', [])

    def check(self, where, text):
        for number, line in enumerate(text.splitlines(), 1):
            try:
                value = json.loads(line)
            except ValueError as error:
                fault(f'{where}: line {number} is no JSON: {error}')
                continue
            name = value.get('type')
            if name not in self.closed:
                fault(f'{where}: line {number} has the type {name}')
                continue
            self.seen.add(name)
            self.samples[name] = value
            self.members.setdefault(name, set()).update(value)
            for validator in (self.closed[name], self.open[name]):
                error = jsonschema.exceptions.best_match(validator.iter_errors(value))
                if error is not None:
                    path = '.'.join(str(each) for each in error.absolute_path)
                    fault(f'{where}: line {number}, {name}, {path}: {error.message[:300]}')
                    break


def run(program, lines, directory, arguments, codes=(0, 1, 3)):
    result = subprocess.run([program] + arguments + ['--json'], cwd=directory, capture_output=True, text=True, check=False)
    where = 'hbmstress ' + ' '.join(arguments)
    if result.returncode not in codes:
        fault(f'{where}: exit {result.returncode}: {result.stderr[:300]}')
    lines.check(where, result.stdout)


FILES = {
    'job.ops': '''hbmstress-ops 1
capacity 16M
hosts 3
clocks own
group 1 0-1 "data 0"
target hbm
seed 1
tag 1 "train_step"
0: load size=1M stack=64K tag=1
1: load size=1M stack=64K tag=1 host=1
2: alloc size=8M
3: alloc size=20M host=1
4: execute program=0 delay=1ms collective=1
5: execute program=1 delay=1ms collective=1 host=1
6: execute program=0 delay=1ms collective=1
7: alloc size=1M host=2
''',
    'odd.ops': '''hbmstress-ops 1
capacity 16M
hosts 4
clocks own
group 1 1,3 "data 1"
target plant_spmd_one_host
option defrag=slide
seed 1
0: alloc size=10M host=1
1: alloc size=10M host=3
2: free_after block=0 delay=1ms host=1
3: free_after block=1 delay=1ms host=3
4: alloc size=12M host=1 spmd=1
5: alloc size=12M host=3 spmd=1
''',
    'message.log': 'bfc_arena.cc:342 Available memory of 1024 is smaller than requested bytes of 2048\n',
}

# One list a line, words separated by blanks; what a line leaves in the directory the next ones use.
COMMANDS = '''
list targets
list plants
list causes
list remedies
list exporters
list scenarios
list rules
list faults
list probes
list chips
list formats
list jobs
list strategies
run fragmentation_storm --target plant_premature_last_hole --seeds 2 --seed 7 --lanes none --keep 1 --shrink-budget 100 --out found
run fragmentation_storm exact_edge --seed 1 --ops 3000 --out sound
run slow_leak --lanes none --seed 1 --seeds 1 --ops 60000 --keep 1 --out leak
run training --hosts 4 --chip v4 --until 300 -S leak=none --seed 1 --out story
run fragmentation_storm --target hbm --faults all --seed 3 --ops 2000 --lanes none --out faults
run queued_free_race --target race_limit_checked --lanes 3 --seed 1 --seeds 1 --out lanes
run serving_beside_training --target hbm --seed 1 --faults none --lanes none --ops 2000 --out serving
run reacting_clients --seed 1 --ops 2000 --lanes none --out clients
run fragmentation_storm --target BAD -O fails=crash --seed 1 --seeds 2 --out died
run fragmentation_storm --seed 1 --ops 60 --sweep --out sweep
run fragmentation_storm eviction_pressure --target plant_failed_image --seed 1 --ops 100 --sweep --shrink-budget 20 --out swept
run fragmentation_storm --target plant_premature_last_hole --seeds 2 --seed 7 --lanes none --baseline known --shrink-budget 100 --out again
run crowded fragmentation_storm --seed 1 --seeds 2 --ops 400 --shard 1/2 --out shard-1
run crowded fragmentation_storm --seed 1 --seeds 2 --ops 400 --shard 2/2 --out shard-2
merge shard-1 shard-2 --out merged
run --job scenarios/jobs/smoke.ini --ops 200 --out smoke
replay corpus/causes/refused_though_it_fits.ops
replay corpus/causes/leak.ops --times 2
replay corpus/clients/all_wait.ops
replay corpus/serving/wakes_too_early.ops
replay corpus/field/bfc/bare.log --compare
replay corpus/regressions/lanes_comes_back_and_moves_on.ops --strategy pct=3 --schedules 5
replay corpus/regressions/lanes_comes_back_and_moves_on.ops --strategy exhaustive --schedules 5
explain corpus/causes/leak.ops --timeline
explain corpus/causes/leak.ops --capacity 128M --until 80000
explain corpus/causes/fragmented.ops --what-if
explain corpus/causes/refused_though_it_fits.ops
explain corpus/causes/leak-near.ops
explain corpus/causes/leak-near.ops corpus/causes/leak.ops
explain corpus/clients/all_wait.ops
explain corpus/hangs/another_order.ops
explain corpus/regressions/hbm_repack_nearly_full.ops
explain corpus/serving/wakes_too_early.ops
explain corpus/field/bfc/bare.log
explain corpus/field/bfc/xla_two_dumps.log
explain corpus/field/buffer_assignment/small.txt
explain corpus/field/device_stats/checks_fail.txt
explain corpus/field/hbm_report/arguments_prefixed.log
explain corpus/field/hbm_report/gpu.log
explain corpus/field/kineto/out_of_memory.json
explain corpus/field/kineto/window.json
explain corpus/field/tpu_message/buffer_below_free_large.log
explain message.log
explain corpus/causes/leak.ops --timeline --alarm 90%
watch found
check CERTIFICATE
compare first_fit buddy corpus/causes/leak-near.ops --contract declared --shrink-budget 50
compare first_fit buddy --robson -S live=64 -S largest=8 -S smallest=512
scale --chip v5e,v4 --until 20 -S leak=none -S batch=4,8 --search 3 --out scale.jsonl
scale --chip v5e,v4 --until 20 -S leak=none -S batch=4,8 --search 3 --against scale.jsonl
infer first_fit
infer hbm
compare --blocks 100 --full 70 --steps 100
doctor
doctor --target hbm
pod job.ops --out pod-job
pod odd.ops --out pod-odd
budget corpus/causes/leak.ops --peak 30M --tag-peak losses=1M --growth-per-step 0 --fragmentation 5%
budget corpus/causes/leak-near.ops --peak 30M --target BAD
'''


# -- All --------------------------------------------------------------------------------------------------------------

def prepare(directory):
    for name, text in FILES.items():
        (directory / name).write_text(text)
    for folder in ('corpus', 'scenarios'):
        (directory / folder).symlink_to(SOURCE_TREE / folder)


def run_all(program, bad_target, lines, directory):
    for command in COMMANDS.strip().splitlines():
        arguments = [bad_target if word == 'BAD' else word for word in command.split()]
        if 'CERTIFICATE' in arguments:
            found = sorted(str(each.relative_to(directory)) for each in directory.glob('found/certificates/*.json'))
            arguments = [each for each in arguments if each != 'CERTIFICATE'] + found[:2]
        if '--baseline' in arguments:
            known = subprocess.run([program, 'report', '--baseline', 'found'], cwd=directory, capture_output=True, check=True)
            (directory / 'known').write_bytes(known.stdout)
        if '--against' in arguments:
            stored = directory / 'scale.jsonl'
            stored.write_text(re.sub(r'"peak_bytes":\d+', '"peak_bytes":4096', stored.read_text()))
        run(program, lines, directory, arguments)


def check_files(lines, directory):
    """What the runs left."""
    schema = read_schema('hbmstress-summary-1.json')
    check_descriptions('summary', schema)
    validators = [jsonschema.Draft202012Validator(each) for each in (close_whole(schema), schema)]
    for path in sorted(directory.glob('*/results.jsonl')):
        lines.check(f'{path.parent.name}/results.jsonl', path.read_text())
    paths = sorted(directory.glob('*/summary.json'))
    for path in paths:
        for validator in validators:
            error = jsonschema.exceptions.best_match(validator.iter_errors(json.loads(path.read_text())))
            if error is not None:
                fault(f'{path.parent.name}/summary.json: {list(error.absolute_path)}: {error.message[:300]}')
    if not paths:
        fault('no run left a summary.json')


def print_unseen(lines, schema, types):
    for name, definition in sorted(types.items()):
        whole = close(schema['$defs'][definition], schema['$defs'])
        print(name, 'never seen:', *sorted(set(whole['properties']) - lines.members.get(name, set())))


def main():
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    program, bad_target = (str(pathlib.Path(each).resolve()) for each in sys.argv[1:3])
    schema = read_schema('hbmstress-lines-1.json')
    lines = Lines(schema)
    types = find_types(schema)
    check_descriptions('lines', schema)
    check_types(types)
    check_members(find_members(schema) | find_members(read_schema('hbmstress-summary-1.json')))
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        prepare(directory)
        run_all(program, bad_target, lines, directory)
        check_files(lines, directory)
    lines.check_promises()
    for name in sorted(set(types) - lines.seen - UNSEEN):
        fault(f'no command printed a line of the type {name}')
    if '--verbose' in sys.argv:
        print_unseen(lines, schema, types)
    for text in faults[:FAULT_COUNT_MAX]:
        print(text)
    print(f'{len(faults)} faults; {len(lines.seen)} types of lines seen')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
