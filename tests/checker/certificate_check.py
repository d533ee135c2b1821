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

DOCUMENT_BYTES_MAX, DEPTH_MAX, ITEMS_MAX, SIZE_MAX = 2**30, 2048, 8192, 2**62
COUNT, POSITIVE, TIME, BYTES, OP = range(2**63), range(1, 2**63), range(-1, 2**63), range(SIZE_MAX + 1), range(2**32)


class Refuted(Exception):
    """What the text states does not hold."""


class Unreadable(Exception):
    """The text is not what it should be."""


class Members(dict):
    """A JSON object; its members are attributes, too."""
    __hash__ = object.__hash__
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


def check_nesting(level):
    """Looks at one level after the other, so that no depth exhausts the stack."""
    for _ in range(DEPTH_MAX):
        texts = (each for each in level if type(each) is str)
        require(not any(re.search('[\0\ud800-\udfff]', text) for text in texts), 'a string holds no text', ValueError)
        level = [child for each in level if type(each) in (list, Members)
                 for child in (each if type(each) is list else (*each, *each.values()))]
    require(not level, 'values nest too deep', ValueError)


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
    """A shape is a dict or a tuple of the shapes of the parts, [the shape of each element], a type, object for any, or
    what is possible: a range or a set of words.  A wrong type makes the text unreadable, a wrong word refutes it."""
    base = {set: str, range: int, dict: Members, tuple: list, list: list}.get(type(shape), shape)
    require(base in (type(value), object), f'{name} is not there, or of the wrong type', Unreadable)
    if type(shape) in (set, range):
        require(value in shape, f'{name} is not possible')
    elif type(shape) in (dict, list, tuple):
        shapes = shape * len(value) if type(shape) is list else shape
        shapes, parts = (shapes, value) if base is Members else (dict(enumerate(each)) for each in (shapes, value))
        require(parts.keys() == shapes.keys(), f'{name} has a part too many, or one too few', Unreadable)
        for part in shapes:
            match(parts[part], shapes[part], f'{name}.{part}')


DEFRAG = {'none', 'slide', 'repack'}
LIST = {'sha256': str, 'op': OP, 'host': range(64), 'target': str, 'options': object}
BLOCK = {'op': OP, 'kind': {'buffer', 'output', 'program', 'retired'}, 'state': {'live', 'dying'}, 'address': TIME,
         'size': BYTES[1:], 'align': BYTES, 'stack': BYTES, 'holds': COUNT, 'used_until': TIME, 'freed_at': TIME}
HEAD = {'format': str, 'version': int}
FACTS = {'claim': {'justified', 'premature', 'unknown'},
         'device': {'capacity': range(1, 2**50 + 1), 'granule': range(1, 2**30 + 1)},
         'contract': {'defrag': DEFRAG, 'drains': bool, 'evicts': bool, 'program_evicts_program': bool},
         'refused': {'copy': bool, 'wait': bool, 'unload': bool, 'host_memory': bool},
         'request': {'class': {'buffer', 'program'}, 'bytes': BYTES, 'align': BYTES, 'stack': BYTES, 'program': TIME},
         'blocks': [BLOCK], 'proof': Members}


def read_document(text):
    document = read_json(text)
    require(type(document) is Members, 'this is not an object', Unreadable)
    match(Members({name: document.get(name) for name in HEAD}), HEAD, 'certificate')
    require(document.format == 'hbmstress-certificate' and document.version in (1, 2), 'the format or version is wrong')
    named = document.get('list')
    shape = HEAD | FACTS | ({'list': type(None) if named is None else LIST} if document.version == 2 else {})
    match(Members({name: document[name] for name in document if name != 'about'}), shape, 'certificate')
    require(named is None or re.fullmatch('[0-9a-f]{64}', named.sha256) and type(named.options) is Members
            and all(type(value) is str for value in named.options.values()), 'list: its sha256 or options')
    check_blocks(document.blocks, document.device)
    check_request(document.request, document.device.granule, document.blocks)
    return document


def is_align(number, granule):
    return number & number - 1 == 0 and granule <= number <= 2**30


def check_blocks(blocks, device):
    require(is_align(device.granule, 1) and device.capacity % device.granule == 0, 'device: its granule or capacity')
    require(len({block.op for block in blocks}) == len(blocks), 'two blocks are of one op')
    end = max((block.stack for block in blocks if block.used_until != 0), default=0)  # The stacks reserved now.
    for i, block in enumerate(blocks):
        require(is_possible(block, device.granule), f'blocks[{i}]: its members cannot be')
        require(block.address == -1 or block.address >= end, f'blocks[{i}] is not above the block before, or a stack')
        require(max(block.address, 0) + block.size <= device.capacity, f'blocks[{i}] is larger than the device')
        end = math.inf if block.address == -1 else block.address + block.size


def is_possible(block, granule):
    used, freed = (math.inf if time == -1 else time for time in (block.used_until, block.freed_at))
    is_program = block.kind == 'program'
    return all((
        is_align(block.align, granule) and (block.address == -1 or block.address % block.align == 0),
        block.size % granule == 0 and block.stack % granule == 0 and (is_program or block.stack == 0),
        block.kind != 'retired' or (block.state == 'live' and block.address >= 0 and block.holds == 1 and used == 0),
        not is_program or (block.holds == 0 and block.align == granule),
        freed == 0 if block.state == 'live' else block.holds > 0 or freed > 0,
        block.state == 'live' or (used == freed if is_program else used <= freed)))


def check_request(request, granule, blocks):
    is_program, program = request['class'] == 'program', blocks[request.program:][:1] if request.program >= 0 else []
    require(is_align(request.align, granule) and request.stack % granule == 0, 'request: its align or stack')
    require(request.align == granule if is_program else request.stack == 0, 'request: its align or stack')
    require((request.bytes == 0) == (request.program >= 0), 'request: a program without bytes, and only then')
    require(request.bytes > 0 or is_program and [(each.kind, each.state, each.stack) for each in program]
            == [('program', 'live', request.stack)], 'request: its program')


class State:
    """The state that decides: all that is due at `time` (or T) was awaited, and `evict` (or all that may) was evicted.

    blocks: those that are not gone, and movable: those of them that may move, by their indexes; gaps: the (start, end,
    movable blocks) between the fixed ones; spans: the (start, end) in the order of a search; items: (size, align)."""

    def __init__(self, document, time=None, evict=None):
        self.document, blocks = document, dict(enumerate(document.blocks))
        contract, refused = document.contract, document.refused
        self.request, self.capacity, self.granule = document.request, document.device.capacity, document.device.granule
        drains = contract.drains and not (refused.wait or refused.host_memory)
        evicts = contract.evicts if self.request['class'] == 'buffer' else contract.program_evicts_program
        self.defrag = 'none' if refused['copy'] or refused.host_memory else contract.defrag
        awaited = {i: block.freed_at for i, block in blocks.items() if block.state == 'dying' and block.holds == 0}
        self.time = max((0, *awaited.values()) if drains else (0,)) if time is None else time
        ended = {i for i, block in blocks.items() if -1 < block.used_until <= self.time}
        idle = {i for i in ended if blocks[i].state == 'live' and blocks[i].holds == 0}
        self.evictable = {i for i in idle if blocks[i].kind == 'program' and blocks[i].address >= 0
                          and evicts and not (refused.unload or refused.host_memory)} - {self.request.program}
        gone = {i for i, freed_at in awaited.items() if -1 < freed_at <= self.time}
        gone |= self.evictable if evict is None else set(evict)
        self.blocks = {i: block for i, block in blocks.items() if i not in gone}
        self.movable = {i: block for i, block in self.blocks.items()
                        if block.address == -1 or self.defrag != 'none' and i in idle}
        self.fixed = [block for i, block in self.blocks.items() if i not in self.movable]
        self.bottom = max(self.request.stack, *(block.stack for i, block in blocks.items() if i not in ended), 0)
        self.is_stuck = self.bottom > min((self.capacity, *(block.address for block in self.fixed)))
        self.gaps = list(self.list_gaps())
        self.spans = sorted(((start, end) for start, end, _ in self.gaps if start < end),
                            key=lambda span: (span[1] - span[0], -span[0]))
        self.lengths = [end - start for start, end in self.spans]
        self.need = min(up(self.request.bytes, self.granule), self.capacity + self.granule)
        self.items = [(block.size, block.align) for block in self.movable.values()]
        self.items += [(self.need, self.request.align)] if self.need > 0 else []

    def list_gaps(self):
        start, inside = self.bottom, []
        for i, block in self.blocks.items():
            if i not in self.movable:
                yield start, block.address, inside
                start, inside = block.address + block.size, []
            elif block.address >= 0:
                inside.append(block)
        yield start, self.capacity, inside

    def fits_in_place(self):
        """Whether a placement exists in which the movable blocks stay in their gaps, in their order."""
        fits = self.need == 0
        for start, end, inside in self.gaps:
            # Where the first k blocks end when pushed down, and where the last k start when pushed up.
            lows, highs = [start], [end]
            for down, raised in zip(inside, reversed(inside)):
                lows.append(up(lows[-1], down.align) + down.size)
                highs.append((highs[-1] - raised.size) // raised.align * raised.align)
            if lows[-1] > end:
                return False
            fits = fits or any(up(low, self.request.align) + self.need <= high for low, high in zip(lows, highs[::-1]))
        return fits

    def measure(self, unit=1):
        """The need and have, in whole units."""
        return sum(size // unit for size, _ in self.items), sum(length // unit for length in self.lengths)

    def sort_types(self, least=0, align_max=SIZE_MAX):
        """Gives the types of the items, the count of each, and the slack."""
        items = [(size, min(align, align_max)) for size, align in self.items if size >= least]
        slack = sum(self.lengths) - sum(size for size, _ in items)
        require(len(items) <= ITEMS_MAX and slack >= 0, 'proof: too many items, or the slack is negative')
        counts = sorted(collections.Counter(items).items(), key=lambda entry: (-entry[0][0], entry[0][1]))
        return [each for each, _ in counts], [count for _, count in counts], slack


def is_rounding(state, proof):
    return proof.unit % state.granule == 0 and (proof.need, proof.have) == state.measure(proof.unit) \
        and proof.need > proof.have


class Search:
    """The walk along a log.  A node is (span, t, first, at, slack, passed, spare)."""

    def __init__(self, state, proof):
        self.granule, self.is_plain, self.spans = state.granule, proof.plain, state.spans
        self.types, self.counts, self.slack = state.sort_types(proof.least, self.granule if proof.plain else SIZE_MAX)

    def ends_with(self, log):
        """Each node to visit comes with the type, if any, of which an item is taken back first."""
        pending = [(None, 0, 0, 0, self.spans[0][0], self.slack, 0, self.slack)] if self.spans else []
        for letter in log:
            require(pending, 'proof: the log goes on behind the search')
            taken, *node = pending.pop()
            if taken is not None:
                self.counts[taken] += 1
            require(any(self.counts), 'proof: everything fits')
            pending += self.list_children(letter, *node)
        return not pending and any(self.counts)

    def list_children(self, letter, span, t, first, at, slack, passed, spare):
        end, count = self.spans[span][1], len(self.types)
        t = next((t for t in range(t, count) if self.counts[t] and (self.types[t][1] > self.granule or t >= first)
                  and up(at, self.types[t][1]) <= min(at + slack, end - self.types[t][0])), count)
        if letter == 'b' and t < count:
            return self.branch(span, t, first, at, slack, passed, spare)
        if letter == 'c' and t == count and end - at <= spare and span + 1 < len(self.spans):
            return [(None, span + 1, 0, 0, self.spans[span + 1][0], slack - (end - at), 0, slack - (end - at))]
        left = sum(size * count for (size, _), count in zip(self.types[t:], self.counts[t:]))
        require(letter == 'f' and (self.is_plain or t == count) and end - at - spare > left, 'proof: its log')
        return []

    def branch(self, span, t, first, at, slack, passed, spare):
        size, align = self.types[t]
        self.counts[t] -= 1
        slack_then = slack - (up(at, align) - at)
        spares = slack_then, spare
        if self.is_plain:
            spares = min(spare, passed - size - 1) if passed > 0 else spare, min(spare, size - 1)
        return [(t, span, t + 1, first, at, slack, size, spares[1]),
                (None, span, 0, t if align == self.granule else 0, up(at, align) + size, slack_then, passed, spares[0])]


class Table:
    """The choices of items.  A set is a number: the counts of its types, each times the type's radix."""

    def __init__(self, state):
        (self.types, self.counts, self.slack), self.spans = state.sort_types(), state.spans
        self.radices = list(itertools.accumulate(self.counts, lambda radix, count: radix * (count + 1), initial=1))
        require(self.radices[-1] <= 2**63, 'proof: too many choices')

    def count_sets(self, most):
        """Takes the sets with one number of items after the other: {set: (the least lost, the size of its items)}."""
        level, count = {0: (0, 0)}, 0
        while level:
            count += len(level)
            require(count <= most and self.radices[-1] - 1 not in level, 'proof: everything fits, or more sets')
            reached = {}
            for choice, (lost, size) in level.items():
                for t, lost_then in self.go_on(choice, lost, size):
                    more = choice + self.radices[t]
                    if more not in reached or lost_then < reached[more][0]:
                        reached[more] = lost_then, size + self.types[t][0]
            level = reached
        return count

    def go_on(self, choice, lost, size):
        """The (type, what is lost then) of each set that is reached from this one."""
        left = [t for t, count in enumerate(self.counts) if choice // self.radices[t] % (count + 1) < count]
        passed = lost + size
        for begin, end in self.spans:
            at = begin + passed
            passed = max(0, at - end)
            if at <= end:
                starts = [(t, up(at, self.types[t][1])) for t in left]
                fitting = [(t, lost + start - at) for t, start in starts if start + self.types[t][0] <= end]
                lost += end - at
                if fitting or lost > self.slack:
                    return [(t, lost_then) for t, lost_then in fitting if lost_then <= self.slack]
        return []


def is_fills(state, proof):
    lengths, unit = state.lengths[:proof.spans], proof.unit
    require(len(lengths) == proof.spans, 'proof: its number of spans')
    counts = collections.Counter(size for size, _ in state.items if size <= lengths[-1])
    require(unit % state.granule == 0 and not any(size % unit for size in counts), 'proof: its unit')
    width, passes = lengths[-1] // unit + 1, sum(count.bit_length() for count in counts.values())
    require(width <= 2**28 and width * passes <= 2**35, 'proof: too many sums')
    sums, mask = 1, (1 << width) - 1
    for size, count in counts.items():
        for step in (2**i for i in range(count.bit_length())):
            sums |= sums << min(step, count - step + 1) * (size // unit) & mask
    fills = (unit * ((sums & (1 << length // unit + 1) - 1).bit_length() - 1) for length in lengths)
    need, have = state.measure()
    return proof.lost == sum(lengths) - sum(fills) > have - need


class Plan:
    """The heap while a plan moves its blocks.  order: the (start, index, end) of those on the device, between two more
    that stand for its ends."""

    def __init__(self, state):
        self.state, self.addresses = state, {i: block.address for i, block in state.blocks.items()}
        inside = ((at, i, at + state.blocks[i].size) for i, at in self.addresses.items() if at >= 0)
        self.order = [(-1, -1, 0), *inside, (state.capacity, math.inf, math.inf)]

    def find_place(self, address, size, align, name):
        """Gives where in the order the range comes, which must be free."""
        require(address % align == 0 and self.state.bottom <= address <= self.state.capacity - size,
                f'{name} is not aligned, or not in the device above the stack')
        place = bisect.bisect_left(self.order, (address,))
        require(self.order[place - 1][2] <= address <= self.order[place][0] - size, f'{name}: a block is there')
        return place

    def move(self, move, name):
        index, block = move.block, self.state.movable.get(move.block)
        require(block and (move.bytes, move['from']) == (block.size, self.addresses[index]), f'{name}: its block')
        if move['from'] >= 0:
            del self.order[bisect.bisect_left(self.order, (move['from'],))]
        if move.to >= 0:
            place = self.find_place(move.to, block.size, block.align, name)
            require(self.state.defrag != 'slide' or self.order[place - 1][1] < index < self.order[place][1],
                    f'{name} changes the order')
            self.order.insert(place, (move.to, index, move.to + block.size))
        self.addresses[index] = move.to


def is_plan(decisive, proof):
    state = State(decisive.document, proof.until, proof.evict)
    require(proof.until <= decisive.time and state.bottom <= state.capacity, 'proof: until, or the stack')
    require(len(set(proof.evict)) == len(proof.evict) and state.evictable.issuperset(proof.evict), 'proof: its evict')
    plan = Plan(state)
    for i, move in enumerate(proof.moves):
        plan.move(move, f'proof: moves[{i}]')
    if state.need > 0:
        plan.find_place(proof.address, state.need, state.request.align, 'proof: address')
    return (state.need > 0 or proof.address == -1) and all(at >= state.bottom for at in plan.addresses.values())


def best_fit_places_all(state):
    rooms = sorted(state.lengths)
    for size in sorted((size + align - state.granule for size, align in state.items), reverse=True):
        place = bisect.bisect_left(rooms, size)
        if place == len(rooms):
            return False
        bisect.insort(rooms, rooms.pop(place) - size)
    return True


def is_trivial(state):
    sizes = {size for size, _ in state.items}
    units = sizes if len(state.spans) <= 64 and len(sizes) <= 1024 else set()
    return (best_fit_places_all(state) or max(sizes) > max(state.lengths, default=0)
            or state.fits_in_place() and all(block.address >= 0 for block in state.blocks.values())
            or any(need > have for need, have in map(state.measure, units | {state.granule, math.gcd(*sizes)})))


def is_budget(state, proof):
    require((proof.need, proof.have) == state.measure() and proof.need <= proof.have, 'proof: its need or have')
    require(not is_trivial(state), 'proof: it is trivial')
    return state.document.version == 1 or is_used_up(state, proof)


def is_used_up(state, proof):
    is_small = len(state.items) <= ITEMS_MAX and (len(state.items) + 1) * len(state.spans) <= 2**22
    is_aligned = any(align > state.granule for _, align in state.items)
    is_held = any(block.holds > 0 for block in state.fixed)
    require(proof['class'] == ('aligned' if is_aligned else 'held' if is_held else 'plain'), 'proof: its class')
    return (proof.nodes == proof.limit or proof.nodes < proof.limit and not is_small) and proof.until == state.time \
        and sum(proof.tried.values()) == proof.nodes


BUDGET = {'nodes': POSITIVE, 'need': COUNT, 'have': COUNT}
LIMIT = {'limit': POSITIVE, 'until': TIME, 'class': {'aligned', 'held', 'plain'},
         'tried': {'greedy': COUNT, 'search': COUNT, 'fills': COUNT, 'table': COUNT}}
PLAN = {'until': COUNT, 'address': TIME, 'evict': [COUNT],
        'moves': [{'block': TIME, 'from': TIME, 'to': TIME, 'bytes': BYTES}]}
# Of each kind of proof: the claim, the defrag that it is for, its members, and whether it holds for (state, proof).
PROOFS = {
    'stack': ('justified', DEFRAG, {}, lambda state, _: state.is_stuck),
    'spans': ('justified', {'none', 'slide'}, {}, lambda state, _: not state.fits_in_place()),
    'rounding': ('justified', {'repack'}, {'unit': POSITIVE, 'need': COUNT, 'have': COUNT}, is_rounding),
    'search': ('justified', {'repack'}, {'least': COUNT, 'plain': bool, 'log': str},
               lambda state, proof: Search(state, proof).ends_with(proof.log)),
    'table': ('justified', {'repack'}, {'sets': range(1, 2**23 + 1)},
              lambda state, proof: Table(state).count_sets(proof.sets) == proof.sets),
    'fills': ('justified', {'repack'}, {'spans': POSITIVE, 'unit': POSITIVE, 'lost': COUNT}, is_fills),
    'plan': ('premature', DEFRAG, PLAN, is_plan),
    'budget': ('unknown', {'repack'}, BUDGET, is_budget)}


def check_document(document):
    proof, state = document.proof, State(document)
    is_on_device = all(block.address >= 0 for block in document.blocks)
    require(state.defrag == 'repack' or is_on_device, 'a block cannot be in host memory')
    match(proof.get('kind'), set(PROOFS), 'proof.kind')
    claim, defrags, members, holds = PROOFS[proof.kind]
    require(document.claim == claim and state.defrag in defrags, f'a {proof.kind} is no proof of this claim')
    match(proof, {'kind': str} | members | (LIMIT if members is BUDGET and document.version == 2 else {}), 'proof')
    require(proof.kind in ('stack', 'plan') or not state.is_stuck, 'proof: the stack cannot be reserved')
    require(holds(state, proof), f'proof: its {proof.kind} does not hold')
    return f'{claim}, {proof.kind}'


def answer(check, *texts):
    """Gives (the exit code, what the check says)."""
    try:
        return 0, check(*texts)
    except Refuted as error:
        return 1, str(error)
    except (Unreadable, OSError, UnicodeError) as error:
        return 2, str(error)


def check_file(name):
    with open(0 if name == '-' else name, 'rb') as file:
        content = file.read(DOCUMENT_BYTES_MAX + 1)
    require(len(content) <= DOCUMENT_BYTES_MAX, 'larger than 1 GiB', Unreadable)
    return check_document(read_document(content.decode()))


def main():
    parser = argparse.ArgumentParser(description='Checks the proofs in certificates of hbmstress.')
    parser.add_argument('files', metavar='FILE', nargs='+', help='a certificate; - is standard input')
    names = parser.parse_args().files
    answers = [answer(check_file, name) for name in names]
    for name, (code, reason) in zip(names, answers):
        print(f'{name}: ' * (len(names) > 1) + f'{("valid", "refuted", "unreadable")[code]}: {reason}')
    return max(code for code, _ in answers)


if __name__ == '__main__':
    sys.exit(main())
