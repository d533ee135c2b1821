#!/usr/bin/env python3
"""Compares two checkers of certificates, hbm-certificate-check and certificate_check.py, on honest and changed ones.

    tests/checker/certificate_compare.py HBMSTRESS CHECKER [--count N] [--seed N] [--keep DIR]

The op lists of the corpus, of scenarios, and some that are drawn for hosts with a time of their own are replayed on
several targets; that leaves certificates, lists and logs.  Both checkers must accept all of them.  Then N of them are
changed: in the document, in the list, in the log, or by taking one of these from elsewhere.  Both checkers must give the
same answer on each, and an accepted change must be one that the table below explains.  Exits with 0 when that holds, otherwise with 1; what differs is kept in DIR.
"""
import argparse
import collections
import dataclasses
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

from certificate_check import answer, check_document, read_document
from certificate_history import compare, read_history
from draw_hosts import draw_list

SOURCE_TREE = pathlib.Path(__file__).resolve().parents[2]
CODES = {'valid': 0, 'refuted': 1, 'unreadable': 2}
STREAMED = ('exact_edge', 'queued_free_race')
SCENARIOS = ('fragmentation_storm', 'eviction_pressure', 'queued_free_race')
TARGETS = ('first_fit -O defrag=slide -O drains=yes', 'first_fit -O defrag=repack -O evicts=yes -O drains=yes',
           'first_fit -O defrag=slide -O rounding=classes8', 'hbm -O defrag=repack', 'hbm -O defrag=none')
# Each replays so many lists of hosts that are drawn.
HOST_TARGETS, HOST_LISTS = ('hbm', 'first_fit', 'streamed', 'segments'), 6
# Of a scenario; of the corpus all are taken.  By day it is of each fourth replay, and of the corpus as well.
IS_WHOLE = os.environ.get('HBMSTRESS_TESTS') == 'full'
PER_LIST_MAX, PERIOD = (40, 1) if IS_WHOLE else (10, 4)
# Few proofs have moves, or a log: that many are drawn for a change of these.
TRIES = 50
# Of a certificate that Python checks in more than about two seconds: it is left out, and counted.
LOG_LETTERS_MAX, SETS_MAX, BLOCKS_MAX, MOVES_TIMES_BLOCKS_MAX = 300_000, 100_000, 20_000, 5_000_000
FACTS = ('list', 'device', 'contract', 'refused', 'request', 'blocks')


@dataclasses.dataclass(frozen=True)
class Case:
    """A certificate with the list and the log that it is checked with, and what was done to it."""
    text: str
    list: str = None
    log: str = None
    change: str = 'none'
    origin: 'Case' = None


# -- Honest certificates ----------------------------------------------------------------------------------------------

def run_quietly(command, folder):
    subprocess.run([str(word) for word in command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=False)


def list_replays(hbmstress, folder):
    """The (op list, options) of each replay."""
    lists = sorted([*SOURCE_TREE.glob('corpus/*/*.ops'), *SOURCE_TREE.glob('corpus/field/ops/*.ops'),
                    SOURCE_TREE / 'tests/cli/cli_unknown.ops'])
    replays = [(path, ()) for path in lists]
    for name in SCENARIOS:
        run_quietly([hbmstress, 'run', name, *'-t first_fit -O defrag=repack --seed 3 --seeds 1 --ops 400 --faults none '
                     '--shrink-budget 0 --out'.split(), name], folder)
        path = next((folder / name / 'repros').glob('premature-*.ops'))
        replays += [(path, ('-t', *target.split())) for target in TARGETS]
    # Messages alone: what they do not say is assumed.
    for path in sorted(SOURCE_TREE.glob('corpus/field/t[po]*_message/*.log')):
        ops = folder / f'{path.stem}.ops'
        run_quietly([hbmstress, 'convert', path, '--to', 'ops', '-o', ops], folder)
        replays += [(ops, options) for options in ((), ('-O', 'defrag=slide'), ('-O', 'defrag=none')) if ops.exists()]
    # A target that grows; its lists have none of the options of the others.
    for capacity in ('48M', '96M'):
        run_quietly([hbmstress, 'run', 'queued_free_race', *'-t segments --seed 5 --seeds 1 --ops 400 --faults all --keep 1 '
                     '--capacity'.split(), capacity, '--out', 'segments-' + capacity], folder)
        replays += [(path, ()) for path in sorted((folder / ('segments-' + capacity) / 'kept').glob('*.ops'))]
    for options in ('empty=keep', 'trims=no'):
        replays += [(path, ('-t', 'segments', '-O', options)) for path, _ in replays[-2:]]
    # Targets whose blocks align naturally, on a device that is no power of two.
    for target in ('buddy', 'plant_buddy_late'):
        run_quietly([hbmstress, 'run', 'queued_free_race', '-t', target, *'--seed 5 --seeds 1 --ops 400 --faults all --keep 1 '
                     '--capacity 72M --out'.split(), target], folder)
        replays += [(path, ()) for path in sorted((folder / target / 'kept').glob('*.ops'))]
    return replays + list_streamed(hbmstress, folder) + list_shared(hbmstress, folder) + list_hosts(folder)


def list_hosts(folder):
    """Lists of several hosts: clocks of their own, groups, bounds, streams and lost events."""
    replays = []
    for target in HOST_TARGETS:
        for i in range(HOST_LISTS):
            path = folder / f'hosts-{target}-{i}.ops'
            path.write_text(draw_list(random.Random(f'{target} {i}'), target))
            replays.append((path, ()))
    return replays


def list_shared(hbmstress, folder):
    """Hosts that share a device, by turns and in regions; one does not give back what it promised."""
    replays = []
    for target in ('hbm', 'segments', 'segments -O empty=keep -O trims=yes'):
        made = f'shared-{len(replays)}'
        run_quietly([hbmstress, 'run', 'serving_beside_training', '-t', *target.split(),
                     *'--seed 4 --seeds 1 --ops 300 --capacity 1G --faults all --keep 1 --out'.split(), made], folder)
        replays += [(path, ()) for path in sorted((folder / made / 'kept').glob('*.ops'))]
    return replays


def list_streamed(hbmstress, folder):
    """Of a target whose frees are ordered by streams; some of its certificates have memory that is kept."""
    replays = []
    for name in STREAMED:
        run_quietly([hbmstress, 'run', name, *'-t streamed --seed 5 --seeds 1 --ops 600 --faults all --keep 1 --out'.split(),
                     'streamed-' + name], folder)
        paths = sorted((folder / ('streamed-' + name) / 'kept').glob('*.ops'))
        replays += [(path, ('-t', 'streamed', '-O', 'drains=' + drains)) for path in paths for drains in ('no', 'yes')]
    return replays


def make_certificates(hbmstress, folder, chance):
    """Gives the cases of each replay, and how many certificates are too large."""
    replays, large_count = [], 0
    for i, (path, options) in enumerate(list_replays(hbmstress, folder)[::PERIOD]):
        made = folder / f'replay-{i}'
        run_quietly([hbmstress, 'replay', path, *options, '--replay-sample', 0, '--certificates', made], folder)
        texts = [file.read_text() for file in sorted(made.glob('op-*.json'))]
        small = [text for text in texts if not is_large(json.loads(text))]
        large_count += len(texts) - len(small)
        if small:
            beside = (made / 'list.ops').read_text(), (made / 'observations.jsonl').read_text()
            most = len(small) if IS_WHOLE and not options else PER_LIST_MAX
            replays.append([Case(text, *beside) for text in chance.sample(small, min(len(small), most))])
    return replays, large_count


def is_large(document):
    proof = document['proof']
    return (len(proof.get('log', '')) > LOG_LETTERS_MAX or proof.get('sets', 0) > SETS_MAX
            or len(document['blocks']) > BLOCKS_MAX
            or len(proof.get('moves', ())) * len(document['blocks']) > MOVES_TIMES_BLOCKS_MAX)


# -- Changes of a text ------------------------------------------------------------------------------------------------

NUMBERS = ('0', '1', '-1', '2', '511', '512', '4611686018427387904', '9223372036854775807', '9223372036854775808',
           '-9223372036854775808', '99999999999999999999999', '1.0', '1e3', 'true', 'null', 'NaN', '"512"', '00')
WORDS = ('justified', 'premature', 'unknown', 'none', 'slide', 'repack', 'buffer', 'program', 'output', 'retired', 'live',
         'dying', 'stack', 'spans', 'rounding', 'search', 'table', 'fills', 'patterns', 'plan', 'budget', 'plain', 'aligned', 'held',
         'kept', 'ok', 'no_memory', 'failed', 'skipped', 'never', 'copy', 'wait', 'hbm', 'first_fit', 'any', 'true', 'false', '')


def substitute(chance, pattern, text, change):
    """Replaces one match of the pattern, any of them, by what change(match) gives."""
    matches = list(re.finditer(pattern, text))
    if not matches:
        return text
    match = chance.choice(matches)
    return text[:match.start()] + change(match) + text[match.end():]


def change_number(chance, text):
    def change(match):
        number = int(match[0])
        return chance.choice((str(number + 1), str(number - 1), str(number + 512), str(number * 2), str(number // 2),
                              chance.choice(NUMBERS)))
    return substitute(chance, r'(?<![\w.])-?\d{1,19}(?![\w.])', text, change)


def change_word(chance, text):
    return substitute(chance, r'(?<=[ "=])[a-z_]{2,}(?=["\n, ])|true|false', text, lambda match: chance.choice(WORDS))


def change_letter(chance, text):
    place = chance.randrange(len(text))
    letter = chance.choice((chr(chance.randrange(32, 127)), 'b', 'c', 'f', '0', '\n', '\0', '\x7f', 'ß', ''))
    return text[:place] + letter + text[place + 1:]


def change_proof_letter(chance, text):
    return substitute(chance, '(?<="log": ")[bcf]+', text, lambda match: change_letter(chance, match[0]))


def change_line(chance, text):
    lines = text.splitlines(keepends=True)
    i = chance.randrange(len(lines))
    other = chance.randrange(len(lines))
    lines[i:i + 1] = chance.choice(([], [lines[i]] * 2, [lines[other]], [lines[i], lines[other]]))
    return ''.join(lines)


def cut(chance, text):
    return text[:chance.randrange(len(text))]


MEMBER = r'("[a-z_0-9]+": )("[^"]*"|-?\d+|true|false)(, )?'


def drop_member(chance, text):
    return substitute(chance, MEMBER, text, lambda match: '')


def double_member(chance, text):
    return substitute(chance, MEMBER, text, lambda match: f'{match[1]}{match[2]}, {match[0]}')


def rename_member(chance, text):
    return substitute(chance, '"([a-z_0-9]+)":', text,
                      lambda match: chance.choice((f'"{match[1]}x":', f'"{match[1][:-1]}":', '"about":', '"align":')))


def change_value(chance, text):
    hostile = ('[' * 3000 + ']' * 3000, '{}', '[]', '[[]]', '"\\u0000"', '"\\ud800"', 'Infinity', '1e999', '-0', '""', '01')
    return substitute(chance, r'(?<=": )("[^"]*"|-?\d+|true|false)', text, lambda match: chance.choice(hostile))


def change_list_of(*names):
    """Drops, doubles or moves an element of one of these arrays."""
    def change(chance, text):
        document = json.loads(text)
        arrays = [document['proof'].get(name) or document.get(name) for name in names]
        if not any(arrays):
            return text
        array = chance.choice([array for array in arrays if array])
        element = array.pop(chance.randrange(len(array)))
        for _ in range(chance.randrange(3)):
            array.insert(chance.randrange(len(array) + 1), element)
        return json.dumps(document)
    return change


def change_about(chance, text):
    document = json.loads(text)
    document['about'] = chance.choice((None, 1.5, [], {'x': {'op': -1}}, 'why'))
    return json.dumps(document)


DOCUMENT = {'number': change_number, 'word': change_word, 'letter': change_letter, 'letter of a search': change_proof_letter,
            'line': change_line, 'cut': cut, 'member dropped': drop_member, 'member doubled': double_member,
            'member renamed': rename_member, 'value': change_value, 'moves, evictions': change_list_of('moves', 'evict'),
            'blocks': change_list_of('blocks'), 'about': change_about}
TEXT = {'number': change_number, 'word': change_word, 'letter': change_letter, 'line': change_line, 'cut': cut}


# -- Changed certificates ---------------------------------------------------------------------------------------------

def change_document(chance, kinds):
    name = chance.choice(list(DOCUMENT))
    for _ in range(TRIES):
        origin = chance.choice(chance.choice(kinds))
        text = DOCUMENT[name](chance, origin.text)
        if text != origin.text:
            break
    beside = chance.choice(((origin.list, origin.log), (origin.list, origin.log), (origin.list, None), (None, None)))
    return [Case(text, *beside, f'document: {name}', origin)] if text != origin.text else []


def swap_proof(chance, kinds):
    origin, other = chance.choice(chance.choice(kinds)), chance.choice(chance.choice(kinds))
    document, taken = json.loads(origin.text), json.loads(other.text)
    for name in chance.choice((('proof',), ('proof', 'claim'), ('blocks',), ('request',), ('list',))):
        document[name] = taken[name]
    return [Case(json.dumps(document), origin.list, origin.log, 'document: part of another', origin)]


def change_beside(which):
    """The list or the log of a replay is changed, and checked with some of its certificates."""
    def change(chance, replays):
        replay = chance.choice(replays)
        name = chance.choice(list(TEXT))
        text = TEXT[name](chance, getattr(replay[0], which))
        return [dataclasses.replace(case, **{which: text}, change=f'{which}: {name}', origin=case)
                for case in chance.sample(replay, min(len(replay), 8))]
    return change


def swap_beside(chance, replays):
    replay, other = chance.sample(replays, 2)
    names, change = chance.choice(((('list', 'log'), 'list and log: another'), (('list',), 'list: another'),
                                   (('log',), 'log: another')))
    beside = {name: getattr(other[0], name) for name in names}
    return [dataclasses.replace(case, **beside, change=change, origin=case)
            for case in chance.sample(replay, min(len(replay), 8))]


def make_changed(chance, replays, count):
    """The kind of proof is drawn first, because most proofs are by rounding."""
    kinds = collections.defaultdict(list)
    for case in (case for replay in replays for case in replay):
        kinds[json.loads(case.text)['proof']['kind']].append(case)
    kinds = list(kinds.values())
    makers = [(change_document, kinds, 24), (swap_proof, kinds, 2), (change_beside('list'), replays, 1),
              (change_beside('log'), replays, 1), (swap_beside, replays, 1)]
    cases = []
    while len(cases) < count:
        maker, source, _ = chance.choices(makers, [weight for _, _, weight in makers])[0]
        cases += [case for case in maker(chance, source)
                  if (case.text, case.list, case.log) != (case.origin.text, case.origin.list, case.origin.log)]
    return cases[:count]


# -- Both checkers ----------------------------------------------------------------------------------------------------

def group_cases(cases):
    """The indexes of those with one list and one log, which both checkers then read once."""
    groups = collections.defaultdict(list)
    for i, case in enumerate(cases):
        groups[case.list, case.log].append(i)
    return groups


def ask_python(cases):
    answers = {i: answer(check, cases[i].text, cases[i].list, cases[i].log)
               for members in group_cases(cases).values() for i in members}
    return [answers[i] for i in range(len(cases))]


def ask_checker(checker, cases, folder):
    """Gives the (code, reason) of hbm-certificate-check on each."""
    answers = {}
    for (list_text, log_text), members in group_cases(cases).items():
        beside = write(folder, 'list', '--list', list_text) + write(folder, 'log', '--observations', log_text)
        for i in members:
            (folder / f'{i}.json').write_text(cases[i].text, errors='surrogatepass')
        names = [f'{i}.json' for i in members]
        done = subprocess.run([checker, *beside, *names, *names[:1]], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, text=True, errors='replace')
        answers |= read_answers(done, members)
    return [answers[i] for i in range(len(cases))]


def check(text, list_text=None, log_text=None):
    """Gives what the Python checkers say, as hbm-certificate-check does with --list and --observations."""
    history = None if list_text is None else read_history(list_text, log_text)
    document = read_document(text)
    reason = check_document(document)
    return reason if history is None else f'{reason}; {compare(document, *history)}'


def write(folder, name, option, text):
    if text is None:
        return []
    (folder / name).write_text(text)
    return [option, name]


def read_answers(done, members):
    found = {int(number): (CODES[word], reason)
             for number, word, reason in re.findall(r'^(\d+)\.json: (valid|refuted|unreadable): (.*)', done.stdout, re.M)}
    if not found and done.returncode == 2:
        return {i: (2, done.stdout.strip()) for i in members}
    return {i: found.get(i, (-1, f'no answer, exit code {done.returncode}: {done.stdout[-300:]}')) for i in members}


def explain(case):
    """Why a changed certificate may be accepted; None if it may not."""
    if case.text == case.origin.text:
        named = json.loads(case.text)['list']
        if case.list != case.origin.list and not is_same_list(case, named):
            return None
        return 'the list and the log show the same'
    changed, honest = json.loads(case.text), json.loads(case.origin.text)
    differing = [name for name in honest if name != 'about' and changed[name] != honest[name]]
    if not differing:
        return 'about, or another spelling'
    if differing == ['proof'] and is_another_assumption(changed['proof'], honest['proof'], case.list is not None):
        return None
    if differing in (['proof'], ['claim', 'proof']):
        return 'another proof of it'
    if case.log is None or re.search(' lane=|: switch', case.list):
        return 'a fact that nothing binds here'
    return None


def is_another_assumption(changed, honest, has_list):
    """Whether what is assumed, or what follows from it, differs where it is bound."""
    names = ('reported', 'assumed', 'placed', 'bytes', 'premature_unless') if has_list else ('bytes', 'premature_unless')
    is_bound = has_list or changed.get('reported') == honest.get('reported')
    return changed['kind'] == honest['kind'] == 'assumed' and is_bound and any(
        changed[name] != honest[name] for name in names)


def is_same_list(case, named):
    """Whether the lines that count are those of the origin: without lanes, those up to the op."""
    def count(text):
        lines = [line for line in text.splitlines() if line and line[0] != '#']
        if re.search(' lane=|: switch', text):
            return [line for line in lines if ': switch' not in line]
        return lines[:next((i for i, line in enumerate(lines) if line.startswith(f"{named['op']}: ")), None) + 1]
    return count(case.list) == count(case.origin.list)


def judge(case, first, second):
    """What is wrong with the two answers, or None."""
    if first[0] != second[0]:
        return 'the checkers disagree'
    if case.origin is None and first[0] != 0:
        return 'an honest certificate is refused'
    if case.origin is not None and first[0] == 0 and explain(case) is None:
        return 'a change is accepted that nothing explains'
    return None


def keep(folder, number, case, fault, first, second):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (('json', case.text), ('ops', case.list), ('jsonl', case.log)):
        if text is not None:
            (folder / f'{number}.{name}').write_text(text)
    print(f'{folder / str(number)}.json: {fault}: {case.change}\n  C       {first[0]} {first[1][:300]}\n'
          f'  Python  {second[0]} {second[1][:300]}')


def main():
    parser = argparse.ArgumentParser(description='Compares two checkers of certificates.')
    parser.add_argument('hbmstress', type=pathlib.Path)
    parser.add_argument('checker', type=pathlib.Path)
    parser.add_argument('--count', type=int, default=10000, help='changed certificates')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--keep', type=pathlib.Path, default=pathlib.Path('certificates-differ'))
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        replays, large_count = make_certificates(options.hbmstress.resolve(), folder, chance)
        honest = [case for replay in replays for case in replay]
        cases = honest + make_changed(chance, replays, options.count)
        firsts = ask_checker(options.checker.resolve(), cases, folder)
    seconds = ask_python(cases)
    faults = [(i, fault) for i, case in enumerate(cases) if (fault := judge(case, firsts[i], seconds[i]))]
    for i, fault in faults:
        keep(options.keep, i, cases[i], fault, firsts[i], seconds[i])
    print_table(cases, seconds)
    print(f'{len(honest)} honest certificates, {len(cases) - len(honest)} changed ones, {large_count} too large, '
          f'{len(faults)} wrong; seed {options.seed}')
    return 1 if faults else 0


def print_table(cases, answers):
    rows = collections.defaultdict(collections.Counter)
    for case, (code, _) in zip(cases, answers):
        why = explain(case) if code == 0 and case.origin else None
        rows[case.change] += collections.Counter(['made', list(CODES)[code]] + ([why] if why else []))
    for change, row in sorted(rows.items()):
        whys = ', '.join(f'{row[why]} {why}' for why in sorted(row) if why not in ('made', *CODES))
        print(f'{change:32} {row["made"]:6} {row["refuted"]:6} refuted {row["unreadable"]:6} unreadable '
              f'{row["valid"]:6} accepted{": " * bool(whys)}{whys}')


if __name__ == '__main__':
    sys.exit(main())
