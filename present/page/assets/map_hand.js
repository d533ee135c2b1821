// The reader's hand on a map: wheel, drag, two fingers, keys, and what the pointer shows.
"use strict";

hbmstress.hand = {
  // Where an event is: parts of the picture, from the left and from below.
  place(map, event) {
    const box = map.canvas.getBoundingClientRect();
    return {
      x: event.clientX - box.left,
      y: event.clientY - box.top,
      across: (event.clientX - box.left - map.plot.left) / map.plot.width,
      up: 1 - (event.clientY - box.top - map.plot.top) / map.plot.height,
    };
  },

  isInside: (place) => place.across >= 0 && place.across < 1 && place.up > 0 && place.up <= 1,

  opAt: (map, place) => Math.floor(map.area.begin + place.across * (map.area.end - map.area.begin)),

  // At the whole run a wheel that would zoom out scrolls the page.
  listenToWheel(map) {
    map.canvas.addEventListener(
      "wheel",
      (event) => {
        const place = this.place(map, event);
        const delta = event.deltaY === 0 ? event.deltaX : event.deltaY;
        if (!this.isInside(place) || (delta > 0 && map.isWhole() && !event.shiftKey)) {
          return;
        }
        event.preventDefault();
        const lines = event.deltaMode === 0 ? delta / 100 : delta / 3;
        const factor = 1.35 ** hbmstress.clamp(lines, -4, 4);
        if (event.shiftKey) {
          map.zoomAddresses(factor, place.up);
        } else {
          map.zoomOps(factor, place.across);
        }
      },
      { passive: false },
    );
  },

  // One pointer pans, two zoom; a press without a move chooses the op.
  listenToPointers(map, tip) {
    const { canvas } = map;
    const pointers = new Map();
    let isDragged = false;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, this.place(map, event));
      isDragged = pointers.size > 1;
    });
    canvas.addEventListener("pointermove", (event) => {
      const place = this.place(map, event);
      const before = pointers.get(event.pointerId);
      if (before === undefined) {
        this.hover(map, tip, place);
        return;
      }
      isDragged ||= Math.hypot(place.x - before.x, place.y - before.y) > 3;
      if (isDragged) {
        this.movePointer(map, pointers, event.pointerId, place);
        this.leave(map, tip);
      }
    });
    const end = (event) => {
      const place = pointers.get(event.pointerId);
      if (event.type === "pointerup" && place !== undefined && !isDragged && this.isInside(place)) {
        map.select(this.opAt(map, place));
        this.hover(map, tip, place);
      }
      pointers.delete(event.pointerId);
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    // A finger that was lifted leaves what it showed.
    canvas.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") {
        this.leave(map, tip);
      }
    });
    canvas.addEventListener("dblclick", (event) =>
      map.zoomOps(0.25, this.place(map, event).across),
    );
  },

  movePointer(map, pointers, id, place) {
    const before = pointers.get(id);
    const other = [...pointers].find(([key]) => key !== id)?.[1];
    pointers.set(id, place);
    if (other === undefined) {
      map.pan(before.across - place.across, before.up - place.up);
      return;
    }
    // Fingers that lie beside each other zoom ops, fingers above each other addresses.
    const ratio = (was, is) => hbmstress.clamp(Math.abs(was) / Math.max(Math.abs(is), 1), 0.5, 2);
    if (Math.abs(other.x - before.x) > 40) {
      map.zoomOps(ratio(other.x - before.x, other.x - place.x), (other.across + place.across) / 2);
    }
    if (Math.abs(other.y - before.y) > 40) {
      map.zoomAddresses(ratio(other.y - before.y, other.y - place.y), (other.up + place.up) / 2);
    }
  },

  leave(map, tip) {
    tip.hidden = true;
    if (map.hovered >= 0) {
      map.hovered = -1;
      map.requestFrame();
    }
  },

  hover(map, tip, place) {
    if (!this.isInside(place)) {
      this.leave(map, tip);
      return;
    }
    const { area, plot, index } = map;
    const opSpan = (area.end - area.begin) / plot.width;
    const byteSpan = (area.high - area.low) / plot.height;
    const op = this.opAt(map, place);
    const address = area.low + place.up * (area.high - area.low);
    const found = index.find(map.host, op, address, opSpan, byteSpan);
    if (found !== map.hovered) {
      map.hovered = found;
      map.requestFrame();
    }
    const { blocks } = map.run;
    const isBlock = found >= 0;
    const shownOp = isBlock ? hbmstress.clamp(op, blocks.begin[found], blocks.end[found] - 1) : op;
    tip.replaceChildren(
      ...(isBlock ? this.blockTip(map, found, shownOp) : this.holeTip(map, op, address)),
    );
    this.placeTip(map, tip, place);
  },

  blockTip(map, i, op) {
    const { run } = map;
    const rows = hbmstress.element("dl");
    for (const [word, text] of hbmstress.blockInWords(run, i, op)) {
      rows.append(hbmstress.element("dt", {}, word), hbmstress.element("dd", {}, text));
    }
    return [hbmstress.element("b", {}, hbmstress.tagOf(run, run.blocks.tag[i])), rows];
  },

  holeTip(map, op, address) {
    const { holes } = map.index.occupancy(map.host, op, map.limits.low, map.limits.high);
    const hole = holes.find(
      (each) => address >= each.address && address < each.address + each.size,
    );
    const text =
      hole === undefined
        ? "nothing"
        : `hole of ${hbmstress.formatExactBytes(hole.size)} at ${hbmstress.formatAddress(hole.address)}`;
    return [hbmstress.element("b", {}, hbmstress.opName(map.run, op)), text];
  },

  // Beside the pointer, within the map.
  placeTip(map, tip, place) {
    tip.hidden = false;
    const width = tip.offsetWidth;
    const isRight = place.x + 16 + width < map.canvas.clientWidth;
    const left = isRight ? place.x + 16 : Math.max(place.x - 16 - width, 0);
    const isBelow = place.y + 16 + tip.offsetHeight < map.canvas.clientHeight + 60;
    const top = isBelow ? place.y + 16 : Math.max(place.y - 16 - tip.offsetHeight, 0);
    tip.style.left = `${map.canvas.offsetLeft + left}px`;
    tip.style.top = `${map.canvas.offsetTop + top}px`;
  },

  // On the map and on its buttons; the slider and the choice of the host have keys of their own.
  listenToKeys(map, place) {
    place.addEventListener("keydown", (event) => {
      const isOurs = event.target === map.canvas || event.target.tagName === "BUTTON";
      if (!isOurs || event.ctrlKey || event.altKey || event.metaKey) {
        return;
      }
      const act = this.keyActions(map, event.shiftKey ? 10 : 1)[event.key];
      if (act !== undefined) {
        // The page has keys of the same names.
        event.preventDefault();
        event.stopPropagation();
        act();
      }
    });
  },

  keyActions(map, step) {
    const stepBy = (ops) => map.select(map.op === null ? 0 : map.op + ops);
    return {
      ArrowLeft: () => stepBy(-step),
      ArrowRight: () => stepBy(step),
      PageUp: () => stepBy(-100),
      PageDown: () => stepBy(100),
      Home: () => map.select(0),
      End: () => map.select(map.run.opCount - 1),
      ArrowUp: () => map.pan(0, 0.1),
      ArrowDown: () => map.pan(0, -0.1),
      "+": () => map.zoomOps(0.5, this.chosenPart(map)),
      "=": () => map.zoomOps(0.5, this.chosenPart(map)),
      "-": () => map.zoomOps(2, this.chosenPart(map)),
      0: () => map.showAll(),
      f: () => map.nextFailure(),
    };
  },

  // Keys zoom around the chosen op.
  chosenPart(map) {
    if (map.op === null) {
      return 0.5;
    }
    return hbmstress.clamp((map.op + 0.5 - map.area.begin) / (map.area.end - map.area.begin), 0, 1);
  },

  // In the overview a drag moves the view or one of its edges; of the whole run it chooses a part.
  listenToOverview(map) {
    const { overview } = map;
    const opAt = (event) =>
      ((event.clientX - overview.getBoundingClientRect().left - map.plot.left) / map.plot.width) *
      map.run.opCount;
    let drag = null;
    overview.addEventListener("pointerdown", (event) => {
      overview.setPointerCapture(event.pointerId);
      drag = this.beginOverviewDrag(map, opAt(event));
    });
    overview.addEventListener("pointermove", (event) => {
      if (drag !== null) {
        drag(opAt(event));
      }
    });
    for (const end of ["pointerup", "pointercancel"]) {
      overview.addEventListener(end, () => {
        drag = null;
      });
    }
  },

  // What moves on with the pointer.
  beginOverviewDrag(map, at) {
    const { begin, end } = map.area;
    const near = (6 * map.run.opCount) / map.plot.width;
    const setRange = (from, to) =>
      map.setView({ begin: Math.min(from, to), end: Math.max(from, to) });
    if (map.isWhole()) {
      return (op) => {
        if (Math.abs(op - at) > near) {
          setRange(at, op);
        }
      };
    }
    if (end - begin > 4 * near && Math.abs(at - begin) < near) {
      return (op) => setRange(op, end);
    }
    if (end - begin > 4 * near && Math.abs(at - end) < near) {
      return (op) => setRange(begin, op);
    }
    const isInside = at >= begin - near && at <= end + near;
    const grip = isInside ? at - begin : (end - begin) / 2;
    const move = (op) => map.setView({ begin: op - grip, end: op - grip + end - begin });
    move(at);
    return move;
  },
};
