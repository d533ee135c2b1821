#!/usr/bin/env python3
"""Checks certificates of hbmstress: a second checker, written from docs/certificate.md alone.

    tests/checker/certificate_check.py [FILE ...]

Prints a verdict on each file, or on standard input, and exits with the worst: 0 the proof holds, 1
it does not, 2 a file cannot be read as what it should be.  Names are those of the page.  It shares
no code with the rest of hbmstress: where it and hbm-certificate-check disagree, one is wrong.
"""
import bisect
import collections
import json
import math
import re
import sys

DOCUMENT_BYTES_MAX, DEPTH_MAX, ITEMS_MAX, SIZE_MAX = 2**30, 2048, 8192, 2**62
COUNT, POSITIVE, TIME = range(2**63), range(1, 2**63), range(-1, 2**63)
BYTES, OP, POWER = range(SIZE_MAX + 1), range(2**32), {2**i for i in range(31)}
LARGE_POWER = {2**i for i in range(51)}


class Refuted(Exception):
    """What the text states does not hold.  A ValueError: the text is not what it should be."""


class Members(dict):
    """A JSON object; its members are attributes, too."""
    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__


def require(condition, reason, error=Refuted):
    if not condition:
        raise error(reason)


def up(number, unit):
    return -(-number // unit) * unit


def read_number(digits):
    """Python gives what is not JSON here, too: NaN and Infinity."""
    number = int(digits) if digits.lstrip('-').isdigit() else float(digits)
    is_small = -2**63 <= number < 2**63 if type(number) is int else math.isfinite(number)
    require(is_small, 'a number is too large', ValueError)
    return number


def read_object(pairs):
    require(len(dict(pairs)) == len(pairs), 'a member is there twice', ValueError)
    return Members(pairs)


def read_json(text):
    # Python recurs once for each level.  What nests deeper than this is refused either way.
    sys.setrecursionlimit(2 * DEPTH_MAX)
    value = json.loads(text, object_pairs_hook=read_object, parse_int=read_number,
                       parse_float=read_number, parse_constant=read_number)
    depth = 0
    level = [value] if '\\u' in text or text.count('[') + text.count('{') >= DEPTH_MAX else []
    while level:
        depth += 1
        texts = ''.join(each for each in level if type(each) is str)
        require(depth <= DEPTH_MAX and not re.search('[\0\ud800-\udfff]', texts),
                'values nest too deep, or a string is no text', ValueError)
        level = [part for each in level if type(each) in (list, Members)
                 for part in (each if type(each) is list else (*each, *each.values()))]
    return value


def match(value, shape, name):
    """A shape is a dict or a tuple of the shapes of the parts, [the shape of each element], a type,
    or the values possible.  A wrong type makes the text unreadable, a wrong value refutes it."""
    bases = {dict: Members, list: list, tuple: list, type: shape}
    base = bases.get(type(shape)) or type(next(iter(shape)))
    require(base in (type(value), object), f'{name} is not there, or of the wrong type', ValueError)
    if type(shape) in (range, set):
        require(value in shape, f'{name} is not possible')
    elif type(shape) is not type:
        shape = shape * len(value) if type(shape) is list else shape
        if base is list:
            value, shape = dict(enumerate(value)), dict(enumerate(shape))
        require(value.keys() == shape.keys(), f'{name} has other members', ValueError)
        for part in shape:
            match(value[part], shape[part], f'{name}.{part}')


DEFRAG = {'none', 'slide', 'repack'}
HEAD = {'format': {'hbmstress-certificate'}, 'version': {1}}
LIST = {'sha256': str, 'op': OP, 'host': range(64), 'target': str, 'options': object}
PLACED = {'placement': {'ranges', 'hidden', 'pages'}, 'header': range(2**20 + 1)}
NATURAL = {'aligns_naturally': {True}}
BLOCK = {'op': OP, 'kind': {'buffer', 'output', 'program', 'retired'}, 'state': {'live', 'dying', 'kept'},
         'address': TIME, 'size': BYTES[1:], 'align': POWER, 'stack': BYTES, 'holds': COUNT,
         'used_until': TIME, 'freed_at': TIME}
FACTS = {
    'claim': {'justified', 'premature', 'unknown'},
    'device': {'capacity': range(1, 2**50 + 1), 'granule': POWER},
    'contract': {'defrag': DEFRAG, 'drains': bool, 'evicts': bool, 'program_evicts_program': bool},
    'refused': {'copy': bool, 'wait': bool, 'unload': bool, 'host_memory': bool},
    'request': {'class': {'buffer', 'program'}, 'bytes': BYTES, 'align': POWER, 'stack': BYTES,
                'program': TIME},
    'blocks': [BLOCK], 'proof': Members}


# Of a contract that grows, beside the others.
REGIONS = {'device': {'region_align': POWER, 'regions': [(COUNT, COUNT)]},
           'contract': {'grows': {True}, 'trims': bool, 'step': range(1, 2**50 + 1)}, 'refused': {'region': bool}}


def has_regions(document):
    parts = ((document.get(name), REGIONS[name]) for name in REGIONS)
    return any(type(part) is Members and part.keys() & shape.keys() for part, shape in parts)


def read_document(text):
    document = read_json(text)
    require(type(document) is Members, 'this is not an object', ValueError)
    match(Members({name: document.get(name) for name in HEAD}), HEAD, 'certificate')
    document.pop('about', None)
    named = document.get('list')
    shape = {'list': type(None) if named is None else LIST, 'contract': FACTS['contract']}
    promised = document.get('contract') if type(document.get('contract')) is Members else {}
    if promised.keys() & PLACED.keys():
        shape['contract'] = shape['contract'] | PLACED
    if promised.keys() & NATURAL.keys():
        shape['contract'] = shape['contract'] | NATURAL
        shape |= {'request': FACTS['request'] | {'align': LARGE_POWER}, 'blocks': [BLOCK | {'align': LARGE_POWER}]}
    if has_regions(document):
        shape |= {name: (FACTS | shape)[name] | REGIONS[name] for name in REGIONS}
    match(document, HEAD | FACTS | shape, 'certificate')
    require(named is None or re.fullmatch('[0-9a-f]{64}', named.sha256)
            and type(named.options) is Members
            and all(type(value) is str for value in named.options.values()), 'list: its options')
    contract = document.contract
    contract.placement, contract.header = contract.get('placement', 'ranges'), contract.get('header', 0)
    require(contract.defrag == 'none' or (contract.placement, contract.header) == ('ranges', 0),
            'contract: what has no address, or a header, does not move')
    require(contract.header % document.device.granule == 0 and (
        contract.header == 0 or contract.placement == 'ranges'), 'contract: its header')
    if contract.placement == 'ranges':
        check_facts(document.device, document.request, document.blocks)
    else:
        check_unplaced(document)
    if 'aligns_naturally' in contract:
        check_natural(document)
    if any(block.state == 'kept' for block in document.blocks):
        check_kept(document)
    if has_regions(document):
        check_regions(document.device, document.contract, document.request, document.blocks)
    return document


def check_natural(document):
    """Refuses what does not go with blocks that lie at multiples of their size class."""
    device, contract, request = document.device, document.contract, document.request
    kinds = {block.kind for block in document.blocks} | {request['class']}
    require((contract.defrag, contract.placement, contract.header) == ('none', 'ranges', 0)
            and 'program' not in kinds and 'grows' not in contract, 'contract: it aligns naturally')
    require(request.bytes.bit_count() == 1 and request.bytes % device.granule == 0
            and (request.bytes > device.capacity or request.align % request.bytes == 0), 'request: its alignment')


def check_unplaced(document):
    """Refuses states that cannot be where no block has an address: each is looked at alone."""
    device, request, blocks = document.device, document.request, document.blocks
    program = dict(enumerate(blocks)).get(request.program)
    for i, block in enumerate(blocks):
        require(block.address == 0 and block.align == device.granule, f'blocks[{i}] has a place')
        check_facts(device, Members(request | {'program': -1, 'bytes': 1}),
                    [Members(block | {'address': 0, 'stack': 0})])
        require(block.stack % device.granule == 0 and (block.stack == 0 or block.kind == 'program'),
                f'blocks[{i}] cannot be')
    require(len({block.op for block in blocks}) == len(blocks), 'two blocks are of one op')
    require(request.program == -1 if request.bytes > 0 else program and request['class'] == 'program'
            and (program.kind, program.state, program.stack) == ('program', 'live', request.stack),
            'the request cannot be')
    check_facts(device, Members(request | {'program': -1, 'bytes': 1}), [])
    kinds = {block.kind for block in blocks} | {request['class']}
    require(document.contract.placement == 'pages' or 'program' not in kinds, 'a program has a place')


def check_facts(device, request, blocks):
    """Refuses states that cannot be."""
    granule, is_buffer = device.granule, request['class'] == 'buffer'
    end = max((block.stack for block in blocks if block.used_until != 0), default=0)
    for i, block in enumerate(blocks):
        is_program, is_live = block.kind == 'program', block.state == 'live'
        used, freed = (math.inf if at == -1 else at for at in (block.used_until, block.freed_at))
        require(all((
            block.align >= granule and max(block.address, 0) % block.align == 0,
            block.size % granule == 0 and block.stack % granule == 0,
            block.align == granule and block.holds == 0 if is_program else block.stack == 0,
            freed == 0 if is_live else freed >= used and block.holds + freed > 0,
            is_live or not is_program or used == freed,
            block.state != 'kept' or block.kind in ('buffer', 'output') and block.align == granule
            and used == 0 and block.holds <= 1,
            block.kind != 'retired' or is_live and block.holds == 1 and used == 0 <= block.address,
            block.address == -1 or block.address >= end,
            max(block.address, 0) + block.size <= device.capacity)), f'blocks[{i}] cannot be')
        end = math.inf if block.address == -1 else block.address + block.size
    own = dict(enumerate(blocks)).get(request.program)
    require(all((
        device.capacity % granule == 0 and are_own_ops(blocks),
        request.align >= granule and request.stack % granule == 0,
        request.stack == 0 if is_buffer else request.align == granule,
        request.program == -1 if request.bytes > 0 else own and not is_buffer
        and (own.kind, own.state, own.stack) == ('program', 'live', request.stack))),
        'the request or the capacity cannot be, or two blocks are of one op')


def are_own_ops(blocks):
    """Whether only pieces of what one block left have the same op."""
    firsts = {}
    for i, block in enumerate(blocks):
        first, below = firsts.setdefault(block.op, block), blocks[i - 1]
        if first is not block and not (
                first.state == block.state == 'kept' and first.holds == block.holds and first.freed_at == block.freed_at
                and (below.op != block.op or below.address + below.size < block.address)):
            return False
    return True


def check_kept(document):
    """Refuses what does not go with memory that is kept."""
    kinds = {block.kind for block in document.blocks} | {document.request['class']}
    require(document.contract.defrag == 'none' and not has_regions(document) and kinds <= {'buffer', 'output'},
            'moves, regions, programs and bad memory do not go with what is kept')
    require(document.contract.placement == 'ranges' or document.claim != 'justified', 'what is kept proves nothing')


def check_regions(device, contract, request, blocks):
    """Refuses regions that cannot be."""
    edges = [0, *(edge for region in device.regions for edge in region), device.capacity]
    require(all((
        edges == sorted(edges) and all(start < end for start, end in device.regions),
        all(start % device.region_align == 0 for start, _ in device.regions),
        device.region_align >= max(device.granule, request.align) and contract.step % device.granule == 0,
        contract.defrag == 'none' and request['class'] == 'buffer',
        all(block.kind in ('buffer', 'output') for block in blocks))), 'the regions cannot be')
    for i, block in enumerate(blocks):
        require(any(start <= block.address and block.address + block.size <= end for start, end in device.regions),
                f'blocks[{i}] lies in no region')


class State:
    """The state that decides: all that is due at `time` (or T) was awaited, and `evict` (or all
    that may go) was evicted.  blocks: those that are not gone, and movable: those of them that may
    move, by their indexes; spans: (start, end) in the order of a search; items: (size, align)."""

    def __init__(self, document, time=None, evict=None):
        self.document, self.request = document, document.request
        self.capacity, self.granule = document.device.capacity, document.device.granule
        contract, refused, blocks = document.contract, document.refused, document.blocks
        drains = contract.drains and not (refused.wait or refused.host_memory)
        evicts = not (refused.unload or refused.host_memory) and contract[
            'evicts' if self.request['class'] == 'buffer' else 'program_evicts_program']
        self.defrag = 'none' if refused['copy'] or refused.host_memory else contract.defrag
        self.placement, self.header = contract.placement, contract.header
        awaited = {i: block.freed_at for i, block in enumerate(blocks)
                   if block.state != 'live' and block.holds == 0 and block.freed_at > -1}
        self.time = max((0, *awaited.values()) if drains else (0,)) if time is None else time
        ended = {i for i, block in enumerate(blocks) if -1 < block.used_until <= self.time}
        idle = {i for i in ended if blocks[i].state == 'live' and blocks[i].holds == 0}
        self.evictable = {i for i in idle if evicts and blocks[i].kind == 'program'
                          and blocks[i].address >= 0} - {self.request.program}
        gone = {i for i, freed_at in awaited.items() if freed_at <= self.time}
        gone |= self.evictable if evict is None else set(evict)
        self.blocks = {i: block for i, block in enumerate(blocks) if i not in gone}
        self.movable = {i: block for i, block in self.blocks.items()
                        if block.address == -1 or self.defrag != 'none' and i in idle}
        self.fixed = [block for i, block in self.blocks.items() if i not in self.movable]
        stacks = (block.stack for i, block in enumerate(blocks) if i not in ended)
        self.bottom = max(self.request.stack, *stacks, 0)
        starts = [self.bottom, *(block.address + block.size for block in self.fixed)]
        ends = [*(block.address for block in self.fixed), self.capacity]
        self.is_stuck = self.bottom > min(ends) and self.placement == 'ranges'
        self.spans = sorted(((start, end) for start, end in zip(starts, ends) if start < end),
                            key=lambda span: (span[1] - span[0], -span[0]))
        self.lengths = [end - start for start, end in self.spans]
        self.need = min(up(self.request.bytes, self.granule), self.capacity + self.granule)
        self.items = [(block.size, block.align) for block in self.movable.values()]
        self.items += [(self.need, self.request.align)] if self.need > 0 else []

    def measure(self, unit=1):
        """The need and have, in whole units."""
        return sum(size // unit for size, _ in self.items), sum(c // unit for c in self.lengths)

    def is_in_region(self, start):
        """Whether the request may lie there, as far as regions decide: within one that is held, or at the start of a new
        one.  What the new one meets was given back, so no block is left in it."""
        device, contract, refused = self.document.device, self.document.contract, self.document.refused
        if not has_regions(self.document) or any(low <= start and start + self.need <= high
                                                 for low, high in device.regions):
            return True
        end = start + up(self.need, contract.step)
        met = [(low, high) for low, high in device.regions if low < end and start < high]
        is_empty = all(block.address >= high or block.address < low
                       for low, high in met for block in self.blocks.values())
        return (start % device.region_align == 0 and end <= self.capacity and not (refused.region or refused.host_memory)
                and (not met or contract.trims and is_empty))

    def fits_in_regions(self):
        """Tries the lowest places above each block, and in each region and new region."""
        device, align = self.document.device, self.request.align
        starts = {0, *(up(end, device.region_align) for _, end in device.regions),
                  *(start for start, _ in device.regions),
                  *(up(block.address + block.size, align) for block in self.blocks.values())}
        where = {i: block.address for i, block in self.blocks.items()}
        return any(self.is_in_region(start) and self.is_free(where, start, self.need, align) for start in starts)

    def fits_in_place(self):
        """Whether there is a placement in which the movable blocks stay between the same fixed ones
        in their order: pushed down, they reach `low`, and at best `high` with the request."""
        fits, low, high = self.need == 0, self.bottom, math.inf
        for i, block in (*self.blocks.items(), (-1, Members(address=self.capacity, size=0))):
            high = min(high, up(low + self.header, self.request.align) - self.header + self.need)
            if i in self.movable:
                low, high = (up(at, block.align) + block.size for at in (low, high))
            elif low > block.address:
                return False
            else:
                fits = fits or high <= block.address
                low, high = block.address + block.size, math.inf
        return fits

    def is_rounding(self, unit, need, have):
        return unit % self.granule == 0 and (need, have) == self.measure(unit) and need > have

    def sort_types(self, least=0, align_max=SIZE_MAX):
        """Gives the types of the items, the count of each, and the slack."""
        items = [(size, min(align, align_max)) for size, align in self.items if size >= least]
        slack = sum(self.lengths) - sum(size for size, _ in items)
        require(len(items) <= ITEMS_MAX and slack >= 0 and self.spans, 'proof: its items')
        counts = collections.Counter(sorted(items, key=lambda item: (-item[0], item[1])))
        return list(counts), tuple(counts.values()), slack

    def is_search(self, least, plain, log):
        """Walks along the log.  A node is (span, t, first, at, slack, passed, spare, counts)."""
        types, counts, slack = self.sort_types(least, self.granule if plain else SIZE_MAX)
        nodes = [(0, 0, 0, self.spans[0][0], slack, 0, slack, counts)]
        for letter in log:
            require(nodes and any(nodes[-1][-1]), 'proof: its log goes on, or everything fits')
            span, t, first, at, slack, passed, spare, counts = nodes.pop()
            end, none = self.spans[span][1], len(types)
            t = next((t for t in range(t, none) if counts[t]
                      and (types[t][1] > self.granule or t >= first)
                      and up(at, types[t][1]) <= min(at + slack, end - types[t][0])), none)
            if letter == 'b' and t < none:
                size, align = types[t]
                start = up(at, align)
                left = slack - (start - at)
                spares = (min(spare, passed - size - 1 if passed else spare),
                          min(spare, size - 1)) if plain else (left, spare)
                nodes.append((span, t + 1, first, at, slack, size, spares[1], counts))
                counts = *counts[:t], counts[t] - 1, *counts[t + 1:]
                nodes.append((span, 0, t if align == self.granule else 0, start + size, left,
                              passed, spares[0], counts))
            elif letter == 'c' and t == none and end - at <= spare and span + 1 < len(self.spans):
                left = slack - (end - at)
                nodes.append((span + 1, 0, 0, self.spans[span + 1][0], left, 0, left, counts))
            else:
                left = sum(size * count for (size, _), count in zip(types[t:], counts[t:]))
                require(letter == 'f' and (plain or t == none) and end - at - spare > left,
                        'proof: its log')
        return not nodes

    def is_table(self, sets):
        """Takes the sets with one number of items after the other.  A set is the counts of its
        types, and goes with the least that it has lost."""
        types, counts, slack = self.sort_types()
        require(math.prod(count + 1 for count in counts) <= 2**63, 'proof: too many choices')
        level = {(0,) * len(types): 0}
        while level:
            sets -= len(level)
            require(sets >= 0 and counts not in level, 'proof: everything fits, or more sets')
            reached = {}
            for taken, lost in level.items():
                for t, lost_then in self.list_next(types, counts, taken, lost):
                    if lost_then <= slack:
                        more = *taken[:t], taken[t] + 1, *taken[t + 1:]
                        reached[more] = min(lost_then, reached.get(more, slack))
            level = reached
        return sets == 0

    def list_next(self, types, counts, taken, lost):
        """Gives the types that fit at the end of a set, or in the first span where one does, and
        what is lost then.  bound: where a span ends, counted along the spans."""
        left = [(t, *types[t]) for t, count in enumerate(counts) if taken[t] < count]
        filled, bound = sum(size * count for (size, _), count in zip(types, taken)), 0
        for start, end in self.spans:
            bound += end - start
            at = end - (bound - filled - lost)
            fitting = [(t, lost + up(at, align) - at) for t, size, align in left
                       if up(at, align) + size <= end]
            if fitting:
                return fitting
            lost = max(lost, bound - filled)
        return []

    def is_patterns(self, sets):
        """Fills one span after the other, the shortest first.  A set is the counts of its types."""
        types, counts, slack = self.sort_types(0, self.granule)
        require(math.prod(count + 1 for count in counts) <= 2**63, 'proof: too many choices')
        level, filled, steps = {(0,) * len(types)}, 0, 0
        for length in (*sorted(self.lengths), 0):
            sets -= len(level)
            if not level:
                return sets == 0
            require(sets >= 0, 'proof: more sets')
            reached, filled = set(), filled + length
            for taken in level:
                choices, tried = list_patterns(types, counts, taken, length, filled - slack)
                reached.update(choices)
                steps += tried
                require(steps <= 2**27, 'proof: too many steps')
            level = reached
        return False

    def is_fills(self, spans, unit, lost):
        """Bit i of `sums` is set if some choice of the items adds up to i units."""
        lengths = self.lengths[:spans]
        longest = max(lengths, default=0)
        counts = collections.Counter(size for size, _ in self.items if size <= longest)
        require(len(lengths) == spans and unit % self.granule == 0
                and not any(size % unit for size in counts), 'proof: its spans or unit')
        width, passes = longest // unit + 1, sum(map(int.bit_length, counts.values()))
        require(width <= 2**28 and width * passes <= 2**35, 'proof: too many sums')
        sums, mask = 1, (1 << width) - 1
        for size, count in counts.items():
            for step in (2**i for i in range(count.bit_length())):
                sums |= sums << min(step, count - step + 1) * (size // unit) & mask
        fills = ((sums & (2 << length // unit) - 1).bit_length() - 1 for length in lengths)
        need, have = self.measure()
        return lost == sum(lengths) - unit * sum(fills) > have - need

    def sum_taken(self):
        return self.bottom + sum(block.size for block in self.blocks.values())

    def is_sum(self, need, have):
        return (need, have) == (self.sum_taken() + self.need, self.capacity) and need > have

    def fits_unplaced(self):
        """Pages go anywhere; of the holes between hidden blocks one has its share of what is free."""
        free = (self.capacity - self.sum_taken()) // self.granule
        share = free if self.placement == 'pages' else -(-free // (len(self.blocks) + 1))
        lost = 0 if self.placement == 'pages' else self.request.align // self.granule - 1
        return free >= 0 and self.need // self.granule + lost <= share

    def is_plan(self, until, address, evict, moves):
        state = State(self.document, until, evict)
        require(until <= self.time and state.bottom <= state.capacity, 'proof: its until')
        require(len(set(evict)) == len(evict) and state.evictable >= set(evict), 'proof: its evict')
        if self.placement != 'ranges':
            return address == -1 and not moves and state.fits_unplaced()
        where = {i: block.address for i, block in state.blocks.items()}
        for move in moves:
            block, start = state.movable.get(move.block), where.pop(move.block, None)
            require(block and (move.bytes, move['from']) == (block.size, start), 'proof: a move')
            in_order = all((i < move.block) == (at < move.to) for i, at in where.items() if at >= 0)
            require(move.to == -1 or (in_order or state.defrag != 'slide') and state.is_free(
                where, move.to, block.size, block.align), 'proof: where a move ends')
            where[move.block] = move.to
        is_met = address == -1 if state.need == 0 else state.is_free(
            where, address, state.need, state.request.align, self.header) and state.is_in_region(address)
        return is_met and all(at >= state.bottom for at in where.values())

    def is_free(self, where, start, size, align, header=0):
        return ((start + header) % align == 0 and self.bottom <= start <= self.capacity - size
                and all(at + self.blocks[i].size <= start or start + size <= at
                        for i, at in where.items() if at >= 0))

    def is_budget(self, nodes, need, have, limit, until, tightness, tried):
        count, is_aligned = len(self.items), any(align > self.granule for _, align in self.items)
        is_small = count <= ITEMS_MAX and (count + 1) * len(self.spans) <= 2**22
        is_held = any(block.holds > 0 for block in self.fixed)
        return (need, have) == self.measure() and need <= have and not self.is_trivial() and (
            until == self.time and sum(tried.values()) == nodes
            and tightness == ('aligned' if is_aligned else 'held' if is_held else 'plain')
            and (nodes == limit or nodes < limit and not is_small))

    def is_trivial(self):
        sizes = {size for size, _ in self.items}
        units = {self.granule, math.gcd(*sizes)}
        units |= sizes if len(self.spans) <= 64 and len(sizes) <= 1024 else set()
        is_on_device = all(block.address >= 0 for block in self.blocks.values())
        return (self.best_fit_places_all() or max(sizes) > max(self.lengths, default=0)
                or is_on_device and self.fits_in_place()
                or any(need > have for need, have in map(self.measure, units)))

    def best_fit_places_all(self):
        rooms = sorted(self.lengths)
        sizes = (size + align - self.granule for size, align in self.items)
        for size in sorted(sizes, reverse=True):
            place = bisect.bisect_left(rooms, size)
            if place == len(rooms):
                return False
            bisect.insort(rooms, rooms.pop(place) - size)
        return True


def list_patterns(types, counts, taken, room, least):
    """Gives the sets that follow a set when a span with so much room is filled and at least so much is then placed in
    all, and how many choices of numbers, for the first types or for all, were looked at."""
    begun = [((), room, sum(size * count for (size, _), count in zip(types, taken)))]
    rest, tried = sum(size * (count - had) for (size, _), count, had in zip(types, counts, taken)), 1
    for (size, _), count, had in zip(types, counts, taken):
        rest -= size * (count - had)
        begun = [((*set_, had + more), left - more * size, placed + more * size)
                 for set_, left, placed in begun for more in range(min(count - had, left // size) + 1)
                 if placed + more * size + rest >= least]
        tried += len(begun)
    return [set_ for set_, _, _ in begun], tried


MEMBERS = {
    'unit': POSITIVE, 'need': COUNT, 'have': COUNT, 'least': COUNT, 'plain': bool, 'log': str,
    'sets': range(1, 2**23 + 1), 'spans': POSITIVE, 'lost': COUNT, 'until': COUNT, 'address': TIME,
    'evict': [COUNT], 'moves': [{'block': TIME, 'from': TIME, 'to': TIME, 'bytes': BYTES}],
    'nodes': POSITIVE, 'limit': POSITIVE, 'class': {'aligned', 'held', 'plain'},
    'tried': {'greedy': COUNT, 'search': COUNT, 'fills': COUNT, 'table': COUNT}}
# Of each kind of proof: the claim, the defrag that it is for, its members, and whether it holds.
PROOFS = {
    'stack': ('justified', DEFRAG, '', lambda state: state.is_stuck),
    'spans': ('justified', {'none', 'slide'}, '', lambda state: not (
        state.fits_in_regions() if has_regions(state.document) else state.fits_in_place())),
    'rounding': ('justified', {'repack'}, 'unit need have', State.is_rounding),
    'search': ('justified', {'repack'}, 'least plain log', State.is_search),
    'table': ('justified', {'repack'}, 'sets', State.is_table),
    'fills': ('justified', {'repack'}, 'spans unit lost', State.is_fills),
    'patterns': ('justified', {'repack'}, 'sets', State.is_patterns),
    'sum': ('justified', DEFRAG, 'need have', State.is_sum),
    'plan': ('premature', DEFRAG, 'until address evict moves', State.is_plan),
    'budget': ('unknown', {'repack'}, 'nodes need have limit until class tried', State.is_budget)}


# A message alone allows two heaps: what it says, what is assumed beyond it, and a proof for each heap.
REPORTED = {'requested': (BYTES, BYTES), 'free': (BYTES, BYTES), 'image': BYTES}
CONDITION = {'bytes': POSITIVE, 'from': COUNT, 'to': COUNT}
ASSUMED = {'kind': str, 'assumed': [COUNT], 'placed': [COUNT], 'bytes': COUNT, 'as_it_is': Members, 'other': Members}


def check_document(document):
    return check_assumed(document) if document.proof.get('kind') == 'assumed' else check_proof(document)


def check_assumed(document):
    proof, request, contract = document.proof, document.request, document.contract
    maybe = {'reported': REPORTED, 'premature_unless': CONDITION}
    match(proof, ASSUMED | {name: type(None) if proof.get(name) is None else shape
                            for name, shape in maybe.items()}, 'proof')
    require(document.claim == 'unknown' and contract.placement == 'ranges' and not has_regions(document),
            'proof: an assumption proves another claim, or is for another contract')
    reported, assumed, placed = proof.reported, proof.assumed, proof.placed
    image = reported.image if reported else 0
    least = image if 0 < image < request.bytes else request.bytes
    require(reported is None or reports(document, reported), 'reported: of another request or heap')
    require(proof.bytes == least and (least == request.bytes or request['class'] == 'program'), 'proof: its bytes')
    require(proof.premature_unless == find_condition(document, reported, least), 'proof: its premature_unless')
    require(assumed == sorted(set(assumed)) and all(i < len(document.blocks) and is_pinned(document.blocks[i])
                                                    for i in assumed), 'proof: its assumed')
    require(placed == sorted(set(placed)) and set(placed) <= find_placeable(document), 'proof: its placed')
    require(assumed or placed or least < request.bytes, 'proof: nothing is assumed')
    check_proof(Members(document | {'claim': 'justified', 'proof': proof.as_it_is}))
    blocks = [Members(block | {'holds': 0}) if i in set(assumed) else block for i, block in enumerate(document.blocks)]
    blocks = place_others(document, blocks, set(placed))
    claim = 'unknown' if proof.other.get('kind') == 'budget' else 'premature'
    check_proof(Members(document | {'claim': claim, 'proof': proof.other, 'blocks': blocks,
                                    'request': Members(request | {'bytes': least})}))
    return 'unknown, assumed'


def find_placeable(document):
    """The indexes of blocks that may lie elsewhere in the other heap: live buffers, while nothing may move."""
    if State(document).defrag != 'none':
        return set()
    return {i for i, block in enumerate(document.blocks)
            if block.state == 'live' and block.kind in ('buffer', 'output') and block.address >= 0}


def place_others(document, blocks, placed):
    """Joins what is free around the placed blocks: they go down, and up where a stack is asked for."""
    blocks, goes_up = list(blocks), document.request.stack > 0
    edge = document.device.capacity if goes_up else find_reserved(document)
    for i in reversed(range(len(blocks))) if goes_up else range(len(blocks)):
        block = blocks[i]
        if block.address < 0:
            continue
        if i in placed:
            lowest = (edge - block.size) // block.align * block.align if goes_up else up(edge, block.align)
            blocks[i] = block = Members(block | {'address': lowest})
        edge = block.address if goes_up else block.address + block.size
    return blocks


def is_pinned(block):
    return block.state == 'live' and block.holds > 0 and block.kind in ('buffer', 'output')


def find_reserved(document):
    return max((block.stack for block in document.blocks if block.used_until != 0), default=0)


def reports(document, reported):
    """Whether the message may be about this request and this heap."""
    request, granule = document.request, document.device.granule
    free = document.device.capacity - find_reserved(document) - sum(
        block.size for block in document.blocks if block.address >= 0)
    return (reported.requested[0] <= (request.stack or request.bytes) <= up(reported.requested[1], granule)
            and reported.requested[0] <= reported.requested[1] and reported.free[0] <= free <= reported.free[1])


def find_condition(document, reported, least_image):
    """What must have been pinned, and where, in every heap that the message allows."""
    request, capacity, unit = document.request, document.device.capacity, document.device.granule
    defrag = State(document).defrag
    if reported is None or defrag == 'none' or least_image != request.bytes or request.align != unit:
        return None
    largest, free = up(reported.requested[1], unit), up(reported.free[0], unit)
    if request.stack > 0:
        above = free - largest - up(request.bytes, unit)
        return {'bytes': unit, 'from': 0, 'to': capacity - above} if above >= 0 and not find_reserved(document) else None
    if largest > free or largest <= unit:
        return None
    # Each span takes less than the request: so many of them for all that is free.
    spans = -(-free // (largest - unit))
    # The last of them is still needed if all but one granule of what it has lies elsewhere.
    elsewhere = free - (spans - 1) * (largest - unit) - unit
    start = elsewhere // 2 // unit * unit
    return {'bytes': (spans - 1) * unit, 'from': start, 'to': capacity - (elsewhere - start)}


def check_proof(document):
    proof, state = document.proof, State(document)
    match(proof.get('kind'), set(PROOFS), 'proof.kind')
    claim, defrags, names, holds = PROOFS[proof.kind]
    names = names.split()
    match(proof, {'kind': str} | {name: MEMBERS[name] for name in names}, 'proof')
    is_on_device = all(block.address >= 0 for block in document.blocks)
    require(is_on_device or state.defrag == 'repack', 'a block cannot be in host memory')
    require(document.claim == claim and state.defrag in defrags, 'proof: another kind is needed')
    require(proof.kind == 'plan' or (proof.kind == 'sum') == (state.placement != 'ranges'),
            'proof: its kind is not for that placement')
    require(proof.kind in ('stack', 'plan') or not state.is_stuck, 'proof: the stack does not fit')
    require(holds(state, *map(proof.get, names)), f'proof: its {proof.kind} does not hold')
    return f'{claim}, {proof.kind}'


def answer(check, *texts):
    """Gives (the exit code, what the check says)."""
    try:
        return 0, check(*texts)
    except Refuted as error:
        return 1, str(error)
    except (ValueError, RecursionError, OSError) as error:
        return 2, str(error)


def check_file(name):
    with open(0 if name == '-' else name, 'rb') as file:
        content = file.read(DOCUMENT_BYTES_MAX + 1)
    require(len(content) <= DOCUMENT_BYTES_MAX, 'larger than 1 GiB', ValueError)
    return check_document(read_document(content.decode()))


def main(names):
    answers = [answer(check_file, name) for name in names]
    for name, (code, reason) in zip(names, answers):
        print(f'{name}: {("valid", "refuted", "unreadable")[code]}: {reason}')
    return max(code for code, _ in answers)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:] or ['-']))
