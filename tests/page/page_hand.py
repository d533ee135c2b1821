#!/usr/bin/python3
"""Curves, who holds memory, keys and filters of the page, in headless Chromium, used by keyboard and mouse.

    tests/page/page_hand.py FILE...        the styles and the scripts of the page, in their order

The page is made here, of a run that is known to the byte.  Exits with 0 when all holds, 1 when something does not, and 77
without a browser.
"""
import json
import pathlib
import sys
import tempfile

from browser import open_browser

HOSTILE = "<script>alert(1)</script>\"'&"
CAPACITY = 1 << 20
OP_COUNT = 1000
ROW_COUNT = 25


def make_curve(host):
    places = list(range(9, OP_COUNT, 10))
    in_use = [place * 1000 + host for place in places]
    free = [CAPACITY - bytes_used for bytes_used in in_use]
    return {
        "host": host,
        "x": places,
        "inUse": in_use,
        "free": free,
        "largestHole": [size // 4 for size in free],
        "reserved": [0] * len(places),
        "queued": [0] * len(places),
        "programs": [1] * len(places),
    }


def make_flame():
    small = [{"name": f"small {i}", "bytes": 1, "children": []} for i in range(50)]
    known = {"name": HOSTILE, "bytes": 7000, "children": [{"name": "child", "bytes": 3000, "children": []}]}
    unknown = {"name": "unknown origin", "bytes": 2000, "children": []}
    return {"name": "in use", "bytes": 9050, "children": [*small, unknown, known]}


def make_stacks():
    """Deeper than the box, and than what is drawn at once."""
    node = {"name": "innermost", "bytes": 4000, "children": []}
    for i in range(66, 0, -1):
        node = {"name": f"{HOSTILE} {i}", "bytes": 4000 if i > 5 else 8000, "children": [node]}
    unknown = {"name": "unknown origin", "bytes": 1050, "children": []}
    return {"name": "in use", "bytes": 9050, "children": [unknown, node]}


def make_run():
    failure = {"op": 700, "host": 0, "requested": 512, "isOom": True, "verdict": "premature"}
    growth = {"host": 0, "x": [0, 999], "bytes": [0, 5000]}
    return {
        "title": HOSTILE,
        "hosts": [{"name": HOSTILE, "capacity": CAPACITY}, {"name": "second", "capacity": CAPACITY}],
        "unit": 1,
        "opCount": OP_COUNT,
        "blocks": "",
        "ops": "",
        "marks": "",
        "failures": [failure],
        "curves": [make_curve(0), make_curve(1)],
        "growth": [
            {**growth, "tag": "steady", "trend": None},
            {**growth, "tag": HOSTILE, "trend": {"slope": 5, "from": 0, "to": 999, "at": 0}},
        ],
        "steps": {"ops": [100, 200, 400], "numbers": [7, 8, 9], "isSaid": True},
        "flame": make_flame(),
        "flameStacks": make_stacks(),
        "flameStacksNote": HOSTILE,
        "flameOp": 999,
        "flameHost": 0,
    }


def make_earlier_run():
    """Half of the bytes at each op."""
    curve = make_curve(0)
    return {**make_run(), "title": "earlier", "curves": [{**curve, "inUse": [size // 2 for size in curve["inUse"]]}]}


def make_finding(number):
    return (
        f'<article class="finding" id="finding-{number}"><h3>rule {number}</h3><details><summary>ops</summary>'
        f'<code class="copy">replay {number}</code></details></article>'
    )


def write_page(path, assets):
    styles = "".join(file.read_text() for file in assets if file.suffix == ".css")
    scripts = "".join(file.read_text() for file in assets if file.suffix == ".js")
    data = json.dumps(make_run()).replace("<", "\\u003c")
    earlier = json.dumps(make_earlier_run()).replace("<", "\\u003c")
    findings = "".join(make_finding(number) for number in range(1, 5))
    rows = "".join(f"<tr><td>row {i} {'odd' if i % 2 else 'even'}</td></tr>" for i in range(ROW_COUNT))
    path.write_text(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><style>{styles}</style></head><body>'
        f"<header><h1>a page</h1></header><main>"
        f'<section id="findings"><h2>Findings</h2>{findings}</section>'
        f'<section id="curves"><h2>Curves</h2><div class="curves" data-run="run-1"></div></section>'
        f'<section id="two"><h2>Two</h2><div class="curves" data-run="run-1" data-against="run-2"></div></section>'
        f'<section id="flame"><h2>Who</h2><div class="flame" data-run="run-1"></div></section>'
        f'<section id="rows"><h2>Rows</h2><table><tbody>{rows}</tbody></table></section></main>'
        f'<script type="application/json" id="run-1">{data}</script>'
        f'<script type="application/json" id="run-2">{earlier}</script><script>{scripts}</script></body></html>'
    )


def check_equal(found, expected, what):
    assert found == expected, f"{what}: {found!r}, expected {expected!r}"


def press_on(browser, selector, *keys):
    browser.run("document.querySelector(arguments[0]).focus()", selector)
    browser.press(*keys)


# --- the page ---


def goes_from_finding_to_finding(browser):
    places = []
    for key in "nnpnnn":
        press_on(browser, "body", key)
        places.append(browser.run("return document.activeElement.id"))
    numbers = [1, 2, 1, 2, 3, 4]
    check_equal(places, [f"finding-{number}" for number in numbers], "n n p n n n")


def folds_and_unfolds(browser):
    look = "return [...document.querySelectorAll('article details')].map((each) => each.open)"
    press_on(browser, "body", "f")
    check_equal(browser.run(look), [True] * 4, "f opens all")
    press_on(browser, "body", "f")
    check_equal(browser.run(look), [False] * 4, "f folds all")


def lists_its_keys(browser):
    from selenium.webdriver.common.keys import Keys

    press_on(browser, "body", "?")
    titles = browser.run("return [...document.querySelectorAll('dialog[open] h3')].map((each) => each.textContent)")
    assert "Page" in titles and "Who holds memory" in titles, titles
    browser.press(Keys.ESCAPE)
    check_equal(browser.run("return document.querySelector('dialog').open"), False, "Escape closes the help")


def filters_rows(browser):
    press_on(browser, "#rows input[type=search]", "odd")
    shown = browser.run("return [...document.querySelectorAll('#rows tr')].filter((row) => !row.hidden).length")
    check_equal(shown, ROW_COUNT // 2, "rows that are odd")


def links_its_sections(browser):
    links = browser.run("return [...document.querySelectorAll('nav a')].map((link) => link.hash)")
    check_equal(links, ["#findings", "#curves", "#two", "#flame", "#rows"], "links in the bar")


# --- curves ---


def draws_what_the_data_holds(browser):
    plot = browser.run(
        """const { main } = hbmstress.curves[0];
        return { unit: main.scale.unit, names: main.picture.series.map((series) => series.name),
          fragmentation: main.picture.series.find((series) => series.scale === "percent").values[0],
          capacity: main.picture.series.at(-1).values[0], steps: [100, 150, 300].map(main.scale.fromOp) };"""
    )
    check_equal(plot["unit"], "step", "the axis of a run that reports its steps")
    check_equal(plot["steps"], [7, 7.5, 8.5], "ops as steps")
    check_equal(plot["fragmentation"], 75, "a quarter of what is free is the largest hole")
    check_equal(plot["capacity"], CAPACITY, "the capacity")
    for name in ("queued", "reserved"):
        assert name not in plot["names"], f"{name} was 0 always, and has a line"


def shows_and_hides_a_line(browser):
    look = "return hbmstress.curves[0].plot.series[1].show"
    for is_shown in (False, True):
        browser.run("document.querySelector('.curves-legend button').click()")
        check_equal(browser.run(look), is_shown, "a click in the legend")


def chooses_an_op_by_keys(browser):
    from selenium.webdriver.common.keys import Keys

    browser.run("window.heard = []; document.addEventListener('hbmstress:op', (event) => heard.push(event.detail))")
    press_on(browser, ".curves-plot[tabindex]", Keys.END, Keys.ARROW_LEFT, Keys.ENTER)
    check_equal(browser.run("return heard"), [{"run": "run-1", "op": 989}], "the last point but one")
    check_equal(browser.run("return hbmstress.curves[0].main.chosen"), 989, "the line of the chosen op")


def chooses_a_failure_by_mouse(browser):
    from selenium.webdriver.common.action_chains import ActionChains

    browser.run("document.querySelector('.curves-plot').scrollIntoView({block: 'center'})")
    offset = browser.run(
        """const { main } = hbmstress.curves[0];
        const over = main.plot.over.getBoundingClientRect(), box = main.box.getBoundingClientRect();
        return over.left + main.plot.valToPos(main.scale.fromOp(700), "x") - (box.left + box.width / 2);"""
    )
    box = browser.driver.find_element("css selector", ".curves-plot")
    ActionChains(browser.driver).move_to_element_with_offset(box, round(offset) + 2, 0).click().perform()
    check_equal(browser.run("return hbmstress.curves[0].main.chosen"), 700, "a click beside a failure")


def follows_the_op_of_others(browser):
    browser.run("document.dispatchEvent(new CustomEvent('hbmstress:op', { detail: { run: 'run-1', op: 5 } }))")
    check_equal(browser.run("return hbmstress.curves[0].main.chosen"), 5, "an op that another part chose")
    browser.run("document.dispatchEvent(new CustomEvent('hbmstress:op', { detail: { run: 'run-2', op: 6 } }))")
    check_equal(browser.run("return hbmstress.curves[0].main.chosen"), 5, "an op of another run")


def puts_what_grows_first(browser):
    titles = browser.run("return [...document.querySelectorAll('.growth figcaption')].map((each) => each.textContent)")
    assert titles[0].startswith(HOSTILE) and "grows by 5B an op" in titles[0], titles
    assert titles[1].startswith("steady"), titles


def subtracts_the_earlier_run(browser):
    series = browser.run(
        """const { series } = hbmstress.curves[1].main.picture;
        return series.map(({ name, values }) => [name, values.at(-1)]);"""
    )
    expected = [["in use", 999_000], ["in use, earlier", 499_500], ["difference", 499_500]]
    check_equal(series, expected, "two runs on one axis")


CURVES = [
    draws_what_the_data_holds,
    shows_and_hides_a_line,
    chooses_an_op_by_keys,
    chooses_a_failure_by_mouse,
    follows_the_op_of_others,
    puts_what_grows_first,
    subtracts_the_earlier_run,
]


def reports_that_curves_are_left_out(browser):
    text = browser.run("return document.querySelector('.curves').textContent")
    assert "left out" in text, text


# --- who holds memory ---


def choose_tree(browser, by):
    browser.run("const select = document.querySelector('.flame select'); select.value = arguments[0];"
                "select.dispatchEvent(new Event('change'))", by)


def shows_stacks_first(browser):
    look = "const flame = hbmstress.flames[0]; return [flame.by, flame.root.children.length]"
    check_equal(browser.run(look), ["stack", 2], "the tree that is shown first")
    text = browser.run("return document.querySelector('.flame-controls').textContent")
    assert HOSTILE in text, f"the note is not there: {text}"
    sizes = browser.run("const rows = document.querySelector('.flame-rows');"
                        "return [rows.clientHeight, rows.scrollHeight, rows.scrollWidth - rows.clientWidth]")
    assert sizes[0] < 600 < 1400 < sizes[1] and sizes[2] <= 0, f"deep stacks do not scroll in their box: {sizes}"
    browser.run("hbmstress.flames[0].zoomInto(hbmstress.flames[0].boxes.at(-1))")
    assert browser.run("return hbmstress.flames[0].boxes.at(-1).node.name") == "innermost", "no zoom reaches the end"
    choose_tree(browser, "tag")
    check_equal(browser.run(look), ["tag", 52], "the tree by tag")
    check_equal(browser.run("return hbmstress.flames[0].trail.length"), 1, "the zoom of the other tree")
    choose_tree(browser, "stack")
    rows = browser.run("return [...document.querySelectorAll('.flame tbody tr')].map((row) => row.cells[0].textContent)")
    ends = " › ".join(["…", *(f"{HOSTILE} {i}" for i in range(63, 67)), "innermost"])
    check_equal(rows, [" › ".join(f"{HOSTILE} {i}" for i in range(1, 6)), ends, "unknown origin"], "the paths in the table")
    choose_tree(browser, "tag")


def gathers_what_is_small(browser):
    boxes = browser.run("return hbmstress.flames[0].boxes.map((box) => [box.node.name, box.element.className])")
    names = [name for name, _ in boxes]
    check_equal(names, ["in use", HOSTILE, "unknown origin", "50 others", "child"], "boxes")
    assert "is-unknown" in dict(boxes)["unknown origin"], "unknown origin is not drawn apart"


def zooms_by_keys(browser):
    from selenium.webdriver.common.keys import Keys

    look = "return hbmstress.flames[0].node.name"
    press_on(browser, ".flame-box[tabindex='0']", Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    check_equal(browser.run("return document.activeElement.textContent.slice(0, 14)"), "unknown origin", "the next box")
    browser.press(Keys.ENTER)
    check_equal(browser.run(look), "unknown origin", "Enter")
    browser.press(Keys.ESCAPE)
    check_equal(browser.run(look), "in use", "Escape")


def names_the_share_of_the_parent(browser):
    from selenium.webdriver.common.action_chains import ActionChains

    boxes = browser.driver.find_elements("css selector", ".flame-box")
    child = next(box for box in boxes if box.text.startswith("child"))
    ActionChains(browser.driver).move_to_element(child).perform()
    text = browser.run("return document.querySelector('.flame').textContent")
    assert f"2.9K, 33.1 % of all, 42.9 % of {HOSTILE}" in text, text


def shows_a_table(browser):
    row = browser.run("return [...document.querySelector('.flame tbody tr').cells].map((cell) => cell.textContent)")
    check_equal(row, [HOSTILE, "3.9K", "44.2 %"], "what holds the most by itself")


CHECKS = [
    links_its_sections,
    goes_from_finding_to_finding,
    folds_and_unfolds,
    lists_its_keys,
    filters_rows,
    shows_stacks_first,
    gathers_what_is_small,
    zooms_by_keys,
    names_the_share_of_the_parent,
    shows_a_table,
]


def main():
    assets = [pathlib.Path(name) for name in sys.argv[1:]]
    assert assets, "which styles and scripts?"
    browser = open_browser()
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.html"
            write_page(path, assets)
            browser.open(path)
            has_plots = browser.run("return typeof uPlot !== 'undefined'")
            for check in CHECKS + (CURVES if has_plots else [reports_that_curves_are_left_out]):
                check(browser)
            check_equal(browser.problems(), [], "what the console has and which requests were sent")
    except AssertionError as error:
        print(f"page_hand: {error}")
        return 1
    finally:
        browser.close()
    return 0


sys.exit(main())
