#!/usr/bin/env python3
"""Checks certificates of hbmstress: a second checker, written from docs/certificate.md alone, whose names it uses.

    tests/checker/certificate_check.py FILE ...

Prints one verdict on each file, and exits with the worst: 0 the proof holds, 1 it does not, 2 a file cannot be read as
what it should be.  It shares no code with any other part of hbmstress, so an error in one of them shows where it and
hbm-certificate-check disagree.
"""
import argparse
import math
import re
import sys

from certificate_history import compare, read_history
from certificate_proofs import check_proof, mitigations
from certificate_text import ANYTHING, BYTES, COUNT, SIZE_MAX, TIME, Members, Refuted, Unreadable, match, read_json, require

DOCUMENT_BYTES_MAX = 2**30
HEAD = {'format': str, 'version': int}
NONE = type(None)
NAMED = {'sha256': str, 'op': range(0, 2**32), 'host': range(0, 64), 'target': str, 'options': ANYTHING}
BLOCK = {'op': range(0, 2**32), 'kind': {'buffer', 'output', 'program', 'retired'}, 'state': {'live', 'dying'},
         'address': TIME, 'size': BYTES, 'align': BYTES, 'stack': BYTES, 'holds': COUNT, 'used_until': TIME,
         'freed_at': TIME}
FACTS = {'claim': {'justified', 'premature', 'unknown'},
         'device': {'capacity': range(1, 2**50 + 1), 'granule': range(1, 2**30 + 1)},
         'contract': {'defrag': {'none', 'slide', 'repack'}, 'drains': bool, 'evicts': bool,
                      'program_evicts_program': bool},
         'refused': {'copy': bool, 'wait': bool, 'unload': bool, 'host_memory': bool},
         'request': {'class': {'buffer', 'program'}, 'bytes': BYTES, 'align': BYTES, 'stack': BYTES,
                     'program': TIME},
         'blocks': [BLOCK], 'proof': Members}


def read_document(text):
    document = read_json(text)
    if type(document) is not Members:
        raise Unreadable('this is not an object')
    match(Members({name: document.get(name) for name in HEAD}), HEAD, 'certificate')
    require(document.format == 'hbmstress-certificate' and document.version in (1, 2), 'the format or version is wrong')
    shape = HEAD | FACTS
    if document.version == 2:
        shape |= {'list': NONE if document.get('list') is None else NAMED}
    match(Members({name: document[name] for name in document if name != 'about'}), shape, 'certificate')
    if document.version == 2 and document.list is not None:
        check_named(document.list)
    check_request(document)
    check_blocks(document)
    return document


def check_named(named):
    require(re.fullmatch('[0-9a-f]{64}', named.sha256), 'list.sha256 is no SHA-256')
    require(type(named.options) is Members and all(type(value) is str for value in named.options.values()),
            'list.options is no object of strings')


def is_align(number, granule):
    return number & number - 1 == 0 and granule <= number <= 2**30


def check_request(document):
    device, request, granule = document.device, document.request, document.device.granule
    require(is_align(granule, 1) and device.capacity % granule == 0, 'device: no such granule or capacity')
    require(is_align(request.align, granule), 'request: no such align')
    require(request.stack % granule == 0 and (request['class'] == 'program' or request.stack == 0),
            'request: no such stack')
    require((request.bytes == 0) == (request.program >= 0), 'request: a program without bytes, and only then')
    require(request['class'] == 'buffer' or request.align == granule, 'request: the align of a program is the granule')
    if request.bytes == 0:
        require(request['class'] == 'program' and request.program < len(document.blocks), 'request: no such program')
        program = document.blocks[request.program]
        require(program.kind == 'program' and program.state == 'live' and program.stack == request.stack,
                'request: no live program of that stack')


def check_blocks(document):
    end, granule = 0, document.device.granule
    reserved = max((block.stack for block in document.blocks if block.used_until != 0), default=0)
    for i, block in enumerate(document.blocks):
        check_block(block, granule, f'blocks[{i}]')
        check_possible(block, granule, f'blocks[{i}]')
        require(not 0 <= block.address < reserved, f'blocks[{i}] lies in the stack that is reserved')
        if block.address == -1:
            require(mitigations(document).defrag == 'repack' and block.size <= document.device.capacity,
                    f'blocks[{i}] cannot be in host memory')
            end = math.inf
            continue
        require(block.address >= end, f'blocks[{i}] is not above the block before')
        end = block.address + block.size
        require(end <= document.device.capacity, f'blocks[{i}] is not inside the device')
    require(len({block.op for block in document.blocks}) == len(document.blocks), 'two blocks are of one op')


def check_block(block, granule, name):
    require(is_align(block.align, granule), f'{name}: no such align')
    require(block.address == -1 or block.address % block.align == 0, f'{name} is not aligned')
    require(block.size > 0 and block.size % granule == 0, f'{name}: no such size')
    require(block.stack % granule == 0 and (block.kind == 'program' or block.stack == 0), f'{name}: no such stack')
    require(block.state == 'dying' or block.freed_at == 0, f'{name} is live, yet was freed')


def check_possible(block, granule, name):
    """"States that cannot be" of the page."""
    used, freed = (math.inf if time == -1 else time for time in (block.used_until, block.freed_at))
    require(block.kind != 'retired' or block.state == 'live' and block.address >= 0 and block.holds == 1 and used == 0,
            f'{name} is bad memory, which stays where it is')
    require(block.kind != 'program' or block.holds == 0 and block.align == granule, f'{name} is no possible program')
    if block.state == 'dying':
        require(block.holds > 0 or freed > 0, f'{name} is gone')
        require(used <= freed and (block.kind != 'program' or used == freed), f'{name} is used until later than it waits')


def check(text, list_text=None, log_text=None):
    """Gives (the exit code, the reason)."""
    try:
        history = read_history(list_text, log_text) if list_text is not None else None
        document = read_document(text)
        reason = check_proof(document)
        return 0, reason if history is None else f'{reason}; {compare(document, *history)}'
    except Refuted as error:
        return 1, str(error)
    except Unreadable as error:
        return 2, str(error)


def read_text(name):
    try:
        with (sys.stdin.buffer if name == '-' else open(name, 'rb')) as file:
            content = file.read(DOCUMENT_BYTES_MAX + 1)
        if len(content) > DOCUMENT_BYTES_MAX:
            raise Unreadable('larger than 1 GiB')
        return content.decode(errors='surrogateescape')
    except OSError as error:
        raise Unreadable(str(error)) from None


def check_file(name, *beside):
    try:
        return check(*(other and read_text(other) for other in (name, *beside)))
    except Unreadable as error:
        return 2, str(error)


def main():
    parser = argparse.ArgumentParser(description='Checks the proofs in certificates of hbmstress.')
    parser.add_argument('--list', help='the list of ops that the certificates name')
    parser.add_argument('--observations', help='what the target answered; needs --list')
    parser.add_argument('files', metavar='FILE', nargs='+', help='a certificate; - is standard input')
    options, worst = parser.parse_args(), 0
    if options.observations and not options.list:
        parser.error('--observations needs --list')
    for name in options.files:
        code, reason = check_file(name, options.list, options.observations)
        worst = max(worst, code)
        print(f'{name}: ' * (len(options.files) > 1) + f'{("valid", "refuted", "unreadable")[code]}: {reason}')
    return worst


if __name__ == '__main__':
    sys.exit(main())
