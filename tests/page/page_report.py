#!/usr/bin/python3
"""Opens what `hbmstress report` writes in a real browser, uses it as a reader does, and compares what it shows with what
other subcommands print of the same campaign or list.  Pictures of each page stay in PICTURES.

    page_report.py HBMSTRESS FIELD_DATA PICTURES [PAGE ...]        exits with 0, 1, or 77 where no browser is there

Each PAGE is opened and looked at, too.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from browser import open_browser  # noqa: E402

HBMSTRESS, FIELD_DATA, PICTURES, *PAGES = (Path(argument).resolve() for argument in sys.argv[1:])
HOSTILE = "<script>alert(1)</script>\"'&"
MAP = "hbmstress.maps[0]"
failures = 0


def check(is_good, what):
    global failures
    if not is_good:
        print("FAILED:", what)
        failures += 1


def hbmstress(*arguments, expected=(0,)):
    done = subprocess.run([HBMSTRESS, *map(str, arguments)], capture_output=True, text=True)
    check(done.returncode in expected, f"hbmstress {arguments}: exit {done.returncode}: {done.stderr[:300]}")
    return done.stdout


def open_page(browser, path):
    """A page without a fault: no message on its console, no request."""
    browser.set_size(1600, 1000)
    browser.open(path)
    browser.wait("() => hbmstress.maps.every((map) => map.isDrawn())")
    for problem in browser.problems():
        check(False, f"{path.name}: {problem}")


def look_at(browser, name):
    """Pictures at both widths, dark and light, and nothing wider than the window."""
    for width in (1600, 400):
        for theme in ("light", "dark"):
            browser.set_system_theme(theme)
            browser.set_size(width, 1000)
            browser.wait("() => hbmstress.maps.every((map) => map.isDrawn())")
            # Curves take their new width when the browser tells them of it, which on a busy machine is later.
            fits = "() => document.documentElement.scrollWidth <= innerWidth"
            check(browser.wait(fits), f"{name} at {width}: wider than the window")
            wide = browser.run(
                """return [...document.querySelectorAll("main > *, main section > *")]
                  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
                  .map((element) => element.outerHTML.slice(0, 80));"""
            )
            check(not wide, f"{name} at {width}: wider than the window: {wide[:3]}")
            browser.save(PICTURES / f"{name}-{width}-{theme}.png", height=6000)
    browser.set_system_theme("light")
    browser.set_size(1600, 1000)
    check(not browser.problems(), f"{name}: problems after resizing")


# --- a campaign ---


def check_theme(browser):
    """The toggle changes what is seen, whatever the system says."""
    ground = "return getComputedStyle(document.body).backgroundColor"
    grounds = {}
    for system in ("light", "dark"):
        browser.set_system_theme(system)
        for choice in ("light", "dark", "system"):
            browser.run(
                """const select = document.querySelector("select.theme");
                select.value = arguments[0];
                select.dispatchEvent(new Event("change", {bubbles: true}));""",
                choice,
            )
            grounds[system, choice] = browser.run(ground)
    for choice in ("light", "dark"):
        shown = {grounds[system, choice] for system in ("light", "dark")} | {grounds[choice, "system"]}
        check(len(shown) == 1, f"the {choice} theme is shown as {shown}")
    check(grounds["light", "system"] != grounds["dark", "system"], "light and dark look the same")
    browser.set_system_theme("light")


def check_copy(browser):
    """What a copy button copies is the text beside it."""
    browser.run("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    line = browser.run(
        """const code = document.querySelector("article.finding code.copy");
        document.querySelector("article.finding button.copy").click();
        return code.textContent;"""
    )
    copied = browser.wait("() => window.copied")
    check(copied == line, f"the copy button copies {copied!r}, not {line!r}")


def check_findings(browser, summary):
    cards = browser.run("return [...document.querySelectorAll('article.finding')].map((card) => card.textContent)")
    check(len(cards) == len(summary["findings"]), f"{len(cards)} cards of {len(summary['findings'])} findings")
    for card, finding in zip(cards, summary["findings"]):
        for text in (finding["signature"], finding["replay"], finding["reason"], str(finding["count"])):
            check(text in card, f"a card does not say '{text}'")


def check_jobs(browser, summary):
    rows = browser.run(
        """return [...document.querySelectorAll("table")]
          .filter((table) => table.caption?.textContent === "Jobs by verdict")
          .flatMap((table) => [...table.tBodies[0].rows])
          .map((row) => [...row.children].map((cell) => cell.textContent.trim()));"""
    )
    by_name = {row[0]: row for row in rows}
    for job in summary["jobs"]:
        row = by_name.get(job["name"], [])
        for member in ("trials", "ops", "ooms", "justified", "premature", "unknown"):
            check(f"{job[member]:,}" in row, f"the row of {job['name']} has no {member} {job[member]}: {row}")


def check_campaign(browser, work):
    hbmstress(
        *("run", "fragmentation_storm", "queued_free_race", "exact_edge", "--target", "plant_premature_undrained"),
        *("--seed", 3, "--seeds", 6, "--ops", 4000, "--out", work / "night"),
        expected=(1,),
    )
    hbmstress("report", work / "night", "-o", work / "night.html")
    summary = json.loads((work / "night" / "summary.json").read_text())
    check((work / "night.html").stat().st_size <= 3 << 20, "the page of a campaign has more than 3 MB")
    open_page(browser, work / "night.html")
    head = browser.run("return document.querySelector('main').textContent")
    for member in ("ops", "ooms", "premature", "justified"):
        check(f"{summary[member]:,}" in head, f"the head does not say {member} {summary[member]}")
    check_findings(browser, summary)
    check_jobs(browser, summary)
    check_copy(browser)
    check_theme(browser)
    check(browser.run("return hbmstress.maps.length") >= 1, "no finding has a map")
    browser.run("document.querySelector('article.finding').scrollIntoView()")
    check(browser.run(f"return {MAP}.run.failures.length") >= 1, "the map of the first finding has no failure")
    look_at(browser, "campaign")


# --- a list ---


def blocks_by_op(listing):
    """For each op of the export the set of (address, size) that is taken after it."""
    taken, after = {}, {}
    for row in csv.DictReader(listing.splitlines()):
        if row["action"] in ("alloc", "moved_in", "retired"):
            taken[int(row["address"])] = int(row["size"])
        elif row["action"] in ("free_completed", "evicted", "moved_out"):
            taken.pop(int(row["address"]), None)
        after[int(row["op"])] = set(taken.items())
    return after


def check_blocks(browser, after):
    for op in list(after)[:: max(1, len(after) // 40)]:
        drawn = browser.run(
            f"""return {MAP}.blocksAt(arguments[0])
              .filter((block) => {MAP}.run.states[block.state] !== "stack")
              .map((block) => [block.address, block.size]);""",
            op,
        )
        check({(int(a), int(b)) for a, b in drawn} == after[op], f"op {op}: the map has other blocks than the export")


# What the canvas shows in the middle of an op, at an address.
COLOUR_AT = """
const map = hbmstress.maps[0], view = map.view(), plot = map.plot, [op, address] = arguments;
const x = plot.left + (op + 0.5 - view.begin) / (view.end - view.begin) * plot.width;
const y = plot.top + (view.high - address) / (view.high - view.low) * plot.height;
const scale = map.canvas.width / map.canvas.clientWidth;
return [...map.canvas.getContext("2d").getImageData(Math.floor(x * scale), Math.floor(y * scale), 1, 1).data];
"""


def check_pixels(browser, after):
    """In a view of few ops, the middle of a block is not drawn as the middle of a hole is."""
    op = max(after, key=lambda number: len(after[number]))
    blocks = sorted(after[op])
    hole = max(
        ((end, begin) for (end, begin) in zip([a + s for a, s in blocks], [a for a, _ in blocks[1:]]) if begin > end),
        key=lambda span: span[1] - span[0],
        default=None,
    )
    block = max(blocks, key=lambda item: item[1])
    browser.run(f"{MAP}.setView({{begin: arguments[0], end: arguments[0] + 4, low: 0, high: {MAP}.run.hosts[0].capacity}})", op - 1)
    browser.wait(f"() => {MAP}.isDrawn()")
    colours = [
        browser.run(COLOUR_AT, op, middle)
        for middle in [block[0] + block[1] // 2] + ([(hole[0] + hole[1]) // 2] if hole else [])
    ]
    check(len(set(map(str, colours))) == len(colours), f"op {op}: a block and a hole are both drawn as {colours}")


def check_zoom(browser):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    canvas = browser.driver.find_element("css selector", ".map-picture")
    browser.run(f"arguments[0].scrollIntoView({{block: 'center'}}); const run = {MAP}.run; "
                f"{MAP}.setView({{begin: 0, end: run.opCount, low: 0, high: run.hosts[0].capacity}})", canvas)
    whole = browser.run(f"return {MAP}.view()")
    for _ in range(6):
        ActionChains(browser.driver).scroll_from_origin(ScrollOrigin.from_element(canvas), 0, -240).perform()
    near = browser.run(f"return {MAP}.view()")
    width = near["end"] - near["begin"]
    check(width < (whole["end"] - whole["begin"]) / 2, f"the wheel does not zoom: {whole} to {near}")
    across = browser.run(f"return ({MAP}.canvas.clientWidth / 2 - {MAP}.plot.left) / {MAP}.plot.width")
    middle = whole["begin"] + across * (whole["end"] - whole["begin"])
    check(near["begin"] <= middle <= near["end"], f"the wheel does not zoom around the pointer: {near}")
    ActionChains(browser.driver).drag_and_drop_by_offset(canvas, 120, 0).perform()
    moved = browser.run(f"return {MAP}.view()")
    check(moved["begin"] < near["begin"], f"dragging does not pan: {near} to {moved}")


def check_steps(browser, ops):
    from selenium.webdriver.common.keys import Keys

    browser.run(f"{MAP}.select(10); document.querySelector('.map-picture').focus()")
    browser.press(Keys.ARROW_RIGHT)
    check(browser.run(f"return {MAP}.view().op") == 11, "the right arrow does not go to the next op")
    browser.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    check(browser.run(f"return {MAP}.view().op") == 9, "the left arrow does not go back")
    panel = browser.run("return document.querySelector('.map-panel').textContent")
    check("9" in panel and ops[9].split()[1] in panel, f"op 9 is '{ops[9]}', and the panel says '{panel[:120]}'")
    browser.run(
        """const slider = document.querySelector(".map input[type=range]");
        slider.value = 100;
        slider.dispatchEvent(new Event("input", {bubbles: true}));"""
    )
    check(browser.run(f"return {MAP}.view().op") == 100, "the slider does not choose the op")


def check_curves(browser, path):
    count = browser.run("return hbmstress.curves.length")
    if browser.run("return typeof uPlot") == "undefined":
        check(count == 0 and "left out" in browser.run("return document.body.textContent"), "no uPlot, and no word of it")
        return
    check(count >= 1, "there are no curves")
    line = next(line for line in hbmstress("explain", path, "--timeline", "--json", expected=(0, 1, 3)).splitlines() if '"type":"memory"' in line)
    peak = json.loads(line)["peak_bytes"]
    drawn = browser.run(f"return Math.max(...{MAP}.run.curves[0].inUse.map((x, i) => x + {MAP}.run.curves[0].reserved[i]))")
    check(drawn == peak, f"the peak of the curves is {drawn}, that of explain {peak}")


def check_list(browser, work):
    hbmstress(
        *("run", "fragmentation_storm", "--capacity", "64M", "--seed", 12, "--ops", 2000, "--seeds", 1, "--lanes", "none"),
        *("--keep", 1, "--out", work / "kept"),
    )
    path = next((work / "kept" / "kept").glob("*.ops"))
    hbmstress("report", path, "-o", work / "list.html")
    open_page(browser, work / "list.html")
    after = blocks_by_op(hbmstress("convert", path, "--to", "csv"))
    listed = [line for line in hbmstress("convert", path, "--to", "run_ops").splitlines() if line[:1].isdigit()]
    check(browser.run(f"return {MAP}.run.opCount") == len(listed), "the map has another number of ops than the list")
    check_blocks(browser, after)
    check_pixels(browser, after)
    check_zoom(browser)
    check_steps(browser, listed)
    check_curves(browser, path)
    check(not browser.problems(), "problems while the map was used")
    look_at(browser, "list")


# --- what strangers write ---

def check_hostile(browser, work):
    """Tags are text: nothing of them runs, nothing of them is lost."""
    path = work / "hostile.json"
    address = 4 << 30
    frame = {"name": HOSTILE, "filename": f"{HOSTILE}.py", "line": 7}
    events = [("alloc", i) for i in range(8)] + [("free_completed", i) for i in range(8)]
    trace = {
        "segments": [],
        "device_traces": [
            [
                {"action": action, "addr": address + (i << 20), "size": 1 << 20, "stream": 0, "frames": [frame]}
                for action, i in events
            ]
        ],
    }
    path.write_text(json.dumps(trace))
    hbmstress("report", path, "-o", work / "hostile.html")
    browser.open(work / "hostile.html")
    browser.run("window.alert = () => { window.alerted = true; }")
    tags = browser.run(f"return {MAP}.run.tags")
    check(any("alert(1)" in tag for tag in tags), f"the tag is not there: {tags}")
    check(browser.run("return document.body.textContent.includes('<script>alert(1)')"), "the tag is not shown as text")
    check(not browser.run("return [...document.scripts].some((script) => script.textContent.startsWith('alert'))"), "the tag became a script")
    check(not browser.problems(), "the page of hostile tags has problems")


# --- from the field ---


def check_field(browser, work):
    folder = FIELD_DATA / "data" / "torch_snapshot"
    path = folder / "cs336_silmont_small_complete.pickle.gz"
    if not path.exists():
        print("skipped: field traces: no", path.name)
        return
    hbmstress("report", path, "-o", work / "field.html")
    open_page(browser, work / "field.html")
    check(browser.run("return document.querySelectorAll('.flame *').length") > 3, "the trace has no flame graph")
    listed = [line for line in hbmstress("convert", path, "--to", "csv").splitlines()[1:] if ",alloc," in line]
    drawn = browser.run(f"return {MAP}.run.blocks.count")
    check(drawn >= len(listed) > 10, f"the map of the trace has {drawn} rectangles for {len(listed)} blocks")
    look_at(browser, "field")


def check_pages(browser, _):
    for page in PAGES:
        open_page(browser, page)
        look_at(browser, page.stem)


def main():
    browser = open_browser()
    try:
        with tempfile.TemporaryDirectory() as name:
            work = Path(name)
            os.chdir(work)
            for part in (check_campaign, check_list, check_hostile, check_field, check_pages):
                before = failures
                part(browser, work)
                print(f"{part.__name__}: {'ok' if failures == before else 'FAILED'}")
    finally:
        browser.close()
    return 1 if failures else 0


sys.exit(main())
