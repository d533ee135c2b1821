#!/usr/bin/env python3
"""Both checkers refuse a certificate of a message alone whose condition or assumption is a little off.

    tests/checker/certificate_assumed.py HBMSTRESS CHECKER

Messages of corpus/field are replayed; of some nothing may move, and the blocks are placed by assumption.  Their certificates are right; each forgery below is wrong, with the
list and its log, and, unless it says otherwise, alone.
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

from certificate_check import answer
from certificate_compare import check

FIELD = pathlib.Path(__file__).resolve().parents[2] / 'corpus/field'
PINS = ('buffer_below_free', 'buffer_below_free_large', 'buffer_pieces', 'driver', 'program_reserve_pieces')
IMAGE = 'program_reserve_image'
PLACED = ('a1_cached', 'b3_unallocated', 'b3_allowed_hip', 'b1_fraction_not_said')


def add_to(name, bytes_more):
    def forge(proof):
        proof['premature_unless'][name] += bytes_more
    return forge


def put(name, value):
    def forge(proof):
        proof[name] = value(proof) if callable(value) else value
    return forge


def widen(name, end, bytes_more):
    """Ranges far from those of the list: another condition follows."""
    def forge(proof):
        proof['reported'][name][end] += bytes_more
    return forge


BOTH = ('a condition', 'nothing is placed by assumption', 'a block twice', 'a block that is not there', 'a move',
        'the two proofs are one', 'no proof of the other heap')

# What is done to the proof, and whether it is wrong without the list, too.
FORGERIES = {
    'a byte more': (add_to('bytes', 1), True),
    'a granule more': (add_to('bytes', 512), True),
    'a granule less': (add_to('bytes', -512), True),
    'from a granule lower': (add_to('from', -512), True),
    'from a granule higher': (add_to('from', 512), True),
    'to a granule lower': (add_to('to', -512), True),
    'to a granule higher': (add_to('to', 512), True),
    'no condition': (put('premature_unless', None), True),
    'no message': (put('reported', None), True),
    'a message of other sizes': (widen('requested', 1, 1 << 20), True),
    'a message with more free': (widen('free', 0, -(1 << 20)), True),
    'a range that is a byte wider': (widen('free', 1, 1), False),
    'nothing is assumed': (put('assumed', []), True),
    'one block less': (put('assumed', lambda proof: proof['assumed'][:-1]), True),
    'a block twice': (put('assumed', lambda proof: proof['assumed'] + proof['assumed'][-1:]), True),
    'a block that is not there': (put('assumed', lambda proof: [*proof['assumed'], 9999]), True),
    'a request of another size': (put('bytes', lambda proof: proof['bytes'] - 1), True),
    'the two proofs are one': (put('other', lambda proof: proof['as_it_is']), True),
    'no proof of the other heap': (put('as_it_is', lambda proof: proof['other']), True),
}
OF_PLACED = {
    'a condition': (put('premature_unless', {'bytes': 512, 'from': 0, 'to': 512}), True),
    'nothing is placed by assumption': (put('placed', []), True),
    'one block less': (put('placed', lambda proof: proof['placed'][1:]), False),
    'a block twice': (put('placed', lambda proof: proof['placed'] + proof['placed'][-1:]), True),
    'a block that is not there': (put('placed', lambda proof: [*proof['placed'], 9999]), True),
    'not ascending': (put('placed', lambda proof: proof['placed'][::-1]), True),
    'every block': (put('placed', lambda proof: [*range(proof['placed'][-1] + 1)]), False),
    'held by assumption, too': (put('assumed', lambda proof: proof['placed']), True),
    'another address': (lambda proof: proof['other'].update(address=proof['other']['address'] - 512), True),
    'a move': (lambda proof: proof['other'].update(
        moves=[{'block': proof['placed'][0], 'from': 0, 'to': 0, 'bytes': 512}]), True),
    'a request of another size': (put('bytes', lambda proof: proof['bytes'] - 1), True),
    'the two proofs are one': (put('other', lambda proof: proof['as_it_is']), True),
    'no proof of the other heap': (put('as_it_is', lambda proof: proof['other']), True),
}
OF_IMAGE = {
    'a condition': (put('premature_unless', {'bytes': 512, 'from': 0, 'to': 512}), True),
    'a smaller image': (put('bytes', 1), True),
    'a larger image': (put('bytes', 1024), True),
    'another image of the message': (lambda proof: (put('bytes', 1024)(proof), proof['reported'].update(image=1024)), False),
    'no image of the message': (lambda proof: proof['reported'].update(image=0), True),
}


def make(hbmstress, log, folder, *options):
    """Gives the certificate, the list and the log."""
    ops, made = folder / 'message.ops', pathlib.Path(tempfile.mkdtemp(dir=folder))
    subprocess.run([hbmstress, 'convert', log, '-o', ops], stdout=subprocess.DEVNULL, check=True)
    subprocess.run([hbmstress, 'replay', ops, *options, '--certificates', made], stdout=subprocess.DEVNULL, check=False)
    certificate, = made.glob('op-*-unknown.json')
    return [path.read_text() for path in (certificate, made / 'list.ops', made / 'observations.jsonl')]


def ask(checker, texts, folder):
    """The exit code of hbm-certificate-check, and of the Python checkers."""
    names = 'forged.json', 'list.ops', 'log.jsonl'
    for name, text in zip(names, texts):
        (folder / name).write_text(text)
    beside = ['--list', names[1], '--observations', names[2]] if len(texts) > 1 else []
    done = subprocess.run([checker, *beside, names[0]], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False)
    return done.returncode, answer(check, *texts)[0]


def try_one(checker, folder, name, texts, forgeries):
    """Gives the number of checks, and what is wrong."""
    faults = [f'{name}: the right one is refused'] if ask(checker, texts, folder) != (0, 0) else []
    document = json.loads(texts[0])
    for what, (forge, is_wrong_alone) in forgeries.items():
        forged = copy.deepcopy(document)
        forge(forged['proof'])
        text = json.dumps(forged)
        if ask(checker, [text, *texts[1:]], folder) != (1, 1):
            faults.append(f'{name}: {what}: is not refuted')
        alone = ask(checker, [text], folder)
        if alone[0] != alone[1] or alone[0] != 1 and is_wrong_alone:
            faults.append(f'{name}: {what}: alone: {alone}')
    for claim in ('justified', 'premature'):
        if ask(checker, [json.dumps(document | {'claim': claim}), *texts[1:]], folder) != (1, 1):
            faults.append(f'{name}: {claim}: is not refuted')
    return faults


def main(hbmstress, checker):
    faults, count = [], 0
    hbmstress, checker = pathlib.Path(hbmstress).resolve(), pathlib.Path(checker).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        messages = [(FIELD / 'tpu_message' / name, FORGERIES) for name in PINS]
        messages += [(FIELD / 'tpu_message' / IMAGE, OF_IMAGE)]
        messages += [(FIELD / 'torch_message' / name, OF_PLACED) for name in PLACED]
        for message, forgeries in messages:
            texts = make(hbmstress, message.with_suffix('.log'), folder)
            faults += try_one(checker, folder, message.name, texts, forgeries)
            count += len(forgeries) + 2
        # Held and placed at once: a TPU's message where the target moves nothing.
        texts = make(hbmstress, FIELD / 'tpu_message/buffer_below_free_large.log', folder, '--target-option', 'defrag=none')
        faults += try_one(checker, folder, 'placed', texts, {name: OF_PLACED[name] for name in BOTH})
        count += len(BOTH) + 2
    print(*faults, f'{count} forgeries of {len(messages) + 1} certificates, {len(faults)} wrong', sep='\n')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
