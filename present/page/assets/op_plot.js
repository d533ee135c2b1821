// A plot over the ops or the steps of a run, with uPlot: lines, failures, the chosen op, a legend.
//
// A picture is what is drawn: x (ascending numbers of its scale), series (name, scale, values, dash,
// width, colour, isShown), failures, run.  A scale says what x is: unit, fromOp(op), toOp(x).
"use strict";
(function () { // its names are its own

// The gravest last.
hbmstress.failureVerdicts = [
  { name: "justified", sign: "✓", colour: "--good" },
  { name: "not judged", sign: "–", colour: "--quiet" },
  { name: "unknown", sign: "?", colour: "--warn" },
  { name: "premature", sign: "✗", colour: "--bad" },
  { name: "disputed", sign: "!", colour: "--bad" },
  { name: "broken", sign: "!", colour: "--bad" },
];

const formats = {
  bytes: (value) => (value < 0 ? `-${hbmstress.formatBytes(-value)}` : hbmstress.formatBytes(value)),
  percent: (value) => `${value.toFixed(1)} %`,
  count: (value) => String(Math.round(value)),
};

// An op or a step as the tables of the page print numbers.
const formatPlace = (value) => value.toLocaleString("en", { maximumFractionDigits: 2 });

const font = '12px system-ui, "DejaVu Sans", sans-serif';

// uPlot draws in pixels of the screen.
const toScreen = (pixels) => pixels * devicePixelRatio;

const readColour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// --- failures ---

// A justified one is no news: the curves shine through its line.
function drawFailureLine(plot, x, verdict) {
  plot.ctx.globalAlpha = verdict.name === "justified" ? 0.45 : 1;
  plot.ctx.beginPath();
  plot.ctx.moveTo(x, plot.bbox.top);
  plot.ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
  plot.ctx.stroke();
  plot.ctx.globalAlpha = 1;
}

// Where failures of one verdict stand; a thousand on one pixel are one line.
function findFailurePixels(plot, picture, verdict, scale) {
  const low = plot.bbox.left;
  const high = low + plot.bbox.width;
  const pixels = picture.failures
    .filter((failure) => failure.verdict === verdict.name)
    .map((failure) => Math.round(plot.valToPos(scale.fromOp(failure.op), "x", true)));
  return [...new Set(pixels)].filter((x) => x >= low && x <= high);
}

function prepareContext(plot, verdict) {
  const colour = readColour(verdict.colour);
  plot.ctx.strokeStyle = colour;
  plot.ctx.fillStyle = colour;
  plot.ctx.lineWidth = toScreen(1);
  plot.ctx.setLineDash([toScreen(3), toScreen(2)]);
  plot.ctx.font = `bold ${toScreen(12)}px system-ui, "DejaVu Sans", sans-serif`;
  plot.ctx.textAlign = "center";
  plot.ctx.textBaseline = "bottom";
}

// Signs that would touch are left out, the least grave first: the lines stay.
function drawFailures(plot, picture, scale) {
  const signs = [];
  plot.ctx.save();
  for (const verdict of [...hbmstress.failureVerdicts].reverse()) {
    prepareContext(plot, verdict);
    for (const x of findFailurePixels(plot, picture, verdict, scale)) {
      drawFailureLine(plot, x, verdict);
      if (signs.every((other) => Math.abs(other - x) >= toScreen(11))) {
        plot.ctx.fillText(verdict.sign, x, plot.bbox.top - toScreen(1));
        signs.push(x);
      }
    }
  }
  plot.ctx.restore();
}

// --- options of uPlot ---

function makeAxis(scale, format, rest) {
  return {
    scale,
    stroke: () => readColour("--quiet"),
    grid: { stroke: () => readColour("--line"), width: 1, show: rest.isGrid },
    ticks: { stroke: () => readColour("--line"), width: 1, size: 4 },
    font,
    values: (plot, values) => values.map((value) => (value === null ? "" : format(value))),
    ...rest,
  };
}

// Powers of two, so that marks stand at 1.00G and 2.00G and not at 0.93G.
const byteSteps = Array.from({ length: 60 }, (unused, i) => 2 ** i);

function makeAxes(picture, scale, size) {
  const axes = [
    makeAxis("x", formatPlace, { isGrid: false, size: 28, space: 70, labelSize: 18, labelFont: font,
      label: size.isSmall ? undefined : scale.unit }),
    makeAxis("bytes", formats.bytes, { isGrid: true, size: 62, incrs: byteSteps }),
  ];
  if (picture.series.some((series) => series.scale === "percent")) {
    axes.push(makeAxis("percent", (value) => `${value}%`,
      { isGrid: false, side: 1, size: 44, incrs: [25, 50] }));
  }
  return axes;
}

function makeSeries(series) {
  return {
    label: series.name,
    scale: series.scale,
    show: series.isShown,
    width: series.width,
    dash: series.dash,
    stroke: () => readColour(series.colour),
    points: { show: false },
    // A point stands for the ops since the point before it.
    paths: uPlot.paths.stepped({ align: -1 }),
  };
}

// 0 is in it, so that heights can be compared; a little more than the most, so that it is seen.
function rangeFromZero(plot, low, high) {
  return [low < 0 ? low * 1.05 : 0, high > 0 ? high * 1.05 : 1];
}

function makeOptions(picture, scale, size) {
  return {
    width: size.width,
    height: size.height,
    padding: [18, 12, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false, dist: 5 } },
    scales: { x: { time: false }, bytes: { range: rangeFromZero }, percent: { range: [0, 100] },
      count: { range: rangeFromZero } },
    axes: makeAxes(picture, scale, size),
    series: [{}, ...picture.series.map(makeSeries)],
  };
}

// --- the legend: buttons that show and hide ---

function makeSvg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

function makeSample(series) {
  const line = makeSvg("line", { x1: 0, y1: 4, x2: 30, y2: 4, "stroke-width": series.width + 0.5,
    "stroke-dasharray": series.dash.join(" ") });
  line.style.stroke = `var(${series.colour})`;
  return makeSvg("svg", { width: 30, height: 8, "aria-hidden": "true" }, line);
}

// The part of every plot: the line of the chosen op, size, colours.
hbmstress.OpPlot = class {
  constructor(picture, scale, id) {
    this.picture = picture;
    this.scale = scale;
    this.id = id;
    this.chosen = null;
    this.box = hbmstress.element("div", { class: "curves-plot" });
    this.line = hbmstress.element("div", { class: "curves-chosen", hidden: "" });
    this.element = this.box;
  }

  size() {
    const height = innerWidth < 600 ? 220 : 300;
    return { width: Math.max(this.box.clientWidth, 160), height, isSmall: false };
  }

  // The box must be in the page: its width is that of the plot.
  draw() {
    const { x, series } = this.picture;
    const options = makeOptions(this.picture, this.scale, this.size());
    options.hooks = { draw: [() => this.drawOver()], setCursor: [() => this.showValues()] };
    this.plot = new uPlot(options, [x, ...series.map((each) => each.values)], this.box);
    this.plot.over.append(this.line);
    this.listenToClicks();
  }

  drawOver() {
    drawFailures(this.plot, this.picture, this.scale);
    this.placeLine();
  }

  // uPlot moves the cursor; who has a legend shows what is there.
  showValues() {}

  // A drag is a zoom and no click.
  listenToClicks() {
    let pressedAt = 0;
    this.plot.over.addEventListener("mousedown", (event) => {
      pressedAt = event.clientX;
    });
    this.plot.over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - pressedAt) < 5) {
        const left = event.clientX - this.plot.over.getBoundingClientRect().left;
        hbmstress.chooseOp(this.id, this.opNear(left));
      }
    });
  }

  toOp(x) {
    const last = Math.max(this.picture.run.opCount - 1, 0);
    return Math.min(Math.max(Math.round(this.scale.toOp(x)), 0), last);
  }

  // A failure near the pointer is what was meant: it is one op among a thousand on a pixel.
  opNear(left) {
    const nearest = { op: this.toOp(this.plot.posToVal(left, "x")), distance: 6 };
    for (const { op } of this.picture.failures) {
      const distance = Math.abs(this.plot.valToPos(this.scale.fromOp(op), "x") - left);
      if (distance < nearest.distance) {
        Object.assign(nearest, { op, distance });
      }
    }
    return nearest.op;
  }

  choose(op) {
    this.chosen = op;
    this.placeLine();
  }

  placeLine() {
    const left = this.chosen === null ? -1
      : this.plot.valToPos(this.scale.fromOp(this.chosen), "x");
    this.line.hidden = !(left >= 0 && left <= this.plot.over.clientWidth);
    this.line.style.left = `${left}px`;
  }

  // widthMax: that of paper, or nothing.
  resize(widthMax = Infinity) {
    const { width, height } = this.size();
    this.plot.setSize({ width: Math.min(width, widthMax), height });
  }

  redraw() {
    this.plot.redraw(false);
  }
};

// With legend and keys.
hbmstress.LegendPlot = class extends hbmstress.OpPlot {
  constructor(picture, scale, id) {
    super(picture, scale, id);
    this.box.tabIndex = 0;
    this.box.setAttribute("role", "img");
    this.box.setAttribute("aria-label", this.describe());
    this.note = hbmstress.element("p", { class: "note curves-note" });
    this.entries = picture.series.map((series, i) => this.makeEntry(series, i));
    const legend = hbmstress.element("div", { class: "curves-legend" },
      ...this.entries.map((entry) => entry.button));
    this.element = hbmstress.element("div", {}, this.box, legend, this.note);
    this.box.addEventListener("keydown", (event) => this.handleKey(event));
  }

  draw() {
    super.draw();
    this.showValues();
  }

  makeEntry(series, i) {
    const value = hbmstress.element("output");
    const button = hbmstress.makeButton("", { "aria-pressed": String(series.isShown) }, () => {
      series.isShown = !series.isShown;
      button.setAttribute("aria-pressed", String(series.isShown));
      this.plot.setSeries(i + 1, { show: series.isShown });
    });
    button.append(makeSample(series), series.name, value);
    return { button, value };
  }

  // For readers who do not see it: the most that each series reached.
  describe() {
    const most = this.picture.series.map((series) => {
      const high = series.values.reduce((most, value) => Math.max(most, value ?? 0), 0);
      return `${series.name} at most ${formats[series.scale](high)}`;
    });
    return `Curves by ${this.scale.unit}: ${most.join(", ")}`;
  }

  cursorIndex() {
    return this.plot.cursor.idx ?? null;
  }

  showValues() {
    const index = this.plot === undefined ? null : this.cursorIndex();
    this.picture.series.forEach((series, i) => {
      const value = index === null ? null : series.values[index] ?? null;
      this.entries[i].value.textContent = value === null ? "" : formats[series.scale](value);
    });
    this.note.textContent = index === null
      ? "Drag to zoom, double-click for the whole, click to choose that op in the map."
      : this.describePoint(this.picture.x[index]);
  }

  describePoint(x) {
    const op = this.toOp(x);
    const step = this.scale.unit === "step" ? `step ${formatPlace(Math.floor(x))}, ` : "";
    const failure = this.picture.failures.find((each) => each.op === op);
    const text = failure === undefined ? ""
      : !failure.isOom ? `: ${hbmstress.breachInWords(failure)}`
      : `: out of memory (${failure.verdict}), ${hbmstress.formatBytes(failure.requested)} asked`;
    return `${step}op ${op}${text}`;
  }

  handleKey(event) {
    const actions = {
      ArrowLeft: () => this.moveCursor(event.shiftKey ? -10 : -1),
      ArrowRight: () => this.moveCursor(event.shiftKey ? 10 : 1),
      Home: () => this.moveCursor(-Infinity),
      End: () => this.moveCursor(Infinity),
      Enter: () => this.chooseCursor(),
      "+": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      0: () => this.zoom(Infinity),
    };
    if (Object.hasOwn(actions, event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      actions[event.key]();
    }
  }

  // Among the points that are in view.
  moveCursor(step) {
    const [first, last] = this.plot.series[0].idxs;
    const index = Math.min(Math.max((this.cursorIndex() ?? first) + step, first), last);
    const left = this.plot.valToPos(this.picture.x[index], "x");
    const width = this.plot.over.clientWidth;
    this.plot.setCursor({ left: Math.min(Math.max(left, 0), width - 0.5), top: 0 });
    hbmstress.announce(this.note.textContent);
  }

  chooseCursor() {
    const index = this.cursorIndex();
    if (index !== null) {
      hbmstress.chooseOp(this.id, this.toOp(this.picture.x[index]));
    }
  }

  // About the cursor, and no wider than the whole.
  zoom(factor) {
    const x = this.picture.x;
    const { min, max } = this.plot.scales.x;
    const index = this.cursorIndex();
    const middle = index === null ? (min + max) / 2 : x[index];
    const half = ((max - min) * factor) / 2;
    this.plot.setScale("x", { min: Math.max(x[0], middle - half),
      max: Math.min(x[x.length - 1], middle + half) });
  }
};

// One tag with the line of its trend: trend is {slope, from, to, at} or nothing.
hbmstress.TrendPlot = class extends hbmstress.OpPlot {
  constructor(picture, scale, id, trend) {
    super(picture, scale, id);
    this.trend = trend;
  }

  size() {
    return { width: Math.max(this.box.clientWidth, 160), height: 140, isSmall: true };
  }

  drawOver() {
    super.drawOver();
    if (this.trend) {
      this.drawTrend(this.plot.ctx);
    }
  }

  toPoint(op) {
    const bytes = this.trend.at + this.trend.slope * (op - this.trend.from);
    return [this.plot.valToPos(this.scale.fromOp(op), "x", true),
      this.plot.valToPos(bytes, "bytes", true)];
  }

  drawTrend(context) {
    context.save();
    context.strokeStyle = readColour("--bad");
    context.lineWidth = toScreen(2);
    context.setLineDash([toScreen(6), toScreen(4)]);
    context.beginPath();
    context.moveTo(...this.toPoint(this.trend.from));
    context.lineTo(...this.toPoint(this.trend.to));
    context.stroke();
    context.restore();
  }
};
})();
