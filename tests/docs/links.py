#!/usr/bin/env python3
"""Looks for dead links in README.md, docs/ and each folder's README.md, and for pages that the index does not name.

    tests/docs/links.py [TREE]        for example tests/docs/links.py

A link to a file must lead to one that is there, and its anchor to a heading of that page, as GitHub names headings.  Links
to other hosts are not followed.  Below its first heading of level 2, docs/README.md names each page of docs/ once.  Links
lead from README.md to every page below docs/.  README.md shows the release and the address of VERSION.
Exits with 0 when all holds, 1 when something does not, 2 on bad usage.
"""
import collections
import pathlib
import re
import sys
import urllib.parse

import run_pages

LINK = re.compile(r'(?<!`)!?\[(?:[^\][]|\[[^\]]*\]\([^)]*\))*\]\(([^)\s]+)\)')
HEADING = re.compile(r'#{1,6} +(.*?) *#*$')
CODE = re.compile(r'(`+).*?\1')


def anchor_of(heading):
    """The name that GitHub gives a heading: lower case, without punctuation, blanks as hyphens."""
    text = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading)
    return re.sub(r'[^\w\- ]', '', text.lower()).replace(' ', '-')


def read_outside(page):
    _, outside, _ = run_pages.split_fences(page.read_text(encoding='utf-8'))
    return outside


def read_anchors(page):
    """The anchors of a page; a heading that comes again gets a number."""
    seen, anchors = collections.Counter(), set()
    for heading in filter(None, map(HEADING.fullmatch, read_outside(page))):
        name = anchor_of(heading[1])
        anchors.add(f'{name}-{seen[name]}' if seen[name] else name)
        seen[name] += 1
    return anchors


def read_links(page):
    """Gives (line number, link) of all links that do not stand in code."""
    text = '\n'.join(CODE.sub('', line) for line in read_outside(page))
    for match in LINK.finditer(text):
        yield text.count('\n', 0, match.start()) + 1, match[1]


def is_of_other_host(link):
    return bool(urllib.parse.urlsplit(link).scheme)


def check_link(page, link, tree):
    """What is wrong with it, or None."""
    path, _, anchor = link.partition('#')
    target = (page.parent / urllib.parse.unquote(path)).resolve() if path else page
    if not target.is_relative_to(tree):
        return 'leads out of the tree'
    if not target.exists():
        return 'no such file'
    if anchor and (target.suffix != '.md' or anchor not in read_anchors(target)):
        return 'no such heading'
    return None


def read_targets(page, first_line=1):
    """The files to which the links of a page lead, from that line on."""
    return [(page.parent / link.partition('#')[0]).resolve()
            for line, link in read_links(page) if line >= first_line and not is_of_other_host(link)]


def check_index(tree):
    """The first table is for readers who begin; the lists below it name each page once."""
    index = tree / 'docs/README.md'
    lines = read_outside(index)
    first_line = next((number for number, line in enumerate(lines, 1) if line.startswith('## ')), 1)
    named = collections.Counter(read_targets(index, first_line))
    for page in sorted(set(tree.glob('docs/*.md')) - {index}):
        if named[page] != 1:
            yield f'docs/README.md: names {page.relative_to(tree)} {named[page]} times, not once'


def check_reachable(tree):
    reached, left = set(), [tree / 'README.md']
    while left:
        page = left.pop()
        if page not in reached and page.suffix == '.md' and page.is_file():
            reached.add(page)
            left += read_targets(page)
    for page in sorted(set(tree.glob('docs/**/*.md')) - reached):
        yield f'{page.relative_to(tree)}: no link leads there'


def check_release(tree):
    """README.md shows the release and the address of the file VERSION; a tree without that file shows none."""
    if not (tree / 'VERSION').is_file():
        return
    release = dict(line.split(' ', 1) for line in (tree / 'VERSION').read_text().splitlines() if not line.startswith('#'))
    shown = (tree / 'README.md').read_text(encoding='utf-8')
    for wanted in (f'`v{release["version"]}`', f'<{release["address"]}>'):
        if wanted not in shown:
            yield f'README.md: does not show {wanted} of VERSION'


def main():
    if len(sys.argv) > 2:
        print(__doc__, file=sys.stderr)
        return 2
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 else run_pages.SOURCE_TREE).resolve()
    faults, link_count = [], 0
    pages = run_pages.default_pages(tree)
    for page in pages:
        for line, link in read_links(page):
            link_count += 1
            fault = None if is_of_other_host(link) else check_link(page, link, tree)
            if fault:
                faults.append(f'{page.relative_to(tree)}:{line}: {link}: {fault}')
    faults += [*check_index(tree), *check_reachable(tree), *check_release(tree)]
    print('\n'.join([*faults, f'links: {len(pages)} pages, {link_count} links, {len(faults)} wrong']))
    return 1 if faults or not link_count else 0


if __name__ == '__main__':
    sys.exit(main())
