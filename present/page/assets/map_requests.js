// Requests that failed, drawn to scale beside the largest holes that they did not fit.
"use strict";

Object.assign(hbmstress.overlay, {
  holesShown: 3,
  barWidth: 14,
  requestSpace: 260,

  // The requests that failed, beside the holes that they did not fit: the chosen one, and once ops
  // are wide others in view that have room.
  drawRequests(context, scene) {
    const { begin, end } = scene.view;
    const inView = scene.failures.filter((failure) => failure.op + 1 > begin && failure.op < end);
    const chosen = inView.filter((failure) => failure.op === scene.op);
    const taken = chosen.map((failure) => this.xOf(scene, failure.op));
    const others =
      this.opWidth(scene) >= 10 ? inView.filter((failure) => failure.op !== scene.op) : [];
    for (const failure of others) {
      const x = this.xOf(scene, failure.op);
      if (taken.every((each) => Math.abs(x - each) >= this.requestSpace)) {
        taken.push(x);
        this.drawRequest(context, scene, failure, false);
      }
    }
    chosen.forEach((failure) => this.drawRequest(context, scene, failure, true));
  },

  drawRequest(context, scene, failure, hasWords) {
    const { plot } = scene;
    const line = this.xOf(scene, failure.op + 0.5);
    const right = plot.left + plot.width;
    // To the left only where the right lacks the room and has less of it.
    const side = line + this.requestSpace > right && line - plot.left > right - line ? -1 : 1;
    const labels = [];
    const holes = failure.isOom ? failure.holes.slice(0, this.holesShown) : [];
    holes.forEach(([address, size], i) => {
      const left = line + side * (5 + i * (this.barWidth + 4)) - (side < 0 ? this.barWidth : 0);
      this.drawFit(context, scene, failure.requested, { address, size }, left);
      labels.push({
        y: this.yOf(scene, address + size / 2),
        text: hbmstress.fitInWords(failure.requested, size),
      });
    });
    if (hasWords) {
      labels.unshift({
        y: plot.top + 10,
        text: failure.isOom
          ? `asked ${hbmstress.formatBytes(failure.requested)}: ${failure.verdict}`
          : hbmstress.breachInWords(failure),
        isHead: true,
      });
      this.drawLabels(
        context,
        scene,
        labels,
        line + side * (10 + holes.length * (this.barWidth + 4)),
        side,
      );
    }
  },

  // One hole as an outline, and the request from its lower end up to scale: red where it is
  // outside.
  drawFit(context, scene, requested, hole, left) {
    const { colours, view } = scene;
    const isUpward = hole.address + requested <= view.high;
    const base = isUpward ? hole.address : hole.address + hole.size;
    const tip = isUpward ? base + requested : base - requested;
    const holeEnd = isUpward ? hole.address + hole.size : hole.address;
    const within = isUpward ? Math.min(tip, holeEnd) : Math.max(tip, holeEnd);
    this.fillBar(context, scene, left, base, within, colours.good);
    if (requested > hole.size) {
      this.fillBar(context, scene, left, holeEnd, tip, colours.bad);
    }
    context.strokeStyle = colours.text;
    context.lineWidth = 1.5;
    this.clipToPlot(context, scene, () => {
      const top = this.yOf(scene, hole.address + hole.size);
      context.strokeRect(
        left - 1.5,
        top,
        this.barWidth + 3,
        Math.max(this.yOf(scene, hole.address) - top, 2),
      );
    });
  },

  fillBar(context, scene, left, from, to, colour) {
    const top = this.yOf(scene, Math.max(from, to));
    const height = Math.max(this.yOf(scene, Math.min(from, to)) - top, 1);
    this.clipToPlot(context, scene, () => {
      context.fillStyle = scene.colours.page;
      context.fillRect(left, top, this.barWidth, height);
      context.globalAlpha = 0.75;
      context.fillStyle = colour;
      context.fillRect(left, top, this.barWidth, height);
      context.globalAlpha = 1;
    });
  },

  clipToPlot(context, scene, draw) {
    const { plot } = scene;
    context.save();
    context.beginPath();
    context.rect(plot.left, plot.top, plot.width, plot.height);
    context.clip();
    draw();
    context.restore();
  },

  // One below the other, none over another.
  drawLabels(context, scene, labels, x, side) {
    const { plot, colours } = scene;
    context.textBaseline = "middle";
    context.textAlign = "left";
    const lineHeight = 18;
    let least = plot.top + 10;
    for (const label of labels.sort((a, b) => a.y - b.y)) {
      const y = Math.max(Math.min(label.y, plot.top + plot.height - 10), least);
      least = y + lineHeight;
      context.font = label.isHead ? `bold ${scene.font}` : scene.font;
      const width = context.measureText(label.text).width + 8;
      const left = hbmstress.clamp(
        side < 0 ? x - width : x,
        plot.left,
        Math.max(plot.left + plot.width - width, plot.left),
      );
      context.fillStyle = colours.page;
      context.globalAlpha = 0.9;
      context.fillRect(left, y - 8, width, 16);
      context.globalAlpha = 1;
      context.fillStyle = label.isHead ? colours.bad : colours.text;
      context.fillText(label.text, left + 4, y);
    }
  },
});
