// Paints rectangles into pixels: half a million in a few milliseconds, which the calls of a canvas
// could not. Work that does not fit into one frame goes on in the next.
"use strict";

hbmstress.Raster = class {
  // view: ops [begin, end) and addresses [low, high) that fill width times height pixels.
  constructor(index, host, view, image, colours) {
    this.index = index;
    this.host = host;
    this.view = { ...view };
    this.image = image;
    this.pixels = new Uint32Array(image.data.buffer);
    this.looks = colours.looks;
    this.background = hbmstress.pixelOf(colours.back);
    this.count = index.countBefore(view.end);
    this.chunk = 0;
    this.spentMs = 0;
    this.pixels.fill(this.background);
  }

  // Paints for about that long; true when all is painted.
  paint(budgetMs) {
    const { index } = this;
    const begun = performance.now();
    let now = begun;
    while (this.chunk * index.chunkSize < this.count && now - begun < budgetMs) {
      if (index.chunkEnds[this.chunk] > this.view.begin) {
        const from = this.chunk * index.chunkSize;
        this.paintBlocks(from, Math.min(this.count, from + index.chunkSize));
        now = performance.now();
      }
      this.chunk++;
    }
    this.spentMs += performance.now() - begun;
    return this.chunk * index.chunkSize >= this.count;
  }

  paintBlocks(from, to) {
    const { begin, end, address, size, state, host } = this.index.blocks;
    const { view, looks } = this;
    const { width, height } = this.image;
    const acrossOp = width / (view.end - view.begin);
    const acrossByte = height / (view.high - view.low);
    for (let i = from; i < to; i++) {
      const top = address[i] + size[i];
      if (
        end[i] <= view.begin ||
        host[i] !== this.host ||
        top <= view.low ||
        address[i] >= view.high
      ) {
        continue;
      }
      const look = looks[state[i] < looks.length ? state[i] : 0];
      if (look !== undefined) {
        this.paintBlock(
          look,
          (begin[i] - view.begin) * acrossOp,
          (end[i] - view.begin) * acrossOp,
          height - (top - view.low) * acrossByte,
          height - (address[i] - view.low) * acrossByte,
        );
      }
    }
  }

  // Edges in pixels, which may lie outside of the picture.
  paintBlock(look, left, right, top, bottom) {
    const { width, height } = this.image;
    const x = Math.max(Math.min(Math.round(left), width - 1), 0);
    const y = Math.max(Math.min(Math.round(top), height - 1), 0);
    const columns = Math.max(Math.min(Math.round(right), width) - x, 1);
    const rows = Math.max(Math.min(Math.round(bottom), height) - y, 1);
    if (right - left < 0.5 || bottom - top < 0.5) {
      this.paintFaint(look, x, y, columns, rows);
      return;
    }
    this.paintTile(look.tile, x, y, columns, rows);
    if (columns >= 3 && rows >= 3) {
      this.paintEdge(look.edge, x, y, left >= 0 ? rows : 0, top >= 0 ? columns : 0);
    }
  }

  // What is smaller than a pixel is seen, but does not cover what fills one.
  paintFaint(look, x, y, columns, rows) {
    const { pixels, background } = this;
    const { width } = this.image;
    for (let row = y; row < y + rows; row++) {
      const stop = row * width + x + columns;
      for (let at = row * width + x; at < stop; at++) {
        if (pixels[at] === background) {
          pixels[at] = look.faint;
        }
      }
    }
  }

  paintTile(tile, x, y, columns, rows) {
    const { pixels } = this;
    const { width } = this.image;
    const side = hbmstress.tileSide;
    for (let row = y; row < y + rows; row++) {
      const tileRow = (row & (side - 1)) * side;
      const line = row * width;
      for (let column = x; column < x + columns; column++) {
        pixels[line + column] = tile[tileRow + (column & (side - 1))];
      }
    }
  }

  // The left and the upper edge.
  paintEdge(colour, x, y, rows, columns) {
    const { pixels } = this;
    const { width } = this.image;
    for (let row = y; row < y + rows; row++) {
      pixels[row * width + x] = colour;
    }
    for (let column = x; column < x + columns; column++) {
      pixels[y * width + column] = colour;
    }
  }
};
