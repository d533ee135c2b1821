// Which rectangles of a run meet a range of ops: they are sorted by begin, and each chunk of them
// knows its latest end, so that a view far from the beginning skips most chunks.
"use strict";

hbmstress.BlockIndex = class {
  constructor(blocks) {
    this.blocks = blocks;
    this.chunkSize = 128;
    this.chunkEnds = new Uint32Array(Math.ceil(blocks.count / this.chunkSize));
    for (let i = 0; i < blocks.count; i++) {
      const chunk = Math.floor(i / this.chunkSize);
      this.chunkEnds[chunk] = Math.max(this.chunkEnds[chunk], blocks.end[i]);
    }
  }

  // How many rectangles begin before op.
  countBefore(op) {
    return hbmstress.lowerBound(this.blocks.begin, this.blocks.count, op);
  }

  // Calls visit(i) for each rectangle of the host that meets [begin, end).
  visit(host, begin, end, visit) {
    const { blocks, chunkEnds, chunkSize } = this;
    const count = this.countBefore(end);
    for (let chunk = 0; chunk * chunkSize < count; chunk++) {
      if (chunkEnds[chunk] <= begin) {
        continue;
      }
      const stop = Math.min(count, (chunk + 1) * chunkSize);
      for (let i = chunk * chunkSize; i < stop; i++) {
        if (blocks.end[i] > begin && blocks.host[i] === host) {
          visit(i);
        }
      }
    }
  }

  // The rectangles of the host at op, by address.
  at(host, op) {
    const found = [];
    this.visit(host, op, op + 1, (i) => found.push(i));
    return found.sort((a, b) => this.blocks.address[a] - this.blocks.address[b]);
  }

  // The rectangle at that place, or one that is so small that it shares the pixel of opSpan ops and
  // byteSpan bytes which begins there; -1 where there is none.
  find(host, op, address, opSpan, byteSpan) {
    const { blocks } = this;
    let near = -1;
    let exact = -1;
    this.visit(host, op, op + Math.max(opSpan, 1), (i) => {
      const end = blocks.address[i] + blocks.size[i];
      if (blocks.address[i] < address + byteSpan && end > address) {
        near = i;
        if (blocks.address[i] <= address && blocks.begin[i] <= op) {
          exact = i;
        }
      }
    });
    return exact >= 0 ? exact : near;
  }

  // The free ranges of [low, high) at op, by address, and how much the rectangles hold.
  occupancy(host, op, low, high) {
    const { blocks } = this;
    const indices = this.at(host, op);
    const holes = [];
    let taken = 0;
    let reached = low;
    for (const i of indices) {
      if (blocks.address[i] > reached) {
        holes.push({ address: reached, size: blocks.address[i] - reached });
      }
      taken += blocks.size[i];
      reached = Math.max(reached, blocks.address[i] + blocks.size[i]);
    }
    if (high > reached) {
      holes.push({ address: reached, size: high - reached });
    }
    return { count: indices.length, taken, holes };
  }

  // The addresses that a map of the host shows: its device, or where its blocks lie when that is
  // elsewhere.
  range(host, capacity) {
    const { blocks } = this;
    let low = Infinity;
    let high = 0;
    for (let i = 0; i < blocks.count; i++) {
      if (blocks.host[i] === host) {
        low = Math.min(low, blocks.address[i]);
        high = Math.max(high, blocks.address[i] + blocks.size[i]);
      }
    }
    if (high <= capacity || low > high) {
      return { low: 0, high: Math.max(capacity, 1) };
    }
    return low < capacity ? { low: 0, high } : { low, high: Math.max(high, low + capacity) };
  }
};

// The first index of ascending numbers whose number is at least value; count when there is none.
hbmstress.lowerBound = function (numbers, count, value) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
};
