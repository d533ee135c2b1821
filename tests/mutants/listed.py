"""Lists of what no test shows: listed.txt of mutants, branches.txt of branches.  Below the first heading stands what no test
could show, with the reason; below the second what none shows yet."""


class Wrong(Exception):
    """The list cannot be read."""


def read(path, headings):
    """{(file, old, new): heading}; an entry is FILE, - OLD, + NEW and a reason, behind `== HEADING`."""
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
            entries[key_of(entry, heading == headings[0], f'{path}:{number - len(entry)}')] = heading
            entry = []
    return entries


def key_of(entry, needs_reason, place):
    if len(entry) < 3 or not entry[1].startswith('- ') or not entry[2].startswith('+ '):
        raise Wrong(f'{place}: an entry is FILE, - OLD, + NEW and a reason')
    if needs_reason and len(entry) < 4:
        raise Wrong(f'{place}: there is no reason')
    return entry[0], entry[1][2:], entry[2][2:]


def stale(entries, mutants):
    """What is listed and can no longer be made."""
    made = {(mutant.file, mutant.old, mutant.new) for mutant in mutants}
    return [entry for entry in entries if entry not in made]
