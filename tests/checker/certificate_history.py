"""Makes the facts of a certificate again, from its list and its observations (docs/certificate.md, "The list")."""
import functools
import hashlib
import re

from certificate_text import BYTES, COUNT, SIZE_MAX, TIME, Members, Unreadable, match, read_json, require, up

NEVER = 2**64 - 1
OP = range(0, 2**32)
SCALES = {'': 1, 'K': 2**10, 'M': 2**20, 'G': 2**30, 'T': 2**40, 'P': 2**50}
UNITS = {'ns': 1, 'us': 10**3, 'ms': 10**6, 's': 10**9, 'm': 60 * 10**9, 'h': 3600 * 10**9}
HEAD = {'scenario', 'chip', 'capacity', 'granule', 'rounding', 'hosts', 'coordinate', 'target', 'seed', 'search_nodes',
        'regret_max', 'check_races'}
KINDS = {'alloc': 'size align tag unpadded retry', 'output': 'size align tag unpadded retry', 'free': 'block',
         'free_after': 'block event delay', 'use': 'block event delay', 'hold': 'block', 'release': 'block',
         'donate': 'block size tag unpadded', 'load': 'size stack tag retry', 'unload': 'program',
         'execute': 'program delay collective retry', 'defragment': '', 'complete': 'event', 'advance': 'delay',
         'touch': 'block', 'report': '', 'fault': 'call nth delay for_ever', 'retire': 'size address',
         'switch': 'op point to event'}
REQUESTS = ('alloc', 'output', 'load', 'execute')


# -- Reading the list -------------------------------------------------------------------------------------------------

def read_scaled(text, scales):
    number = re.fullmatch('([0-9]{1,20})([a-zA-Z]*)', text)
    if not number or number[2] not in scales or int(number[1]) * scales[number[2]] > NEVER:
        raise ValueError(f'{text} is no value')
    return int(number[1]) * scales[number[2]]


def read_size(text):
    return read_scaled(text, SCALES)


def read_delay(text):
    return NEVER if text == 'never' else read_scaled(text, UNITS)


def read_reference(text):
    return None if text == 'none' else read_scaled(text, {'': 1})


READERS = dict.fromkeys(('size', 'stack', 'align', 'address', 'unpadded'), read_size) | {
    'delay': read_delay, 'retry': str, 'for_ever': str, 'call': str}


def read_op(number, kind, fields):
    op = Members(number=number, kind=kind)
    for field in fields.split():
        name, value = field.split('=', 1)
        if name not in (*KINDS[kind].split(), 'lane', 'host', 'spmd') or name in op:
            raise ValueError(f'{kind} has no such field, or has it twice: {name}')
        op[name] = READERS.get(name, read_reference)(value)
    return op


@functools.lru_cache(maxsize=4)
def read_list(text):
    """Gives the head, the ops, and the lines that are hashed, each with the number of its op or -1."""
    history = Members(head={}, options={}, ops=[], lines=[])
    if not text.startswith('hbmstress-ops 1\n'):
        raise Unreadable('list: line 1: this is no list of ops')
    for i, line in enumerate(text.removesuffix('\n').split('\n')):
        if line and not line.startswith('#'):
            try:
                history.lines.append((read_line(history, line) if i > 0 else -1, line + '\n'))
            except (ValueError, KeyError) as error:
                raise Unreadable(f'list: line {i + 1}: {error}') from None
    history.has_lanes = any('lane' in op or op.kind == 'switch' for op in history.ops)
    return history


def read_line(history, line):
    op = re.fullmatch('([0-9]+): ([a-z_]+)((?: [a-z_]+=[^ ]+)*)', line)
    if op:
        if op[1] != str(len(history.ops)):
            raise ValueError('ops are numbered from 0, without a gap')
        history.ops.append(read_op(len(history.ops), op[2], op[3]))
        return len(history.ops) - 1
    word, _, value = line.partition(' ')
    key, _, option = value.partition('=')
    members, name, value = (history.options, key, option) if word == 'option' else (history.head, word, value)
    if history.ops or word not in HEAD | {'option', 'tag'} or word != 'tag' and name in members:
        raise ValueError(f'{word} is no word of the head, or is there twice')
    members[name] = read_size(value) if name in ('capacity', 'granule') and word != 'option' else value
    return -1


def hash_list(history, number):
    """SHA-256 of the lines up to the op; with lanes, of all lines but the switches."""
    lines = [line for op, line in history.lines
             if (history.ops[op].kind != 'switch' or op < 0 if history.has_lanes else op <= number)]
    return hashlib.sha256(''.join(lines).encode()).hexdigest()


def find_asked(history, number):
    """The op whose fields say what is asked for: with `retry`, that of the op before."""
    while not history.has_lanes and 'retry' in history.ops[number] and number > 0:
        number -= 1
    return history.ops[number]


# -- Reading the observations -----------------------------------------------------------------------------------------

HOST = {'granule': range(1, 2**30 + 1), 'rounding': str, 'defrag': {'none', 'slide', 'repack'}, 'drains': bool,
        'evicts': bool, 'program_evicts_program': bool}
LOG_HEAD = {'format': str, 'version': int, 'target': str, 'options': Members, 'capacity': range(1, 2**50 + 1),
            'hosts': [HOST]}
LINE = {'op': OP, 'answer': {'ok', 'no_memory', 'invalid', 'failed', 'skipped'}, 'now': str}
OPTIONAL = {'address': COUNT, 'size': COUNT, 'moved': [(OP, TIME)], 'evicted': [OP], 'done': [OP], 'due': [(OP, str)],
            'refused': [{'copy', 'wait', 'unload', 'host_memory'}]}


def read_time(text):
    if not re.fullmatch('0|[1-9][0-9]{0,19}', text) or int(text) > NEVER:
        raise Unreadable(f'log: {text[:30]} is no time')
    return int(text)


@functools.lru_cache(maxsize=4)
def read_log(text):
    head, *lines = text.removesuffix('\n').split('\n')
    log = Members(head=read_json(head), lines=[read_json(line) for line in lines])
    match(log.head, LOG_HEAD, 'log')
    require(log.head.format == 'hbmstress-observations' and log.head.version == 1, 'log: the format or version is wrong')
    for i, line in enumerate(log.lines):
        if type(line) is not Members:
            raise Unreadable(f'log: line {i + 2} is not an object')
        match(line, LINE | {name: OPTIONAL[name] for name in line if name in OPTIONAL}, f'log: line {i + 2}')
        line.now = read_time(line['now'])
        line['due'] = {event: NEVER if time == 'never' else read_time(time) for event, time in line.get('due', ())}
        if line.op != i:
            raise Unreadable(f'log: line {i + 2} is not that of op {i}')
    return log


def most(rounding, asked, granule):
    """How large a block may be: docs/promise.md, "How large a block may be"."""
    words = dict(word.partition('=')[::2] for word in rounding.split())
    if 'any' in words:
        return NEVER
    smallest, size = read_size(words.get('smallest', '0')), asked
    if 'classes' in words and asked <= smallest:
        size = smallest
    elif 'classes' in words and asked > 1:
        low = 1 << (asked - 1).bit_length() - 1
        size = low + up(asked - low, max(1, low // read_size(words['classes'])))
    return min(up(size + read_size(words.get('overhead', '0')), granule), 2**63)


def asks_plainly(rounding):
    return rounding in ('any', 'granule')


# -- The state from list and observations -----------------------------------------------------------------------------

class Replay:
    """The blocks of one host, by the op that made them, and the events of all."""

    def __init__(self, history, log, host):
        self.history, self.log, self.host = history, log, host
        self.contract = log.head.hosts[host]
        self.blocks, self.due, self.done = {}, {}, set()

    def run(self, number):
        """Takes the lines up to that of the op."""
        before = 0
        for op, line in zip(self.history.ops, self.log.lines[:number + 1]):
            if line.answer == 'ok':
                self.make_event(op, line, before)
            if op.get('host', 0) == self.host:
                self.apply(op, line)
            self.due |= line.due
            self.done |= set(line.get('done', ()))
            self.blocks = {made: block for made, block in self.blocks.items() if not self.is_gone(block)}
            before = line.now

    def make_event(self, op, line, before):
        delay = op.get('delay', 0)
        if op.kind == 'execute':
            due = line.now + (5 * UNITS['s'] if 'collective' in op else delay)
        elif op.kind in ('use', 'free_after') and 'event' not in op:
            due = before + delay
        else:
            return
        self.due[op.number] = NEVER if delay == NEVER or due > 2**64 - 2 else due

    def is_gone(self, block):
        return block.state == 'dying' and block.holds <= 0 and block.used | block.awaited <= self.done

    def apply(self, op, line):
        for made in line.get('evicted', ()):
            self.find(made).is_loaded = False
        for made, address in line.get('moved', ()):
            self.find(made).address = address
        if line.answer == 'ok':
            getattr(self, 'apply_' + op.kind, lambda op, line: None)(op, line)

    def find(self, made):
        require(made in self.blocks, f'log: there is no block of op {made}')
        return self.blocks[made]

    def add(self, kind, op, place, **members):
        require('address' in place and 'size' in place, f'log: op {op.number} has no address or size')
        block = Members(op=op.number, kind=kind, state='live', address=place.address, size=place['size'], asked=NEVER,
                        align=self.contract.granule, stack=0, holds=0, used=set(), awaited=set(), is_loaded=True)
        self.blocks[op.number] = Members(block | members)

    def apply_alloc(self, op, line):
        asked = find_asked(self.history, op.number)
        self.add('buffer' if op.kind == 'alloc' else 'output', op, line, asked=asked.get('size', 0),
                 align=max(asked.get('align', 0), self.contract.granule))

    apply_output = apply_alloc

    def apply_load(self, op, line):
        asked = find_asked(self.history, op.number)
        self.add('program', op, line, asked=asked.get('size', 0),
                 stack=up(asked.get('stack', 0), self.contract.granule))

    def apply_retire(self, op, line):
        self.add('retired', op, Members(address=op.get('address', 0), size=op.get('size', 0)), holds=1)

    def apply_donate(self, op, line):
        block = self.find(op.get('block'))
        del self.blocks[block.op]
        block.op, block.kind, block.align = op.number, 'output', self.contract.granule
        self.blocks[op.number] = block

    def apply_use(self, op, line):
        self.find(op.get('block')).used.add(op.get('event', op.number))

    def apply_hold(self, op, line):
        self.find(op.get('block')).holds += 1

    def apply_release(self, op, line):
        self.find(op.get('block')).holds -= 1

    def apply_free(self, op, line):
        self.find(op.get('block', op.get('program'))).state = 'dying'

    def apply_unload(self, op, line):
        self.apply_free(op, line)
        if not self.blocks[op.program].is_loaded:
            del self.blocks[op.program]

    def apply_free_after(self, op, line):
        self.apply_free(op, line)
        self.find(op.get('block')).awaited.add(op.get('event', op.number))

    def apply_execute(self, op, line):
        program = self.find(find_asked(self.history, op.number).get('program'))
        program.used.add(op.number)
        if not program.is_loaded:
            program |= {'is_loaded': True, 'address': line.address, 'size': line['size']}

    # What the document should show.

    def last_due(self, events):
        return max((self.due.get(event, NEVER) for event in events - self.done), default=0)

    def show_blocks(self):
        shown = {}
        for made, block in self.blocks.items():
            if block.is_loaded:
                size = min(block['size'], most(self.contract.rounding, block.asked, self.contract.granule))
                ends = block.used | block.awaited if block.state == 'dying' else set()
                shown[made] = Members({name: block[name] for name in ('op', 'kind', 'state', 'address', 'align', 'stack',
                                                                      'holds')} | {'size': size})
                shown[made] |= {'used_until': self.last_due(block.used), 'freed_at': self.last_due(ends)}
        show_late(shown.values())
        return shown

    def show_request(self, number, document):
        asked, granule, rounding = find_asked(self.history, number), self.contract.granule, self.contract.rounding
        request = show_asked(asked, granule)
        program = -1
        size = asked.get('size', 0)
        if asked.kind == 'execute':
            loaded = self.find(asked.get('program'))
            request['stack'], size = loaded.stack, loaded.asked
            if loaded.is_loaded:
                size, program = 0, [block.op for block in document.blocks].index(loaded.op)
        if size or asked.kind != 'execute':
            size = size if asks_plainly(rounding) else most(rounding, size, granule)
        return request | {'bytes': min(size, SIZE_MAX), 'program': program}


def show_late(blocks):
    """Writes never as -1, and times above 2^62 by their order."""
    late = sorted({block[name] for block in blocks for name in ('used_until', 'freed_at')
                   if SIZE_MAX < block[name] < NEVER})
    for block in blocks:
        for name in ('used_until', 'freed_at'):
            if block[name] > SIZE_MAX:
                block[name] = -1 if block[name] == NEVER else SIZE_MAX + 1 + late.index(block[name])


def show_asked(op, granule):
    is_buffer = op.kind in ('alloc', 'output')
    return {'class': 'buffer' if is_buffer else 'program',
            'align': max(op.get('align', 0), granule) if is_buffer else granule,
            'stack': up(op.get('stack', 0), granule)}


# -- Comparing --------------------------------------------------------------------------------------------------------

def compare_list(document, history):
    named = document.get('list')
    require(named is not None, 'list: the certificate names none')
    require(named.op < len(history.ops), 'list: the op is not there')
    require(hash_list(history, named.op) == named.sha256, 'list: its SHA-256 is another')
    op, head = history.ops[named.op], history.head
    require(op.kind in REQUESTS and op.get('host', 0) == named.host, 'list: the op asks for nothing, or on another host')
    require(named.target == head.get('target') and named.options == history.options, 'list: target or options differ')
    require(document.device.capacity == head.get('capacity')
            and head.get('granule', document.device.granule) == document.device.granule, 'list: the device is another')
    asked = find_asked(history, named.op)
    request = show_asked(asked, document.device.granule)
    stated = ('class', 'align') if asked.kind == 'execute' else tuple(request)
    require(all(document.request[name] == request[name] for name in stated), 'list: the request is another')
    if document.request.bytes > 0 and asked.kind != 'execute':
        size = min(asked.get('size', 0), SIZE_MAX)
        require(document.request.bytes == size or document.request.bytes > size
                and not asks_plainly(head.get('rounding', '')), 'list: the request is for other bytes')


def compare_log(document, history, log):
    named, head = document.list, log.head
    require(head.target == named.target and head.options == named.options, 'log: target or options differ')
    require(named.host < len(head.hosts), 'log: there is no such host')
    replay = Replay(history, log, named.host)
    contract = {name: replay.contract[name] for name in document.contract}
    require(head.capacity == document.device.capacity and replay.contract.granule == document.device.granule
            and contract == document.contract, 'log: the device or contract is another')
    if not history.has_lanes:
        require(named.op < len(log.lines) and log.lines[named.op].answer == 'no_memory', 'log: the op was not refused')
        refused = log.lines[named.op].get('refused', ())
        require(document.refused == {kind: kind in refused for kind in document.refused}, 'log: refused differs')
        replay.run(named.op)
        compare_state(document, replay)


def compare_state(document, replay):
    blocks, shown = {block.op: block for block in document.blocks}, replay.show_blocks()
    for made in sorted(blocks.keys() | shown.keys()):
        require(blocks.get(made) == shown.get(made), f'log: the block of op {made} is another')
    require(document.request == replay.show_request(document.list.op, document), 'log: the request is another')


def compare(document, list_text, log_text):
    """Gives what the verdict says of them."""
    history = read_list(list_text)
    log = read_log(log_text) if log_text is not None else None
    compare_list(document, history)
    if log is None:
        return 'the op is that of the list'
    compare_log(document, history, log)
    return ('the op is that of the list, whose lanes overlap' if history.has_lanes
            else 'the state is that of the list and its observations')
