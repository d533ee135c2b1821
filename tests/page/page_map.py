#!/usr/bin/python3
"""The memory map of the page, in headless Chromium: what it draws and what it answers, against the data of the page.

    tests/page/page_map.py FILE...        the styles and the scripts of the page, in their order

The pages are made here, of runs that are known to the byte.  Exits with 0 when all holds, 1 when something does not, and
77 without a browser.
"""
import base64
import json
import pathlib
import sys
import tempfile

from browser import open_browser

UNIT = 1024
CAPACITY = 1024 * UNIT
HOSTILE = '<script>alert(1)</script>"\'&<img src=x onerror=alert(1)>'
STATES = ['movable', 'held', 'dying', 'idle program', 'busy program', 'stack', 'retired']
# begin, end, address/unit, size/unit, state, tag, made by, host; sorted by begin
BLOCKS = [
    (0, 100, 0, 64, 5, 0, 0, 0),
    (5, 95, 128, 512, 3, 0, 5, 1),
    (10, 50, 64, 256, 0, 1, 10, 0),
    (20, 60, 512, 128, 0, 2, 20, 0),
    (50, 80, 64, 256, 1, 1, 10, 0),
    (60, 100, 384, 128, 0, 2, 20, 0),
]
MARKS = [(60, 0, 0, 0, 0, 0, 0), (60, 1, 0, 21, 512, 384, 128)]


def numbers(values):
    """LEB128, in Base64."""
    stream = bytearray()
    for value in values:
        while value >= 128:
            stream.append(value & 127 | 128)
            value >>= 7
        stream.append(value)
    return base64.b64encode(bytes(stream)).decode()


def signed(value):
    return 2 * value if value >= 0 else -2 * value - 1


def block_stream(blocks):
    values = []
    begin_before = address_before = 0
    for begin, end, address, size, state, tag, op, host in blocks:
        values += [begin - begin_before, end - begin, signed(address - address_before), size, state, tag, begin - op, host]
        begin_before, address_before = begin, address
    return numbers(values)


def op_stream(count):
    """An alloc of 1 unit at each op; op 70 asks 512 units and gets none."""
    values = []
    for op in range(count):
        is_refused = op == 70
        values += [0, op % 2, 0, 1 if is_refused else 0, (512 if is_refused else 250) * UNIT, 0, 1, 0, 1000]
    return numbers(values)


def mark_stream():
    values = []
    before = 0
    for op, *rest in MARKS:
        values += [op - before, *rest]
        before = op
    return numbers(values)


def known_run(**changes):
    failure = {'op': 70, 'host': 0, 'requested': 512 * UNIT, 'align': 512, 'isOom': True, 'verdict': 'premature',
               'rule': 'some_rule', 'reason': 'a reason', 'message': 'RESOURCE_EXHAUSTED: ' + HOSTILE, 'free': 576 * UNIT, 'largestHole': 512 * UNIT,
               'holes': [[512 * UNIT, 512 * UNIT], [320 * UNIT, 64 * UNIT]]}
    run = {'title': HOSTILE, 'hosts': [{'name': 'first', 'capacity': CAPACITY}, {'name': HOSTILE, 'capacity': CAPACITY}],
           'unit': UNIT, 'opCount': 100, 'kinds': ['alloc'], 'results': ['ok', 'out of memory'], 'tags': ['', HOSTILE, 'batch'],
           'states': STATES, 'shown': {'blocks': len(BLOCKS), 'of': len(BLOCKS)}, 'blocks': block_stream(BLOCKS),
           'ops': op_stream(100), 'marks': mark_stream(), 'failures': [failure], 'curves': [], 'growth': [],
           'steps': {'ops': [0, 50], 'numbers': [3, 4], 'isSaid': True}, 'flame': {}}
    return run | changes


def run_of_a_broken_promise():
    """A justified out-of-memory, and then a block on another one: nothing was refused there."""
    justified = known_run()['failures'][0] | {'verdict': 'justified', 'rule': '', 'op': 20, 'largestHole': 384 * UNIT,
                                              'holes': [[640 * UNIT, 384 * UNIT]]}
    broken = justified | {'op': 80, 'isOom': False, 'verdict': 'broken', 'rule': 'overlap', 'reason': 'lies on a block'}
    return known_run(failures=[justified, broken])


def run_of_tiny_blocks():
    """One block over all, and a thousand held ones of a unit each, in a device of 64 times as many."""
    large = [(0, 100, 0, 1024, 0, 0, 0, 0)]
    tiny = [(op, op + 1, unit, 1, 1, 0, op, 0) for op in range(5, 15) for unit in range(500, 700)]
    hosts = [{'name': 'first', 'capacity': CAPACITY * 64}]
    return known_run(blocks=block_stream(large + tiny), failures=[], hosts=hosts)


def run_that_a_finding_ends():
    """Three premature ones: the last is what the list was saved for."""
    premature = known_run()['failures'][0]
    return known_run(failures=[premature | {'op': op} for op in (20, 70, 99)])


def hostile_run():
    """Numbers that no run has, and streams that end within a number."""
    wild = [2**60, 2**52, 2**50, 2**63, 300, 2**40, 2**40, 300] * 3 + [0, 2**40, 1, 2**62, 99, 0, 0, 0]
    cut = base64.b64encode(base64.b64decode(numbers(wild)) + b'\xff\xff').decode()
    return known_run(blocks=cut, ops=cut, marks=cut, unit=2**50, tags=[], failures=[])


def large_run(count):
    """As many rectangles as ops, each of 50 ops at one of 64 places."""
    blocks = [(op, min(op + 50, count), op % 64 * 16, 15, op % 5, 0, op, 0) for op in range(count)]
    return known_run(opCount=count, blocks=block_stream(blocks), ops=op_stream(0), failures=[])


def write_page(path, run, assets):
    styles = ''.join(file.read_text() for file in assets if file.suffix == '.css')
    scripts = ''.join(file.read_text() for file in assets if file.suffix == '.js')
    data = json.dumps(run).replace('<', '\\u003c')
    path.write_text(f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><style>{styles}</style></head><body>'
                    f'<div class="map" data-run="run-1"></div><script type="application/json" id="run-1">{data}</script>'
                    f'<script>{scripts}</script></body></html>')


class MapPage:
    """A page with one map, in a browser."""

    def __init__(self):
        self.browser = open_browser(1300, 1000)
        self.driver = self.browser.driver

    def open(self, path):
        self.browser.open(path)
        self.wait()

    def ask(self, script, *arguments):
        return self.browser.run('const map = hbmstress.maps[0]; ' + script, *arguments)

    def wait(self):
        """Until nothing is left to draw."""
        check(self.browser.wait('() => hbmstress.maps[0].isDrawn()', 50), 'the map is not drawn after 50 s')

    def element(self, selector):
        return self.driver.find_element('css selector', selector)

    def colour(self, op, address):
        """What the canvas shows in the middle of an op and at an address, as numbers of red, green and blue."""
        self.wait()
        return self.ask('''
            const [op, address] = arguments;
            const x = hbmstress.overlay.xOf({ plot: map.plot, view: map.area }, op + 0.5) * map.scale;
            const y = hbmstress.overlay.yOf({ plot: map.plot, view: map.area }, address) * map.scale;
            return [...map.canvas.getContext("2d").getImageData(Math.floor(x), Math.floor(y), 1, 1).data].slice(0, 3);''', op, address)

    def variable(self, name):
        text = self.ask('return hbmstress.readColour(document.createElement("canvas").getContext("2d"), arguments[0])', name)
        return [int(text[at:at + 2], 16) for at in (1, 3, 5)]


def check(is_true, what):
    if not is_true:
        raise AssertionError(what)


def check_equal(got, expected, what):
    check(got == expected, f'{what}: {got!r} instead of {expected!r}')


def answers_what_the_data_holds(page):
    members = ('begin', 'end', 'address', 'size', 'state', 'tag', 'op', 'host')
    for host in (1, 0):
        page.ask('map.setHost(arguments[0])', host)
        for op in range(100):
            expected = [dict(zip(members, (*row[:2], row[2] * UNIT, row[3] * UNIT, *row[4:]))) for row in BLOCKS
                        if row[0] <= op < row[1] and row[7] == host]
            expected.sort(key=lambda block: block['address'])
            check_equal(page.ask('return map.blocksAt(arguments[0])', op), expected, f'blocks at op {op}')


def draws_states_and_holes(page):
    page.ask('map.setHost(0); map.select(0); map.setView({begin: 0, end: 100, low: 0, high: arguments[0]})', CAPACITY)
    movable = page.variable('--map-movable')
    hole = page.variable('--map-hole')
    check(movable != hole, 'holes and movable blocks look alike')
    check_equal(page.colour(30, 200 * UNIT), movable, 'a movable block')
    check_equal(page.colour(30, 600 * UNIT), movable, 'another, before it moved')
    check_equal(page.colour(80, 600 * UNIT), hole, 'its old place')
    check_equal(page.colour(80, 460 * UNIT), movable, 'its new place')
    check_equal(page.colour(90, 200 * UNIT), hole, 'a hole')
    held = {tuple(page.colour(op, 200 * UNIT)) for op in range(52, 69)}
    check(tuple(page.variable('--map-held')) in held, 'a held block has not its colour')
    page.ask('map.setView({begin: 59, end: 61})')
    check_equal(page.colour(59, 600 * UNIT), movable, 'an op before the move, near')


def follows_the_theme(page):
    before = page.colour(30, 200 * UNIT)
    page.ask('map.showAll(); document.documentElement.dataset.theme = "dark"')
    after = page.colour(30, 200 * UNIT)
    check_equal(after, page.variable('--map-movable'), 'a movable block in the dark')
    check(before != after, 'the theme changed nothing')
    page.ask('document.documentElement.dataset.theme = "light"')


def is_worked_by_keys(page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    canvas = page.element('.map-picture')
    page.ask('map.select(20)')
    for keys, op in ((Keys.ARROW_RIGHT, 21), (Keys.ARROW_LEFT, 20), (Keys.PAGE_DOWN, 99), (Keys.HOME, 0), (Keys.END, 99), ('f', 70)):
        canvas.send_keys(keys)
        check_equal(page.ask('return map.view().op'), op, 'the op after a key')
    ActionChains(page.driver).key_down(Keys.SHIFT).send_keys(Keys.ARROW_LEFT).key_up(Keys.SHIFT).perform()
    check_equal(page.ask('return map.view().op'), 60, 'ten ops back')
    panel = page.element('.map-panel').text
    check('step 4' in panel and 'moved 128.0K of op 20' in panel and 'from 0x80000 to 0x60000' in panel, f'the move in words: {panel}')
    canvas.send_keys('0')
    canvas.send_keys('+')
    view = page.ask('return map.view()')
    check_equal(view['end'] - view['begin'], 50, 'ops in view after +')
    canvas.send_keys('0')


def is_worked_by_the_pointer(page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    canvas = page.element('.map-picture')
    plot = page.ask('return map.plot')
    box = page.ask('const box = map.canvas.getBoundingClientRect(); return [box.width, box.height]')
    # Op 30, 200 units: as ActionChains wants it, from the middle of the element.
    x = int(plot['left'] + plot['width'] * 0.305 - box[0] / 2)
    y = int(plot['top'] + plot['height'] * (1 - 200 / 1024) - box[1] / 2)
    ActionChains(page.driver).move_to_element_with_offset(canvas, x, y).perform()
    tip = page.element('.map-tip').text
    for text in (HOSTILE, '256.0K (262,144 bytes)', '250.0K (256,000 bytes)', '0x10000', 'movable', 'op 10', '20 ops'):
        check(text in tip, f'the pointer does not show {text!r}: {tip}')
    ActionChains(page.driver).scroll_from_origin(ScrollOrigin.from_element(canvas, x, y), 0, -200).perform()
    view = page.ask('return map.view()')
    check(view['begin'] < 30.5 < view['end'] and view['end'] - view['begin'] < 90, f'the wheel zooms around the pointer: {view}')
    ActionChains(page.driver).move_to_element_with_offset(canvas, x, y).click().perform()
    check_equal(page.ask('return map.view().op'), 30, 'the op that was clicked')
    ActionChains(page.driver).click_and_hold(canvas).move_by_offset(-60, 0).release().perform()
    moved = page.ask('return map.view()')
    check(moved['begin'] > view['begin'] and moved['op'] == 30, f'a drag moves the picture and chooses nothing: {moved}')


def shows_a_failure_in_words(page):
    from selenium.webdriver.common.keys import Keys

    page.element('.map-failing').click()
    view = page.ask('return map.view()')
    check_equal(view['op'], 70, 'the op of the failure')
    text = page.element('.map-panel').text
    for part in ('premature', '512.0K (524,288 bytes)', 'some_rule: a reason', 'RESOURCE_EXHAUSTED: ' + HOSTILE, 'out of memory'):
        check(part in text, f'the panel does not say {part!r}: {text}')
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    check_equal(page.ask('return map.view().op'), 69, 'the op before, from the button')
    check_equal(page.driver.find_elements('css selector', '.map img, .map script'), [], 'elements made of texts')


def prints_bytes_as_the_tables_do(page):
    """As size_print_field: what lies in the middle is rounded to the even digit."""
    texts = {0: '0B', 1023: '1023B', 1024: '1.0K', 1280: '1.2K', 1300: '1.3K', 1408: '1.4K', 1023 * 1024 + 1023: '1024.0K', 2**20: '1.00M',
             400 * 2**20: '400.00M', 24209134592: '22.55G', 3 * 2**40: '3.00T'}
    for number, text in texts.items():
        check_equal(page.ask(f'return hbmstress.formatBytes({number})'), text, f'{number} bytes')


def shows_the_gravest_failure_first(page):
    """The broken promise is chosen, and nothing calls it a request that failed."""
    check_equal(page.ask('return map.view().op'), 80, 'the op that is chosen at first')
    verdicts = ['justified', 'not judged', 'unknown', 'premature', 'unknown']
    for count, gravest in ((2, 0), (4, 3), (5, 3)):
        failures = ', '.join(f'{{op: {i}, verdict: "{verdict}"}}' for i, verdict in enumerate(verdicts[:count]))
        check_equal(page.ask(f'return hbmstress.gravestFailure([{failures}], 99).op'), gravest, f'the gravest of {failures}')
    panel = page.element('.map-panel').text
    check('A promise was broken.' in panel and 'overlap: lies on a block' in panel, f'the panel does not say what broke: {panel}')
    for text in ('Out of memory', 'Asked', 'large enough'):
        check(text not in panel, f'the panel says {text!r} of a promise that no refusal broke: {panel}')
    check('request that failed, broken promise' in page.element('.map-legend').text, 'what a cross means')
    check_equal(page.element('.map-failures summary').text, '2 failures', 'what failed')
    page.element('.map-failures summary').click()
    check('op 80 on first: broken promise: overlap' in page.element('.map-failures').text, 'a failure in short')


def shows_what_ends_the_run_first(page):
    check_equal(page.ask('return map.view().op'), 99, 'the op that is chosen at first')
    for op in (20, 70, 99, 20):
        check_equal(page.ask('map.nextFailure(); return map.view().op'), op, 'the next failure')


def counts_holes(page):
    page.ask('map.select(30)')
    panel = page.element('.map-panel').text
    expected = '448.0K in use by 3 blocks; 576.0K free in 2 holes, the largest 384.0K at 0xa0000, 192.0K at 0x50000'
    check(expected in panel, f'the holes of op 30: {panel}')


def draws_what_a_hole_lacks(page):
    """512 units were asked for, and the largest hole has 384 at its upper end: 128 are red."""
    page.ask('map.select(20)')
    page.ask('map.showAll()')
    panel = page.element('.map-panel').text
    check('384.0K: 128.0K too small.' in panel, f'what the hole lacks in words: {panel}')
    bar = page.ask('return (5 + hbmstress.overlay.barWidth / 2) / hbmstress.overlay.opWidth({ plot: map.plot, view: map.area })')
    for units, lacks in ((580, True), (700, False)):
        red, green, _ = page.colour(20 + bar, units * UNIT)
        check((red > green) == lacks, f'the request at {units} units: {red} of red, {green} of green')


def marks_failures_where_they_are(page):
    """Line by line of pixels in a hole: the failure at op 80 is the only red one there."""
    page.ask('map.select(0); map.showAll()')
    shades = [page.colour(80 + shift, 900 * UNIT) for shift in (-0.02, 0, 0.02)]
    check(any(red > green + 20 for red, green, _ in shades), f'a line at op 80: {shades}')
    red, green, _ = page.colour(85, 900 * UNIT)
    check(red <= green + 20, 'a line at op 85')


def does_not_hide_what_fills_a_pixel(page):
    """Blocks that are smaller than a pixel lie on one that is large: they cover nothing of it."""
    check_equal(page.colour(10, 600 * UNIT), page.variable('--map-movable'), 'a block below a hundred tiny ones')


def stays_within_the_run(page):
    page.ask('map.setView({begin: NaN, end: -5, low: 1e300, high: Infinity}); map.select("x"); map.select(1e99)')
    view = page.ask('return map.view()')
    check(0 <= view['begin'] < view['end'] <= 100 and 0 <= view['low'] < view['high'] <= CAPACITY and view['op'] == 99, f'{view}')
    page.ask('map.setView({begin: 41, end: 42})')
    view = page.ask('return map.view()')
    check_equal((view['begin'], view['end']), (41, 42), 'a single op')


def names_ops_by_their_number(page):
    """Ops of lanes are judged in another order than that of the list."""
    page.ask('map.select(0)')
    panel = page.element('.map-panel').text
    check(panel.startswith('op 99') and 'op 98' not in panel, f'the first op that was judged is op 99: {panel}')
    check_equal(page.element('.map-slider output').text, 'op 99 (1 of 100)', 'what the slider says')
    page.ask('map.select(60)')
    panel = page.element('.map-panel').text
    check('of op 79 (' in panel, f'what moved is the block of op 79: {panel}')
    check('3 requests failed' in page.element('.map-failures summary').text, 'failures that were left out')


def draws_whatever_comes(page):
    page.ask('map.select(50); map.setView({begin: 3, end: 9}); map.nextFailure()')
    check_equal(page.ask('return map.view().op'), 50, 'the chosen op')
    check(page.ask('''
        const { begin, end } = map.run.blocks;
        return begin.length > 0 && begin.every((op, i) => op < end[i] && end[i] <= map.run.opCount);'''), 'rectangles outside of the run')
    page.ask('map.setView({low: map.limits.high - 1, high: map.limits.high})')


def is_complete_after_many_frames(page):
    """The view changes while a picture is half painted: what comes at last is the picture of the last view."""
    is_drawn = page.ask('''
        map.setView({begin: 1});
        map.drawFrame(0);
        const isDrawn = map.isDrawn();
        map.setView({begin: 1000, end: 1064});
        return isDrawn;''')
    check(not is_drawn, 'a picture is drawn in no time')
    # Op 1010 made a movable block, which is there until op 1060.
    check_equal(page.colour(1030, (1010 % 64 * 16 + 7) * UNIT), page.variable('--map-movable'), 'a block in the last view')
    check(page.ask('return map.drawnMs') > 0, 'drawing takes time')


PAGES = [
    (known_run(), [answers_what_the_data_holds, draws_states_and_holes, follows_the_theme, is_worked_by_keys,
                   is_worked_by_the_pointer, shows_a_failure_in_words, stays_within_the_run,
                   prints_bytes_as_the_tables_do]),
    (run_that_a_finding_ends(), [shows_what_ends_the_run_first]),
    (run_of_a_broken_promise(), [shows_the_gravest_failure_first, counts_holes, marks_failures_where_they_are,
                                  draws_what_a_hole_lacks]),
    (run_of_tiny_blocks(), [does_not_hide_what_fills_a_pixel]),
    (known_run(opNumbers=numbers([signed(99)] + [signed(-1)] * 99), failureCount=3), [names_ops_by_their_number]),
    (hostile_run(), [draws_whatever_comes]),
    (large_run(100_000), [is_complete_after_many_frames]),
]


def main():
    assets = [pathlib.Path(name) for name in sys.argv[1:]]
    check(assets, 'which styles and scripts?')
    page = MapPage()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for number, (run, checks) in enumerate(PAGES):
                path = pathlib.Path(folder) / f'{number}.html'
                write_page(path, run, assets)
                page.open(path)
                for each in checks:
                    each(page)
                    page.wait()
                check_equal(page.browser.problems(), [], 'what the console has and which requests were sent')
    except AssertionError as error:
        print(f'page_map: {error}')
        return 1
    finally:
        page.browser.close()
    return 0


sys.exit(main())
