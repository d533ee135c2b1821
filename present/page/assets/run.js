// The data of a run, decoded: what the map and the curves draw. Numbers that no run can have are
// brought into their range, so that nobody who reads them has to look again.
"use strict";

hbmstress.runs = new Map();

// How many numbers a stream holds: each ends with a byte below 128.
hbmstress.countNumbers = function (bytes) {
  let count = 0;
  for (let i = 0; i < bytes.length; i++) {
    count += bytes[i] < 128 ? 1 : 0;
  }
  return count;
};

hbmstress.clamp = (value, low, high) => Math.min(Math.max(value, low), high);

// A rectangle for each time that a block keeps place and state: ops [begin, end), bytes
// [address, address + size). op made the block. Sorted by begin.
hbmstress.decodeBlocks = function (text, run) {
  const bytes = hbmstress.decodeBase64(text);
  const numbers = new hbmstress.NumberReader(bytes);
  const count = Math.floor(hbmstress.countNumbers(bytes) / 8);
  const blocks = {
    count,
    begin: new Uint32Array(count),
    end: new Uint32Array(count),
    address: new Float64Array(count),
    size: new Float64Array(count),
    state: new Uint8Array(count),
    tag: new Uint32Array(count),
    op: new Uint32Array(count),
    host: new Uint8Array(count),
  };
  const last = Math.max(run.opCount - 1, 0);
  let begin = 0;
  let place = 0;
  for (let i = 0; i < count; i++) {
    begin = Math.min(begin + numbers.unsigned(), last);
    blocks.begin[i] = begin;
    blocks.end[i] = Math.min(begin + Math.max(numbers.unsigned(), 1), last + 1);
    place = hbmstress.clamp(place + numbers.signed(), 0, Number.MAX_SAFE_INTEGER);
    blocks.address[i] = place * run.unit;
    blocks.size[i] = numbers.unsigned() * run.unit;
    blocks.state[i] = Math.min(numbers.unsigned(), 255);
    blocks.tag[i] = numbers.unsigned();
    blocks.op[i] = Math.max(begin - numbers.unsigned(), 0);
    blocks.host[i] = Math.min(numbers.unsigned(), 255);
  }
  return blocks;
};

// One record for each op. refersTo and address are -1 where there is none; timeNs is the virtual
// time of its host.
hbmstress.decodeOps = function (text, run) {
  const bytes = hbmstress.decodeBase64(text);
  const numbers = new hbmstress.NumberReader(bytes);
  const count = Math.min(Math.floor(hbmstress.countNumbers(bytes) / 9), run.opCount);
  const ops = {
    count,
    kind: new Uint8Array(count),
    lane: new Uint8Array(count),
    host: new Uint8Array(count),
    result: new Uint8Array(count),
    size: new Float64Array(count),
    refersTo: new Int32Array(count),
    tag: new Uint32Array(count),
    address: new Float64Array(count),
    timeNs: new Float64Array(count),
  };
  const times = new Float64Array(256);
  for (let i = 0; i < count; i++) {
    ops.kind[i] = Math.min(numbers.unsigned(), 255);
    ops.lane[i] = Math.min(numbers.unsigned(), 255);
    ops.host[i] = Math.min(numbers.unsigned(), 255);
    ops.result[i] = Math.min(numbers.unsigned(), 255);
    ops.size[i] = numbers.unsigned();
    const back = numbers.unsigned();
    ops.refersTo[i] = back === 0 ? -1 : Math.max(i - back, -1);
    ops.tag[i] = numbers.unsigned();
    const place = numbers.unsigned();
    ops.address[i] = place === 0 ? -1 : (place - 1) * run.unit;
    times[ops.host[i]] += numbers.unsigned();
    ops.timeNs[i] = times[ops.host[i]];
  }
  return ops;
};

// Mitigations, sorted by op. block is the op that made the block, -1 where there is none.
hbmstress.decodeMarks = function (text, run) {
  const bytes = hbmstress.decodeBase64(text);
  const numbers = new hbmstress.NumberReader(bytes);
  const count = Math.floor(hbmstress.countNumbers(bytes) / 7);
  const marks = {
    count,
    op: new Uint32Array(count),
    kind: new Uint8Array(count),
    host: new Uint8Array(count),
    block: new Int32Array(count),
    from: new Float64Array(count),
    to: new Float64Array(count),
    size: new Float64Array(count),
  };
  let op = 0;
  for (let i = 0; i < count; i++) {
    op = Math.min(op + numbers.unsigned(), Math.max(run.opCount - 1, 0));
    marks.op[i] = op;
    marks.kind[i] = Math.min(numbers.unsigned(), 3);
    marks.host[i] = Math.min(numbers.unsigned(), 255);
    marks.block[i] = Math.min(numbers.unsigned(), run.opCount) - 1;
    marks.from[i] = numbers.unsigned() * run.unit;
    marks.to[i] = numbers.unsigned() * run.unit;
    marks.size[i] = numbers.unsigned() * run.unit;
  }
  return marks;
};

// The number of each op in its list, where ops of lanes were judged in another order; else null.
hbmstress.decodeOpNumbers = function (text, run) {
  if (text === undefined) {
    return null;
  }
  const numbers = new hbmstress.NumberReader(hbmstress.decodeBase64(text));
  const opNumbers = new Float64Array(run.opCount);
  let last = 0;
  for (let i = 0; i < run.opCount; i++) {
    last = Math.max(last + numbers.signed(), 0);
    opNumbers[i] = last;
  }
  return opNumbers;
};

// What a reader wants to see first, or null without failures: a finding, otherwise what is unknown,
// otherwise what is justified. Of these the one that ends the run, as the list of a finding does,
// otherwise the first.
hbmstress.gravestFailure = function (failures, opCount) {
  const isUsual = ({ verdict }) => ["justified", "not judged", "unknown"].includes(verdict);
  const gravest = [
    failures.filter((failure) => !isUsual(failure)),
    failures.filter((failure) => failure.verdict === "unknown"),
    failures,
  ].find((some) => some.length > 0) ?? [];
  return gravest.find((failure) => failure.op === opCount - 1) ?? gravest[0] ?? null;
};

// The run of <script id=ID>, decoded once; null where the page has none. Members that have no
// stream are as the JSON has them.
hbmstress.loadRun = function (id) {
  if (hbmstress.runs.has(id)) {
    return hbmstress.runs.get(id);
  }
  const data = hbmstress.readData(id);
  if (data === null) {
    return null;
  }
  const run = { ...data };
  run.opCount = hbmstress.clamp(Math.floor(data.opCount) || 0, 0, 2 ** 31 - 1);
  run.unit = hbmstress.clamp(data.unit || 1, 1, 2 ** 40);
  run.blocks = hbmstress.decodeBlocks(data.blocks, run);
  run.ops = hbmstress.decodeOps(data.ops, run);
  run.opNumbers = hbmstress.decodeOpNumbers(data.opNumbers, run);
  run.marks = hbmstress.decodeMarks(data.marks, run);
  run.failureCount = Math.max(data.failureCount ?? 0, data.failures.length);
  run.failures = data.failures.filter((failure) => failure.op >= 0 && failure.op < run.opCount);
  run.gravest = hbmstress.gravestFailure(run.failures, run.opCount);
  hbmstress.runs.set(id, run);
  return run;
};
