"""Makes mutants: copies of a C file with one small change each, in the body of one function.

The text is laid out by clang-format, which is what makes lines and statements easy to tell: a body
lies between `{` and `}` in the first column, and binary operators stand between spaces."""
import collections
import hashlib
import itertools
import re
from typing import NamedTuple


class Mutant(NamedTuple):
    file: str
    line: int  # the first one, from 1
    line_count: int
    old: str  # its lines, without the space around them
    new: str

    def applied_to(self, text):
        lines = text.split('\n')
        first = self.line - 1
        lines[first:first + self.line_count] = [self.new] + [''] * (self.line_count - 1)
        return '\n'.join(lines)

    def __str__(self):
        return f'{self.file}:{self.line}: `{self.old}` -> `{self.new}`'


class Statement(NamedTuple):
    first: int  # index of its first line
    lines: list  # stripped, comments and strings blanked
    returns_bool: bool  # the function that it stands in does


# One operator for another.  Between spaces they are binary; the line may end behind them.
SWAPS = {
    '<': ['<=', '>='], '<=': ['<', '>'], '>': ['>=', '<='], '>=': ['>', '<'],
    '==': ['!='], '!=': ['=='], '&&': ['||'], '||': ['&&'],
    '+': ['-'], '-': ['+'], '*': ['/'], '/': ['*'], '%': ['/'],
    '<<': ['>>'], '>>': ['<<'], '&': ['|'], '|': ['&'],
    '+=': ['-='], '-=': ['+='], '|=': ['&='], '&=': ['|='],
}
OPERATOR = re.compile(r'(?<= )([-+|&]?=|[<>=!]=|&&|\|\||<<|>>|[-+*/%<>&|])(?= |$)')
NUMBER = re.compile(r'(?<![\w.])(?<!= \{)(0x[0-9a-fA-F]+|\d+)(?=[uUlL]*\b)(?!\.)')
INDEX = re.compile(r'(?<=\w)\[([a-z_]\w*)\]')
ARMS = re.compile(r'\? ([^?:,;]+) : ([^?:,;)]+)')

# An array with room for more is as good; so is, mostly, what `= {0}` gives to what is filled in below.
ARRAY = re.compile(r'[\w ]+ \*?\w+\[[^]]+\]( = .*)?;$')
DECLARATION = re.compile(r'(const|static|struct|enum|union|unsigned|bool|char|int|size_t|double|float|void|'
                         r'va_list|\w+_t|FILE|typedef)\b')
CHECKS = re.compile(r'\w*CHECK(_COSTLY)?\(|static_assert\(')
# Labels, and what only a person reads: messages, and the layout of JSON.
SKIPPED = re.compile(r'(case .*|default|\w+):$|[^(]*\b(f?printf|fputs|fputc|json_break)\(')


def blank(text):
    """The same text with comments as spaces and strings as letters, so that no operator is found there."""
    def cover(match):
        filler = ' ' if match[0].startswith('/*') else 'Q'
        return re.sub(r'[^\n]', filler, match[0])
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', cover, text, flags=re.S)


def bodies(lines):
    """For each function: the first line of its body, the line behind it, whether it returns a bool."""
    first = None
    for i, line in enumerate(lines):
        if line == '{':
            head = i
            while head > 0 and lines[head - 1].strip() and not lines[head - 1].startswith(('}', '#')):
                head -= 1
            first = i + 1
            returns_bool = re.search(r'\bbool \w+\(', ' '.join(lines[head:i])) is not None
        elif line == '}' and first is not None:
            yield first, i, returns_bool
            first = None


def statements(text):
    """All statements of all bodies; `if (...) {` is one, and so is `} else {`."""
    lines = blank(text).split('\n')
    for begin, end, returns_bool in bodies(lines):
        first, depth = None, 0
        for i in range(begin, end):
            line = lines[i].strip()
            if line.startswith('#') or (not line and first is None):
                continue
            first = i if first is None else first
            depth += line.count('(') - line.count(')')
            if depth == 0 and line.endswith(('{', '}', ';', ':')):
                yield Statement(first, [each.strip() for each in lines[first:i + 1]], returns_bool)
                first = None


def changed_tokens(line):
    """(start, end, replacement) for each token of a line that can be another."""
    for match in OPERATOR.finditer(line):
        for other in SWAPS.get(match[1], []):
            yield match.start(1), match.end(1), other
    for match in re.finditer(r'!(?=[\w(])', line):
        yield match.start(), match.end(), ''
    if not line.startswith('for '):
        for match in re.finditer(r'\+\+|--', line):
            yield match.start(), match.end(), '--' if match[0] == '++' else '++'
    for match in NUMBER.finditer('' if ARRAY.match(line) else line):
        value = int(match[1], 8 if re.fullmatch(r'0[0-7]+', match[1]) else 0)
        yield match.start(), match.end(1), str(value + 1)
        if value > 0:
            yield match.start(), match.end(1), str(value - 1)
    for match in re.finditer(r'\b(true|false)\b', line):
        yield match.start(), match.end(), 'false' if match[0] == 'true' else 'true'
    for match in INDEX.finditer(line):
        yield match.end(1), match.end(1), ' + 1'


def swapped_arms(line, source):
    """`a ? b : c` with its arms exchanged.  The blanked line says where they are, the source what they are."""
    for match in ARMS.finditer(line):
        yield (source[:match.start(1)] + source[match.start(2):match.end(2)] + source[match.end(1):match.start(2)] +
               source[match.start(1):match.end(1)] + source[match.end(2):])


def changed_wholes(statement, source):
    """Texts for a whole statement, whose source is one line: dropped, another condition, another result."""
    code = ' '.join(statement.lines)
    condition = re.fullmatch(r'((?:\} else )?if|while) \((.*)\) \{', source)
    if condition:
        yield f'{condition[1]} (false) {{'
        if condition[1] != 'while':
            yield f'{condition[1]} (!({condition[2]})) {{'
    elif code == '} else {':
        yield '} else if (false) {'
    elif code in ('return;', 'break;', 'continue;'):
        yield ';'
    elif code.startswith('return ') and code.endswith(';'):
        for value in ('true', 'false') if statement.returns_bool else ('0', '1'):
            yield f'return {value};'
    elif code.endswith(');') or ' = ' in code or re.search(r' [-+*/|&^]= |\+\+|--', code):
        if code.endswith(';') and '{' not in code and not DECLARATION.match(code):
            yield ';'


def is_check(statement):
    """A check of ours, which no run can fail; so it says nothing whether a test would notice."""
    return CHECKS.match(statement.lines[0]) is not None


def is_skipped(statement):
    return is_check(statement) or SKIPPED.match(statement.lines[0]) is not None


def mutants_of(file, text):
    """All mutants of the file, by line; no two are alike."""
    source = text.split('\n')
    for statement, behind in itertools.pairwise([*statements(text), None]):
        if is_skipped(statement) or (statement.lines[-1].endswith('{') and behind and is_check(behind)):
            continue
        first, count = statement.first, len(statement.lines)
        made = {}
        for i, line in enumerate(statement.lines):
            old = source[first + i].strip()
            for start, end, other in changed_tokens(line):
                made[first + i, 1, old[:start] + other + old[end:]] = old
            for new in swapped_arms(line, old):
                made[first + i, 1, new] = old
        whole = ' '.join(each.strip() for each in source[first:first + count])
        for new in changed_wholes(statement, whole):
            made[first, count, new] = whole
        for (at, line_count, new), old in made.items():
            if new != old:
                yield Mutant(file, at + 1, line_count, old, new)


def ranked(mutants, seed):
    """The mutants of a file in an order that depends on their texts alone (and on which of equal ones each is), so that
    a change elsewhere in the file leaves the others where they are."""
    seen = collections.Counter()

    def rank(mutant):
        seen[mutant.old, mutant.new] += 1
        words = f'{seed}|{mutant.file}|{mutant.old}|{mutant.new}|{seen[mutant.old, mutant.new]}'
        return hashlib.sha256(words.encode()).digest()
    return sorted(mutants, key=rank)


def in_order(mutants_by_file, seed):
    """All mutants in the order in which they are chosen: however many are, each file has its share of them."""
    placed = []
    for mutants in mutants_by_file.values():
        placed += [((i + 0.5) / len(mutants), mutant) for i, mutant in enumerate(ranked(mutants, seed))]
    return [mutant for _, mutant in sorted(placed, key=lambda pair: (pair[0], pair[1].file))]
