#!/usr/bin/env python3
"""The page of a list or a field trace: its data is what `convert` and `explain` say of the same list, op by op; it is
written whatever becomes of the target; names from files stay text; the curves keep what is around a failure."""
import glob
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import page_data  # noqa: E402

hbmstress, corpus, field = (os.path.abspath(path) for path in sys.argv[1:4])
# The oracle takes seconds for these, and they are read four times: they are left out unless the environment variable
# HBMSTRESS_TESTS is "full", as it is at night.
AT_NIGHT = ("hbm_aligned_window_of_two_small_blocks.ops", "hbm_aligned_gaps_filled_by_small_blocks.ops",
            "hbm_repack_where_odd_sizes_decide.ops", "oracle_layers_in_two_spans.ops")
HEAD = "hbmstress-ops 1\ncapacity 64K\ngranule 512\nhosts 1\ncoordinate 0x0x0_HBM0\ntarget hbm\n"


def call(*words, codes=(0,)):
    result = subprocess.run([hbmstress, *words], capture_output=True, text=True, check=False)
    assert result.returncode in codes, (words, result.returncode, result.stderr[:400])
    return result.stdout


def lines(*words):
    return [json.loads(line) for line in call(*words, codes=(0, 1, 3)).splitlines()]


def make_page(path, *options):
    written = call("report", path, "-o", "page.html", *options)
    assert written.endswith("open it in a browser\n"), written
    return page_data.Page("page.html")


def check_list(path):
    """Places, states and peaks.  Returns the data."""
    run = make_page(path).data["run-0"]
    ops = page_data.decode_ops(run)
    numbers = page_data.decode_numbers(run)
    call("convert", path, "-o", "events.csv", codes=(0, 1, 3))
    blocks = page_data.check_against_export(run, "events.csv")
    for explanation in lines("explain", path, "--json"):
        if explanation["type"] == "explanation" and "movable" in explanation:
            host = ops[numbers.index(explanation["op"])]["host"]
            page_data.check_states(run, blocks, explanation, host)
            failure = run["failures"][0]
            assert failure["verdict"] == explanation["verdict"] or failure["rule"] == explanation.get("rule"), failure
    watched = [line["peak_bytes"] for line in lines("explain", path, "--timeline", "--json") if line["type"] == "memory"]
    assert [max(curve["inUse"]) for curve in run["curves"] if curve["x"]] == watched, (path, watched)
    for mark in page_data.decode_marks(run):
        assert 0 <= mark["op"] < run["opCount"] and mark["host"] < len(run["hosts"])
    return run


def check_lists():
    paths = sorted(glob.glob(corpus + "/regressions/*.ops"))
    assert len(paths) > 20 and {os.path.basename(path) for path in paths} > set(AT_NIGHT)
    if os.environ.get("HBMSTRESS_TESTS") != "full":
        paths = [path for path in paths if os.path.basename(path) not in AT_NIGHT]
    for scenario, hosts in (("fragmentation_storm", 1), ("host_skew", 0), ("eviction_pressure", 1), ("queued_free_race", 1),
                            ("training_step", 1), ("late_program", 1)):
        out = "kept_" + scenario
        call("run", scenario, "--ops", "1200", "--seed", "4", "--keep", "1", "--out", out, codes=(0, 1, 3),
             *(["--hosts", str(hosts)] if hosts else []))
        paths += sorted(glob.glob(out + "/kept/*.ops"))
    runs = {path: check_list(path) for path in paths}
    states = set()
    for run in runs.values():
        states |= {block["state"] for block in page_data.decode_blocks(run)}
    assert states >= {"movable", "held", "dying", "idle program", "busy program", "stack"}, states
    kinds = {mark["kind"] for run in runs.values() for mark in page_data.decode_marks(run)}
    assert kinds == {"drain", "move", "eviction", "staging"}, kinds
    assert any("opNumbers" in run for run in runs.values()) and any(len(run["hosts"]) > 1 for run in runs.values())


def check_deaths():
    """A target that crashes, hangs or ends its process: what was recorded until then is on the page."""
    path = sorted(path for path in glob.glob("kept_fragmentation_storm/kept/*.ops") if ".lanes" not in path)[0]
    for target, words in (("plant_crash_segv", "SIGSEGV"), ("plant_crash_exit", "exit status 3"),
                          ("plant_hang_spin", "hang")):
        race = sorted(path for path in glob.glob("kept_queued_free_race/kept/*.ops") if ".lanes" not in path)[0]
        page = make_page(path if target == "plant_crash_segv" else race, "--target", target, "--op-timeout", "100ms")
        run = page.data["run-0"]
        text = " ".join(page.text)
        assert f"After {run['opCount']} of " in text and words in text, (target, text[:600])
        assert 0 < run["opCount"] and page_data.decode_blocks(run) and page_data.decode_ops(run), target


def check_hostile_names():
    tag = "<script>alert(1)</script>&amp;<!--"
    with open("hostile.ops", "w", encoding="utf-8") as file:
        file.write(HEAD + f'tag 1 "{tag}"\n\n0: alloc size=4096 tag=1\n1: alloc size=200000 tag=1\n')
    page = make_page("hostile.ops")
    assert "<script>alert" not in page.bytes and page.data["run-0"]["tags"][1] == tag
    assert tag in "".join(page.text), "the tag does not appear as text"
    assert sum(tag == "script" for tag, _ in page.elements) == 2
    assert page.data["run-0"]["failures"][0]["message"].startswith("RESOURCE_EXHAUSTED")


def check_broken():
    """A broken promise is no out-of-memory; of an empty list nothing is said of the target."""
    with open("broken.ops", "w", encoding="utf-8") as file:
        file.write(HEAD + "\n" + "".join(f"{i}: alloc size=512\n" for i in range(8)))
    failures = make_page("broken.ops", "--target", "plant_overlap").data["run-0"]["failures"]
    assert [(each["verdict"], each["rule"], each["isOom"]) for each in failures] == [("broken", "overlap", False)], failures
    with open("empty.ops", "w", encoding="utf-8") as file:
        file.write(HEAD + "\n")
    assert "No op was run: there is no map." in " ".join(make_page("empty.ops").text)


def check_unknown():
    """Of an out-of-memory that stayed unknown nobody says that every promise was kept."""
    text = " ".join(make_page(corpus + "/field/tpu_message/buffer_below_free_large.log").text)
    assert "1 unknown, 0 not judged. No promise was broken for certain." in text
    assert "Every promise was kept" not in text


def check_curves():
    """Of a long list: few points, none lost near a failure, and the peak between two of them is there."""
    draw, live, failed = random.Random(3), [], 20000
    with open("long.ops", "w", encoding="utf-8") as file:
        file.write(HEAD + "\n")
        for i in range(40000):
            if i == failed:
                file.write(f"{i}: alloc size=65537\n")
            elif live and (len(live) > 20 or draw.random() < 0.5):
                file.write(f"{i}: free block={live.pop(draw.randrange(len(live)))}\n")
            else:
                file.write(f"{i}: alloc size={512 * draw.randrange(1, 5)}\n")
                live.append(i)
    run = check_list("long.ops")
    curve = run["curves"][0]
    assert len(curve["x"]) <= 4000 + 1001 and curve["x"] == sorted(set(curve["x"])) and curve["x"][-1] == 39999
    assert set(range(failed - 500, failed + 501)) <= set(curve["x"])
    assert all(len(curve[name]) == len(curve["x"]) for name in ("inUse", "reserved", "largestHole", "queued", "free"))
    assert [failure["op"] for failure in run["failures"]] == [failed] and run["failures"][0]["requested"] == 65537
    assert run["failures"][0]["isOom"] is True
    holes = run["failures"][0]["holes"]
    assert holes[0][1] == run["failures"][0]["largestHole"] and holes == sorted(holes, key=lambda hole: -hole[1])


def words_of(text):
    """A page is wider than a terminal: the two break their lines at other words."""
    return " ".join(text.split())


def check_against():
    paths = sorted(glob.glob("kept_training_step/kept/*.ops") + glob.glob("kept_late_program/kept/*.ops"))
    page = make_page(paths[0], "--against", paths[-1])
    assert set(page.data) == {"run-0", "run-1"}
    assert ("div", {"class": "curves", "data-run": "run-0", "data-against": "run-1"}) in page.elements
    compared = words_of(call("explain", paths[-1], paths[0]))
    assert compared in words_of("".join(page.text)), "the page does not show what explain A B prints"


def check_flame(run):
    def total(node):
        inner = sum(total(child) for child in node["children"])
        assert inner <= node["bytes"] and (not node["children"] or inner == node["bytes"]), node["name"]
        return node["bytes"]

    host = run["flameHost"]
    blocks = page_data.decode_blocks(run)
    there = sum(size for _, size in page_data.sum_states(blocks, run["flameOp"], host).values())
    assert total(run["flame"]) == there
    return [child["name"] for child in run["flame"]["children"]]


def frame(function, file="/home/x/model.py", line=7):
    return {"filename": file, "line": line, "name": function}


def name_of(call):
    file = call["filename"].replace("\\", "/").rsplit("/", 1)[-1]
    return f"{file}:{call['line']} {call['name']}"[:63]


def write_stacks(path, stacks):
    """A snapshot of blocks that live at the end: each size in bytes with its stack, the outermost frame first."""
    events, address = [], 1 << 20
    for size, stack in stacks:
        events.append({"action": "alloc", "addr": address, "size": size, "stream": 0, "frames": stack[::-1]})
        address += size
    blocks = [{"address": event["addr"], "size": event["size"], "state": "active_allocated", "frames": event["frames"]}
              for event in events]
    segment = {"address": 1 << 20, "total_size": address - (1 << 20), "blocks": blocks}
    with open(path, "wb") as file:
        pickle.dump({"segments": [segment], "device_traces": [events]}, file, protocol=2)


def sum_stacks(stacks):
    """The bytes by path, and all of them at ()."""
    sums = {}
    for size, stack in stacks:
        kept = [name_of(call) for call in stack[-64:]] or ["unknown origin"]
        kept = (["more outer frames"] if len(stack) > 64 else []) + kept
        for depth in range(len(kept) + 1):
            path = tuple(kept[:depth])
            sums[path] = sums.get(path, 0) + size
    return sums


def flatten(node, path=()):
    yield path, node["bytes"]
    for child in node["children"]:
        yield from flatten(child, (*path, child["name"]))


def check_sums(node):
    assert sum(child["bytes"] for child in node["children"]) <= node["bytes"], node["name"]
    for child in node["children"]:
        check_sums(child)


def check_stacks():
    """The tree by stack has the sums that Python finds, whatever the stacks are."""
    main, train = frame("<module>", "/home/x/train.py", 1), frame("train", "/home/x/train.py", 2)
    deep = [frame("f", line=line) for line in range(1, 301)]
    stacks = [
        (512 * 10, [main, train, frame("left")]),
        (512 * 20, [main, train, frame("right")]),
        (512 * 40, [main, train]),
        (512 * 30, [main, train, frame("left")]),
        (512 * 50, [frame("recurse")] * 9),
        (512 * 60, [frame("recurse")] * 7),
        (512 * 70, []),
        (512 * 80, deep),
        (512 * 90, deep[100:]),
        (512 * 100, deep[-64:]),
        (512 * 110, [frame("origin", "unknown"), frame("</script><!--", '/"&\\.py')]),
    ]
    write_stacks("stacks.pickle", stacks)
    page = make_page("stacks.pickle")
    run = page.data["run-0"]
    check_sums(run["flameStacks"])
    assert "</script><!--" not in page.bytes and run["flameStacksNote"] == ""
    tree, expected = dict(flatten(run["flameStacks"])), sum_stacks(stacks)
    no_source = [path for path in tree if path[:1] == ("unknown origin",) and len(path) == 2]
    assert len(no_source) == 1 and tree.pop(no_source[0]) == 512 * 70, no_source
    assert tree == expected, set(tree.items()) ^ set(expected.items())
    assert run["flame"]["bytes"] == expected[()], "the trees have different memory"
    state = dict(flatten(make_page("stacks.pickle", "-f", "torch_state").data["run-0"]["flameStacks"]))
    assert state == {**expected, no_source[0]: 512 * 70}, "the final state has other stacks than the events"
    # The tag is the innermost frame of the user's code, or says that there is no such frame: then it is a leaf.
    torch, native = frame("linear", "/usr/site-packages/torch/nn/functional.py", 9), frame("at::mm", "mm.cpp", 3)
    write_stacks("stacks.pickle", [(512, [main, torch]), (1024, [main]), (2048, [native])])
    tree = dict(flatten(make_page("stacks.pickle").data["run-0"]["flameStacks"]))
    assert tree == {(): 3584, (name_of(main),): 1536, (name_of(main), name_of(torch)): 512, (name_of(native),): 2048,
                    (name_of(native), "no Python frame"): 2048}, tree


def check_many_stacks():
    """Small branches are gathered, and nothing is lost."""
    draw = random.Random(5)
    stacks = [(512, [frame(f"f{draw.randrange(9)}") for _ in range(draw.randrange(1, 12))]) for _ in range(5000)]
    write_stacks("stacks.pickle", stacks)
    run = make_page("stacks.pickle").data["run-0"]
    check_sums(run["flameStacks"])
    tree, expected = dict(flatten(run["flameStacks"])), sum_stacks(stacks)
    small = {path for path in tree if path and path[-1].endswith(" others")}
    assert small and len(tree) < len(expected) / 3, (len(tree), len(expected))
    for path, size in tree.items():
        if path not in small:
            assert size == expected[path], path
            assert size >= expected[()] // 2000 or not any(other[:len(path)] == path and other != path for other in tree)
        else:
            above = path[:-1]
            gathered = [other for other in expected if len(other) == len(path) and other[:-1] == above and other not in tree]
            assert path[-1] == f"{len(gathered)} others" and size == sum(expected[other] for other in gathered), path


def check_field_trace():
    with open("paths.ops", "w", encoding="utf-8") as file:
        file.write(HEAD + 'tag 1 "model/layer0"\ntag 2 "model/layer1"\n\n0: alloc size=4096 tag=1\n'
                   "1: alloc size=512 tag=2\n2: alloc size=512\n")
    # Tag 0 has no name: nobody knows who asked for that block.
    assert check_flame(check_list("paths.ops")) == ["unknown origin", "model"]
    run = check_list(corpus + "/field/torch_snapshot/ring.pickle")
    check_flame(run)
    names = sorted(glob.glob(field + "/torch_snapshot/*.pickle.gz"))
    for name in names[:3]:
        with open("snapshot.pickle", "wb") as file:
            file.write(subprocess.run(["gunzip", "-c", name], capture_output=True, check=True).stdout)
        check_flame(check_list("snapshot.pickle"))
    if not names:
        print("no field data: snapshots of the field are left out")


def check_growth():
    """Where explain sees a leak, the same tag has a trend that fits what it held; where it sees none, no tag has one."""
    path = corpus + "/causes/leak.ops"
    leaks = [line for line in lines("explain", path, "--json") if line["type"] == "cause" and line["cause"] == "leak"]
    growth = {entry["tag"]: entry for entry in make_page(path).data["run-0"]["growth"] if "trend" in entry}
    assert leaks and leaks[0]["tag"] in growth, (leaks, growth.keys())
    entry = growth[leaks[0]["tag"]]
    trend, last = entry["trend"], entry["bytes"][-1]
    line = trend["at"] + trend["slope"] * (entry["x"][-1] - trend["from"])
    assert 0.8 * last <= line <= 1.2 * last, (line, last)
    near = make_page(corpus + "/causes/leak-near.ops").data["run-0"]["growth"]
    assert near and not any("trend" in entry for entry in near)


def check_without_list():
    """A log that tells of no list: the words of explain, and no data."""
    for name in ("log/killed.log", "log/ranks_hang.log"):
        path = f"{corpus}/field/{name}"
        page = make_page(path)
        assert not page.data and words_of(call("explain", path, codes=(0, 1, 3))) in words_of("".join(page.text)), name
    refused = subprocess.run([hbmstress, "report", corpus + "/field/log/killed.log", "--against", "paths.ops", "-o",
                              "none.html"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "killed.log" in refused.stderr and not os.path.exists("none.html"), refused


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    check_lists()
    check_deaths()
    check_hostile_names()
    check_broken()
    check_unknown()
    check_curves()
    check_against()
    check_field_trace()
    check_stacks()
    check_many_stacks()
    check_without_list()
    check_growth()
    os.chdir("/")
