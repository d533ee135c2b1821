"""Lists of what no test shows: listed.txt of mutants, branches.txt of branches.  Below the first heading stands what no test
could show, with the reason; below the second what none shows yet."""


class Wrong(Exception):
    """The list cannot be read."""


def read(path, headings):
    """{(file, old, new): heading}; behind `== HEADING`, an entry is FILE, one or more of - OLD and + NEW, and a reason."""
    entries = {}
    heading, entry = None, []
    for number, line in enumerate(path.read_text().splitlines() + [''], 1):
        if line.startswith('#'):
            continue
        if line.startswith('== '):
            heading = line[3:]
            if heading not in headings:
                raise Wrong(f'{path}:{number}: no heading {heading}; there are {", ".join(headings)}')
        elif line.strip():
            if heading is None:
                raise Wrong(f'{path}:{number}: no heading stands before it')
            entry.append(line.strip())
        elif entry:
            place = f'{path}:{number - len(entry)}'
            entries.update(dict.fromkeys(keys_of(entry, heading == headings[0], place), heading))
            entry = []
    return entries


def keys_of(entry, needs_reason, place):
    pairs = 0
    while entry[1 + 2 * pairs:] and entry[1 + 2 * pairs].startswith('- '):
        if not entry[2 + 2 * pairs:] or not entry[2 + 2 * pairs].startswith('+ '):
            raise Wrong(f'{place}: no "+ " stands behind a "- "')
        pairs += 1
    if pairs == 0:
        raise Wrong(f'{place}: an entry is FILE, - OLD, + NEW and a reason')
    if needs_reason and len(entry) == 1 + 2 * pairs:
        raise Wrong(f'{place}: there is no reason')
    return [(entry[0], entry[i][2:], entry[i + 1][2:]) for i in range(1, 2 * pairs, 2)]


def stale(entries, mutants):
    """What is listed and can no longer be made."""
    made = {(mutant.file, mutant.old, mutant.new) for mutant in mutants}
    return [entry for entry in entries if entry not in made]
