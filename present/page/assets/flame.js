// Who holds memory: a tree of tags or stacks, the largest first, one box for each.
"use strict";
(function () { // its names are its own

// What was mounted: {element, id, root, node}; node is what fills the width.
hbmstress.flames = [];

const rowPixels = 24;
const boxPixelsMin = 5;   // narrower ones are gathered
const labelPixelsMin = 28;
const rowCountMax = 60;   // deeper ones are seen from a box that was zoomed into
const colourCount = 6;
const tableRowCount = 20;
const tablePathMax = 5;   // names of a path in the table: its end

// --- the tree ---

function sumOf(nodes) {
  return nodes.reduce((sum, node) => sum + node.bytes, 0);
}

// The children that get a box of their own, and one box for all that are too narrow for it.
function gatherChildren(node, bytesMin) {
  const sorted = [...(node.children ?? [])].sort((a, b) => b.bytes - a.bytes);
  const large = sorted.filter((child) => child.bytes >= bytesMin);
  const small = sorted.slice(large.length);
  if (small.length < 2) {
    return sorted;
  }
  return [...large, { name: `${small.length} others`, bytes: sumOf(small), children: small,
    isOthers: true }];
}

// The same name has the same colour everywhere, but for the neighbour of a box that has it.
function colourOf(name, taken) {
  let hash = 0;
  for (let i = 0; i < name.length; i++) {
    hash = (hash * 31 + name.charCodeAt(i)) % 65521;
  }
  const colour = hash % colourCount;
  return colour === taken ? (colour + 1) % colourCount : colour;
}

// What stands in the tree, with the names above it; a list instead of recursion, because stacks
// may be deep.
function listNodes(root) {
  const nodes = [];
  const rest = [{ node: root, path: [] }];
  while (rest.length > 0) {
    const { node, path } = rest.pop();
    nodes.push({ node, path, own: node.bytes - sumOf(node.children ?? []) });
    for (const child of node.children ?? []) {
      rest.push({ node: child, path: [...path, node.name] });
    }
  }
  return nodes;
}

function shortenPath(names) {
  const shown = names.length > tablePathMax ? ["…", ...names.slice(-tablePathMax)] : names;
  return shown.join(" › ");
}

const formatShare = (part, whole) => `${(whole > 0 ? (100 * part) / whole : 0).toFixed(1)} %`;

function nameMoment(run) {
  const hosts = run.hosts ?? [];
  const host = hosts.length > 1 ? ` on ${hosts[run.flameHost]?.name || `host ${run.flameHost}`}` : "";
  return `at op ${run.flameOp.toLocaleString("en")}${host}`;
}

// --- a place in the page ---

// The trees of a run, the one that is shown first.
function listTrees(run) {
  const trees = [{ by: "tag", root: run.flame, note: "" }];
  if (run.flameStacks?.bytes > 0) {
    trees.unshift({ by: "stack", root: run.flameStacks, note: run.flameStacksNote ?? "" });
  }
  return trees;
}

class Flame {
  constructor(element, run) {
    this.element = element;
    this.id = element.dataset.run;
    this.trees = listTrees(run);
    this.when = nameMoment(run);
    this.words = hbmstress.element("span", {});
    this.table = hbmstress.element("div", {});
    this.rows = hbmstress.element("div", { class: "flame-rows", role: "tree",
      "aria-label": "Who holds memory" });
    this.panel = hbmstress.element("div", { class: "flame-panel" });
    this.whole = hbmstress.makeButton("Whole", {}, () => this.zoomTo(1));
  }

  get node() {
    return this.trail.at(-1).node;
  }

  // Shows the tree by "stack" or by "tag", whole.
  show(by) {
    const tree = this.trees.find((each) => each.by === by);
    this.by = by;
    this.root = tree.root;
    this.trail = [{ node: this.root, isUnknown: false }]; // from the root to what fills the width
    this.words.textContent = `${hbmstress.formatBytes(this.root.bytes)} ${this.when}. ` +
      "A box is as wide as what it holds; a click zooms into it, Escape zooms out." +
      (by === "stack" ? " Each frame is called by the one above it." : "") +
      (tree.note === "" ? "" : ` ${tree.note}`);
    this.table.replaceChildren(this.makeTable());
    this.rows.scrollTop = 0;
  }

  makeSelect() {
    const select = hbmstress.element("select", {}, ...this.trees.map(({ by }) =>
      hbmstress.element("option", { value: by }, by === "stack" ? "call stack" : by)));
    select.addEventListener("change", () => {
      this.show(select.value);
      this.draw();
    });
    return hbmstress.element("label", {}, "By ", select);
  }

  mount() {
    this.show(this.trees[0].by);
    this.element.append(
      hbmstress.element("div", { class: "flame-controls" }, this.whole,
        ...(this.trees.length > 1 ? [this.makeSelect()] : []), this.words),
      this.rows, this.panel, this.table);
    this.rows.addEventListener("keydown", (event) => this.handleKey(event));
    this.rows.addEventListener("mouseleave", () => this.describe(this.node, this.trail.slice(0, -1)));
    this.draw();
    new ResizeObserver(() => {
      if (this.rows.clientWidth !== this.width) {
        this.draw();
      }
    }).observe(this.rows);
  }

  // --- boxes ---

  draw() {
    this.boxes = [];
    this.rows.replaceChildren();
    // Asked once: between boxes that are added, each question would lay out the page.
    this.width = this.rows.clientWidth;
    this.trail.forEach((step, i) => this.addBox({ ...step, row: i, left: 0, width: 1,
      trail: this.trail.slice(0, i), parent: i === 0 ? null : this.boxes[i - 1],
      isAbove: i < this.trail.length - 1 }));
    this.drawBelow(this.boxes.at(-1));
    const rowCount = 1 + Math.max(...this.boxes.map((box) => box.row));
    this.rows.style.height = `${rowCount * rowPixels + 2}px`;
    this.whole.disabled = this.trail.length === 1;
    this.boxes[this.trail.length - 1].element.tabIndex = 0;
    this.describe(this.node, this.trail.slice(0, -1));
  }

  drawBelow(first) {
    const bytesMin = this.node.bytes * (boxPixelsMin / Math.max(this.width, 1));
    const waiting = [first];
    while (waiting.length > 0) {
      const box = waiting.pop();
      const room = box.row - first.row + 1 < rowCountMax;
      // What is gathered is seen apart once it fills the width.
      if (room && (!box.node.isOthers || box === first)) {
        waiting.push(...this.addChildren(box, bytesMin).reverse());
      }
    }
  }

  addChildren(parent, bytesMin) {
    const added = [];
    let left = parent.left;
    let taken = null;
    for (const node of gatherChildren(parent.node, bytesMin)) {
      const width = this.node.bytes > 0 ? node.bytes / this.node.bytes : 0;
      if (width > 0) {
        const trail = [...parent.trail, { node: parent.node, isUnknown: parent.isUnknown }];
        const isUnknown = parent.isUnknown ||
          (parent.node === this.root && node.name === "unknown origin");
        taken = colourOf(node.name, taken);
        added.push(this.addBox({ node, isUnknown, row: parent.row + 1, left, width, trail, parent,
          isAbove: false, colour: taken }));
      }
      left += width;
    }
    return added;
  }

  addBox(box) {
    const { node } = box;
    const kind = box.isUnknown ? "is-unknown" : node.isOthers ? "is-others"
      : box.isAbove ? "is-above" : `is-${(box.colour ?? 0) + 1}`;
    const isLabelled = box.width * this.width >= labelPixelsMin;
    box.element = hbmstress.element("div", { class: `flame-box ${kind}`, role: "treeitem",
      tabindex: "-1", "aria-level": String(box.row + 1),
      "aria-label": `${node.name}, ${this.shareText(node)}` },
      ...(isLabelled ? [hbmstress.element("span", {},
        `${node.name} ${hbmstress.formatBytes(node.bytes)}`)] : []));
    box.element.style.left = `${100 * box.left}%`;
    box.element.style.width = `${100 * box.width}%`;
    box.element.style.top = `${box.row * rowPixels}px`;
    box.element.addEventListener("click", () => this.zoomInto(box));
    box.element.addEventListener("mouseenter", () => this.describe(node, box.trail));
    box.element.addEventListener("focus", () => this.describe(node, box.trail));
    this.rows.append(box.element);
    this.boxes.push(box);
    return box;
  }

  // --- zoom ---

  zoomInto(box) {
    this.trail = [...box.trail, { node: box.node, isUnknown: box.isUnknown }];
    this.draw();
    this.boxes[this.trail.length - 1].element.focus();
  }

  zoomTo(length) {
    this.trail.length = Math.max(length, 1);
    this.draw();
    this.boxes[this.trail.length - 1].element.focus();
  }

  // --- keys ---

  focusBox(box) {
    if (box !== undefined && box !== null) {
      box.element.tabIndex = 0;
      box.element.focus();
    }
  }

  siblingOf(box, step) {
    const row = this.boxes.filter((each) => each.row === box.row)
      .sort((a, b) => a.left - b.left);
    return row[row.indexOf(box) + step];
  }

  handleKey(event) {
    const box = this.boxes.find((each) => each.element === document.activeElement);
    const actions = {
      ArrowDown: () => this.focusBox(this.boxes.find((each) => each.parent === box)),
      ArrowUp: () => this.focusBox(box.parent),
      ArrowLeft: () => this.focusBox(this.siblingOf(box, -1)),
      ArrowRight: () => this.focusBox(this.siblingOf(box, 1)),
      Enter: () => this.zoomInto(box),
      Escape: () => this.zoomTo(this.trail.length - 1),
    };
    if (box !== undefined && Object.hasOwn(actions, event.key)) {
      event.preventDefault();
      actions[event.key]();
    }
  }

  // --- words ---

  shareText(node) {
    return `${hbmstress.formatBytes(node.bytes)}, ${formatShare(node.bytes, this.root.bytes)} of all`;
  }

  describe(node, trail) {
    const parent = trail.at(-1)?.node;
    const ofParent = parent === undefined || parent === this.root ? ""
      : `, ${formatShare(node.bytes, parent.bytes)} of ${parent.name}`;
    const path = (trail.length > 1 ? trail.slice(1) : trail).map((step) => step.node.name).join(" › ");
    this.panel.replaceChildren(hbmstress.element("strong", {}, node.name),
      `: ${this.shareText(node)}${ofParent}`);
    if (path !== "") {
      this.panel.append(hbmstress.element("div", { class: "note" }, `in ${path}`));
    }
  }

  makeTable() {
    const largest = listNodes(this.root)
      .filter((each) => each.own > 0)
      .sort((a, b) => b.own - a.own)
      .slice(0, tableRowCount);
    const rows = largest.map(({ node, path, own }) => hbmstress.element("tr", {},
      hbmstress.element("td", {}, shortenPath([...path.slice(1), node.name])),
      hbmstress.element("td", { class: "number" }, hbmstress.formatBytes(own)),
      hbmstress.element("td", { class: "number" }, formatShare(own, this.root.bytes))));
    const head = hbmstress.element("tr", {},
      hbmstress.element("th", {}, "what"),
      hbmstress.element("th", { class: "number" }, "bytes"),
      hbmstress.element("th", { class: "number" }, "share"));
    return hbmstress.element("details", {},
      hbmstress.element("summary", {}, `The largest ${largest.length} as a table`),
      hbmstress.element("table", {}, hbmstress.element("thead", {}, head),
        hbmstress.element("tbody", {}, ...rows)));
  }
}

function mountFlame(element) {
  const run = (hbmstress.loadRun ?? hbmstress.readData)(element.dataset.run);
  if (!(run?.flame?.bytes > 0)) {
    element.append(hbmstress.element("p", { class: "note" }, "Nothing was held."));
    return;
  }
  const flame = new Flame(element, run);
  flame.mount();
  hbmstress.flames.push(flame);
}

hbmstress.keyGroups.push({
  title: "Who holds memory",
  isThere: () => hbmstress.flames.length > 0,
  keys: [["← → ↑ ↓", "to the next box"], ["Enter", "zoom into it"], ["Escape", "zoom out"]],
});

hbmstress.parts.push(function mountAllFlames() {
  document.querySelectorAll("div.flame").forEach(mountFlame);
});
})();
