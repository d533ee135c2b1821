"""Which blocks of a room's files each of its tests enters: no other test can kill a mutant there.

Each block of each function notes in a shared page that it was entered, so that a process which is killed or aborts has
noted it, too."""
import re

import mutate

RUNTIME = """
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char nowhere[BLOCKS];
unsigned char *mutants_reached = nowhere;

__attribute__((constructor(101))) static void map_reached(void)
{
    const char *path = getenv("MUTANTS_REACHED");
    const int file = path != NULL ? open(path, O_RDWR) : -1;
    void *at = file >= 0 ? mmap(NULL, BLOCKS, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    if (at != MAP_FAILED) {
        mutants_reached = at;
    }
    if (file >= 0) {
        close(file);
    }
}
"""


def opens_block(lines, i):
    """Whether the brace that ends the line begins statements: not an initialiser, and not a switch, whose first
    statement stands behind a label."""
    behind = next((line.strip() for line in lines[i + 1:] if line.strip()), '')
    return (re.search(r'(^|\)| else| do|^do) ?\{\s*$', lines[i]) is not None and
            not re.search(r'\)\{\s*$', lines[i]) and not behind.startswith(('case ', 'default:')))


def blocks_of(text):
    """The lines (from 0) that open a block, and for each line of a body the one that opens its block."""
    lines = mutate.blank(text).split('\n')
    opened, block_of = [], {}
    for begin, end, _ in mutate.bodies(lines):
        inside = [begin - 1]
        opened.append(begin - 1)
        for i in range(begin, end):
            line = lines[i].strip()
            if line.startswith('}'):
                inside.pop()
                line = line[1:]
            block_of[i] = inside[-1]
            for brace in re.findall(r'[{}]', line[:-1]):
                inside.append(inside[-1]) if brace == '{' else inside.pop()
            if line.endswith('{'):
                is_block = opens_block(lines, i)
                inside.append(i if is_block else inside[-1])
                opened += [i] if is_block else []
            elif line.endswith('}'):
                inside.pop()
    return opened, block_of


def noting(text, opened, first):
    """The text with a note in each block, numbered from `first`; its lines are where they were."""
    lines, blank = text.split('\n'), mutate.blank(text).split('\n')
    for number, i in enumerate(opened, first):
        at = blank[i].rindex('{') + 1
        lines[i] = f'{lines[i][:at]} mutants_reached[{number}] = 1;{lines[i][at:]}'
    return 'extern unsigned char *mutants_reached;\n#line 1\n' + '\n'.join(lines)


class Blocks:
    """The blocks of all files of a room, numbered."""

    def __init__(self, texts):
        self.count = 0
        self.noting = {}  # by file
        self.number_at = {}  # (file, line from 0) of any line of a body
        for file, text in texts.items():
            opened, block_of = blocks_of(text)
            numbers = {line: self.count + i for i, line in enumerate(opened)}
            self.number_at |= {(file, line): numbers[block] for line, block in block_of.items()}
            self.noting[file] = noting(text, opened, self.count)
            self.count += len(opened)

    def runtime(self):
        return RUNTIME.replace('BLOCKS', str(self.count))

    def has(self, reached, mutant):
        """Whether the mutant is in a block of `reached`, the page that a test left."""
        return reached[self.number_at[mutant.file, mutant.line - 1]] != 0
