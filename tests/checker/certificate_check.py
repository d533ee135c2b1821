#!/usr/bin/env python3
"""Checks certificates of hbmstress: a second checker, written from docs/certificate.md alone, whose names it uses.

    tests/checker/certificate_check.py FILE ...

Prints one verdict on each file, and exits with the worst: 0 the proof holds, 1 it does not, 2 a file cannot be read as
what it should be.  It shares no code with any other part of hbmstress, so an error in one of them shows where it and
hbm-certificate-check disagree.
"""
import argparse
import bisect
import collections
import itertools
import json
import math
import re
import sys

DOCUMENT_BYTES_MAX, DEPTH_MAX = 2**30, 2048
SIZE_MAX, ITEMS_MAX = 2**62, 8192


class Refuted(Exception):
    """What the text states does not hold."""


class Unreadable(Exception):
    """The text is not what it should be."""


class Members(dict):
    """A JSON object; its members are attributes, too."""
    __hash__ = object.__hash__
    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__


def require(condition, reason):
    if not condition:
        raise Refuted(reason)


def up(number, unit):
    return -(-number // unit) * unit


# -- JSON, which may be hostile ---------------------------------------------------------------------------------------

def read_number(digits):
    """Python gives what is not JSON here, too: NaN and Infinity."""
    number = int(digits) if digits.lstrip('-').isdigit() else float(digits)
    if not (-2**63 <= number < 2**63 if type(number) is int else math.isfinite(number)):
        raise ValueError('a number is too large')
    return number


def read_object(pairs):
    members = Members(pairs)
    if len(members) < len(pairs):
        raise ValueError('a member is there twice')
    return members


def check_nesting(level):
    """Looks at one level after the other, so that no depth exhausts the stack."""
    for _ in range(DEPTH_MAX):
        if any(type(each) is str and re.search('[\0\ud800-\udfff]', each) for each in level):
            raise ValueError('a string holds no text')
        level = [child for each in level if type(each) in (list, Members)
                 for child in (each if type(each) is list else (*each, *each.values()))]
    if level:
        raise ValueError('values nest too deep')


def read_json(text):
    # The reader of Python recurs once for each level; what nests deeper than this is refused either way.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 2 * DEPTH_MAX))
    try:
        text.encode()
        value = json.loads(text, object_pairs_hook=read_object, parse_int=read_number, parse_float=read_number,
                           parse_constant=read_number)
        if '\\u' in text or text.count('[') + text.count('{') >= DEPTH_MAX:
            check_nesting([value])
    except (ValueError, RecursionError) as error:
        raise Unreadable(f'this is not JSON: {error}') from None
    return value


def match(value, shape, name):
    """A shape is a dict or a tuple of the shapes of its parts, [the shape of each element], a type, or what is possible:
    a range, a set of words, or a function.  A wrong type makes the text unreadable; what is not possible refutes it."""
    base = {set: str, range: int, dict: Members, tuple: list, type: shape}.get(type(shape), type(shape))
    if callable(shape) and type(shape) is not type:
        require(shape(value), f'{name} is not possible')
    elif type(value) is not base or type(shape) is dict and value.keys() != shape.keys() \
            or type(shape) is tuple and len(value) != len(shape):
        raise Unreadable(f'{name}: a member is missing, unknown, or of the wrong type')
    elif type(shape) in (set, range):
        require(value in shape, f'{name} is not possible')
    elif type(shape) is dict:
        for part in shape:
            match(value[part], shape[part], f'{name}.{part}')
    elif type(shape) in (list, tuple):
        for i, element in enumerate(value):
            match(element, shape[i if type(shape) is tuple else 0], f'{name}[{i}]')


# -- The document -----------------------------------------------------------------------------------------------------

def are_strings(value):
    return type(value) is Members and all(type(each) is str for each in value.values())


COUNT, TIME, BYTES, OP = range(0, 2**63), range(-1, 2**63), range(0, SIZE_MAX + 1), range(0, 2**32)
DEFRAG = {'none', 'slide', 'repack'}
HEAD = {'format': str, 'version': int}
LIST = {'sha256': str, 'op': OP, 'host': range(0, 64), 'target': str, 'options': are_strings}
BLOCK = {'op': OP, 'kind': {'buffer', 'output', 'program', 'retired'}, 'state': {'live', 'dying'}, 'address': TIME,
         'size': BYTES, 'align': BYTES, 'stack': BYTES, 'holds': COUNT, 'used_until': TIME, 'freed_at': TIME}
FACTS = {'claim': {'justified', 'premature', 'unknown'},
         'device': {'capacity': range(1, 2**50 + 1), 'granule': range(1, 2**30 + 1)},
         'contract': {'defrag': DEFRAG, 'drains': bool, 'evicts': bool, 'program_evicts_program': bool},
         'refused': {'copy': bool, 'wait': bool, 'unload': bool, 'host_memory': bool},
         'request': {'class': {'buffer', 'program'}, 'bytes': BYTES, 'align': BYTES, 'stack': BYTES, 'program': TIME},
         'blocks': [BLOCK], 'proof': Members}


def read_document(text):
    document = read_json(text)
    if type(document) is not Members:
        raise Unreadable('this is not an object')
    match(Members({name: document.get(name) for name in HEAD}), HEAD, 'certificate')
    require(document.format == 'hbmstress-certificate' and document.version in (1, 2), 'the format or version is wrong')
    named = document.get('list')
    shape = HEAD | FACTS | ({'list': LIST if named else type(None)} if document.version == 2 else {})
    match(Members({name: document[name] for name in document if name != 'about'}), shape, 'certificate')
    require(not named or re.fullmatch('[0-9a-f]{64}', named.sha256), 'list.sha256 is no SHA-256')
    check_blocks(document)
    check_request(document.request, document.device, document.blocks)
    return document


def is_align(number, granule):
    return number & number - 1 == 0 and granule <= number <= 2**30


def check_request(request, device, blocks):
    granule, is_program = device.granule, request['class'] == 'program'
    require(is_align(granule, 1) and device.capacity % granule == 0, 'device: its granule or capacity')
    require(is_align(request.align, granule) and (not is_program or request.align == granule), 'request: its align')
    require(request.stack % granule == 0 and (is_program or request.stack == 0), 'request: its stack')
    require((request.bytes == 0) == (request.program >= 0), 'request: a program without bytes, and only then')
    if request.bytes == 0:
        require(is_program and request.program < len(blocks), 'request: its program')
        program = blocks[request.program]
        require((program.kind, program.state, program.stack) == ('program', 'live', request.stack), 'request: its program')


def check_blocks(document):
    end, blocks, device = 0, document.blocks, document.device
    reserved = max((block.stack for block in blocks if block.used_until != 0), default=0)
    for i, block in enumerate(blocks):
        name = f'blocks[{i}]'
        check_block(block, device.granule, name)
        check_possible(block, device.granule, name)
        if block.address == -1:
            require(find_mitigations(document).defrag == 'repack' and block.size <= device.capacity,
                    f'{name} cannot be in host memory')
            end = math.inf
        else:
            require(block.address >= max(end, reserved), f'{name} is not above the block before, and the stack')
            end = block.address + block.size
            require(end <= device.capacity, f'{name} is not inside the device')
    require(len({block.op for block in blocks}) == len(blocks), 'two blocks are of one op')


def check_block(block, granule, name):
    require(is_align(block.align, granule) and (block.address == -1 or block.address % block.align == 0), f'{name}: its align')
    require(block.size > 0 and block.size % granule == 0, f'{name}: its size')
    require(block.stack % granule == 0 and (block.kind == 'program' or block.stack == 0), f'{name}: its stack')
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


# -- The state that decides -------------------------------------------------------------------------------------------

def find_mitigations(document):
    contract, refused = document.contract, document.refused
    evicts = contract.evicts if document.request['class'] == 'buffer' else contract.program_evicts_program
    return Members(drains=contract.drains and not (refused.wait or refused.host_memory),
                   defrag='none' if refused['copy'] or refused.host_memory else contract.defrag,
                   evicts=evicts and not (refused.unload or refused.host_memory))


class State:
    """The heap once all that is due at `time` (or T) was awaited, and these programs (or all that may) were evicted.

    blocks: those that are not gone, and movable: those of them that may move, by their indexes; gaps: the (start, end,
    movable blocks) between the fixed ones; spans: the (start, end) in the order of a search; items: (size, align)."""

    def __init__(self, document, time=None, evict=None):
        self.document, self.device, self.request = document, document.device, document.request
        self.can, blocks = find_mitigations(document), dict(enumerate(document.blocks))
        freed = (block.freed_at for block in blocks.values() if self.is_released(block) and self.can.drains)
        self.time = max((0, *freed)) if time is None else time
        self.evictable = {i for i, block in blocks.items() if self.can.evicts and self.may_be_evicted(i, block)}
        gone = self.evictable if evict is None else set(evict)
        self.blocks = {i: block for i, block in blocks.items() if i not in gone
                       and not (self.is_released(block) and -1 < block.freed_at <= self.time)}
        self.movable = {i: block for i, block in self.blocks.items() if self.may_move(block)}
        self.bottom = max((self.request.stack, *(block.stack for block in self.blocks.values() if not self.has_ended(block))))
        self.is_stuck = self.bottom > self.device.capacity or any(
            block.address < self.bottom for i, block in self.blocks.items() if i not in self.movable)
        self.gaps = list(self.list_gaps())
        self.spans = sorted(((start, end) for start, end, _ in self.gaps if start < end),
                            key=lambda span: (span[1] - span[0], -span[0]))
        self.lengths = [end - start for start, end in self.spans]
        self.need = min(up(self.request.bytes, self.device.granule), self.device.capacity + self.device.granule)
        self.items = [(self.need, self.request.align)] * (self.need > 0)
        self.items += [(block.size, block.align) for block in self.movable.values()]

    def is_released(self, block):
        return block.state == 'dying' and block.holds == 0

    def has_ended(self, block):
        return -1 < block.used_until <= self.time

    def may_be_evicted(self, index, block):
        return (block.kind == 'program' and block.state == 'live' and block.address >= 0 and self.has_ended(block)
                and index != self.request.program)

    def may_move(self, block):
        return block.address == -1 or (self.can.defrag != 'none' and block.state == 'live' and block.holds == 0
                                       and self.has_ended(block))

    def list_gaps(self):
        start, inside = self.bottom, []
        for i, block in self.blocks.items():
            if i not in self.movable:
                yield start, block.address, inside
                start, inside = block.address + block.size, []
            elif block.address >= 0:
                inside.append(block)
        yield start, self.device.capacity, inside

    def fits_in_place(self):
        """Whether a placement exists in which the movable blocks stay in their gaps, in their order."""
        fits = self.need == 0
        for start, end, inside in self.gaps:
            lows, highs = [start], [end]  # The end of the first k blocks pushed down; the start of the last k pushed up.
            for block in inside:
                lows.append(up(lows[-1], block.align) + block.size)
            for block in reversed(inside):
                highs.append((highs[-1] - block.size) // block.align * block.align)
            if lows[-1] > end:
                return False
            fits = fits or any(up(low, self.request.align) + self.need <= high for low, high in zip(lows, reversed(highs)))
        return fits

    def slack(self, items):
        return sum(self.lengths) - sum(size for size, _ in items)

    def sort_types(self, items):
        """Gives the types of the items, the count of each, and the slack."""
        require(len(items) <= ITEMS_MAX and self.slack(items) >= 0, 'proof: too many items, or the slack is negative')
        counts = collections.Counter(items)
        types = sorted(counts, key=lambda item: (-item[0], item[1]))
        return types, [counts[each] for each in types], self.slack(items)

    def divide(self, unit):
        """The need and have of `rounding`."""
        return sum(size // unit for size, _ in self.items), sum(length // unit for length in self.lengths)


# -- Claim justified --------------------------------------------------------------------------------------------------

def check_stack(state, _):
    require(state.is_stuck, 'proof: the stack can be reserved')


def check_spans(state, _):
    require(not state.fits_in_place(), 'proof: the request fits')


def check_rounding(state, proof):
    require(proof.unit > 0 and proof.unit % state.device.granule == 0, 'proof: its unit')
    require((proof.need, proof.have) == state.divide(proof.unit) and proof.need > proof.have, 'proof: need or have is wrong')


class Search:
    """The walk along a log.  A node is (span, t, first, at, slack, passed, spare)."""

    def __init__(self, state, proof):
        self.granule, self.is_plain, self.spans = state.device.granule, proof.plain, state.spans
        self.types, self.counts, self.slack = state.sort_types(
            [(size, self.granule if proof.plain else align) for size, align in state.items if size >= proof.least])

    def walk(self, log):
        """Each node to visit comes with the type, if any, of which an item is taken back first."""
        pending = [((0, 0, 0, self.spans[0][0], self.slack, 0, self.slack), None)] if self.spans else []
        for letter in log:
            require(pending, 'proof: the log goes on behind the search')
            node, taken = pending.pop()
            if taken is not None:
                self.counts[taken] += 1
            require(any(self.counts), 'proof: everything fits')
            pending += self.list_children(letter, node, self.next_type(*node))
        require(not pending and any(self.counts), 'proof: the log ends before the search')

    def next_type(self, span, t, first, at, slack, *_):
        end = self.spans[span][1]
        for t in range(t, len(self.types)):
            size, align = self.types[t]
            start = up(at, align)
            if self.counts[t] and (align > self.granule or t >= first) and start + size <= end and start - at <= slack:
                return t
        return len(self.types)

    def list_children(self, letter, node, t):
        span, _, _, at, slack, _, spare = node
        room = self.spans[span][1] - at
        if letter == 'b' and t < len(self.types):
            return self.branch(node, t)
        if letter == 'c' and t == len(self.types) and room <= spare and span + 1 < len(self.spans):
            return [((span + 1, 0, 0, self.spans[span + 1][0], slack - room, 0, slack - room), None)]
        require(letter == 'f' and room > spare and (self.is_plain or t == len(self.types)), 'proof: its log')
        require(room - spare > sum(size * count for (size, _), count in zip(self.types[t:], self.counts[t:])),
                'proof: the log gives a place up too early')
        return []

    def branch(self, node, t):
        span, _, first, at, slack, passed, spare = node
        size, align = self.types[t]
        start = up(at, align)
        left = slack - (start - at)
        spares = left, spare
        if self.is_plain:
            spares = min(spare, passed - size - 1) if passed > 0 else spare, min(spare, size - 1)
        self.counts[t] -= 1
        return [((span, t + 1, first, at, slack, size, spares[1]), t),
                ((span, 0, t if align == self.granule else 0, start + size, left, passed, spares[0]), None)]


def check_search(state, proof):
    Search(state, proof).walk(proof.log)


class Table:
    """The choices of items.  A set is a number: the counts of its types, each times the type's radix."""

    def __init__(self, state):
        self.types, self.counts, self.slack = state.sort_types(state.items)
        self.spans = state.spans
        self.radices = list(itertools.accumulate(self.counts, lambda radix, count: radix * (count + 1), initial=1))
        require(self.radices[-1] <= 2**63, 'proof: too many choices')

    def list_levels(self):
        """Gives the sets of each number of items: {set: (the least lost, the size of its items)}."""
        level = {0: (0, 0)}
        while level:
            yield level
            reached = {}
            for choice, (lost, size) in level.items():
                for t, lost_then in self.go_on(choice, lost, size):
                    more = choice + self.radices[t]
                    if more not in reached or lost_then < reached[more][0]:
                        reached[more] = lost_then, size + self.types[t][0]
            level = reached

    def go_on(self, choice, lost, size):
        """The (type, what is lost then) of each set that is reached from this one."""
        left = [t for t, count in enumerate(self.counts) if choice // self.radices[t] % (count + 1) < count]
        passed = lost + size
        for begin, end in self.spans:
            at = begin + passed
            if at > end:
                passed = at - end
                continue
            starts = [(t, up(at, self.types[t][1])) for t in left]
            fitting = [(t, lost + start - at) for t, start in starts if start + self.types[t][0] <= end]
            lost, passed = lost + end - at, 0
            if fitting or lost > self.slack:
                return [(t, lost_then) for t, lost_then in fitting if lost_then <= self.slack]
        return []


def check_table(state, proof):
    require(1 <= proof.sets <= 2**23, 'proof: its number of sets')
    table, count = Table(state), 0
    for level in table.list_levels():
        count += len(level)
        require(count <= proof.sets and table.radices[-1] - 1 not in level, 'proof: everything fits, or more sets are reached')
    require(count == proof.sets, 'proof: fewer sets are reached')


def check_fills(state, proof):
    lengths, unit = state.lengths[:proof.spans], proof.unit
    require(1 <= proof.spans <= len(state.lengths), 'proof: its number of spans')
    counts = collections.Counter(size for size, _ in state.items if size <= lengths[-1])
    require(unit > 0 and unit % state.device.granule == 0 and not any(size % unit for size in counts), 'proof: its unit')
    width = lengths[-1] // unit + 1
    passes = sum(count.bit_length() for count in counts.values())
    require(width <= 2**28 and width * passes <= 2**35, 'proof: too many sums')
    sums, mask = 1, (1 << width) - 1
    for size, count in counts.items():
        for step in (2**i for i in range(count.bit_length())):
            taken = min(step, count - step + 1)
            sums |= sums << taken * (size // unit) & mask
    fills = (unit * ((sums & (1 << length // unit + 1) - 1).bit_length() - 1) for length in lengths)
    require(proof.lost == sum(lengths) - sum(fills) > state.slack(state.items), 'proof: lost is wrong, or not above the slack')


# -- Claim premature --------------------------------------------------------------------------------------------------

class Plan:
    """The heap while a plan moves its blocks.  order: the (start, index, end) of those on the device, between two that
    stand for the ends of the device."""

    def __init__(self, state):
        self.state, self.capacity = state, state.device.capacity
        self.addresses = {i: block.address for i, block in state.blocks.items()}
        self.order = [(-1, -1, 0), *((block.address, i, block.address + block.size) for i, block in state.blocks.items()
                                     if block.address >= 0), (self.capacity, math.inf, math.inf)]

    def find_place(self, address, size, align, name):
        """Gives where in the order the range comes, which must be free."""
        require(address % align == 0 and self.state.bottom <= address and address + size <= self.capacity,
                f'{name} is not aligned, or not in the device above the stack')
        place = bisect.bisect_left(self.order, (address,))
        require(self.order[place - 1][2] <= address and address + size <= self.order[place][0], f'{name}: a block is there')
        return place

    def move(self, move, name):
        index, block = move.block, self.state.movable.get(move.block)
        require(block is not None, f'{name}: the block may not move')
        address, self.addresses[index] = self.addresses[index], move.to
        require(move.bytes == block.size and move['from'] == address, f'{name}: bytes or from is wrong')
        if address >= 0:
            del self.order[bisect.bisect_left(self.order, (address,))]
        if move.to >= 0:
            place = self.find_place(move.to, block.size, block.align, name)
            require(self.state.can.defrag != 'slide' or self.order[place - 1][1] < index < self.order[place][1],
                    f'{name} changes the order')
            self.order.insert(place, (move.to, index, move.to + block.size))


def check_plan(decisive, proof):
    require(proof.until <= decisive.time, 'proof: until is not a time to await')
    state = State(decisive.document, proof.until, proof.evict)
    require(len(set(proof.evict)) == len(proof.evict) and state.evictable.issuperset(proof.evict),
            'proof: a program may not be evicted')
    require(state.bottom <= state.device.capacity, 'proof: the stack is larger than the device')
    plan = Plan(state)
    for i, move in enumerate(proof.moves):
        plan.move(move, f'proof: moves[{i}]')
    require(all(address >= state.bottom for address in plan.addresses.values()),
            'proof: a block is left below the stack, or in host memory')
    require(state.need > 0 or proof.address == -1, 'proof: there is nothing to place')
    if state.need > 0:
        plan.find_place(proof.address, state.need, state.request.align, 'proof: address')


# -- Claim unknown ----------------------------------------------------------------------------------------------------

def best_fit_places_all(state):
    rooms = sorted(state.lengths)
    for size in sorted((size + align - state.device.granule for size, align in state.items), reverse=True):
        place = bisect.bisect_left(rooms, size)
        if place == len(rooms):
            return False
        bisect.insort(rooms, rooms.pop(place) - size)
    return True


def is_trivial(state):
    if best_fit_places_all(state) or state.fits_in_place() and all(block.address >= 0 for block in state.blocks.values()):
        return True
    sizes = {size for size, _ in state.items}
    units = {state.device.granule, math.gcd(*sizes)} | (sizes if len(state.spans) <= 64 and len(sizes) <= 1024 else set())
    return max(sizes) > max(state.lengths, default=0) or any(need > have for need, have in map(state.divide, units))


def find_class(state):
    if any(align > state.device.granule for _, align in state.items):
        return 'aligned'
    return 'held' if any(block.holds > 0 for i, block in state.blocks.items() if i not in state.movable) else 'plain'


def check_budget(state, proof):
    require((proof.need, proof.have) == (sum(size for size, _ in state.items), sum(state.lengths))
            and proof.need <= proof.have, 'proof: need or have is wrong')
    require(proof.nodes > 0 and not is_trivial(state), 'proof: nothing was tried, or it is trivial')
    if state.document.version == 2:
        is_searched = len(state.items) <= ITEMS_MAX and (len(state.items) + 1) * len(state.spans) <= 2**22
        require(proof.limit > 0 and (proof.nodes == proof.limit or proof.nodes < proof.limit and not is_searched),
                'proof: nodes or limit')
        require((proof.until, proof['class']) == (state.time, find_class(state)), 'proof: until or class is wrong')
        require(sum(proof.tried.values()) == proof.nodes, 'proof: the steps tried do not add up to nodes')


# -- The proof --------------------------------------------------------------------------------------------------------

MOVE = {'block': TIME, 'from': TIME, 'to': TIME, 'bytes': BYTES}
BUDGET = {'nodes': COUNT, 'need': COUNT, 'have': COUNT}
LIMIT = {'limit': COUNT, 'until': TIME, 'class': {'aligned', 'held', 'plain'},
         'tried': {'greedy': COUNT, 'search': COUNT, 'fills': COUNT, 'table': COUNT}}
# Of each kind of proof: the claim, the defrag that it is for, its members, and the function that checks it.
PROOFS = {
    'stack': ('justified', DEFRAG, {}, check_stack),
    'spans': ('justified', {'none', 'slide'}, {}, check_spans),
    'rounding': ('justified', {'repack'}, {'unit': COUNT, 'need': COUNT, 'have': COUNT}, check_rounding),
    'search': ('justified', {'repack'}, {'least': COUNT, 'plain': bool, 'log': str}, check_search),
    'table': ('justified', {'repack'}, {'sets': COUNT}, check_table),
    'fills': ('justified', {'repack'}, {'spans': COUNT, 'unit': COUNT, 'lost': COUNT}, check_fills),
    'plan': ('premature', DEFRAG, {'until': COUNT, 'address': TIME, 'evict': [COUNT], 'moves': [MOVE]}, check_plan),
    'budget': ('unknown', {'repack'}, BUDGET, check_budget)}


def check_document(document):
    proof = document.proof
    match(Members(kind=proof.get('kind')), {'kind': set(PROOFS)}, 'proof')
    claim, defrags, members, check_proof = PROOFS[proof.kind]
    require(document.claim == claim, f'proof.kind is {proof.kind}, which proves another claim')
    version_2 = LIMIT if proof.kind == 'budget' and document.version == 2 else {}
    match(proof, {'kind': str} | members | version_2, 'proof')
    state = State(document)
    require(state.can.defrag in defrags, f'proof.kind is {proof.kind}, which does not decide under {state.can.defrag}')
    require(proof.kind in ('stack', 'plan') or not state.is_stuck, 'proof: the stack cannot be reserved')
    check_proof(state, proof)
    return f'{claim}, {proof.kind}'


def answer(check, *texts):
    """Gives (the exit code, what the check says)."""
    try:
        return 0, check(*texts)
    except Refuted as error:
        return 1, str(error)
    except Unreadable as error:
        return 2, str(error)


def check_file(name):
    try:
        with sys.stdin.buffer if name == '-' else open(name, 'rb') as file:
            content = file.read(DOCUMENT_BYTES_MAX + 1)
        text = content.decode()
    except (OSError, ValueError) as error:
        raise Unreadable(str(error)) from None
    if len(content) > DOCUMENT_BYTES_MAX:
        raise Unreadable('larger than 1 GiB')
    return check_document(read_document(text))


def main():
    parser = argparse.ArgumentParser(description='Checks the proofs in certificates of hbmstress.')
    parser.add_argument('files', metavar='FILE', nargs='+', help='a certificate; - is standard input')
    names, worst = parser.parse_args().files, 0
    for name in names:
        code, reason = answer(check_file, name)
        worst = max(worst, code)
        print(f'{name}: ' * (len(names) > 1) + f'{("valid", "refuted", "unreadable")[code]}: {reason}')
    return worst


if __name__ == '__main__':
    sys.exit(main())
