"""Makes the facts of a certificate again, from its list and its observations (docs/certificate.md, "The list")."""
import functools
import hashlib
import re

from certificate_text import BYTES, COUNT, SIZE_MAX, TIME, Members, Refuted, Unreadable, match, read_json, require, up

NEVER = 2**64 - 1
GROUP_MAX = 2**16 - 1
OP = range(0, 2**32)
SCALES = {'': 1, 'K': 2**10, 'M': 2**20, 'G': 2**30, 'T': 2**40, 'P': 2**50}
UNITS = {'ns': 1, 'us': 10**3, 'ms': 10**6, 's': 10**9, 'm': 60 * 10**9, 'h': 3600 * 10**9}
# The fields of each kind: `?` may be absent, and of `a|b` there is exactly one.
KINDS = {'alloc': 'size align? tag? unpadded? retry?', 'output': 'size align? tag? unpadded? retry?', 'free': 'block',
         'free_after': 'block event|delay', 'use': 'block event|delay', 'hold': 'block', 'release': 'block',
         'donate': 'block size tag? unpadded?', 'load': 'size stack tag? retry?', 'unload': 'program',
         'execute': 'program delay collective? retry?', 'defragment': '', 'complete': 'event', 'advance': 'delay',
         'touch': 'block', 'report': '', 'fault': 'call nth delay? for_ever?', 'retire': 'size address',
         'switch': 'op? point to|event'}
CALLS = ('copy', 'wait', 'unload', 'host_memory', 'any', 'copy_half', 'copy_late', 'wait_timeout', 'event_lost',
         'event_late', 'event_early', 'event_doubled', 'event_order', 'event_others', 'unload_busy', 'unload_half',
         'clock_jump')
ROUNDING = re.compile('(any|(granule|classes=(1|2|4|8|16|32|64)( smallest=[^ ]+)?)( overhead=[^ ]+)?)')
REQUESTS = ('alloc', 'output', 'load', 'execute')
MAKE_BLOCKS = ('alloc', 'output', 'load', 'donate', 'retire')
ANSWER_BLOCKS = ('alloc', 'output', 'load', 'donate', 'execute')
# Without one of these and without an event that is done, no block can go.
ENDS = ('free', 'free_after', 'unload', 'release')


# -- Reading the list -------------------------------------------------------------------------------------------------

def scaled(scales, most=NEVER - 1):
    def read(text):
        number = re.fullmatch('(0|[1-9][0-9]{0,19})([a-zA-Z]*)', text)
        if not number or number[2] not in scales or int(number[1]) * scales[number[2]] > most:
            raise ValueError(f'{text[:40]} is no such value')
        return int(number[1]) * scales[number[2]]
    return read


def plain(most):
    return scaled({'': 1}, most)


read_size = scaled(SCALES, NEVER)
read_whole = plain(NEVER)


def power(least, most):
    def read(text):
        number = scaled(SCALES, most)(text)
        if number < least or number & number - 1:
            raise ValueError(f'{text} is no such power of two')
        return number
    return read


def read_delay(text):
    return NEVER if text == 'never' else scaled(UNITS)(text)


def one_of(*words):
    def read(text):
        if text not in words:
            raise ValueError(f'{text[:40]} is not one of the words possible')
        return text
    return read


def matching(pattern):
    def read(text):
        if not re.fullmatch(pattern, text):
            raise ValueError(f'{text[:40]} is no such value')
        return text
    return read


def read_reference(text):
    return None if text == 'none' else plain(NEVER)(text)


def read_rounding(text):
    """Gives the words of a rounding; a size of 0 is left out when it is written."""
    words = dict(word.partition('=')[::2] for word in text.split(' '))
    sizes = [scaled(SCALES, 2**50)(words[name]) for name in ('smallest', 'overhead') if name in words]
    if not ROUNDING.fullmatch(text) or 0 in sizes:
        raise ValueError(f'{text[:40]} is no rounding')
    return words


FIELDS = {'size': read_size, 'stack': read_size, 'address': read_size, 'unpadded': read_size, 'align': power(2, 2**21),
          'delay': read_delay, 'retry': one_of('yes'), 'for_ever': one_of('yes'), 'call': one_of(*CALLS),
          'block': read_reference, 'program': read_reference, 'event': read_whole, 'op': read_whole, 'tag': plain(255),
          'lane': plain(63), 'to': plain(63), 'host': plain(63), 'spmd': plain(GROUP_MAX), 'collective': plain(GROUP_MAX),
          'nth': plain(2**32 - 1), 'point': plain(2**32 - 1)}
HEAD = {'scenario': matching('.+'), 'chip': one_of('v2', 'v3', 'v4', 'v5e', 'v5p', 'v6e', 'v7x'),
        'capacity': scaled(SCALES, 2**50), 'granule': power(1, 2**16), 'rounding': read_rounding, 'hosts': plain(64),
        'coordinate': matching('.+'), 'target': matching('.+'), 'option': matching('[^=]+=.+'), 'seed': read_whole,
        'search_nodes': read_whole, 'regret_max': read_whole, 'check_races': one_of('yes'),
        'tag': matching('(0|[1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5]) ".*"')}


def read_op(number, kind, text):
    fields = [field.split('=', 1) for field in text.split()]
    op = Members({name: FIELDS[name](value) for name, value in fields})
    wanted = KINDS[kind].split() + ['lane?', 'host?', 'spmd?']
    known = {name for each in wanted for name in each.strip('?').split('|')}
    if len(op) < len(fields) or op.keys() - known or any(
            sum(name in op for name in each.split('|')) != 1 for each in wanted if not each.endswith('?')):
        raise ValueError(f'{kind} has a field too many, or one too few')
    if any(op.get(name) is not None and op[name] >= number for name in ('block', 'program', 'event', 'op')
           if kind != 'switch' or name != 'op'):
        raise ValueError('a reference is not to an earlier op')
    return Members(op, number=number, kind=kind)


@functools.lru_cache(maxsize=4)
def read_list(text):
    """Gives the head, the ops, and the lines that are hashed, each with the number of its op or -1."""
    history = Members(head={}, options={}, tags={}, ops=[], lines=[(-1, 'hbmstress-ops 1\n')])
    if not text.startswith('hbmstress-ops 1\n') or not text.endswith('\n'):
        raise Unreadable('list: this is no list of ops, or its last line is cut off')
    for i, line in enumerate(text.split('\n')[1:-1], 2):
        if line and not line.startswith('#'):
            try:
                history.lines.append((read_line(history, line), line + '\n'))
            except (ValueError, KeyError) as error:
                raise Unreadable(f'list: line {i}: {error}') from None
    head = history.head
    if not head.keys() >= {'capacity', 'hosts', 'target'} or not head['capacity'] or not head['hosts'] \
            or any(op.get('host', 0) >= head['hosts'] for op in history.ops):
        raise Unreadable('list: the head lacks capacity, hosts or target, or has no such host')
    history.has_lanes = any('lane' in op or op.kind == 'switch' for op in history.ops)
    return history


def read_line(history, line):
    """Gives the number of the op, or -1 for a line of the head."""
    if re.search('[\0-\x1f\x7f]', line):
        raise ValueError('a control character')
    op = re.fullmatch('(0|[1-9][0-9]*): ([a-z_]+)((?: [a-z_]+=[^ ]+)*)', line)
    if op:
        if op[1] != str(len(history.ops)):
            raise ValueError('ops are numbered from 0, without a gap')
        history.ops.append(read_op(len(history.ops), op[2], op[3]))
        return len(history.ops) - 1
    word, _, value = line.partition(' ')
    members, name, value = history.head, word, HEAD[word](value)
    if word in ('option', 'tag'):
        name, _, value = value.partition('=' if word == 'option' else ' ')
        members = history.options if word == 'option' else history.tags
    if history.ops or name in members or len(history.options) == 16 and word == 'option':
        raise ValueError(f'{name} is there twice, or behind the ops')
    members[name] = value
    return -1


def hash_list(history, number):
    """SHA-256 of the lines up to the op; with lanes, of all lines but the switches."""
    lines = [line for op, line in history.lines
             if (history.ops[op].kind != 'switch' or op < 0 if history.has_lanes else op <= number)]
    return hashlib.sha256(''.join(lines).encode(errors='surrogateescape')).hexdigest()


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
    return plain(NEVER - 1)(text)


@functools.lru_cache(maxsize=4)
def read_log(history, text):
    """What follows the last newline is not a line: the log was cut there, which is allowed behind the op in question."""
    try:
        head, *lines = text.split('\n')[:-1]
        log = Members(head=read_json(head), lines=[read_json(line) for line in lines])
        check_log_head(log.head, history)
        require(len(log.lines) <= len(history.ops), 'the list has fewer ops')
        for i, line in enumerate(log.lines):
            read_log_line(line, i, history.ops)
    except (Refuted, ValueError) as error:
        raise Unreadable(f'log: {error}') from None
    return log


def check_log_head(head, history):
    match(head, LOG_HEAD, 'line 1')
    require(head.format == 'hbmstress-observations' and head.version == 1, 'the format or version is wrong')
    require((head.target, head.options, head.capacity, len(head.hosts)) == (
        history.head['target'], history.options, history.head['capacity'], int(history.head['hosts'])),
        'target, options, capacity or hosts are not those of the list')
    for host in head.hosts:
        host.rounding = read_rounding(host.rounding)
        require(host.granule & host.granule - 1 == 0, 'a granule is no power of two')


def makes_event(op):
    return op.kind == 'execute' or op.kind in ('use', 'free_after') and 'event' not in op


def read_log_line(line, i, ops):
    require(type(line) is Members, f'line {i + 2} is not an object')
    match(line, LINE | {name: OPTIONAL[name] for name in line if name in OPTIONAL}, f'line {i + 2}')
    require(line.op == i, f'line {i + 2} is not that of op {i}')
    has_block = line.answer == 'ok' and ops[i].kind in ANSWER_BLOCKS
    require(('address' in line, 'size' in line) == (has_block, has_block), f'line {i + 2}: address or size')
    line.now = read_time(line.now)
    line.due = {event: NEVER if time == 'never' else read_time(time) for event, time in line.get('due', ())}
    made = [op for op in (*(made for made, _ in line.get('moved', ())), *line.get('evicted', ()))]
    events = [*line.get('done', ()), *line.due]
    require(all(op <= i and ops[op].kind in MAKE_BLOCKS and ops[op].get('host', 0) == ops[i].get('host', 0) for op in made)
            and all(op <= i and makes_event(ops[op]) for op in events)
            and all(ops[op].kind == 'load' for op in line.get('evicted', ())), f'line {i + 2}: an op that is not possible')


def read_history(list_text, log_text):
    """Gives the list and the log, which must be of the list; without a log None instead of it."""
    history = read_list(list_text)
    return history, None if log_text is None else read_log(history, log_text)


def most(words, asked, granule):
    """How large a block may be: docs/promise.md, "How large a block may be"."""
    if 'any' in words:
        return NEVER
    smallest, size = read_size(words.get('smallest', '0')), asked
    if 'classes' in words and asked <= smallest:
        size = smallest
    elif 'classes' in words and asked > 1:
        low = 1 << (asked - 1).bit_length() - 1
        size = low + up(asked - low, max(1, low // int(words['classes'])))
    return min(up(size + read_size(words.get('overhead', '0')), granule), 2**63)


def asks_plainly(words):
    return words.keys() in ({'any'}, {'granule'})


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
            if 'done' in line or op.kind in ENDS:
                self.blocks = {made: block for made, block in self.blocks.items() if not self.is_gone(block)}
            before = line.now

    def make_event(self, op, line, before):
        delay = op.get('delay', 0)
        if not makes_event(op):
            return
        due = before + delay
        if op.kind == 'execute':
            due = line.now + (5 * UNITS['s'] if 'collective' in op else delay)
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
                and not asks_plainly(head.get('rounding', {'granule': ''})), 'list: the request is for other bytes')


def compare_log(document, history, log):
    named = document.list
    replay = Replay(history, log, named.host)
    contract = {name: replay.contract[name] for name in document.contract}
    require(replay.contract.granule == document.device.granule and contract == document.contract,
            'log: the granule or contract is another')
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


def compare(document, history, log):
    """Gives what the verdict says of them."""
    compare_list(document, history)
    if log is None:
        return 'the op is that of the list'
    compare_log(document, history, log)
    return ('the op is that of the list, whose lanes overlap' if history.has_lanes
            else 'the state is that of the list and its observations')
