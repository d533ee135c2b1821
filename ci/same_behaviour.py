"""Compares two observations of ci/same-behaviour: same_behaviour.py [--mask-text] [--all] OLD NEW PART...

An observation is a folder with PART.data, PART.words and PART.files, each of blocks: a line "## LABEL", what was printed,
and "## exit CODE".  Data and files are equal to the byte.  Words are equal when they are with white space folded, so that a
paragraph may be wrapped anew.  A block that only NEW has is counted and no difference.
"""

import collections
import difflib
import pathlib
import re
import sys

# What may differ by intent: name, what it is, the labels it holds for, and what is masked there on both sides.  Each is
# counted where its mask makes lines equal.
EXCEPTIONS = [
    ("versions", "numbers of versions of private forms, which all become 1", r"",
     [(r'("format": ?"hbmstress-[a-z-]+", ?"version": ?)\d+', r"\1N"),
      (r"(ABI version[\" :a-z,{]*?)\d+; this program loads[ \d]+(to \d+)?", r"\1N"),
      (r"(abi(_version)?[\" :=]+|ABI (version )?)\d+", r"\1N"),
      (r"\b(summary|camp|mark)([- ])\d+", r"\1\2N")]),
    ("pairs", "the count of pairs of probes, which goes", r"",
     [(r',?\n?"probe_pairs": ?\{[^}]*\}\n?', ""), (r", \d+ of \d+ pairs\b", ""),
      (r" of them,? and [\d,]+ of [\d,]+ pairs of them,? were reached", " were reached"), (r"^.*probe_pairs?.*$", "")]),
    ("growth", "figures of growth, of which one estimator is left", r"",
     [(r'"(trend_bytes_per_1000_ops|slope|trend|full_step(?:_from|_to)?)": ?(-?[\d.e+-]+|"[^"]*")', r'"\1":N'),
      (r"[+-]?[\d.]+ ?[KMGT]?i?B?(/| per )1000 ops|\bno (growth|trend)\b", "N"),
      (r'^\{[^\n]*"growth_per_step".*$', "growth_per_step"),
      (r"growth per step +(met|EXCEEDED)( +\S+){2,8}?(?= +(out of memory|fragmentation|tag|peak)\b)", "growth per step"),
      (r"EXCEEDED growth_per_step:.*?(?=EXCEEDED |Next:|over budget|within budget|$)", "")]),
    ("vacuous", "an op list without ops, which is no success", r"^replay of no ops", [(r"(?s).*", "")]),
    ("names", "commands that have been renamed, where another one is advised", r"",
     [(r"\bhbmstress import\b", "hbmstress convert"), (r"\bhbmstress shrink ([^ \n\"]+)", r"hbmstress replay \1 --shrink")]),
    ("plants", "planted targets, which are a kind of their own; the same in words", r"^list targets",
     [(r'^\{"kind":"(target|plant)","name":"[^"]*","summary":"[^"]*","breaks".*\n', ""), (r"^[^{#].*$", "")]),
    ("curves", "the curves of explain --timeline: of each host over the whole run, in JSON too", r"^timeline ",
     [(r'^\{"type":"memory".*\n', ""), (r"^Memory over time host .*$", "")]),
    ("watch", "the curve of a list, which explain --timeline draws", r"^watch ", [(r"(?s).*", "")]),
    ("bench", "the cost of an op, which compare prints", r"^bench", [(r"(?s).*", "")]),
]
SHOWN_BLOCKS = 20
SHOWN_LINES = 12
TEXT_MEMBERS = re.compile(r'("(?:summary|reason|note|text|assumes)": *|message=)"((?:[^"\\]|\\.)*)"')
TEXT_LINES = re.compile(r"^(# |hbmstress: )(.*)$", re.M)

Block = collections.namedtuple("Block", "label text")


def read_blocks(folder, part, kind):
    """The blocks of a part by label; one label twice gets a number."""
    path = folder / f"{part}.{kind}"
    blocks = {}
    if not path.exists():
        return blocks
    text = path.read_text("utf-8", "surrogateescape")
    for piece in re.split(r"(?m)^## (?!exit \d+$)", text)[1:]:
        label, _, body = piece.partition("\n")
        name, number = label, 1
        while name in blocks:
            number += 1
            name = f"{label} ({number})"
        blocks[name] = body
    return blocks


def fold(text):
    return " ".join(text.split())


def fold_paragraphs(text):
    """A paragraph, or a table, a line."""
    return "\n".join(fold(paragraph) for paragraph in re.split(r"\n\s*\n|(?=\n## exit)", text))


def count_lines(old, new):
    """Lines that one of both has more often than the other."""
    a, b = collections.Counter(old.splitlines()), collections.Counter(new.splitlines())
    return max(sum((a - b).values()), sum((b - a).values()))


class Comparison:
    def __init__(self, kind, old, new, masks_text):
        self.kind, self.old, self.new = kind, old, new
        self.excused = collections.Counter()
        self.changed, self.lines, self.laid_out = [], 0, 0
        self.texts = (set(), set())
        for label in sorted(old.keys() & new.keys()):
            self.compare(label, old[label], new[label], masks_text)
        self.gone = sorted(old.keys() - new.keys())
        self.added = sorted(new.keys() - old.keys())

    def is_same(self, old, new):
        return fold(old) == fold(new) if self.kind == "words" else old == new

    def compare(self, label, old, new, masks_text):
        if masks_text:
            old, new = self.mask_text(old, 0), self.mask_text(new, 1)
        if self.is_same(old, new):
            self.laid_out += old != new
            return
        if self.kind == "words":
            old, new = fold_paragraphs(old), fold_paragraphs(new)
        for name, _, labels, masks in EXCEPTIONS:
            if not re.search(labels, label):
                continue
            before = max(1, count_lines(old, new))
            old, new = self.mask(old, masks), self.mask(new, masks)
            after = 0 if self.is_same(old, new) else max(1, count_lines(old, new))
            self.excused[name] += max(0, before - after)
            if self.is_same(old, new):
                return
        self.changed.append(Block(label, (old, new)))
        self.lines += max(1, count_lines(old, new))

    @staticmethod
    def mask(text, masks):
        for pattern, replacement in masks:
            text = re.sub(pattern, replacement, text, flags=re.M)
        return text

    def mask_text(self, text, side):
        found = [match.group(2) for match in TEXT_MEMBERS.finditer(text)]
        found += [match.group(0) for match in TEXT_LINES.finditer(text)]
        self.texts[side].update(re.sub(r"\d+(\.\d+)?", "N", words) for words in found)
        return TEXT_LINES.sub(r"\1", TEXT_MEMBERS.sub(r'\1""', text))

    def show(self, name, shows_all):
        is_equal = not self.changed and not self.gone
        verdict = "equal" if is_equal else f"{len(self.changed)} differ in {self.lines} lines, {len(self.gone)} are gone"
        print(f"{name}: {len(self.old)} commands or files, {sum(text.count(chr(10)) for text in self.old.values())} lines, "
              f"{verdict}")
        for blocks, words in ((self.gone, "gone"), (self.added, "new")):
            if blocks:
                shown = blocks if shows_all else blocks[:SHOWN_BLOCKS]
                print(f"  {words}, {len(blocks)}: " + "; ".join(shown) + ("; ..." if len(shown) < len(blocks) else ""))
        if self.laid_out:
            print(f"  laid out anew, with the same words: {self.laid_out}")
        for exception, _, _, _ in EXCEPTIONS:
            if self.excused[exception]:
                print(f"  excepted, {exception}: {self.excused[exception]} lines")
        for label, (old, new) in self.changed if shows_all else self.changed[:SHOWN_BLOCKS]:
            print(f"  ## {label}")
            lines = list(self.list_changes(old, new))
            for line in lines if shows_all else lines[:SHOWN_LINES]:
                print("    " + (line if shows_all else line[:400]).encode("utf-8", "replace").decode())
        return is_equal

    def list_changes(self, old, new):
        if self.kind != "words":
            for line in difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm=""):
                if not line.startswith(("---", "+++", "@@")):
                    yield line
            return
        a, b = old.split(), new.split()
        for what, i, j, k, l in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            if what != "equal":
                yield f"{' '.join(a[max(0, i - 3):i])} [-{' '.join(a[i:j])}-] [+{' '.join(b[k:l])}+] {' '.join(a[j:j + 3])}"


def main(words):
    options = {word for word in words if word.startswith("--")}
    old, new, *parts = [word for word in words if not word.startswith("--")]
    folders = (pathlib.Path(old), pathlib.Path(new))
    for folder in folders:
        missing = set(parts) - set((folder / "observed").read_text().split())
        if missing:
            sys.exit(f"ci/same-behaviour: {folder} was saved without {' '.join(sorted(missing))}; give --only")
    is_equal = True
    for kind, name in (("data", "what is printed"), ("files", "files"), ("words", "what is printed in words")):
        sides = [{f"{part}: {label}" if kind == "files" else label: text
                  for part in parts for label, text in read_blocks(folder, part, kind).items()} for folder in folders]
        comparison = Comparison(kind, *sides, "--mask-text" in options and kind != "words")
        is_equal = comparison.show(name, "--all" in options) and is_equal
        for words_of, other, mark in ((*comparison.texts, "old"), (*comparison.texts[::-1], "new")):
            for text in sorted(words_of - other):
                print(f"  {mark} {text}")
    return 0 if is_equal else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
