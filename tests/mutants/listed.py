"""The list of mutants that survive: listed.txt, which says of each that nothing could kill it, or that nothing does yet."""
HEADINGS = ('equivalent', 'open')


class Wrong(Exception):
    """The list cannot be read."""


def read(path):
    """{(file, old, new): heading}; an entry is FILE, - OLD, + NEW and a reason, behind `== HEADING`."""
    entries = {}
    heading, entry = None, []
    for number, line in enumerate(path.read_text().splitlines() + [''], 1):
        if line.startswith('#'):
            continue
        if line.startswith('== '):
            heading = line[3:]
            if heading not in HEADINGS:
                raise Wrong(f'{path}:{number}: no heading {heading}; there are {", ".join(HEADINGS)}')
        elif line.strip():
            entry.append(line.strip())
        elif entry:
            entries[key_of(entry, heading, f'{path}:{number - len(entry)}')] = heading
            entry = []
    return entries


def key_of(entry, heading, place):
    if heading is None or len(entry) < 3 or not entry[1].startswith('- ') or not entry[2].startswith('+ '):
        raise Wrong(f'{place}: an entry is FILE, - OLD, + NEW and a reason, behind a heading')
    if heading == 'equivalent' and len(entry) < 4:
        raise Wrong(f'{place}: why is it equivalent?')
    return entry[0], entry[1][2:], entry[2][2:]


def stale(entries, mutants):
    """What is listed and can no longer be made."""
    made = {(mutant.file, mutant.old, mutant.new) for mutant in mutants}
    return [entry for entry in entries if entry not in made]
