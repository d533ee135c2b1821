// What the map draws over its rectangles with the calls of a canvas: axes, failures, mitigations,
// the chosen op. Everything is in CSS pixels; a scene is what a MemoryMap shows.
"use strict";

hbmstress.overlay = {
  markLooks: [
    { letter: "D", name: "drain" },
    { letter: "M", name: "move" },
    { letter: "E", name: "eviction" },
    { letter: "S", name: "staging" },
  ],
  markSpace: 28,

  // All of it, over the rectangles.
  draw(context, scene) {
    this.drawAxes(context, scene);
    this.drawChosen(context, scene);
    this.drawFailures(context, scene);
    this.drawFailingWindow(context, scene);
    this.drawMarks(context, scene);
    this.drawHovered(context, scene);
    this.drawMoves(context, scene);
    this.drawRequests(context, scene);
  },

  xOf: (scene, op) =>
    scene.plot.left +
    ((op - scene.view.begin) / (scene.view.end - scene.view.begin)) * scene.plot.width,
  yOf: (scene, address) =>
    scene.plot.top +
    ((scene.view.high - address) / (scene.view.high - scene.view.low)) * scene.plot.height,
  opWidth: (scene) => scene.plot.width / (scene.view.end - scene.view.begin),

  // 1, 2 or 5 times a power of ten, so that at most that many fit.
  opStep(span, countMax) {
    const least = Math.max(span / countMax, 1);
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
  },

  // In the unit of the upper end, with as many digits as tell the lines of the axis apart.
  addressLabel(address, high, step) {
    const units = ["B", "K", "M", "G", "T"];
    const unit = Math.min(
      Math.max(Math.floor(Math.log2(Math.max(high, 1)) / 10), 0),
      units.length - 1,
    );
    const scale = 1024 ** unit;
    const digits = hbmstress.clamp(Math.ceil(-Math.log10(step / scale)), 0, 6);
    return `${(address / scale).toFixed(digits)}${units[unit]}`;
  },

  drawAxes(context, scene) {
    const { view, plot, colours } = scene;
    context.font = scene.font;
    context.fillStyle = colours.quiet;
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const byteStep =
      2 ** Math.ceil(Math.log2((view.high - view.low) / Math.max(plot.height / 48, 2)));
    const firstLine = Math.ceil(view.low / byteStep);
    const lineCount = Math.min(Math.floor(view.high / byteStep) - firstLine + 1, plot.height);
    for (let line = 0; line < lineCount; line++) {
      const address = (firstLine + line) * byteStep;
      const y = Math.round(this.yOf(scene, address));
      this.drawLine(context, plot.left - 4, y, plot.left, y);
      context.fillText(this.addressLabel(address, view.high, byteStep), plot.left - 6, y);
    }
    context.textBaseline = "top";
    context.textAlign = "center";
    const bottom = plot.top + plot.height;
    // Of lanes the axis is the order in which their ops were judged.
    const first = scene.run.opNumbers === null ? "op " : "order ";
    const opStep = this.opStep(view.end - view.begin, plot.width / (plot.width < 500 ? 60 : 110));
    for (let op = Math.ceil(view.begin / opStep) * opStep; op < view.end; op += opStep) {
      const x = Math.round(this.xOf(scene, op));
      this.drawLine(context, x, bottom, x, bottom + 4);
      context.fillText(`${op === 0 ? first : ""}${hbmstress.formatCount(op)}`, x, bottom + 6);
    }
    context.strokeRect(plot.left - 0.5, plot.top - 0.5, plot.width + 1, plot.height + 1);
  },

  drawLine(context, fromX, fromY, toX, toY) {
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.lineTo(toX, toY);
    context.stroke();
  },

  // The column of the chosen op.
  drawChosen(context, scene) {
    if (scene.op === null || scene.op < scene.view.begin - 1 || scene.op >= scene.view.end) {
      return;
    }
    const { plot, colours } = scene;
    const left = this.xOf(scene, scene.op);
    const width = Math.max(this.opWidth(scene), 1);
    context.fillStyle = colours.chosen;
    context.globalAlpha = 0.16;
    context.fillRect(left, plot.top, Math.max(width, 3), plot.height);
    context.globalAlpha = 1;
    context.strokeStyle = colours.chosen;
    context.lineWidth = 1;
    for (const x of width > 3 ? [left, left + width] : [left]) {
      this.drawLine(
        context,
        Math.round(x) + 0.5,
        plot.top,
        Math.round(x) + 0.5,
        plot.top + plot.height,
      );
    }
    context.beginPath();
    context.moveTo(left + width / 2, plot.top + plot.height);
    context.lineTo(left + width / 2 - 6, plot.top + plot.height + 9);
    context.lineTo(left + width / 2 + 6, plot.top + plot.height + 9);
    context.fillStyle = colours.chosen;
    context.fill();
  },

  // A line for each failing request; those that share a pixel share it. Many are paler than the
  // chosen one.
  drawFailures(context, scene) {
    const { plot, colours } = scene;
    let last = -Infinity;
    let lastCross = -Infinity;
    context.strokeStyle = colours.bad;
    for (const failure of scene.failures) {
      const isChosen = failure.op === scene.op;
      const x = Math.round(this.xOf(scene, failure.op + 0.5)) + 0.5;
      if (x < plot.left || x > plot.left + plot.width || (x === last && !isChosen)) {
        continue;
      }
      last = x;
      context.globalAlpha = isChosen ? 1 : 0.6;
      context.lineWidth = isChosen ? 2 : 1;
      context.setLineDash(isChosen ? [] : [5, 3]);
      this.drawLine(context, x, plot.top - 2, x, plot.top + plot.height);
      context.globalAlpha = 1;
      if (x - lastCross >= 9 || isChosen) {
        lastCross = x;
        this.drawCross(context, x, plot.top - scene.marksHeight + 6);
      }
    }
    context.setLineDash([]);
  },

  drawCross(context, x, y) {
    context.lineWidth = 2;
    context.setLineDash([]);
    this.drawLine(context, x - 4, y - 4, x + 4, y + 4);
    this.drawLine(context, x - 4, y + 4, x + 4, y - 4);
  },

  // Where the gravest failure is, while it is a needle in the whole run.
  drawFailingWindow(context, scene) {
    const window = scene.failingWindow;
    if (
      window === null ||
      this.xOf(scene, window.end) - this.xOf(scene, window.begin) > scene.plot.width / 8
    ) {
      return;
    }
    const { plot, colours } = scene;
    const middle = (this.xOf(scene, window.begin) + this.xOf(scene, window.end)) / 2;
    const width = Math.max(this.xOf(scene, window.end) - this.xOf(scene, window.begin), 14);
    context.strokeStyle = colours.bad;
    context.lineWidth = 2;
    context.strokeRect(middle - width / 2, plot.top + 1, width, plot.height - 2);
  },

  // The mitigations along the upper edge; those that are close are one sign with their number.
  drawMarks(context, scene) {
    for (const cluster of this.clusterMarks(scene)) {
      this.drawMark(context, scene, cluster);
    }
  },

  // Each sign begins at a mark and counts those that lie where it is drawn.
  clusterMarks(scene) {
    const {
      run: { marks },
      view,
      host,
    } = scene;
    const clusters = [];
    const opSpan = this.markSpace / this.opWidth(scene);
    const stop = hbmstress.lowerBound(marks.op, marks.count, view.end - 0.5);
    let i = hbmstress.lowerBound(marks.op, marks.count, view.begin - 0.5);
    while (i < stop) {
      if (marks.host[i] !== host) {
        i++;
        continue;
      }
      const end = marks.op[i] + opSpan;
      const cluster = { x: this.xOf(scene, marks.op[i] + 0.5), counts: [0, 0, 0, 0] };
      for (; i < stop && marks.op[i] < end; i++) {
        cluster.counts[marks.kind[i]] += marks.host[i] === host ? 1 : 0;
      }
      clusters.push(cluster);
    }
    return clusters;
  },

  // The kind that occurs most (of equals the costlier one), as a sign with a letter; a number where
  // there are several.
  drawMark(context, scene, cluster) {
    const { colours, plot } = scene;
    const kind = cluster.counts.lastIndexOf(Math.max(...cluster.counts));
    const count = cluster.counts.reduce((sum, each) => sum + each, 0);
    const y = plot.top - scene.marksHeight + 22;
    this.traceMark(context, kind, cluster.x, y);
    context.fillStyle = colours.card;
    context.strokeStyle = colours.text;
    context.lineWidth = 1;
    context.fill();
    context.stroke();
    context.fillStyle = colours.text;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.font = `bold ${scene.font}`;
    context.fillText(this.markLooks[kind].letter, cluster.x, y + 0.5);
    if (count > 1) {
      context.font = `9px sans-serif`;
      context.fillText(
        count > 999 ? `${Math.floor(count / 1000)}k` : `${count}`,
        cluster.x,
        y + 13,
      );
    }
  },

  // Drain: circle. Move: a box that points on. Eviction: square. Staging: diamond.
  traceMark(context, kind, x, y) {
    const corners = [
      null,
      [
        [-7, -7],
        [3, -7],
        [8, 0],
        [3, 7],
        [-7, 7],
      ],
      [
        [-7, -7],
        [7, -7],
        [7, 7],
        [-7, 7],
      ],
      [
        [0, -9],
        [9, 0],
        [0, 9],
        [-9, 0],
      ],
    ][kind];
    context.beginPath();
    if (corners === null) {
      context.arc(x, y, 7.5, 0, 2 * Math.PI);
      return;
    }
    for (const [right, down] of corners) {
      context.lineTo(x + right, y + down);
    }
    context.closePath();
  },

  // From where to where blocks moved: of the chosen op, and of all once ops are wide.
  drawMoves(context, scene) {
    const { marks } = scene.run;
    const isNear = this.opWidth(scene) >= 24;
    const begin = isNear ? Math.floor(scene.view.begin) : scene.op;
    const end = isNear ? scene.view.end : scene.op + 1;
    if (begin === null) {
      return;
    }
    const stop = Math.min(hbmstress.lowerBound(marks.op, marks.count, end), marks.count);
    let drawn = 0;
    for (let i = hbmstress.lowerBound(marks.op, marks.count, begin); i < stop && drawn < 400; i++) {
      if (marks.host[i] === scene.host && (marks.kind[i] === 1 || marks.kind[i] === 3)) {
        this.drawMove(context, scene, i);
        drawn++;
      }
    }
  },

  drawMove(context, scene, i) {
    const {
      run: { marks },
      colours,
      plot,
    } = scene;
    const x = this.xOf(scene, marks.op[i]);
    const from = this.yOf(scene, marks.from[i] + marks.size[i] / 2);
    const to = this.yOf(scene, marks.to[i] + marks.size[i] / 2);
    if (x < plot.left || x > plot.left + plot.width || Math.abs(from - to) < 3) {
      return;
    }
    const bend = Math.min(26, plot.width / 20);
    const down = Math.sign(to - from);
    context.setLineDash(marks.kind[i] === 3 ? [4, 3] : []);
    for (const [colour, width] of [
      [colours.page, 4],
      [colours.text, 1.5],
    ]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      context.moveTo(x, from);
      context.quadraticCurveTo(x - bend, (from + to) / 2, x, to);
      context.moveTo(x - 7, to - 3 * down);
      context.lineTo(x, to);
      context.lineTo(x, to - 8 * down);
      context.stroke();
    }
    context.setLineDash([]);
  },

  // The rectangle under the pointer.
  drawHovered(context, scene) {
    if (scene.hovered < 0) {
      return;
    }
    const { blocks } = scene.run;
    const i = scene.hovered;
    const left = this.xOf(scene, blocks.begin[i]);
    const top = this.yOf(scene, blocks.address[i] + blocks.size[i]);
    const width = Math.max(this.xOf(scene, blocks.end[i]) - left, 2);
    const height = Math.max(this.yOf(scene, blocks.address[i]) - top, 2);
    this.clipToPlot(context, scene, () => {
      for (const [colour, line] of [
        [scene.colours.page, 4],
        [scene.colours.text, 2],
      ]) {
        context.strokeStyle = colour;
        context.lineWidth = line;
        context.strokeRect(left, top, width, height);
      }
    });
  },

  // The whole run in small, with its failures and where the view is.
  drawOverview(canvas, picture, map) {
    const context = canvas.getContext("2d");
    const { plot, colours, area, run } = map;
    const height = canvas.clientHeight;
    const xOf = (op) => plot.left + (op / Math.max(run.opCount, 1)) * plot.width;
    context.setTransform(map.scale, 0, 0, map.scale, 0, 0);
    context.fillStyle = colours.page;
    context.fillRect(0, 0, canvas.clientWidth, height);
    context.drawImage(picture, plot.left, 0, plot.width, height);
    context.fillStyle = colours.bad;
    for (const column of new Set(
      map.failures.map((failure) => Math.round(xOf(failure.op + 0.5))),
    )) {
      context.fillRect(column, 0, 1, height);
    }
    const left = xOf(area.begin);
    const width = Math.max(xOf(area.end) - left, 4);
    context.fillStyle = colours.page;
    context.globalAlpha = 0.5;
    context.fillRect(plot.left, 0, left - plot.left, height);
    context.fillRect(left + width, 0, Math.max(plot.left + plot.width - left - width, 0), height);
    context.globalAlpha = 1;
    context.strokeStyle = colours.chosen;
    context.lineWidth = 2;
    context.strokeRect(left, 1, width, height - 2);
  },
};
