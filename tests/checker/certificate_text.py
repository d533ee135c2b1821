"""Reads JSON that may be hostile, and compares it with the shape that it should have."""
import json
import math
import re
import sys

DEPTH_MAX = 2048
SIZE_MAX = 2**62
ANYTHING = object()
NO_TEXT = re.compile('[\0\ud800-\udfff]')
COUNT = range(0, 2**63)
TIME = range(-1, 2**63)
BYTES = range(0, SIZE_MAX + 1)


class Refuted(Exception):
    """What the text states does not hold."""


class Unreadable(Exception):
    """The text is not what it should be."""


def require(condition, reason):
    if not condition:
        raise Refuted(reason)


class Members(dict):
    """A JSON object; its members are attributes, too."""
    __hash__ = object.__hash__
    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__


def read_object(pairs):
    members = Members(pairs)
    if len(members) < len(pairs):
        raise Unreadable('a member is there twice')
    return members


def read_integer(digits):
    if len(digits) > 20 or not -2**63 <= int(digits) < 2**63:
        raise Unreadable('an integer needs more than 64 bits')
    return int(digits)


def read_fraction(digits):
    if math.isinf(float(digits)):
        raise Unreadable('a number is too large')
    return float(digits)


def read_constant(name):
    raise Unreadable(f'{name} is not JSON')


def check_nesting(value):
    """Looks at one level of the value after the other, so that no depth exhausts the stack."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEPTH_MAX or any(NO_TEXT.search(text) for text in level if type(text) is str):
            raise Unreadable('values nest too deep, or a string holds no text')
        level = [child for each in level if type(each) in (list, Members)
                 for child in (each if type(each) is list else (*each, *each.values()))]


def read_json(text):
    # The reader of Python recurs once for each level; what nests deeper than this is refused either way.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 2 * DEPTH_MAX))
    try:
        text.encode()
        value = json.loads(text, object_pairs_hook=read_object, parse_int=read_integer, parse_float=read_fraction,
                           parse_constant=read_constant)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f'this is not JSON: {error}') from None
    if '\\u' in text or text.count('[') + text.count('{') >= DEPTH_MAX:
        check_nesting(value)
    return value


def match(value, shape, name):
    """A shape is a dict of members, [the shape of each element], a tuple of the shapes of the elements, a set of words,
    a range, a type, or ANYTHING.  A wrong type makes the text unreadable; a word or number that is not possible refutes it."""
    if shape is ANYTHING:
        return
    base = {set: str, range: int, dict: Members, tuple: list}.get(type(shape), shape if type(shape) is type else type(shape))
    if type(value) is not base or type(shape) is dict and value.keys() != shape.keys() \
            or type(shape) is tuple and len(value) != len(shape):
        raise Unreadable(f'{name}: a member is missing, unknown, or of the wrong type')
    if type(shape) in (set, range):
        require(value in shape, f'{name} is not one of those possible')
    elif type(shape) is dict:
        for part in shape:
            match(value[part], shape[part], f'{name}.{part}')
    elif type(shape) in (list, tuple):
        for i, element in enumerate(value):
            match(element, shape[i if type(shape) is tuple else 0], f'{name}[{i}]')


def up(number, unit):
    return -(-number // unit) * unit
