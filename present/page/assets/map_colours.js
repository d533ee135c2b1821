// How states look: a colour of the style sheet and a pattern each, so that they are told apart
// without colour too. A tile is what the pixels of a state repeat.
"use strict";

hbmstress.tileSide = 16;

// Whether the pattern has ink at a pixel; it repeats after 8.
hbmstress.statePatterns = {
  movable: () => false,
  held: (x, y) => ((x & 7) < 2 && (y & 7) < 2) || (((x + 4) & 7) < 2 && ((y + 4) & 7) < 2),
  dying: (x, y) => ((x + y) & 7) < 2,
  "idle program": (x, y) => (y & 3) === 0,
  "busy program": (x, y) => ((x + y) & 7) === 0 || ((x - y) & 7) === 0,
  stack: (x) => (x & 3) === 0,
  retired: (x, y) => (((x >> 1) + (y >> 1)) & 1) === 0,
};

// What canvases know of a colour, as "#rrggbb": the style sheet may write it in another way.
hbmstress.readColour = function (context, name) {
  context.fillStyle = "#808080";
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return context.fillStyle;
};

// One pixel of ImageData read as a 32-bit number: red in the lowest byte (the order of all
// processors that browsers run on).
hbmstress.pixelOf = function (colour) {
  const rgb = parseInt(colour.slice(1), 16);
  return ((255 << 24) | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
};

// part of a, the rest of b.
hbmstress.mixColours = function (a, b, part) {
  let mixed = "#";
  for (let at = 1; at < 7; at += 2) {
    const value =
      parseInt(a.slice(at, at + 2), 16) * part + parseInt(b.slice(at, at + 2), 16) * (1 - part);
    mixed += Math.round(value).toString(16).padStart(2, "0");
  }
  return mixed;
};

hbmstress.makeTile = function (pattern, fill, ink, scale) {
  const side = hbmstress.tileSide;
  const tile = new Uint32Array(side * side);
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      tile[y * side + x] = pattern(Math.floor(x / scale), Math.floor(y / scale)) ? ink : fill;
    }
  }
  return tile;
};

// The looks of the states by number. edge parts a rectangle from its neighbours; faint stands for
// what is smaller than a pixel.
hbmstress.readColours = function (states, scale) {
  const context = document.createElement("canvas").getContext("2d");
  const read = (name) => hbmstress.readColour(context, name);
  const colours = {
    back: read("--map-hole"),
    page: read("--back"),
    text: read("--text"),
    quiet: read("--quiet"),
    line: read("--line"),
    bad: read("--bad"),
    good: read("--good"),
    card: read("--card"),
    chosen: read("--map-chosen"),
    looks: [],
  };
  for (const name of states) {
    const pattern = hbmstress.statePatterns[name];
    const fill = read(pattern === undefined ? "--map-other" : `--map-${name.replace(" ", "-")}`);
    colours.looks.push({
      tile: hbmstress.makeTile(
        pattern ?? (() => false),
        hbmstress.pixelOf(fill),
        hbmstress.pixelOf(hbmstress.mixColours(colours.text, fill, 0.6)),
        scale,
      ),
      edge: hbmstress.pixelOf(hbmstress.mixColours(colours.back, fill, 0.65)),
      faint: hbmstress.pixelOf(hbmstress.mixColours(fill, colours.back, 0.45)),
    });
  }
  return colours;
};
