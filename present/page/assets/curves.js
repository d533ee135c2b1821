// Curves of a run over its ops or its steps: memory, fragmentation, programs, what grows.
"use strict";
(function () { // its names are its own

// What was mounted: {element, id, run, plot}; plot is the uPlot of the moment.
hbmstress.curves = [];

// Dashes differ, so that lines are told apart without colour.  What is shown at first answers how
// full it was and how broken up.
const memorySeries = [
  { key: "inUse", name: "in use", scale: "bytes", dash: [], width: 2, isShown: true },
  { key: "reserved", name: "reserved", scale: "bytes", dash: [8, 3], width: 1.5, isShown: true },
  { key: "largestHole", name: "largest hole", scale: "bytes", dash: [2, 2], width: 1.5,
    isShown: true },
  { key: "free", name: "free", scale: "bytes", dash: [1, 4], width: 1.5, isShown: false },
  { key: "queued", name: "queued", scale: "bytes", dash: [10, 3, 2, 3], width: 1.5, isShown: true },
  { key: "fragmentation", name: "fragmentation", scale: "percent", dash: [5, 5], width: 1.5,
    isShown: true },
  { key: "programs", name: "loaded programs", scale: "count", dash: [14, 4], width: 1.5,
    isShown: false },
];

// --- x: ops or steps ---

const scaleOfOps = { unit: "op", fromOp: (op) => op, toOp: (x) => x };

function hasSteps(run) {
  return (run.steps?.ops ?? []).length > 1;
}

// Steps by number where the numbers ascend, else by order: a job that starts again counts again.
function readStepNumbers(steps) {
  const isAscending = steps.numbers?.length === steps.ops.length &&
    steps.numbers.every((number, i) => i === 0 || number > steps.numbers[i - 1]);
  return isAscending ? steps.numbers : steps.ops.map((op, i) => i);
}

// How many members of an ascending list are at most value.
function countUpTo(list, value) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Where value lies between two members of from, there between the same two of to.
function interpolate(value, from, to) {
  const i = Math.min(Math.max(countUpTo(from, value), 1), from.length - 1);
  const width = from[i] - from[i - 1];
  const part = width === 0 ? 0 : (value - from[i - 1]) / width;
  return to[i - 1] + part * (to[i] - to[i - 1]);
}

// An op within step 7 lies between 7 and 8; what came before the first step is one step more.
function makeScaleOfSteps(run) {
  const numbers = readStepNumbers(run.steps);
  const ops = [...run.steps.ops, Math.max(run.opCount, run.steps.ops.at(-1) + 1)];
  const steps = [...numbers, numbers.at(-1) + 1];
  if (ops[0] > 0) {
    ops.unshift(0);
    steps.unshift(steps[0] - 1);
  }
  return { unit: "step", fromOp: (op) => interpolate(op, ops, steps),
    toOp: (step) => interpolate(step, steps, ops) };
}

// --- pictures ---

// 1 - largest hole / free, in percent: how much of what is free lies in smaller holes.
function readFragmentation(curve) {
  return curve.free.map((free, i) =>
    free > 0 ? 100 * (1 - Math.min(curve.largestHole[i] / free, 1)) : null);
}

// The series in which something ever happened, and the capacity as a line.
function makeMemorySeries(curve, capacity) {
  const isSomething = (series) => series.key === "inUse" || series.values.some((value) => value > 0);
  const all = memorySeries.map((series, i) => ({
    ...series, colour: `--series-${i + 1}`,
    values: series.key === "fragmentation" ? readFragmentation(curve) : curve[series.key] ?? [],
  }));
  const line = { name: "capacity", scale: "bytes", dash: [], width: 1, isShown: true,
    colour: "--text", values: curve.x.map(() => capacity) };
  return [...all.filter(isSomething), ...(capacity > 0 ? [line] : [])];
}

function makeMemoryPicture(run, curve, scale) {
  return { run, x: curve.x.map(scale.fromOp),
    series: makeMemorySeries(curve, run.hosts?.[curve.host]?.capacity ?? 0),
    failures: run.failures.filter((failure) => failure.host === curve.host) };
}

// A point stands for what came before it: where a line has no point, its next one holds.
function fillFromNext(values) {
  const filled = [...values];
  for (let i = filled.length - 2; i >= 0; i--) {
    filled[i] ??= filled[i + 1];
  }
  return filled;
}

const lineDashes = [[], [8, 3], [2, 2], [1, 4], [10, 3, 2, 3], [5, 5], [14, 4]];

// Lines {name, x, values}, each with its own x.
function joinLines(run, lines) {
  const [x, ...values] = uPlot.join(lines.map((line) => [line.x, line.values]));
  const series = lines.map((line, i) => {
    const look = i % lineDashes.length;
    return { name: line.name, scale: "bytes", width: 1.75, isShown: true, dash: lineDashes[look],
      colour: `--series-${look + 1}`, values: fillFromNext(values[i]) };
  });
  return { run, x, series, failures: run.failures };
}

function nameHost(run, host) {
  return run.hosts?.[host]?.name || `host ${host}`;
}

function makeHostsPicture(run, scale) {
  return joinLines(run, run.curves.map((curve) => ({ name: nameHost(run, curve.host),
    x: curve.x.map(scale.fromOp), values: curve.inUse })));
}

function subtract(a, b) {
  return a.map((value, i) => ((value ?? null) === null || (b[i] ?? null) === null ? null
    : value - b[i]));
}

// Both in use on one axis; other has its own scale of the same unit.
function makeAgainstPicture(run, other, scale, otherScale) {
  const picture = joinLines(run, [
    { name: "in use", x: run.curves[0].x.map(scale.fromOp), values: run.curves[0].inUse },
    { name: `in use, ${other.title}`, x: other.curves[0].x.map(otherScale.fromOp),
      values: other.curves[0].inUse }]);
  const [mine, theirs] = picture.series;
  theirs.colour = "--series-5";
  picture.series.push({ ...mine, name: "difference", isShown: false, dash: lineDashes[2],
    colour: "--series-2", values: subtract(mine.values, theirs.values) });
  return picture;
}

// --- the op that all pictures of a run share ---

// Maps are listed in the order of the page.
function findMap(id) {
  const places = [...document.querySelectorAll("div.map")];
  return hbmstress.maps?.[places.findIndex((place) => place.dataset.run === id)];
}

// The map of the run goes there, if there is one, and the curves hear of it.
hbmstress.chooseOp = function (id, op) {
  findMap(id)?.select(op);
  document.dispatchEvent(new CustomEvent("hbmstress:op", { detail: { run: id, op } }));
};

// --- controls ---

function makeSelect(label, options, value, onChange) {
  const select = hbmstress.element("select", {}, ...options.map(([value, text]) =>
    hbmstress.element("option", { value }, text)));
  select.value = value;
  select.addEventListener("change", () => onChange(select.value));
  return hbmstress.element("label", {}, `${label} `, select);
}

function describeFailures(verdict, failures) {
  const count = failures.filter((failure) => failure.verdict === verdict.name).length;
  const sign = hbmstress.element("span", { class: "symbol" }, verdict.sign);
  sign.style.color = `var(${verdict.colour})`;
  return count === 0 ? [] : [hbmstress.element("span", {}, sign, ` ${count} ${verdict.name}`)];
}

// What the signs above the plot mean.
function makeFailureLegend(failures) {
  const describe = (name, some) => {
    const texts = hbmstress.failureVerdicts.flatMap((verdict) => describeFailures(verdict, some));
    return texts.length === 0 ? [] : [hbmstress.element("span", {}, `${name}:`), ...texts];
  };
  return [
    ...describe("Out of memory", failures.filter((failure) => failure.isOom)),
    ...describe("Promises", failures.filter((failure) => !failure.isOom)),
  ];
}

// --- growth by tag ---

const growthCountMax = 8;

// What the diagnosis calls growth first, then what ended with the most more than it began.
function chooseGrowth(run) {
  const trended = ({ trend }) => (trend ? trend.slope * (trend.to - trend.from) : 0);
  const rise = ({ bytes }) => bytes.at(-1) - bytes[0];
  return (run.growth ?? [])
    .filter((each) => each.x.length > 0)
    .sort((a, b) => trended(b) - trended(a) || rise(b) - rise(a))
    .slice(0, growthCountMax);
}

function describeTrend(trend) {
  const slope = Math.abs(trend.slope) < 10 ? Number(trend.slope.toFixed(1)) : Math.round(trend.slope);
  const word = slope < 0 ? "shrinks" : "grows";
  return `${word} by ${hbmstress.formatBytes(Math.abs(slope))} an op, ops ${trend.from} to ${trend.to}`;
}

function nameGrowth(run, { tag, host }) {
  const name = tag === "" ? "(no tag)" : tag;
  return run.curves.length > 1 ? `${name}, ${nameHost(run, host)}` : name;
}

function makeGrowthPlot(run, id, growth) {
  const { tag, trend, x, bytes } = growth;
  const series = { name: tag, scale: "bytes", dash: [], width: 1.5, isShown: true,
    colour: "--series-1", values: bytes };
  const plot = new hbmstress.TrendPlot({ run, x, series: [series], failures: [] }, scaleOfOps, id, trend);
  plot.element = hbmstress.element("figure", {},
    hbmstress.element("figcaption", {},
      hbmstress.element("strong", {}, nameGrowth(run, growth)), " ",
      hbmstress.element("span", { class: trend ? "bad" : "note" },
        trend ? describeTrend(trend) : "")),
    plot.box);
  return plot;
}

// --- a place in the page ---

const allHosts = "all";

class Curves {
  constructor(element, run, other) {
    this.element = element;
    this.id = element.dataset.run;
    this.run = run;
    this.other = other;
    // The host that ran out of memory first, where one did.
    this.curve = Math.max(run.curves.findIndex((curve) => curve.host === run.gravest?.host), 0);
    this.canStep = hasSteps(run) && (other === null || hasSteps(other));
    // Steps that were guessed are no better an axis than ops; two runs have nothing else in common.
    this.unit = this.canStep && (run.steps.isSaid || other !== null) ? "step" : "op";
    this.small = [];
  }

  mount() {
    this.place = hbmstress.element("div");
    this.element.append(this.makeControls(), this.place);
    this.redraw();
    if (this.other === null) {
      this.addGrowth();
    }
    this.choose(findMap(this.id)?.view().op ?? null);
    document.addEventListener("hbmstress:op", ({ detail }) => {
      if (detail.run === this.id) {
        this.choose(detail.op);
      }
    });
    hbmstress.onThemeChange(() => this.plots().forEach((plot) => plot.redraw()));
    new ResizeObserver(() => this.plots().forEach((plot) => plot.resize())).observe(this.element);
    this.followPrinting();
  }

  choose(op) {
    this.plots().forEach((plot) => plot.choose(op));
  }

  // A column of A4, and half of it.
  followPrinting() {
    addEventListener("beforeprint", () => {
      this.main.resize(680);
      this.small.forEach((plot) => plot.resize(320));
    });
    addEventListener("afterprint", () => this.plots().forEach((plot) => plot.resize()));
  }

  makeControls() {
    const change = (name) => (value) => {
      this[name] = value;
      this.redraw();
    };
    const controls = hbmstress.element("div", { class: "curves-controls" });
    if (this.run.curves.length > 1 && this.other === null) {
      const hosts = this.run.curves.map((curve, i) => [String(i), nameHost(this.run, curve.host)]);
      controls.append(makeSelect("Host", [...hosts, [allHosts, "all: in use"]], String(this.curve),
        change("curve")));
    }
    if (this.canStep) {
      controls.append(makeSelect("By", [["step", "steps"], ["op", "ops"]], this.unit, change("unit")));
    }
    controls.append(...makeFailureLegend(this.run.failures));
    return controls;
  }

  makeScale(run) {
    return this.unit === "step" ? makeScaleOfSteps(run) : scaleOfOps;
  }

  makePicture(scale) {
    if (this.other !== null) {
      return makeAgainstPicture(this.run, this.other, scale, this.makeScale(this.other));
    }
    return this.curve === allHosts ? makeHostsPicture(this.run, scale)
      : makeMemoryPicture(this.run, this.run.curves[this.curve], scale);
  }

  // What is shown changed: the plot begins anew, the chosen op stays.
  redraw() {
    const chosen = this.main?.chosen ?? null;
    const scale = this.makeScale(this.run);
    this.main?.plot.destroy();
    this.main = new hbmstress.LegendPlot(this.makePicture(scale), scale, this.id);
    this.place.replaceChildren(this.main.element);
    this.main.draw();
    this.main.choose(chosen);
  }

  addGrowth() {
    this.small = chooseGrowth(this.run).map((growth) => makeGrowthPlot(this.run, this.id, growth));
    if (this.small.length > 0) {
      const grows = this.small.some((plot) => plot.trend);
      this.element.append(
        hbmstress.element("h3", {}, `By tag: ${grows ? "what grows steadily comes first" : "none grows steadily"}`),
        hbmstress.element("div", { class: "growth" }, ...this.small.map((plot) => plot.element)));
      this.small.forEach((plot) => plot.draw());
    }
  }

  plots() {
    return [this.main, ...this.small];
  }

  // What tests ask for.
  get plot() {
    return this.main.plot;
  }
}

function mountCurves(element) {
  const load = hbmstress.loadRun ?? hbmstress.readData;
  const run = load(element.dataset.run);
  const other = element.dataset.against === undefined ? null : load(element.dataset.against);
  const isEmpty = (each) => !each.curves?.some((curve) => curve.x.length > 0);
  if (run === null || isEmpty(run) || (other !== null && isEmpty(other))) {
    element.append(hbmstress.element("p", { class: "note" }, "There is no op to draw curves of."));
    return;
  }
  const curves = new Curves(element, run, other);
  curves.mount();
  hbmstress.curves.push(curves);
}

hbmstress.keyGroups.push({
  title: "Curves",
  isThere: () => hbmstress.curves.length > 0,
  keys: [["← →", "to the next point (with Shift by ten)"], ["Enter", "choose that op in the map"],
    ["+ -", "zoom"], ["0", "the whole"]],
});

hbmstress.parts.push(function mountAllCurves() {
  for (const element of document.querySelectorAll("div.curves")) {
    if (typeof uPlot === "undefined") {
      element.replaceChildren(hbmstress.element("p", { class: "note" },
        "This build is without uPlot: curves are left out."));
    } else {
      mountCurves(element);
    }
  }
});
})();
