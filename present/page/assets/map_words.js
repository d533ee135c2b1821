// What the map says in words: ops, blocks, holes, failures.
"use strict";

hbmstress.formatCount = (number) => number.toLocaleString("en-GB");

hbmstress.formatExactBytes = (bytes) =>
  `${hbmstress.formatBytes(bytes)} (${hbmstress.formatCount(bytes)} bytes)`;

hbmstress.countOf = (count, noun) =>
  `${hbmstress.formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;

hbmstress.formatDuration = function (ns) {
  const units = [
    ["s", 1e9],
    ["ms", 1e6],
    ["µs", 1e3],
  ];
  for (const [name, size] of units) {
    if (ns >= size) {
      return `${(ns / size).toPrecision(3)} ${name}`;
    }
  }
  return `${ns} ns`;
};

hbmstress.nameOf = (names, number, noun) => names[number] ?? `${noun} ${number}`;

hbmstress.tagOf = function (run, number) {
  const tag = run.tags[number] ?? "";
  return tag === "" ? "no tag" : tag;
};

hbmstress.hostName = (run, host) => run.hosts[host]?.name ?? `host ${host}`;

// By its number in the list, which is its place in the run unless it has lanes. It is a name, as
// options of the command line accept it: no commas.
hbmstress.opName = (run, op) => `op ${run.opNumbers?.[op] ?? op}`;

// "alloc 24.0M, kv cache": an op by itself.
hbmstress.opInShort = function (run, op) {
  const { ops } = run;
  if (op >= ops.count) {
    return "not recorded";
  }
  const size = ops.size[op] > 0 ? ` ${hbmstress.formatBytes(ops.size[op])}` : "";
  const tag = run.tags[ops.tag[op]] ?? "";
  return `${hbmstress.nameOf(run.kinds, ops.kind[op], "kind")}${size}${tag === "" ? "" : `, ${tag}`}`;
};

// The parts of a sentence about an op: kind, size, tag, lane, host, result, time.
hbmstress.opInWords = function (run, op) {
  const { ops } = run;
  const parts = [hbmstress.opInShort(run, op)];
  if (op >= ops.count) {
    return parts;
  }
  parts.push(hbmstress.nameOf(run.results, ops.result[op], "result"));
  if (ops.size[op] > 0) {
    parts.push(`${hbmstress.formatCount(ops.size[op])} bytes`);
  }
  if (ops.address[op] >= 0) {
    parts.push(`at ${hbmstress.formatAddress(ops.address[op])}`);
  }
  if (ops.refersTo[op] >= 0) {
    parts.push(
      `of ${hbmstress.opName(run, ops.refersTo[op])} (${hbmstress.opInShort(run, ops.refersTo[op])})`,
    );
  }
  parts.push(`lane ${ops.lane[op]}`);
  if (run.hosts.length > 1) {
    parts.push(hbmstress.hostName(run, ops.host[op]));
  }
  parts.push(`${hbmstress.formatDuration(ops.timeNs[op])} of virtual time`);
  return parts;
};

// "step 12", where the run has steps.
hbmstress.stepAt = function (run, op) {
  const starts = run.steps?.ops ?? [];
  const after = hbmstress.lowerBound(starts, starts.length, op + 1);
  return after === 0 ? "" : `step ${run.steps.numbers[after - 1]}`;
};

hbmstress.occupancyInWords = function (occupancy) {
  const holes = [...occupancy.holes].sort((a, b) => b.size - a.size);
  const free = holes.reduce((sum, hole) => sum + hole.size, 0);
  const largest = holes
    .slice(0, 3)
    .map(
      (hole) => `${hbmstress.formatBytes(hole.size)} at ${hbmstress.formatAddress(hole.address)}`,
    );
  return (
    `${hbmstress.formatBytes(occupancy.taken)} in use by ${hbmstress.countOf(occupancy.count, "block")}; ` +
    `${hbmstress.formatBytes(free)} free in ${hbmstress.countOf(holes.length, "hole")}` +
    (largest.length === 0 ? "" : `, the largest ${largest.join(", ")}`)
  );
};

// One line for each mitigation of an op.
hbmstress.markInWords = function (run, marks, i) {
  const block =
    marks.block[i] < 0
      ? ""
      : ` of ${hbmstress.opName(run, marks.block[i])} (${hbmstress.opInShort(run, marks.block[i])})`;
  const from = hbmstress.formatAddress(marks.from[i]);
  switch (marks.kind[i]) {
    case 0:
      return "waited for queued frees (drain)";
    case 1:
      return `moved ${hbmstress.formatBytes(marks.size[i])}${block} from ${from} to ${hbmstress.formatAddress(marks.to[i])}`;
    case 2:
      return `evicted ${hbmstress.formatBytes(marks.size[i])}${block} from ${from}`;
    default:
      return `moved ${hbmstress.formatBytes(marks.size[i])}${block} through the host from ${from} to ${hbmstress.formatAddress(marks.to[i])}`;
  }
};

// A promise that was broken otherwise than by a refusal: nothing was asked for in vain.
hbmstress.breachInWords = (failure) => `broken promise: ${failure.rule}`;

hbmstress.failureInShort = function (run, failure) {
  const host = run.hosts.length > 1 ? ` on ${hbmstress.hostName(run, failure.host)}` : "";
  if (!failure.isOom) {
    return `${hbmstress.opName(run, failure.op)}${host}: ${hbmstress.breachInWords(failure)}`;
  }
  return (
    `${hbmstress.opName(run, failure.op)}${host}: asked ${hbmstress.formatBytes(failure.requested)}, largest hole ` +
    `${hbmstress.formatBytes(failure.largestHole)} of ${hbmstress.formatBytes(failure.free)} free: ${failure.verdict}`
  );
};

// Why a request does not fit a hole, or that it does.
hbmstress.fitInWords = function (requested, holeSize) {
  const hole = `hole ${hbmstress.formatBytes(holeSize)}`;
  return requested > holeSize
    ? `${hole}: ${hbmstress.formatBytes(requested - holeSize)} short`
    : `${hole}: would fit`;
};

// What the pointer shows of a rectangle: pairs of a word and a text.
hbmstress.blockInWords = function (run, i, op) {
  const { blocks, ops } = run;
  const made = blocks.op[i];
  const rows = [["size", hbmstress.formatExactBytes(blocks.size[i])]];
  if (made < ops.count && ops.size[made] > 0 && ops.size[made] !== blocks.size[i]) {
    rows.push(["requested", hbmstress.formatExactBytes(ops.size[made])]);
  }
  const age =
    made < ops.count && op < ops.count
      ? `, ${hbmstress.formatDuration(Math.max(ops.timeNs[op] - ops.timeNs[made], 0))}`
      : "";
  rows.push(
    ["address", hbmstress.formatAddress(blocks.address[i])],
    ["state", hbmstress.nameOf(run.states, blocks.state[i], "state")],
    ["made by", `${hbmstress.opName(run, made)}: ${hbmstress.opInShort(run, made)}`],
    ["age", `${hbmstress.countOf(Math.max(op - made, 0), "op")}${age}`],
    [
      "here",
      `from ${hbmstress.opName(run, blocks.begin[i])} to ${hbmstress.opName(run, blocks.end[i] - 1)}`,
    ],
  );
  if (run.hosts.length > 1) {
    rows.push(["host", hbmstress.hostName(run, blocks.host[i])]);
  }
  return rows;
};
