"""The state that decides, and what each kind of proof must show of it (docs/certificate.md)."""
import bisect
import collections
import math

from certificate_text import BYTES, COUNT, TIME, Members, match, require, up

ITEMS_MAX = 8192


# -- The state that decides -------------------------------------------------------------------------------------------

def mitigations(document):
    contract, refused = document.contract, document.refused
    evicts = contract.evicts if document.request['class'] == 'buffer' else contract.program_evicts_program
    return Members(drains=contract.drains and not (refused.wait or refused.host_memory),
                   defrag='none' if refused['copy'] or refused.host_memory else contract.defrag,
                   evicts=evicts and not (refused.unload or refused.host_memory))


def time_of_the_last_free(document):
    """T of the page."""
    awaited = (block.freed_at for block in document.blocks if block.state == 'dying' and block.holds == 0)
    return max((0, *awaited)) if mitigations(document).drains else 0


class State:
    """The heap once all that is due at a time was awaited, and programs went: all that may, unless `evict` names them.

    present: the blocks that are not gone, by ascending address, those in host memory last; gaps: the ranges between the
    fixed ones from bottom up, each with its movable blocks."""

    def __init__(self, document, time, evict=None):
        self.document, self.time = document, time
        self.device, self.request, self.can = document.device, document.request, mitigations(document)
        if evict is None:
            evict = [i for i in range(len(document.blocks)) if self.may_be_evicted(i)]
        gone = set(evict)
        self.present = {i: block for i, block in enumerate(document.blocks)
                        if i not in gone and not self.is_free(block)}
        reserved = max((block.stack for block in document.blocks if not self.has_ended(block)), default=0)
        self.bottom = max(reserved, self.request.stack)
        self.need = min(up(self.request.bytes, self.device.granule), self.device.capacity + self.device.granule)
        self.movable = [block for block in self.present.values() if self.is_movable(block)]
        self.gaps = list(self.list_gaps())
        fixed = (block for block in self.present.values() if not self.is_movable(block))
        self.is_stuck = self.bottom > self.device.capacity or any(block.address < self.bottom for block in fixed)

    def has_ended(self, block):
        return -1 < block.used_until <= self.time

    def is_free(self, block):
        return block.state == 'dying' and block.holds == 0 and -1 < block.freed_at <= self.time

    def may_be_evicted(self, index):
        block = self.document.blocks[index]
        return (self.can.evicts and block.kind == 'program' and block.state == 'live' and block.address >= 0
                and self.has_ended(block) and index != self.request.program)

    def is_movable(self, block):
        return block.address == -1 or (self.can.defrag != 'none' and block.state == 'live' and block.holds == 0
                                       and self.has_ended(block))

    def list_gaps(self):
        start, inside = self.bottom, []
        for block in self.present.values():
            if block.address >= 0 and self.is_movable(block):
                inside.append(block)
            elif block.address >= 0:
                yield start, block.address, inside
                start, inside = block.address + block.size, []
        yield start, self.device.capacity, inside

    def items(self, least=0):
        """The (size, align) of what must be placed."""
        request = [(self.need, self.request.align)] if self.need > 0 else []
        return [item for item in request + [(block.size, block.align) for block in self.movable] if item[0] >= least]

    def spans(self):
        """The (length, start) of each: the shortest first, of equal ones the higher."""
        return sorted(((end - start, start) for start, end, _ in self.gaps if end > start),
                      key=lambda span: (span[0], -span[1]))

    def slack(self, items):
        return sum(length for length, _ in self.spans()) - sum(size for size, _ in items)


def sort_types(items):
    counts = collections.Counter(items)
    types = sorted(counts, key=lambda item: (-item[0], item[1]))
    return types, [counts[each] for each in types]


# -- Claim justified --------------------------------------------------------------------------------------------------

def check_stack(state, _):
    require(state.is_stuck, 'proof: the stack can be reserved')


def check_spans(state, _):
    for start, end, inside in state.gaps:
        lows, highs = [start], [end]  # The end of the first k blocks pushed down; the start of the last k pushed up.
        for block in inside:
            lows.append(up(lows[-1], block.align) + block.size)
        for block in reversed(inside):
            highs.append((highs[-1] - block.size) // block.align * block.align)
        if lows[-1] > end:
            return
        fits = (up(low, state.request.align) + state.need <= high for low, high in zip(lows, reversed(highs)))
        require(state.need > 0 and not any(fits), f'proof: the request fits between {start} and {end}')
    

def add_pieces(state, unit):
    """What `rounding` adds up: items and spans, in whole units."""
    return sum(size // unit for size, _ in state.items()), sum(length // unit for length, _ in state.spans())


def check_rounding(state, proof):
    require(proof.unit > 0 and proof.unit % state.device.granule == 0, 'proof: no such unit')
    require((proof.need, proof.have) == add_pieces(state, proof.unit), 'proof: need or have is wrong')
    require(proof.need > proof.have, 'proof: need is not above have')


class Search:
    """The walk along a log.  A node is (span, t, first, at, slack, passed, spare)."""

    def __init__(self, state, proof):
        self.granule, self.is_plain = state.device.granule, proof.plain
        items = [(size, self.granule if proof.plain else align) for size, align in state.items(proof.least)]
        require(len(items) <= ITEMS_MAX, 'proof: too many items')
        self.types, self.counts = sort_types(items)
        self.left, self.spans, self.slack = len(items), state.spans(), state.slack(items)
        require(self.slack >= 0, 'proof: the slack is negative')

    def walk(self, log):
        """Each node to visit comes with the type, if any, whose item is taken back first."""
        pending = [((0, 0, 0, self.spans[0][1], self.slack, 0, self.slack), None)] if self.spans else []
        steps = {'b': self.branch, 'c': self.close, 'f': self.fail}
        for i, letter in enumerate(log):
            require(pending and letter in steps, f'proof: log[{i}] is behind the end of the search, or no letter')
            node, taken = pending.pop()
            if taken is not None:
                self.counts[taken] += 1
                self.left += 1
            require(self.left > 0, f'proof: log[{i}]: everything fits')
            pending += steps[letter](node, self.next_type(node), f'proof: log[{i}] is not the next step')
        require(not pending and self.left > 0, 'proof: the log ends before the search')

    def next_type(self, node):
        span, t, first, at, slack, _, _ = node
        end = sum(self.spans[span])
        for t in range(t, len(self.types)):
            size, align = self.types[t]
            start = up(at, align)
            if self.counts[t] and (align > self.granule or t >= first) and start + size <= end and start - at <= slack:
                return t
        return len(self.types)

    def branch(self, node, t, reason):
        span, _, first, at, slack, passed, spare = node
        require(t < len(self.types), reason)
        size, align = self.types[t]
        start = up(at, align)
        left = slack - (start - at)
        self.counts[t] -= 1
        self.left -= 1
        if self.is_plain:
            spares = min(spare, passed - size - 1) if passed > 0 else spare, min(spare, size - 1)
        else:
            spares = left, spare
        return [((span, t + 1, first, at, slack, size, spares[1]), t),
                ((span, 0, t if align == self.granule else 0, start + size, left, passed, spares[0]), None)]

    def close(self, node, t, reason):
        span, _, _, at, slack, _, spare = node
        room = sum(self.spans[span]) - at
        require(t == len(self.types) and room <= spare and span + 1 < len(self.spans), reason)
        return [((span + 1, 0, 0, self.spans[span + 1][1], slack - room, 0, slack - room), None)]

    def fail(self, node, t, reason):
        over = sum(self.spans[node[0]]) - node[3] - node[6]
        require(over > 0 and (self.is_plain or t == len(self.types)), reason)
        require(over > sum(size * count for (size, _), count in zip(self.types[t:], self.counts[t:])), reason)
        return []


def check_search(state, proof):
    Search(state, proof).walk(proof.log)


class Table:
    """The choices of items.  A set is a number: the counts of its types, each times the type's radix."""

    def __init__(self, state):
        items = state.items()
        require(len(items) <= ITEMS_MAX, 'proof: too many items')
        self.types, self.counts = sort_types(items)
        self.radices = [1]
        for count in self.counts:
            self.radices.append(self.radices[-1] * (count + 1))
        require(self.radices[-1] <= 2**63, 'proof: too many choices')
        self.spans, self.slack = state.spans(), state.slack(items)
        require(self.slack >= 0, 'proof: the slack is negative')

    def count_sets(self, most):
        """Takes the sets with one number of items after the other: {set: (the least lost, the size of its items)}."""
        level, count = {0: (0, 0)}, 0
        while level:
            count += len(level)
            require(count <= most, 'proof: more sets are reached')
            require(self.radices[-1] - 1 not in level, 'proof: everything fits')
            level = self.next_level(level)
        return count

    def next_level(self, level):
        reached = {}
        for choice, (lost, size) in level.items():
            for t, lost_then in self.steps(choice, lost, size):
                more = choice + self.radices[t]
                if more not in reached or lost_then < reached[more][0]:
                    reached[more] = lost_then, size + self.types[t][0]
        return reached

    def steps(self, choice, lost, size):
        """The (type, what is lost then) of each set that is reached from this one."""
        left = [t for t in range(len(self.types))
                if choice // self.radices[t] % (self.counts[t] + 1) < self.counts[t]]
        passed = lost + size
        for length, begin in self.spans:
            if passed > length:
                passed -= length
                continue
            at, end = begin + passed, begin + length
            starts = [(t, up(at, self.types[t][1])) for t in left]
            fitting = [(t, start) for t, start in starts if start + self.types[t][0] <= end]
            if fitting:
                return [(t, lost + start - at) for t, start in fitting if lost + start - at <= self.slack]
            lost, passed = lost + end - at, 0
            if lost > self.slack:
                break
        return []


def check_table(state, proof):
    require(1 <= proof.sets <= 2**23, 'proof: no such number of sets')
    require(Table(state).count_sets(proof.sets) == proof.sets, 'proof: fewer sets are reached')


def sum_bits(counts, unit, most):
    """The sums of all choices of items, in units, as bits of one number."""
    bits, mask = 1, (1 << most + 1) - 1
    for size, count in counts.items():
        step = 1
        while count > 0:
            step = min(step, count)
            bits |= bits << step * (size // unit) & mask
            count, step = count - step, 2 * step
    return bits


def check_fills(state, proof):
    spans, unit = [length for length, _ in state.spans()], proof.unit
    require(1 <= proof.spans <= len(spans), 'proof: no such number of spans')
    spans = spans[:proof.spans]
    counts = collections.Counter(size for size, _ in state.items() if size <= spans[-1])
    require(unit > 0 and unit % state.device.granule == 0 and all(size % unit == 0 for size in counts),
            'proof: no such unit')
    width = spans[-1] // unit + 1
    passes = sum(count.bit_length() for count in counts.values())
    require(width <= 2**28 and width * passes <= 2**35, 'proof: too many sums')
    bits = sum_bits(counts, unit, width - 1)
    fills = (unit * ((bits & (1 << length // unit + 1) - 1).bit_length() - 1) for length in spans)
    require(proof.lost == sum(spans) - sum(fills), 'proof: lost is wrong')
    require(proof.lost > state.slack(state.items()), 'proof: lost is not above the slack')


# -- Claim premature --------------------------------------------------------------------------------------------------

class Heap:
    """Where the blocks of a state are while a plan moves them: by ascending address, and in host memory."""

    def __init__(self, state):
        self.state = state
        self.addresses = {i: block.address for i, block in state.present.items()}
        self.order = [(block.address, i) for i, block in state.present.items() if block.address >= 0]

    def take(self, index):
        address, self.addresses[index] = self.addresses[index], -1
        if address >= 0:
            del self.order[bisect.bisect_left(self.order, (address, index))]

    def require_free(self, address, size, align, name):
        """Gives where in the order the range would come."""
        state = self.state
        require(address >= 0 and address % align == 0, f'{name} is not aligned')
        require(state.bottom <= address and address + size <= state.device.capacity, f'{name} is not above the stack')
        position = bisect.bisect_left(self.order, (address, -1))
        for start, i in self.order[max(0, position - 1):position + 1]:
            require(start + state.present[i].size <= address or address + size <= start, f'{name}: blocks[{i}] is there')
        return position

    def put(self, index, address, name):
        block = self.state.present[index]
        position = self.require_free(address, block.size, block.align, name)
        if self.state.can.defrag == 'slide':
            require(all(i < index for _, i in self.order[max(0, position - 1):position])
                    and all(i > index for _, i in self.order[position:position + 1]), f'{name} changes the order')
        self.order.insert(position, (address, index))
        self.addresses[index] = address

    def move(self, move, name):
        block = self.state.present.get(move.block)
        require(block is not None and self.state.is_movable(block), f'{name}: the block may not move')
        require(move.bytes == block.size and move['from'] == self.addresses[move.block],
                f'{name}: bytes or from is wrong')
        self.take(move.block)
        if move.to != -1:
            self.put(move.block, move.to, name)


def check_plan(state, proof):
    require(0 <= proof.until <= state.time, 'proof: until is not a time to await')
    plain = State(state.document, proof.until, ())
    for i in proof.evict:
        require(i in plain.present and plain.may_be_evicted(i), f'proof: blocks[{i}] may not be evicted')
    require(len(set(proof.evict)) == len(proof.evict), 'proof: a program is evicted twice')
    after = State(state.document, proof.until, proof.evict)
    require(after.bottom <= after.device.capacity, 'proof: the stack is larger than the device')
    heap = Heap(after)
    for i, move in enumerate(proof.moves):
        heap.move(move, f'proof: moves[{i}]')
    require(all(address >= after.bottom for address in heap.addresses.values()),
            'proof: a block is left below the stack, or in host memory')
    if after.need == 0:
        require(proof.address == -1, 'proof: there is nothing to place')
    else:
        heap.require_free(proof.address, after.need, after.request.align, 'proof: address')


# -- Claim unknown ----------------------------------------------------------------------------------------------------

def best_fit_places_all(state):
    extra = state.device.granule
    rooms = sorted(length for length, _ in state.spans())
    for size in sorted((size + align - extra for size, align in state.items()), reverse=True):
        place = bisect.bisect_left(rooms, size)
        if place == len(rooms):
            return False
        bisect.insort(rooms, rooms.pop(place) - size)
    return True


def trivial_units(state):
    sizes = {size for size, _ in state.items()}
    common = {state.device.granule, math.gcd(*sizes)}
    return common | sizes if len(state.spans()) <= 64 and len(sizes) <= 1024 else common


def check_budget(state, proof):
    items, spans = state.items(), state.spans()
    require(not state.is_stuck, 'proof: the stack cannot be reserved')
    require(proof.need == sum(size for size, _ in items) and proof.have == sum(length for length, _ in spans)
            and proof.need <= proof.have, 'proof: need or have is wrong')
    require(proof.nodes > 0 and proof.get('limit', 1) > 0, 'proof: nothing was tried, or allowed')
    require(not best_fit_places_all(state), 'proof: trivial: best fit places everything')
    require(max(items)[0] <= max(spans)[0], 'proof: trivial: an item is too large')
    for unit in trivial_units(state):
        need, have = add_pieces(state, unit)
        require(need <= have, f'proof: trivial: rounding to {unit} refutes')
    if state.document.version == 2:
        check_limit(state, proof)


def find_class(state):
    if any(align > state.device.granule for _, align in state.items()):
        return 'aligned'
    is_held = any(block.holds > 0 for block in state.present.values() if not state.is_movable(block))
    return 'held' if is_held else 'plain'


def check_limit(state, proof):
    items = len(state.items())
    is_searched = items <= ITEMS_MAX and items * len(state.spans()) <= 2**22
    require(proof.nodes >= proof.limit or not is_searched, 'proof: the budget is not used up')
    require(proof.until == state.time, 'proof: until is not the time of the last free')
    require(proof['class'] == find_class(state), 'proof: the class is wrong')
    require(sum(proof.tried.values()) == proof.nodes, 'proof: the steps tried do not add up to nodes')


# -- The proof --------------------------------------------------------------------------------------------------------

MOVE = {'block': TIME, 'from': TIME, 'to': TIME, 'bytes': BYTES}
BUDGET = {'nodes': COUNT, 'need': COUNT, 'have': COUNT}
LIMIT = {'limit': COUNT, 'until': TIME, 'class': {'aligned', 'held', 'plain'},
         'tried': {'greedy': COUNT, 'search': COUNT, 'fills': COUNT, 'table': COUNT}}
ANY, REPACK = ('none', 'slide', 'repack'), ('repack',)
# Of each kind of proof: the claim, the defrag that it is for, its members, and the function that checks it.
PROOFS = {
    'stack': ('justified', ANY, {}, check_stack),
    'spans': ('justified', ('none', 'slide'), {}, check_spans),
    'rounding': ('justified', REPACK, {'unit': COUNT, 'need': COUNT, 'have': COUNT}, check_rounding),
    'search': ('justified', REPACK, {'least': COUNT, 'plain': bool, 'log': str}, check_search),
    'table': ('justified', REPACK, {'sets': COUNT}, check_table),
    'fills': ('justified', REPACK, {'spans': COUNT, 'unit': COUNT, 'lost': COUNT}, check_fills),
    'plan': ('premature', ANY, {'until': COUNT, 'address': TIME, 'evict': [COUNT], 'moves': [MOVE]}, check_plan),
    'budget': ('unknown', REPACK, BUDGET, check_budget)}


def check_proof(document):
    proof = document.proof
    match(Members(kind=proof.get('kind')), {'kind': set(PROOFS)}, 'proof')
    claim, defrags, members, function = PROOFS[proof.kind]
    members = members | LIMIT if proof.kind == 'budget' and document.version == 2 else members
    require(document.claim == claim, f'proof.kind is {proof.kind}, which proves another claim')
    match(proof, {'kind': str} | members, 'proof')
    state = State(document, time_of_the_last_free(document))
    require(state.can.defrag in defrags, f'proof.kind is {proof.kind}, which does not decide under {state.can.defrag}')
    require(not state.is_stuck or claim != 'justified' or proof.kind == 'stack', 'proof: the stack cannot be reserved')
    function(state, proof)
    return f'{claim}, {proof.kind}'
