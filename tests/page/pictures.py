#!/usr/bin/python3
"""Makes the pictures of the pages of `hbmstress report` that README.md and docs/report.md show, into docs/pictures/.

    tests/page/pictures.py HBMSTRESS [FOLDER]        for example tests/page/pictures.py build/release/cli/hbmstress

Needs ci/setup --with-browser.  The lists are those of fixed seeds, so that the pictures change when the page does.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import open_browser

DRAWN = "() => hbmstress.maps.every((map) => map.isDrawn())"


def run(program, *arguments):
    subprocess.run([program, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_pages(program):
    """Relative names: pages show them."""
    run(
        *(program, "run", "fragmentation_storm", "queued_free_race", "eviction_pressure", "slow_leak"),
        *("--target", "plant_premature_undrained", "--seed", 3, "--seeds", 8, "--ops", 20000, "--out", "night"),
    )
    run(program, "report", "night", "-o", "night.html")
    run(program, "run", "fragmentation_storm", "--capacity", "64M", "--seed", 12, "--ops", 2000, "--lanes", "none",
        "--keep", 1, "--out", "storm")  # fmt: skip
    next(Path("storm/kept").glob("*.ops")).rename("storm.ops")
    run(program, "report", "storm.ops", "-o", "storm.html")


    # The failure of README.md.
    run(
        *(program, "run", "fragmentation_storm", "--target", "first_fit", "--target-option", "defrag=slide"),
        *("--capacity", "64M", "--seed", 12, "--ops", 2000),
    )
    run(program, "report", "out", "-o", "first.html")


def save(browser, folder, name, selector, width=1200, height=1100):
    browser.set_size(width, 900)
    browser.wait(DRAWN)
    # The bar stays where the window is, which would be in the picture.
    browser.run("document.querySelector('header').style.position = 'static'; scrollTo(0, 0)")
    browser.save_element(selector, folder / f"{name}.png", height)


def take_night(browser, folder):
    browser.open("night.html")
    browser.wait(DRAWN)
    save(browser, folder, "head", "#verdict")
    save(browser, folder, "finding", "#finding-1")
    save(browser, folder, "tables", "#tables")
    save(browser, folder, "phone", "main", width=400, height=900)


def take_storm(browser, folder):
    browser.open("storm.html")
    browser.wait(DRAWN)
    browser.run("hbmstress.maps[0].setView({begin: 400, end: 480}); hbmstress.maps[0].select(424)")
    save(browser, folder, "map", ".map")
    save(browser, folder, "curves", ".curves")
    save(browser, folder, "flame", ".flame")


def take_first(browser, folder):
    """Narrow, as a code host shows README.md in a column."""
    browser.open("first.html")
    browser.wait(DRAWN)
    save(browser, folder, "readme", "#finding-1", width=900, height=748)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program = Path(sys.argv[1]).resolve()
    default = Path(__file__).resolve().parents[2] / "docs" / "pictures"
    folder = Path(sys.argv[2]).resolve() if len(sys.argv) == 3 else default
    browser = open_browser()
    try:
        with tempfile.TemporaryDirectory() as work:
            os.chdir(work)
            make_pages(program)
            take_night(browser, folder)
            take_storm(browser, folder)
            take_first(browser, folder)
    finally:
        browser.close()


main()
