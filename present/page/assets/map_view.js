// One memory map: what it shows, and how it is drawn frame by frame. A frame shows the last
// complete picture where its ops are now; a new one is painted in slices, so that no frame is long.
"use strict";

hbmstress.MemoryMap = class {
  constructor(run, canvas, overview) {
    this.run = run;
    this.canvas = canvas;
    this.overview = overview;
    this.index = new hbmstress.BlockIndex(run.blocks);
    this.drawnMs = 0;
    this.op = null;
    this.hovered = -1;
    this.marksHeight = run.marks.count > 0 ? 46 : run.failures.length > 0 ? 18 : 8;
    this.frame = 0;
    this.listeners = [];
    // Pixels are put into the picture and read by tests: no copy of them in a graphics card.
    this.context = canvas.getContext("2d", { willReadFrequently: true });
    this.picture = document.createElement("canvas");
    this.whole = document.createElement("canvas");
    this.setHost(run.gravest?.host ?? 0);
  }

  // --- what tests and other scripts ask ---

  view() {
    return { ...this.area, op: this.op };
  }

  setView(view) {
    this.area = this.limitView({ ...this.area, ...view });
    this.requestFrame();
  }

  select(op) {
    const last = this.run.opCount - 1;
    if (last < 0) {
      return;
    }
    this.op = Math.round(hbmstress.clamp(Number(op) || 0, 0, last));
    this.showOp();
    this.tell();
    this.requestFrame();
  }

  blocksAt(op) {
    const { blocks } = this.run;
    return this.index.at(this.host, op).map((i) => ({
      begin: blocks.begin[i],
      end: blocks.end[i],
      address: blocks.address[i],
      size: blocks.size[i],
      state: blocks.state[i],
      tag: blocks.tag[i],
      op: blocks.op[i],
      host: blocks.host[i],
    }));
  }

  isDrawn() {
    return this.frame === 0;
  }

  // --- what is shown ---

  setHost(host) {
    this.host = hbmstress.clamp(host, 0, Math.max(this.run.hosts.length - 1, 0));
    this.failures = this.run.failures.filter((failure) => failure.host === this.host);
    this.limits = this.index.range(this.host, Number(this.run.hosts[this.host]?.capacity) || 0);
    this.overviewIsDrawn = false;
    this.dropPicture();
    this.showAll();
    this.tell();
  }

  showAll() {
    this.setView({ begin: 0, end: this.run.opCount, low: this.limits.low, high: this.limits.high });
  }

  isWhole() {
    return this.area.begin <= 0 && this.area.end >= this.run.opCount;
  }

  // At least one op and one unit, all of it within the run and the device.
  limitView(view) {
    const limitRange = (from, to, least, low, high) => {
      const isBroken = !Number.isFinite(from) || !Number.isFinite(to);
      const span = isBroken
        ? high - low
        : hbmstress.clamp(to - from, Math.min(least, high - low), high - low);
      const start = isBroken ? low : hbmstress.clamp(from, low, high - span);
      return [start, start + span];
    };
    const [begin, end] = limitRange(view.begin, view.end, 1, 0, Math.max(this.run.opCount, 1));
    const [low, high] = limitRange(
      view.low,
      view.high,
      this.run.unit,
      this.limits.low,
      this.limits.high,
    );
    return { begin, end, low, high };
  }

  // factor below 1 shows less; part (0..1) of the picture is what stays in its place.
  zoomOps(factor, part = 0.5) {
    const { begin, end } = this.area;
    const fixed = begin + (end - begin) * part;
    const span = hbmstress.clamp((end - begin) * factor, 1, Math.max(this.run.opCount, 1));
    this.setView({ begin: fixed - span * part, end: fixed + span * (1 - part) });
  }

  zoomAddresses(factor, part = 0.5) {
    const { low, high } = this.area;
    const fixed = low + (high - low) * part;
    const span = Math.min((high - low) * factor, this.limits.high - this.limits.low);
    this.setView({ low: fixed - span * part, high: fixed + span * (1 - part) });
  }

  // By parts of what is shown.
  pan(opsPart, addressPart) {
    const ops = (this.area.end - this.area.begin) * opsPart;
    const bytes = (this.area.high - this.area.low) * addressPart;
    this.setView({
      begin: this.area.begin + ops,
      end: this.area.end + ops,
      low: this.area.low + bytes,
      high: this.area.high + bytes,
    });
  }

  // The chosen op is in the picture.
  showOp() {
    const { begin, end } = this.area;
    if (this.op < begin || this.op + 1 > end) {
      const span = end - begin;
      this.setView({ begin: this.op + 0.5 - span / 2, end: this.op + 0.5 + span / 2 });
    }
  }

  // The ops around a failure at which single ops are seen.
  windowOf(failure) {
    return {
      begin: Math.max(failure.op - 40, 0),
      end: Math.min(failure.op + 24, this.run.opCount),
    };
  }

  // The addresses at which the request and its largest hole are seen to scale.
  heightOf(failure) {
    const parts = 12;
    const span = Math.max(failure.requested, failure.largestHole) * parts;
    if (failure.holes.length === 0 || span >= this.limits.high - this.limits.low) {
      return this.limits;
    }
    const middle = failure.holes[0][0] + failure.holes[0][1] / 2;
    return { low: middle - span / 2, high: middle + span / 2 };
  }

  failingWindow() {
    return this.failures.length > 0 && this.run.opCount > 5000
      ? this.windowOf(hbmstress.gravestFailure(this.failures, this.run.opCount))
      : null;
  }

  goToFailure(failure) {
    if (failure.host !== this.host) {
      this.setHost(failure.host);
    }
    this.setView({ ...this.windowOf(failure), ...this.heightOf(failure) });
    this.select(failure.op);
  }

  // After the last one comes the first again.
  nextFailure() {
    const { failures } = this.run;
    const next =
      failures.find((failure) => this.op === null || failure.op > this.op) ?? failures[0];
    if (next !== undefined) {
      this.goToFailure(next);
    }
  }

  // Listeners are told of another chosen op or host.
  tell() {
    for (const listener of this.listeners) {
      listener();
    }
  }

  // --- drawing ---

  readColours() {
    this.colours = hbmstress.readColours(this.run.states, this.scale > 1 ? 2 : 1);
    this.overviewIsDrawn = false;
    this.dropPicture();
  }

  // The size of the canvas on the page, in device pixels; all rectangles are painted anew.
  resize() {
    this.scale = Math.min(window.devicePixelRatio || 1, 2);
    const isNarrow = this.canvas.clientWidth < 600;
    const margins = { left: isNarrow ? 58 : 74, right: isNarrow ? 6 : 12, bottom: 24 };
    this.font = isNarrow ? "10px sans-serif" : "12px sans-serif";
    for (const canvas of [this.canvas, this.overview]) {
      canvas.width = Math.max(Math.round(canvas.clientWidth * this.scale), 1);
      canvas.height = Math.max(Math.round(canvas.clientHeight * this.scale), 1);
    }
    this.plot = {
      left: margins.left,
      top: this.marksHeight,
      width: Math.max(Math.floor(this.canvas.clientWidth - margins.left - margins.right), 16),
      height: Math.max(
        Math.floor(this.canvas.clientHeight - this.marksHeight - margins.bottom),
        16,
      ),
    };
    this.image = this.sizePicture(this.picture, this.plot.height);
    this.wholeImage = this.sizePicture(this.whole, this.overview.clientHeight);
    this.readColours();
  }

  // The pixels that are painted for it, picture after picture: none is allocated within a frame.
  sizePicture(picture, height) {
    picture.width = Math.round(this.plot.width * this.scale);
    picture.height = Math.max(Math.round(height * this.scale), 1);
    return new ImageData(picture.width, picture.height);
  }

  makeRaster(image, view) {
    return new hbmstress.Raster(this.index, this.host, view, image, this.colours);
  }

  // Nothing that was painted is right any more.
  dropPicture() {
    this.raster = null;
    this.painted = null;
    this.requestFrame();
  }

  requestFrame() {
    if (this.frame === 0) {
      this.frame = requestAnimationFrame(() => this.drawFrame());
    }
  }

  isPainted() {
    const { painted, area } = this;
    return (
      painted !== null &&
      painted.begin === area.begin &&
      painted.end === area.end &&
      painted.low === area.low &&
      painted.high === area.high
    );
  }

  // A picture that was begun is completed first: while the view moves, complete ones follow it.
  drawFrame(sliceMs = 8) {
    this.frame = 0;
    if (this.plot === undefined) {
      return;
    }
    if (!this.isPainted()) {
      this.raster ??= this.makeRaster(this.image, this.area);
      if (this.raster.paint(sliceMs)) {
        this.picture.getContext("2d").putImageData(this.raster.image, 0, 0);
        this.painted = this.raster.view;
        this.drawnMs = this.raster.spentMs;
        this.raster = null;
      }
    } else if (!this.overviewIsDrawn) {
      this.paintOverview(sliceMs);
    }
    this.drawScene();
    if (!this.isPainted() || !this.overviewIsDrawn) {
      this.requestFrame();
    }
  }

  // All at once: what is printed waits for no frame.
  drawNow() {
    do {
      cancelAnimationFrame(this.frame);
      this.drawFrame(Infinity);
    } while (!this.isDrawn());
  }

  paintOverview(sliceMs) {
    if (
      this.overviewRaster?.colours !== this.colours ||
      this.overviewRaster.raster.host !== this.host
    ) {
      const view = { begin: 0, end: Math.max(this.run.opCount, 1), ...this.limits };
      this.overviewRaster = {
        colours: this.colours,
        raster: this.makeRaster(this.wholeImage, view),
      };
    }
    const { raster } = this.overviewRaster;
    if (raster.paint(sliceMs)) {
      this.whole.getContext("2d").putImageData(raster.image, 0, 0);
      this.overviewIsDrawn = true;
      this.overviewRaster = null;
    }
  }

  drawScene() {
    const { context } = this;
    const scene = {
      run: this.run,
      host: this.host,
      failures: this.failures,
      view: this.area,
      plot: this.plot,
      colours: this.colours,
      op: this.op,
      hovered: this.hovered,
      font: this.font,
      marksHeight: this.marksHeight,
      failingWindow: this.failingWindow(),
    };
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.fillStyle = this.colours.page;
    context.fillRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    this.placePicture(context);
    hbmstress.overlay.draw(context, scene);
    hbmstress.overlay.drawOverview(this.overview, this.whole, this);
  }

  // The last complete picture, where its ops and addresses are now.
  placePicture(context) {
    const { plot, painted, area, colours } = this;
    context.fillStyle = colours.back;
    context.fillRect(plot.left, plot.top, plot.width, plot.height);
    if (painted === null) {
      return;
    }
    const across = plot.width / (area.end - area.begin);
    const down = plot.height / (area.high - area.low);
    context.save();
    context.beginPath();
    context.rect(plot.left, plot.top, plot.width, plot.height);
    context.clip();
    context.imageSmoothingEnabled = false;
    context.drawImage(
      this.picture,
      plot.left + (painted.begin - area.begin) * across,
      plot.top + (area.high - painted.high) * down,
      (painted.end - painted.begin) * across,
      (painted.high - painted.low) * down,
    );
    context.restore();
  }
};
