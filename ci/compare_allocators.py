"""The engine of ci/compare-allocators: measures targets with `hbmstress compare`, writes the tables and their chart."""
import argparse
import datetime
import html
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILT_IN = ["hbm", "first_fit", "buddy", "paged", "segments", "caching"]
# Nothing that allocates, and toys for what no list of the table has: threads, streams, recordings.
LEFT_OUT = ["null", "threaded", "streamed"]
# Measured with these options, too.
OPTIONS = {"caching": ["limit=device"], "onnxruntime": ["max_dead=256"], "vma_virtual": ["algorithm=linear"]}
PACKAGES = {"malloc:mimalloc": "libmimalloc2.0", "malloc:jemalloc": "libjemalloc2", "malloc:glibc": "libc6",
            "vulkan": "mesa-vulkan-drivers", "pmemobj": "libpmemobj1"}
# Longer field traces take minutes on a slow allocator.
OP_COUNT_MAX = 15000
FIELD_FILES = [
    ("static_planning/A.1048576.csv", "static A"), ("static_planning/B.1048576.csv", "static B"),
    ("static_planning/C.1048576.csv", "static C"), ("static_planning/D.1048576.csv", "static D"),
    ("static_planning/E.1048576.csv", "static E"), ("static_planning/F.1048576.csv", "static F"),
    ("torch_snapshot/cs336_silmont_bf16_128.pickle.gz", "torch training"),
    ("torch_snapshot/cs336_wedsonlin_medium_128_inference_memory_snapshot_77da.pickle.gz", "torch inference"),
]
SERVING_REQUEST_COUNT = 400
# Of the cache of keys and values: small, so that the list fits on a device of every target.
SERVING_BYTES_PER_TOKEN = 8192
# For that one alone: a driver of Vulkan does not start with it.
ENVIRONMENTS = {"malloc:jemalloc": dict(os.environ, GLIBC_TUNABLES="glibc.rtld.optional_static_tls=8192")}


def fail(code, text):
    print(f"compare-allocators: {text}", file=sys.stderr)
    sys.exit(code)


def read_arguments():
    parser = argparse.ArgumentParser(prog="compare-allocators", add_help=False)
    parser.add_argument("hbmstress")
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--peers")
    parser.add_argument("--version", action="append", default=[])
    parser.add_argument("--data", default=os.path.join(ROOT, "..", "shared", "data"))
    parser.add_argument("--out", default=os.path.join(ROOT, "docs"))
    parser.add_argument("--limit", type=float, default=120)
    arguments = parser.parse_args()
    if not os.access(arguments.hbmstress, os.X_OK):
        fail(2, f"{arguments.hbmstress}: no such program; build it first")
    arguments.hbmstress = os.path.abspath(arguments.hbmstress)
    if arguments.peers is None:
        build = os.path.dirname(os.path.dirname(arguments.hbmstress))
        arguments.peers = os.path.join(build, "targets", "adapters", "peers")
    return arguments


# --- lists ---


def write_serving(path):
    """A trace of requests in the form of Azure's: bursts, mostly short, some long. The same on every machine."""
    state, now_ms = 12345, 0
    start = datetime.datetime(2024, 1, 1)
    with open(path, "w", encoding="utf-8") as file:
        file.write("TIMESTAMP,ContextTokens,GeneratedTokens\n")
        for number in range(SERVING_REQUEST_COUNT):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            draw = state >> 33
            now_ms += 5000 if number % 40 == 39 else 50 + draw % 700
            context = 2000 + draw // 11 % 5000 if draw % 9 == 0 else 40 + draw // 11 % 900
            generated = 20 + draw // 7 % 400
            stamp = (start + datetime.timedelta(milliseconds=now_ms)).strftime("%Y-%m-%d %H:%M:%S.%f")
            file.write(f"{stamp}0,{context},{generated}\n")


def import_list(hbmstress, source, target):
    """An op list of a log; a reason when there is none."""
    tokens = ["--kv-bytes-per-token", str(SERVING_BYTES_PER_TOKEN)] if source.endswith("serving.csv") else []
    done = subprocess.run([hbmstress, "convert", source, *tokens, "--to", "ops", "-o", target], capture_output=True, text=True, check=False)
    if done.returncode != 0 or not os.path.exists(target):
        return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "it cannot be imported"
    with open(target, encoding="utf-8") as file:
        count = sum(1 for line in file if line[:1].isdigit())
    return None if count <= OP_COUNT_MAX else f"it has {count} ops, and the bound is {OP_COUNT_MAX}"


def make_lists(arguments, folder):
    """Paths of lists, and a line for each that is left out."""
    serving = os.path.join(folder, "serving.csv")
    write_serving(serving)
    sources = [(serving, "serving")]
    sources += [(os.path.join(arguments.data, file), name) for file, name in FIELD_FILES]
    lists, omitted = [], []
    for source, name in sources:
        target = os.path.join(folder, name.replace(" ", "_") + ".ops")
        reason = import_list(arguments.hbmstress, source, target) if os.path.exists(source) else "not at hand"
        if reason is None:
            lists.append(target)
        else:
            omitted.append(f"{name}: {reason}")
    return lists, omitted


# --- targets ---


def list_summaries(arguments, environment):
    done = subprocess.run([arguments.hbmstress, "list", "targets", "--json"], capture_output=True, text=True,
                          check=False, env=environment)
    entries = [json.loads(line) for line in done.stdout.splitlines()]
    return {entry["name"]: entry.get("summary", "") for entry in entries
            if entry.get("kind") == "target" and "breaks" not in entry}


def list_targets(arguments):
    """(words on the command line, reason why it is not run or None) for each."""
    summaries = list_summaries(arguments, os.environ)
    for name, environment in ENVIRONMENTS.items():
        summaries[name] = list_summaries(arguments, environment).get(name, "")
    names = [name for name in BUILT_IN if name in summaries] + sorted(set(summaries) - set(BUILT_IN + LEFT_OUT))
    found = []
    for name in arguments.targets or names:
        _, mark, reason = summaries.get(name, "").partition("not usable here: ")
        found.append((name, reason if mark else None))
    if not arguments.targets:
        plug_ins = sorted(os.listdir(arguments.peers)) if os.path.isdir(arguments.peers) else []
        plug_ins = [name for name in plug_ins if name.endswith(".so")]
        found += [(os.path.join(arguments.peers, name), None) for name in plug_ins]
        if not plug_ins:
            found.append(("peers", "no plug-in is built: see docs/allocators.md"))
    return [(words, reason) for name, reason in found for words in [name, *add_options(name, reason)]]


def add_options(name, reason):
    options = OPTIONS.get(os.path.basename(name).removesuffix(".so"), []) if reason is None else []
    return [f"{name} -O {option}" for option in options]


def split_options(words):
    """The target, and its options."""
    name, *options = words.split(" -O ")
    return name, options


def read_package(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False) \
        if shutil.which("dpkg-query") else None
    return f"{package} {done.stdout}" if done is not None and done.returncode == 0 else package


def read_needs(arguments, name):
    """What the build was told that a plug-in needs: folders, sources, flags."""
    cache = os.path.join(os.path.dirname(os.path.dirname(arguments.hbmstress)), "CMakeCache.txt")
    if os.path.exists(cache):
        with open(cache, encoding="utf-8") as file:
            for line in file:
                if line.startswith(f"HBMSTRESS_PEER_{name.upper()}:"):
                    return line.strip().split("=", 1)[1].split(";")
    return []


def find_version(arguments, name, commit):
    """What is measured: a package and its version, or a commit."""
    name, _ = split_options(name)
    for said in arguments.version:
        if said.startswith(show_name(name) + "="):
            return said.split("=", 1)[1]
    if name in PACKAGES:
        return read_package(PACKAGES[name])
    if not name.endswith(".so"):
        return commit if name in BUILT_IN else "see hbmstress list targets"
    for need in read_needs(arguments, os.path.basename(name)[:-3]):
        if os.path.isdir(need):
            done = subprocess.run(["git", "-C", need, "log", "-1", "--format=%h (%cs)"], capture_output=True, text=True,
                                  check=False)
            if done.returncode == 0 and done.stdout:
                return done.stdout.strip()
    return "no commit is known"


def run_compare(arguments, name, words, folder):
    """The measure lines, and a reason when some are missing."""
    target, options = split_options(name)
    command = [arguments.hbmstress, "compare", target, *words, "--json"]
    for option in options:
        command += ["--target-option", option]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder,
                              env=ENVIRONMENTS.get(target, os.environ),
                              timeout=arguments.limit)
        output, error = done.stdout, done.stderr.strip()
        reason = error.splitlines()[-1].replace("hbmstress: ", "", 1) if done.returncode != 0 and error else None
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"").decode("utf-8", "replace")
        reason = f"it took longer than {arguments.limit:.0f} s; later lists are missing"
    rows = []
    for line in output.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row.get("type") == "measure":
            rows.append({**row, "target": name})
    return rows, reason


def show_name(name):
    target, options = split_options(name)
    return " ".join([os.path.basename(target).removesuffix(".so"), *options])


def measure_target(arguments, name, lists, folder):
    """Rows by the inferred contract where one can be inferred, else by the declared one; and reasons."""
    rows, reasons = [], []
    for words in ([], lists):
        inferred, reason = run_compare(arguments, name, [*words, "--contract", "inferred"], folder)
        if not inferred and reason is not None:
            inferred, reason = run_compare(arguments, name, words, folder)
        rows += inferred
        if reason is not None:
            reasons.append(reason)
    return rows, sorted(set(reasons))


# --- the tables ---


def show_size(size):
    for unit, factor in (("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if size >= factor:
            return f"{size / factor:.4g}{unit}"
    return str(size)


def show_share(share):
    return "n/a" if share is None else f"{100 * share:.1f} %"


def show_each(total, count):
    return "n/a" if not total or not count else f"{total / count:.0f}"


def find_ratio(row):
    smallest, peak = row.get("smallest_capacity_bytes"), row.get("peak_bytes")
    return smallest / peak if smallest and peak else None


def make_row(row, first):
    """first: a row of the same list, whose ops and peak were measured."""
    cells = [row["list"].replace("_", " "), first["ops"], show_size(first["peak_bytes"]), show_name(row["target"]),
             show_size(row["capacity_bytes"])]
    if "requests" not in row:
        return [*cells, f"{row['run']}: {row.get('why', '')}", *["n/a"] * (len(HEAD) - len(cells) - 1)]
    ratio = find_ratio(row)
    largest = row["largest_at_peak_bytes"]
    return [*cells, f"{row['ooms']} of {row['requests']}" + ("" if row["run"] == "whole" else f" ({row['run']})"),
            show_share(row["premature_share"]), show_share(row["premature_share_without_classes"]),
            show_size(row["free_refused_bytes"]), "n/a" if largest is None else show_size(largest),
            "n/a" if ratio is None else f"{ratio:.3f}", show_each(row["cost_ns"], row["cost_ops"]),
            show_each(row["cost_instructions"], row["cost_ops"]), row["contract"]]


# docs/allocators.md says what each column means.
HEAD = ["list", "ops", "at most", "allocator", "capacity", "out-of-memories", "premature", "premature under none",
        "refused though free", "largest served at the peak", "smallest / peak", "ns/op", "instructions/op", "contract"]


def write_table(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines("\t".join(map(str, row)) + "\n" for row in rows)


def write_tables(arguments, measured, versions, skipped, omitted):
    folder = os.path.join(arguments.out, "tables")
    os.makedirs(folder, exist_ok=True)
    by_list = {}
    for row in measured:
        by_list.setdefault(row["list"], []).append(row)
    write_table(os.path.join(folder, "allocators.tsv"),
                [HEAD] + [make_row(row, rows[0]) for rows in by_list.values() for row in rows])
    today = datetime.datetime.now(datetime.timezone.utc).date()
    rows = [["allocator", "options", "version", "not run, or not whole", "made on"]]
    for name, version in versions.items():
        target, options = split_options(name)
        reasons = [reason for other, reason in skipped if other == name]
        rows.append([show_name(target), ", ".join(options), version, "; ".join(reasons), today])
    rows += [[show_name(name), "", "", reason, today] for name, reason in skipped if name not in versions]
    rows += [[f"list {line.split(': ')[0]}", "", "", line.split(": ", 1)[1], today] for line in omitted]
    write_table(os.path.join(folder, "allocators-run.tsv"), [[str(cell).replace(arguments.peers, "PEERS") for cell in row] for row in rows])


# --- the chart ---

BAR, GAP, LEFT, WIDTH, TOP = 14, 8, 190, 260, 56


def sum_target(rows):
    """Share of premature refusals under none, and the mean of smallest / peak; None where unknown."""
    shares = [row["premature_share_without_classes"] for row in rows
              if row.get("premature_share_without_classes") is not None]
    ratios = [ratio for ratio in map(find_ratio, rows) if ratio is not None]
    return (sum(shares) / len(shares) if shares else None), (sum(ratios) / len(ratios) if ratios else None)


def draw_bar(x, y, value, most, text):
    width = 0 if value is None else max(1, round(WIDTH * value / most)) if most else 0
    return [f'<rect x="{x}" y="{y}" width="{width}" height="{BAR}" class="bar"/>',
            f'<text x="{x + width + 4}" y="{y + BAR - 3}">{text}</text>']


def write_chart(path, measured):
    sums = {name: sum_target([row for row in measured if row["target"] == name])
            for name in dict.fromkeys(row["target"] for row in measured)}
    most = max([ratio for _, ratio in sums.values() if ratio is not None], default=1)
    second = LEFT + WIDTH + 80
    height = TOP + len(sums) * (BAR + GAP) + 8
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{second + WIDTH + 60}" height="{height}" role="img" '
             'aria-label="Premature refusals and smallest capacity, by allocator">',
             "<style>text{font:12px sans-serif;fill:#222}.bar{fill:#4477aa}rect.back{fill:#fff}</style>",
             f'<rect class="back" width="100%" height="{height}"/>',
             f'<text x="{LEFT}" y="20">premature refusals without classes,</text>'
             f'<text x="{LEFT}" y="36">mean over the lists</text>',
             f'<text x="{second}" y="20">smallest capacity / peak,</text><text x="{second}" y="36">mean over the lists</text>']
    for i, (name, (share, ratio)) in enumerate(sums.items()):
        y = TOP + i * (BAR + GAP)
        lines.append(f'<text x="{LEFT - 6}" y="{y + BAR - 3}" text-anchor="end">{html.escape(show_name(name))}</text>')
        lines += draw_bar(LEFT, y, share, 1, "n/a" if share is None else f"{100 * share:.1f} %")
        lines += draw_bar(second, y, ratio, most, "n/a" if ratio is None else f"{ratio:.2f}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, "</svg>", ""]))


def main():
    arguments = read_arguments()
    done = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h"], capture_output=True, text=True, check=False)
    commit = done.stdout.strip() or "unknown"
    measured, skipped, versions = [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        lists, omitted = make_lists(arguments, folder)
        for name, reason in list_targets(arguments):
            if reason is not None:
                skipped.append((name, reason))
                continue
            rows, reasons = measure_target(arguments, name, lists, folder)
            measured += rows
            skipped += [(name, text) for text in reasons]
            if rows:
                versions[name] = find_version(arguments, name, commit)
            print(f"{show_name(name)}: {len(rows)} lists", flush=True)
    if not measured:
        fail(4, "nothing was measured")
    write_tables(arguments, measured, versions, skipped, omitted)
    write_chart(os.path.join(arguments.out, "allocators.svg"), measured)


if __name__ == "__main__":
    main()
