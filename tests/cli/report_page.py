#!/usr/bin/env python3
"""Reads the page of a campaign as a browser would, and holds it against the campaign's folder.

report_page.py PAGE.html OUT      the whole page against OUT/summary.json
report_page.py PAGE.html --memory WATCH.jsonl  the table of memory against what `watch OUT --json` printed
report_page.py PAGE.html --texts  the text of the page, a line for each element with text
report_page.py PAGE.html --copy   the texts to copy, a line each
Any fault is a line on standard error, and exit code 1."""
import base64
import hashlib
import html.parser
import json
import os
import sys

VOID = {"meta", "br", "img", "input", "hr", "link", "path", "rect", "circle", "line", "col", "polyline"}
# Elements that the C code writes; anything else came out of a text.
KNOWN = set("""html head meta title style body header h1 main section h2 h3 p dl div dt dd article span code details
summary figure figcaption svg defs pattern g rect path circle text pre polyline table caption thead tbody tr th td ul ol li strong
script""".split())
faults = []


def fault(text):
    faults.append(text)


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.texts = [], [], []
        self.copies, self.facts, self.tables, self.cards, self.scripts = [], {}, {}, [], []
        self.verdicts, self.policy, self.name = [], "", ""

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if tag not in KNOWN:
            fault(f"an element that no part of the page writes: <{tag}>")
        for key, value in attributes:
            if key.startswith("on") or key in ("style", "href", "src", "srcset", "action"):
                fault(f"<{tag}> has the attribute {key}={value!r}")
        if "id" in named:
            self.ids.append(named["id"])
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"]
        if tag == "script":
            self.scripts.append([named, ""])
        if tag == "article":
            self.cards.append(named)
        if tag not in VOID:
            self.open.append((tag, named))
            self.texts.append([tag, named.get("class", ""), ""])
            if tag == "tr":
                self.row = []

    def handle_startendtag(self, tag, attributes):
        if tag not in KNOWN:
            fault(f"an element that no part of the page writes: <{tag}/>")
        if "id" in dict(attributes):
            self.ids.append(dict(attributes)["id"])

    def handle_data(self, data):
        if self.open and self.open[-1][0] == "script":
            self.scripts[-1][1] += data
        elif self.texts and self.open and self.open[-1][0] != "style":
            for text in self.texts[-1:]:
                text[2] += data

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            fault(f"</{tag}> ends {self.open[-1:]}")
            return
        _, named = self.open.pop()
        text = self.texts.pop()
        content = text[2].strip()
        if self.texts and tag in ("span", "strong", "code"):
            self.texts[-1][2] += text[2]
        self.take(tag, named, content)

    def take(self, tag, named, content):
        kind = named.get("class", "")
        if content:
            self.lines.append(content)
        if kind == "copy":
            self.copies.append(content)
        elif kind.startswith("verdict"):
            self.verdicts.append(content)
        elif tag == "dt":
            self.name = content
        elif tag == "dd":
            self.facts.setdefault(self.name, []).append(content)
        elif tag == "caption":
            self.table = self.tables.setdefault(content, [])
        elif tag in ("th", "td"):
            self.row.append(content)
        elif tag == "tr":
            self.table.append(self.row)
        elif tag == "h3" and self.cards:
            self.cards[-1].setdefault("heading", content)

    lines = None


def read(path):
    page = Page()
    page.lines = []
    with open(path, encoding="utf-8") as file:
        page.feed(file.read())
    page.close()
    if page.open:
        fault(f"not ended: {page.open}")
    if len(set(page.ids)) != len(page.ids):
        fault("an id stands twice")
    return page


def check_policy(page, path):
    text = open(path, encoding="utf-8").read()
    if "default-src 'none'" not in page.policy:
        fault("the policy does not refuse what it does not name")
    programs = [body for named, body in page.scripts if "type" not in named]
    if len(programs) != 1:
        fault(f"{len(programs)} scripts, should be 1")
    for body in programs:
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        if f"'sha256-{digest}'" not in page.policy:
            fault("the script is not that of the policy")
    for named, body in page.scripts:
        if "type" in named:
            json.loads(body)
    if len(text) > 3000000:
        fault(f"the page has {len(text)} bytes")


def count(number):
    return f"{number:,}"


def equal(what, got, wanted):
    if got != wanted:
        fault(f"{what}: {got!r}, should be {wanted!r}")


def check_campaign(page, out):
    summary = json.load(open(os.path.join(out, "summary.json"), encoding="utf-8"))
    equal("trials", page.facts["Trials"], [count(summary["trials"])])
    equal("ops", page.facts["Ops"][0].split(",  ")[0].split(" more")[0].rsplit(", ", 1)[0], count(summary["ops"]))
    ooms = (f'{count(summary["ooms"])} ({count(summary["justified"])} justified, '
            f'{count(summary["premature"])} premature, {count(summary["unknown"])} unknown')
    if not page.facts["Out-of-memories"][0].startswith(ooms):
        fault(f'out-of-memories: {page.facts["Out-of-memories"]}, should begin with {ooms}')
    equal("seed", page.facts["Seed"], [summary["seed"]])
    known = sum(1 for finding in summary["findings"] if finding.get("known"))
    equal("findings", page.facts["Findings"], [f'{len(summary["findings"]) - known} new, {known} known'])
    equal("cards", len(page.cards), min(len(summary["findings"]), 100))
    for number, (card, finding) in enumerate(zip(page.cards, summary["findings"]), 1):
        word = "known" if finding.get("known") else "new"
        equal("card", card["heading"], f'{number}. {finding["signature"]} {word}')
        equal("id", card["id"], f"finding-{number}")
    if "canary" in summary:
        word = "was seen" if summary["canary"]["reported"] else "was NOT seen"
        if word not in page.facts["Canary"][0]:
            fault(f'canary: {page.facts["Canary"]}')
    rows = page.tables["Jobs by verdict"][1:]
    equal("rows", len(rows), len(summary["jobs"]))
    for row, job in zip(rows, summary["jobs"]):
        got = [row[0], row[1], row[2], row[4], row[5], row[6], row[7], row[9]]
        wanted = [job["name"]] + [count(job[key]) for key in
                                  ("trials", "ops", "ooms", "justified", "premature", "unknown", "broken")]
        equal(f'job {job["name"]}', got, wanted)
    check_rules(page, summary, out)
    tried = [entry["what"] for entry in summary.get("not_tried", [])]
    equal("not tried", [text.split(": ")[1] for text in page.lines if text.startswith("Not tried: ")], tried)


def check_rules(page, summary, out):
    """Every rule has its row; what the lines count is what the row says."""
    rows = {row[0]: row for row in page.tables["Rules, and how often there was something to judge"][1:]}
    lines = [json.loads(line) for line in open(os.path.join(out, "results.jsonl"), encoding="utf-8")]
    jobs = [line for line in lines if line["type"] == "scenario"]
    equal("ops judged", rows["counters"][3], count(summary["ops"]))
    equal("out-of-memories judged", rows["premature"][3], count(summary["ooms"]))
    equal("evictions judged", rows["wrong_eviction"][3], count(sum(job["evictions"] for job in jobs)))
    kinds = ("alloc", "output", "donate", "load", "execute")
    placed = sum(job["by_kind"].get(kind, 0) for job in jobs for kind in kinds)
    equal("requests judged", rows["too_small"][3], count(placed))
    moved = sum(job["moves"] + job["stagings"] for job in jobs)
    equal("places judged", rows["overlap"][3], count(placed + moved))
    for finding in summary["findings"]:
        wanted = sum(other["count"] for other in summary["findings"] if other["rule"] == finding["rule"])
        equal(f'findings of {finding["rule"]}', rows[finding["rule"]][4], count(wanted))


def check_memory(page, path):
    devices = [json.loads(line) for line in open(path, encoding="utf-8")]
    rows = page.tables["Each job at the fullest moment of its trials"][1:]
    equal("jobs with memory", [row[0] for row in rows], [device["name"] for device in devices])
    for row, device in zip(rows, devices):
        hundredths = device["peak_bytes"] * 10000 // device["points"][0][2]
        same = all(point[2] == device["points"][0][2] for point in device["points"])
        if same:
            equal(f'peak of {row[0]}', row[2].split(", ")[1], f"{hundredths // 100}.{hundredths % 100:02} %")
        equal(f'op of the peak of {row[0]}', row[3], count(device["peak_op"]))


def main():
    path, what = sys.argv[1:3]
    page = read(path)
    if what == "--texts":
        print("\n".join(page.lines))
    elif what == "--copy":
        print("\n".join(page.copies))
    elif what == "--memory":
        check_memory(page, sys.argv[3])
    else:
        check_policy(page, path)
        check_campaign(page, what)
    for text in faults:
        print(f"{path}: {text}", file=sys.stderr)
    sys.exit(1 if faults else 0)


main()
