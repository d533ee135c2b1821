"""Makes the facts of a certificate again, from its list and its observations (docs/certificate.md, "The list")."""
import bisect
import functools
import hashlib
import re

from certificate_check import BYTES, COUNT, SIZE_MAX, TIME, Members, Refuted, find_placeable, is_pinned, match, read_json, reports, require, up

NEVER = 2**64 - 1
GROUP_MAX = 2**16 - 1
OP = range(0, 2**32)
SCALES = {'': 1, 'K': 2**10, 'M': 2**20, 'G': 2**30, 'T': 2**40, 'P': 2**50, 'E': 2**60}
UNITS = {'ns': 1, 'us': 10**3, 'ms': 10**6, 's': 10**9, 'm': 60 * 10**9, 'h': 3600 * 10**9}
# The fields of each kind: `?` may be absent, and of `a|b` there is exactly one.
KINDS = {'alloc': 'size align? tag? unpadded? retry? stream?', 'output': 'size align? tag? unpadded? retry? stream?',
         'free': 'block', 'free_after': 'block event|delay stream?', 'use': 'block event|delay stream?', 'hold': 'block',
         'release': 'block',
         'donate': 'block size tag? unpadded?', 'load': 'size stack tag? retry?', 'unload': 'program',
         'execute': 'program delay collective? retry?', 'defragment': '', 'complete': 'event', 'advance': 'delay',
         'touch': 'block', 'report': '', 'fault': 'call nth delay? for_ever?', 'retire': 'size address',
         'switch': 'op? point to|event', 'sleep': '', 'wake': '', 'record': '', 'record_end': '',
         'record_drop': 'recording'}
CALLS = ('copy', 'wait', 'unload', 'host_memory', 'any', 'copy_half', 'copy_late', 'wait_timeout', 'event_lost',
         'event_late', 'event_early', 'event_doubled', 'event_order', 'event_others', 'unload_busy', 'unload_half',
         'clock_jump', 'poll_jump', 'region', 'region_short')
ROUNDINGS = {'any': (), 'granule': ('overhead',), 'classes': ('smallest', 'overhead')}
REQUESTS = ('alloc', 'output', 'load', 'execute')
MAKE_BLOCKS = ('alloc', 'output', 'load', 'donate', 'retire')
ANSWER_BLOCKS = ('alloc', 'output', 'load', 'donate', 'execute')
# Without one of these and without an event that is done, no block can go, nor what it left.
ENDS = ('free', 'free_after', 'unload', 'release', 'record_drop')


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


def read_bound(text):
    bound = read_delay(text)
    if bound == 0:
        raise ValueError('nobody waits so long')
    return bound


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
    """Gives the words of a rounding."""
    words = dict(word.partition('=')[::2] for word in text.split(' '))
    kind, *sizes = words
    if len(words) <= text.count(' ') or kind not in ROUNDINGS or not set(sizes) <= set(ROUNDINGS[kind]) \
            or any(scaled(SCALES, 2**50)(words[name]) == 0 for name in sizes):
        raise ValueError(f'{text[:40]} is no rounding')
    if kind == 'classes':
        words = words | {'classes': power(1, 64)(words['classes'])}
    elif '=' in text.split(' ')[0]:
        raise ValueError(f'{text[:40]} is no rounding')
    return words


def read_reported(text):
    """Gives what a message says of its request."""
    found = re.fullmatch('requested=([0-9]+)-([0-9]+) free=([0-9]+)-([0-9]+)(?: image=([1-9][0-9]*))?', text)
    if not found:
        raise ValueError(f'{text[:40]} is no report')
    *ends, image = [plain(SIZE_MAX)(number or '0') for number in found.groups()]
    if ends[0] > ends[1] or ends[2] > ends[3]:
        raise ValueError(f'{text[:40]} has a range that ends before it begins')
    return Members(requested=ends[:2], free=ends[2:], image=image)


FIELDS = {'size': read_size, 'stack': read_size, 'address': read_size, 'unpadded': read_size, 'align': power(2, 2**21),
          'delay': read_delay, 'retry': one_of('yes'), 'for_ever': one_of('yes'), 'call': one_of(*CALLS),
          'block': read_reference, 'program': read_reference, 'recording': read_reference, 'event': read_reference, 'op': read_whole, 'tag': plain(255),
          'lane': plain(63), 'to': plain(63), 'host': plain(63), 'spmd': plain(GROUP_MAX), 'collective': plain(GROUP_MAX),
          'nth': plain(2**32 - 1), 'point': plain(2**32 - 1), 'stream': matching('[1-9]|[1-5][0-9]|6[0-3]')}
HEAD = {'scenario': matching('.+'), 'chip': matching('.+'), 'system': matching('.+'),
        'capacity': scaled(SCALES, 2**50), 'granule': power(1, 2**16), 'rounding': read_rounding, 'hosts': plain(64),
        'clocks': one_of('own'), 'clock': matching('.+'), 'group': matching('.+'), 'shares': matching('.+'), 'collective_bound': read_bound,
        'coordinate': matching('.+'), 'target': matching('.+'), 'option': matching('[^=]+=.+'), 'seed': read_whole,
        'search_nodes': read_whole, 'regret_max': read_whole, 'until': read_whole, 'check_races': one_of('yes'), 'reported': read_reported,
        'tag': matching('(0|[1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5]) ".*"')}

REPEATED = ('clock', 'group')


def read_op(number, kind, text):
    fields = [field.split('=', 1) for field in text.split()]
    op = Members({name: FIELDS[name](value) for name, value in fields})
    wanted = KINDS[kind].split() + ['lane?', 'host?', 'spmd?']
    known = {name for each in wanted for name in each.strip('?').split('|')}
    if len(op) < len(fields) or op.keys() - known or any(
            sum(name in op for name in each.split('|')) != 1 for each in wanted if not each.endswith('?')):
        raise ValueError(f'{kind} has a field too many, or one too few')
    if 'stream' in op and op.keys() & {'event', 'spmd'}:
        raise ValueError('stream= next to event= or spmd=')
    if any(op.get(name) is not None and op[name] >= number for name in ('block', 'program', 'recording', 'event', 'op')):
        raise ValueError('a reference is not to an earlier op')
    if kind != 'complete' and op.get('event', 0) is None:
        raise ValueError('no event is named')
    return Members(op, number=number, kind=kind)


@functools.lru_cache(maxsize=4)
def read_list(text):
    """Gives the head, the ops, and the lines that are hashed, each with the number of its op or -1."""
    history = Members(head={}, options={}, tags={}, hosts={}, ops=[], lines=[(-1, 'hbmstress-ops 1\n')])
    if not text.startswith('hbmstress-ops 1\n') or not text.endswith('\n'):
        raise ValueError('list: this is no list of ops, or its last line is cut off')
    for i, line in enumerate(text.split('\n')[1:-1], 2):
        if line and not line.startswith('#'):
            try:
                history.lines.append((read_line(history, line), line + '\n'))
            except (ValueError, KeyError) as error:
                raise ValueError(f'list: line {i}: {error}') from None
    head = history.head
    if not head.keys() >= {'capacity', 'hosts', 'target'} or not head['capacity'] or not head['hosts'] \
            or any(op.get('host', 0) >= head['hosts'] for op in history.ops):
        raise ValueError('list: the head lacks capacity, hosts or target, or has no such host')
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
    if history.ops or name in members and word not in REPEATED or len(history.options) == 16 and word == 'option':
        raise ValueError(f'{name} is there twice, or behind the ops')
    members[name] = value
    return -1


def hash_list(history, number):
    """SHA-256 of the lines up to the op; with lanes, of all lines but the switches."""
    lines = [line for op, line in history.lines
             if (history.ops[op].kind != 'switch' or op < 0 if history.has_lanes else op <= number)]
    return hashlib.sha256(''.join(lines).encode(errors='surrogateescape')).hexdigest()


# -- Reading the observations -----------------------------------------------------------------------------------------

HOST = {'granule': range(1, 2**30 + 1), 'rounding': str, 'defrag': {'none', 'slide', 'repack'}, 'drains': bool,
        'evicts': bool, 'program_evicts_program': bool, 'placement': {'ranges', 'hidden', 'pages'},
        'header': range(2**20 + 1), 'stream_ordered': bool, 'records': bool}
NATURAL, GROWING = {'aligns_naturally': bool}, {'trims': bool, 'step': COUNT}
LOG_HEAD = {'format': str, 'version': int, 'target': str, 'options': Members, 'capacity': range(1, 2**50 + 1),
            'hosts': [Members]}
LINE = {'op': OP, 'answer': {'ok', 'no_memory', 'invalid', 'failed', 'skipped'}, 'now': str}
OPTIONAL = {'address': COUNT, 'size': COUNT, 'moved': [(OP, TIME)], 'evicted': [OP], 'done': [OP], 'due': [(OP, str)],
            'given': [COUNT], 'taken': [(COUNT, COUNT)], 'refused': [{'copy', 'wait', 'unload', 'host_memory', 'region'}]}


def read_time(text):
    return plain(NEVER - 1)(text)


@functools.lru_cache(maxsize=4)
def read_log(list_text, text):
    """What follows the last newline is not a line: the log was cut there, which is allowed behind the op in question."""
    history = read_list(list_text)
    try:
        head, *lines = text.split('\n')[:-1]
        log = Members(head=read_json(head), lines=[read_json(line) for line in lines])
        check_log_head(log.head, history)
        require(len(log.lines) <= len(history.ops), 'the list has fewer ops')
        for i, line in enumerate(log.lines):
            read_log_line(line, i, history.ops, log.head.hosts)
    except (Refuted, ValueError) as error:
        raise ValueError(f'log: {error}') from None
    return log


def check_log_head(head, history):
    for host in head.get('hosts', ()):
        require('placement' in host or 'header' not in host, 'a host has one without the other')
        host.setdefault('placement', 'ranges')
        host.setdefault('header', 0)
        host.setdefault('stream_ordered', False)
        host.setdefault('records', False)
    match(head, LOG_HEAD, 'line 1')
    require(head.format == 'hbmstress-observations' and head.version == 1, 'the format or version is wrong')
    require((head.target, head.options, head.capacity, len(head.hosts)) == (
        history.head['target'], history.options, history.head['capacity'], int(history.head['hosts'])),
        'target, options, capacity or hosts are not those of the list')
    for host in head.hosts:
        more = [shape for shape in (NATURAL, GROWING) if host.keys() & shape.keys()]
        match(host, functools.reduce(dict.__or__, more, HOST), 'hosts')
        host.rounding = read_rounding(host.rounding)
        require(host.granule & host.granule - 1 == 0, 'a granule is no power of two')


def makes_event(op):
    return op.kind == 'execute' or op.kind in ('use', 'free_after') and 'event' not in op


def read_log_line(line, i, ops, hosts):
    require(type(line) is Members, f'line {i + 2} is not an object')
    match(line, LINE | {name: OPTIONAL[name] for name in line if name in OPTIONAL}, f'line {i + 2}')
    require(line.op == i, f'line {i + 2} is not that of op {i}')
    has_block = line.answer == 'ok' and ops[i].kind in ANSWER_BLOCKS
    require(('address' in line, 'size' in line) == (has_block, has_block), f'line {i + 2}: address or size')
    grows = 'step' in hosts[ops[i].get('host', 0)]
    require(grows or not line.keys() & {'given', 'taken'}, f'line {i + 2}: the target does not grow')
    require(all(start < end for start, end in line.get('taken', ())), f'line {i + 2}: this is no region')
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
    return history, None if log_text is None else read_log(list_text, log_text)


def most(words, asked, granule):
    """How large a block may be: docs/promise.md, "How large a block may be"."""
    if 'any' in words:
        return NEVER
    smallest, size = read_size(words.get('smallest', '0')), asked
    if 'classes' in words and asked <= smallest:
        size = smallest
    elif 'classes' in words and asked > 1:
        low = 1 << (asked - 1).bit_length() - 1
        size = low + up(asked - low, max(1, low // words['classes']))
    return min(up(size + read_size(words.get('overhead', '0')), granule), 2**63)


def asks_plainly(words):
    return words.keys() in ({'any'}, {'granule'})


# -- The state from list and observations -----------------------------------------------------------------------------

class Replay:
    """The blocks of one host, by the op that made them, and the events of all."""

    def __init__(self, history, log, host):
        self.history, self.log, self.host = history, log, host
        self.contract = log.head.hosts[host]
        self.has_clocks = 'clocks' in history.head
        self.blocks, self.due, self.done = {}, {}, set()
        self.regions = {}
        self.enqueued = {}  # by stream: events that are not done
        self.recording, self.recordings = None, set()  # the open one, and all that were not dropped

    def run(self, number):
        """Takes the lines up to that of the op."""
        before = {}  # by host, or of all under 0
        for op, line in zip(self.history.ops, self.log.lines[:number + 1]):
            host = op.get('host', 0)
            clock = host if self.has_clocks else 0
            is_enqueued = op.kind != 'execute' and (not self.has_clocks or host == self.host)
            self.make_event(op, line, before.get(clock, 0), is_enqueued)
            if op.get('host', 0) == self.host:
                self.take_regions(line)
                self.apply(op, line)
            self.due |= line.due
            self.done |= set(line.get('done', ()))
            for event in line.get('done', ()):
                self.enqueued.get(stream_of(self.history.ops[event]), set()).discard(event)
            if 'done' in line or op.kind in ENDS:
                self.end_blocks()
            before[clock] = line.now

    def take_regions(self, line):
        for start in line.get('given', ()):
            require(self.regions.pop(start, None) is not None, 'log: a region is given back that was not taken')
        for start, end in line.get('taken', ()):
            require(not any(start < high and low < end for low, high in self.regions.items()),
                    'log: a region lies on another one')
            self.regions[start] = end

    def make_event(self, op, line, before, is_enqueued):
        delay = op.get('delay', 0)
        if not makes_event(op):
            return
        due = before + delay
        if op.kind == 'execute':
            delay = self.history.head.get('collective_bound', 5 * UNITS['s']) if 'collective' in op else delay
            due = line.now + delay
        self.due[op.number] = NEVER if delay == NEVER or due > 2**64 - 2 else due
        if is_enqueued:
            self.enqueued.setdefault(stream_of(op), set()).add(op.number)

    def end_blocks(self):
        """What is gone leaves its memory as long as that is kept for some requests."""
        for block in self.blocks.values():
            awaited = {event for event in (block.used | block.awaited) - self.done
                       if not self.contract.stream_ordered or stream_of(self.history.ops[event]) != block.stream}
            if block.state == 'dying' and block.holds == 0 and not awaited:
                block.state = 'kept'
        self.blocks = {made: block for made, block in self.blocks.items() if block.state != 'kept'
                       or block.recording in self.recordings or not block.used | block.awaited <= self.done}

    def apply(self, op, line):
        for made in self.blocks.keys() & line.get('evicted', ()):
            self.blocks[made].is_loaded = False
            if self.blocks[made].state != 'live':
                del self.blocks[made]
        for made, address in line.get('moved', ()):
            if made in self.blocks and self.blocks[made].state != 'kept':
                self.blocks[made].address = address
        if line.answer == 'ok':
            getattr(self, 'apply_' + op.kind, lambda op, line: None)(op, line)

    def find(self, made, states=('live', 'dying'), kinds=('buffer', 'output', 'program', 'retired')):
        block = self.blocks.get(made)
        require(block is not None and block.state in states and block.kind in kinds, f'log: op {made} has no such block')
        return block

    def find_buffer(self, op):
        return self.find(op.block, ('live',), ('buffer', 'output'))

    def find_event(self, op):
        event = op.get('event', op.number)
        is_known = event in self.due and (not self.has_clocks
                                          or self.history.ops[event].get('host', 0) == op.get('host', 0))
        require(is_known, f'log: there is no event of op {event}')
        return event

    def add(self, kind, op, place, **members):
        block = Members(op=op.number, kind=kind, state='live', address=place.address, size=place['size'], asked=NEVER,
                        align=self.contract.granule, stack=0, holds=0, used=set(), awaited=set(), is_loaded=True,
                        stream=0, recording=None)
        self.blocks[op.number] = Members(block | members)

    def apply_alloc(self, op, line):
        size = most(self.contract.rounding, op['size'], self.contract.granule)
        self.add('buffer' if op.kind == 'alloc' else 'output', op, line, asked=op['size'],
                 align=raise_align(max(op.get('align', 0), self.contract.granule), size, self.contract,
                                   self.history.head['capacity']), stream=stream_of(op), recording=self.recording)

    apply_output = apply_alloc

    def apply_load(self, op, line):
        self.add('program', op, line, asked=op['size'], stack=up(op.stack, self.contract.granule))

    def apply_retire(self, op, line):
        self.add('retired', op, op, holds=1)

    def apply_donate(self, op, line):
        block = self.find_buffer(op)
        del self.blocks[block.op]
        block.op, block.kind, block.align = op.number, 'output', self.contract.granule
        self.blocks[op.number] = block

    def apply_use(self, op, line):
        self.find_buffer(op).used.add(self.find_event(op))

    def apply_hold(self, op, line):
        self.find_buffer(op).holds += 1

    def apply_release(self, op, line):
        block = self.find(op.block, kinds=('buffer', 'output'))
        require(block.holds > 0, f'log: op {op.number} releases what is not held')
        block.holds -= 1

    def apply_free(self, op, line):
        block = self.find_buffer(op)
        block.state = 'dying'
        if self.contract.stream_ordered:
            block.awaited |= self.enqueued.get(block.stream, set())

    def apply_free_after(self, op, line):
        self.find_buffer(op).awaited.add(self.find_event(op))
        self.apply_free(op, line)

    def apply_unload(self, op, line):
        program = self.find(op.program, ('live',), ('program',))
        program.state = 'dying'
        if not program.is_loaded:
            del self.blocks[op.program]

    def apply_execute(self, op, line):
        program = self.find(op.program, ('live',), ('program',))
        program.used.add(op.number)
        if not program.is_loaded:
            program |= {'is_loaded': True, 'address': line.address, 'size': line['size']}

    def apply_record(self, op, line):
        require(self.contract.records and self.recording is None, f'log: op {op.number} begins no recording')
        self.recording = op.number
        self.recordings.add(op.number)

    def apply_record_end(self, op, line):
        require(self.recording is not None, f'log: op {op.number} ends no recording')
        self.recording = None

    def apply_record_drop(self, op, line):
        require(op.recording in self.recordings - {self.recording}, f'log: op {op.number} drops no recording')
        self.recordings.remove(op.recording)

    # What the document should show.

    def last_due(self, events):
        return max((self.due.get(event, NEVER) for event in events - self.done), default=0)

    def show_blocks(self, number, hides_kept):
        shown = {}
        for made, block in self.blocks.items():
            if block.is_loaded and block.state != 'kept':
                size = min(block['size'], most(self.contract.rounding, block.asked, self.contract.granule))
                ends = block.used | block.awaited if block.state == 'dying' else set()
                shown[made] = Members({name: block[name] for name in ('op', 'kind', 'state', 'address', 'align', 'stack',
                                                                      'holds')} | {'size': size})
                if self.contract.placement != 'ranges':
                    shown[made].address = 0
                if self.contract.placement != 'ranges' or self.contract.header > 0:
                    shown[made].align = self.contract.granule
                shown[made] |= {'used_until': self.last_due(block.used), 'freed_at': self.last_due(ends)}
        shown = {(made, block.address): block for made, block in shown.items()}
        if not hides_kept:
            shown |= {(piece.op, piece.address): piece for piece in self.show_kept(self.history.ops[number])}
        show_late(shown.values())
        return shown

    def show_left(self, request):
        """All of the memory that the request may not have though its block is gone, that with precedence first."""
        left = []
        for block in self.blocks.values():
            is_recorded = block.recording in self.recordings - {self.recording}
            is_streamed = not block.used | block.awaited <= self.done and block.stream != stream_of(request)
            if block.state == 'kept' and block.address >= 0 and (is_recorded or is_streamed):
                left.append(Members(op=block.op, kind=block.kind, state='kept', address=block.address, size=block['size'],
                                    align=self.contract.granule, stack=0, holds=int(is_recorded), used_until=0,
                                    freed_at=self.last_due(block.used | block.awaited)))
        return sorted(left, key=lambda block: (-block.holds, -block.freed_at, block.op))

    def show_kept(self, request):
        """The pieces of that memory which nothing takes and no memory before it has."""
        left = self.show_left(request)
        if self.contract.placement != 'ranges':
            return [Members(block | {'address': 0}) for block in left]
        taken = sorted((block.address, block.address + block['size']) for block in self.blocks.values()
                       if block.state != 'kept' and block.is_loaded and block.address >= 0)
        pieces = []
        for block in left:
            end = block.address + block['size']
            at = block.address
            for low, high in [*taken, (end, end)]:
                if at < min(low, end):
                    pieces.append(Members(block | {'address': at, 'size': min(low, end) - at}))
                at = max(at, high)
            bisect.insort(taken, (block.address, end))
        return pieces

    def show_request(self, number, document):
        op, words, program = self.history.ops[number], self.contract.rounding, -1
        request = show_asked(op, self.contract.granule)
        size = op.get('size', 0)
        if op.kind == 'execute':
            loaded = self.find(op.program)
            request['stack'], size = loaded.stack, loaded.asked
            if loaded.is_loaded:
                program = next((i for i, block in enumerate(document.blocks) if block.op == loaded.op), -1)
        if program >= 0:
            size = 0
        elif not asks_plainly(words):
            size = most(words, size, self.contract.granule)
        align = raise_align(request['align'], size, self.contract, self.history.head['capacity'])
        return request | {'align': align, 'bytes': min(size, SIZE_MAX), 'program': program}


def raise_align(align, size, contract, capacity):
    """Where blocks align naturally, to the size that a block may have."""
    return max(align, size) if contract.get('aligns_naturally') and size <= capacity else align


def stream_of(op):
    return int(op.get('stream', 0))


def show_late(blocks):
    """Writes never as -1, and times above 2^62 by how many of those are earlier."""
    late = sorted(block[name] for block in blocks for name in ('used_until', 'freed_at')
                  if SIZE_MAX < block[name] < NEVER)
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
            and head.get('granule', document.device.granule) == document.device.granule
            and document.device.get('region_align', 2**21) == 2**21, 'list: the device is another')
    compare_asked(document, history, op)
    if document.proof.get('kind') == 'assumed':
        compare_assumed(document, history)


PLACED = ' (placement assumed)'


def compare_assumed(document, history):
    """Whether the proof assumes what the list does, and has what the message says."""
    names = {int(number): name[1:-1] for number, name in history.tags.items()}
    named = [names.get(history.ops[block.op].get('tag', 0), '') if block.op < len(history.ops) else ''
             for block in document.blocks]
    held = [i for i, name in enumerate(named)
            if is_pinned(document.blocks[i]) and name in ('assumed pinned', 'assumed pinned' + PLACED)]
    placed = [i for i in sorted(find_placeable(document)) if named[i].endswith(PLACED)]
    require(document.proof.get('assumed') == held, 'list: what is assumed is something else')
    require(document.proof.get('placed') == placed, 'list: what is placed by assumption is something else')
    reported = history.head.get('reported')
    is_there = reported is not None and reports(document, reported)
    require(document.proof.get('reported') == (reported if is_there else None), 'list: the message says something else')


def compare_asked(document, history, op):
    request = show_asked(op, document.device.granule)
    request['align'] = raise_align(request['align'], document.request.bytes, document.contract, document.device.capacity)
    if op.kind == 'execute':
        load = history.ops[op.program] if op.program is not None else op
        require(load.kind == 'load', 'list: the op executes no program')
        request['stack'] = up(load.stack, document.device.granule)
    elif asks_plainly(history.head.get('rounding', {'granule': ''})):
        request['bytes'] = min(op['size'], SIZE_MAX)
    require(request.items() <= document.request.items(), 'list: the request is another')


def compare_log(document, history, log):
    named = document.list
    replay = Replay(history, log, named.host)
    promised = replay.contract | ({'grows': True} if 'step' in replay.contract else {})
    require(('grows' in document.contract) == ('grows' in promised), 'log: the target grows, or does not')
    require(document.contract.get('aligns_naturally', False) == promised.setdefault('aligns_naturally', False),
            'log: the target aligns naturally, or does not')
    contract = {name: promised[name] for name in document.contract}
    require(replay.contract.granule == document.device.granule and contract == document.contract,
            'log: the granule or contract is another')
    if history.has_lanes:
        compare_request(document, replay, history.ops[named.op].kind == 'execute')
    else:
        require(named.op < len(log.lines) and log.lines[named.op].answer == 'no_memory', 'log: the op was not refused')
        refused = log.lines[named.op].get('refused', ())
        require(document.refused == {kind: kind in refused for kind in document.refused}, 'log: refused differs')
        replay.run(named.op)
        hides_kept = document.contract.placement != 'ranges' and document.claim == 'justified'
        compare_blocks(document, replay.show_blocks(named.op, hides_kept))
        regions = sorted([start, end] for start, end in replay.regions.items())
        require(document.device.get('regions', []) == regions, 'log: the regions are others')
        compare_request(document, replay, False)


def compare_blocks(document, shown):
    blocks = {(block.op, block.address): block for block in document.blocks}
    for made in sorted(blocks.keys() | shown.keys()):
        require(blocks.get(made) == shown.get(made), f'log: the block of op {made[0]} at {made[1]} is another')


def compare_request(document, replay, is_unknown):
    """Without knowing what an image is, stack, bytes and program of its execution are left to the list."""
    if not is_unknown:
        shown = replay.show_request(document.list.op, document)
        require(document.request == shown, 'log: the request is another')


def compare(document, history, log):
    """Gives what the verdict says of them."""
    compare_list(document, history)
    if log is None:
        return 'the op is that of the list'
    compare_log(document, history, log)
    return ('the op is that of the list, whose lanes overlap' if history.has_lanes
            else 'the state is that of the list and its observations')
