// What stands around the canvas of a map: legend, buttons, the slider, the op in words.
"use strict";

hbmstress.panel = {
  // A small picture of each state and mitigation that occurs.
  makeLegend(map) {
    const legend = hbmstress.element("ul", { class: "map-legend", "aria-label": "Legend" });
    const redraw = () => legend.replaceChildren(...this.legendItems(map));
    hbmstress.onThemeChange(redraw);
    redraw();
    return legend;
  },

  legendItems(map) {
    const { run } = map;
    const colours = hbmstress.readColours(run.states, 1);
    const items = [...new Set(run.blocks.state)]
      .sort((a, b) => a - b)
      .filter((state) => state < run.states.length)
      .map((state) =>
        hbmstress.element("li", {}, this.makeSwatch(colours.looks[state].tile), run.states[state]),
      );
    items.push(
      hbmstress.element(
        "li",
        {},
        this.makeSwatch(new Uint32Array(256).fill(hbmstress.pixelOf(colours.back))),
        "hole",
      ),
    );
    if (run.failures.length > 0) {
      items.push(
        hbmstress.element(
          "li",
          {},
          hbmstress.element("b", { class: "map-cross" }, "×"),
          this.crossMeaning(run.failures),
        ),
      );
    }
    if (run.failures.some((failure) => failure.isOom)) {
      items.push(
        hbmstress.element(
          "li",
          {},
          hbmstress.element("i", { class: "map-fit" }),
          "its size beside a hole (outlined); red is what the hole lacks",
        ),
      );
    }
    for (const kind of [...new Set(run.marks.kind)].sort()) {
      const { letter, name } = hbmstress.overlay.markLooks[kind];
      items.push(hbmstress.element("li", {}, hbmstress.element("b", {}, letter), name));
    }
    return items;
  },

  crossMeaning(failures) {
    const meanings = [];
    if (failures.some((failure) => failure.isOom)) {
      meanings.push("request that failed");
    }
    if (failures.some((failure) => !failure.isOom)) {
      meanings.push("broken promise");
    }
    return meanings.join(", ");
  },

  makeSwatch(tile) {
    const side = hbmstress.tileSide;
    const swatch = hbmstress.element("canvas", { width: 28, height: side, "aria-hidden": "true" });
    const image = new ImageData(28, side);
    const pixels = new Uint32Array(image.data.buffer);
    for (let i = 0; i < pixels.length; i++) {
      pixels[i] = tile[Math.floor(i / 28) * side + ((i % 28) % side)];
    }
    swatch.getContext("2d").putImageData(image, 0, 0);
    return swatch;
  },

  makeButton(text, label, act) {
    const button = hbmstress.element(
      "button",
      { type: "button", title: label, "aria-label": label },
      text,
    );
    button.addEventListener("click", act);
    return button;
  },

  makeControls(map) {
    const controls = hbmstress.element("div", {
      class: "map-controls",
      role: "group",
      "aria-label": "What the map shows",
    });
    if (map.run.hosts.length > 1) {
      controls.append(this.makeHostChoice(map));
    }
    controls.append(
      this.makeButton("ops +", "Zoom in: fewer ops", () => map.zoomOps(0.5)),
      this.makeButton("ops −", "Zoom out: more ops", () => map.zoomOps(2)),
      this.makeButton("addresses +", "Zoom in: fewer addresses", () => map.zoomAddresses(0.5)),
      this.makeButton("addresses −", "Zoom out: more addresses", () => map.zoomAddresses(2)),
      this.makeButton("whole run", "Show the whole run", () => map.showAll()),
    );
    this.appendFailureButtons(map, controls);
    const { shown } = map.run;
    if (shown !== undefined && shown.blocks < shown.of) {
      controls.append(
        hbmstress.element(
          "span",
          { class: "map-said" },
          `${hbmstress.formatCount(shown.blocks)} of ${hbmstress.formatCount(shown.of)} rectangles are drawn`,
        ),
      );
    }
    return controls;
  },

  appendFailureButtons(map, controls) {
    const { failures } = map.run;
    if (failures.length === 0) {
      return;
    }
    const first = this.makeButton("first failure", "Zoom to the first failure", () =>
      map.goToFailure(failures[0]),
    );
    first.className = "map-failing";
    controls.append(first);
    if (failures.length > 1) {
      const next = this.makeButton("next failure", "Zoom to the next failure", () =>
        map.nextFailure(),
      );
      next.className = "map-failing";
      controls.append(next);
    }
  },

  makeHostChoice(map) {
    const choice = hbmstress.element("select", { "aria-label": "Host" });
    map.run.hosts.forEach((host, i) => {
      choice.append(
        hbmstress.element(
          "option",
          { value: i },
          `${host.name} (${hbmstress.formatBytes(host.capacity)})`,
        ),
      );
    });
    choice.addEventListener("change", () => map.setHost(Number(choice.value)));
    const show = () => {
      choice.value = map.host;
    };
    map.listeners.push(show);
    show();
    return choice;
  },

  makeSlider(map) {
    const last = Math.max(map.run.opCount - 1, 0);
    const input = hbmstress.element("input", {
      type: "range",
      min: 0,
      max: last,
      step: 1,
      "aria-label": "Op",
    });
    const output = hbmstress.element("output");
    input.value = 0;
    input.addEventListener("input", () => map.select(Number(input.value)));
    const show = () => {
      input.value = map.op ?? 0;
      output.textContent =
        map.op === null
          ? `${hbmstress.countOf(map.run.opCount, "op")}`
          : `${hbmstress.opName(map.run, map.op)} (${hbmstress.formatCount(map.op + 1)} of ${hbmstress.formatCount(map.run.opCount)})`;
    };
    map.listeners.push(show);
    show();
    return hbmstress.element(
      "div",
      { class: "map-slider" },
      this.makeButton("‹", "The op before", () => map.select((map.op ?? 0) - 1)),
      input,
      this.makeButton("›", "The next op", () => map.select(map.op === null ? 0 : map.op + 1)),
      output,
    );
  },

  // The chosen op in words, told to who cannot see the canvas.
  makePanel(map) {
    const panel = hbmstress.element("div", { class: "map-panel", "aria-live": "polite" });
    const show = () => panel.replaceChildren(...this.panelParts(map));
    map.listeners.push(show);
    show();
    return panel;
  },

  panelParts(map) {
    const { run, op } = map;
    if (op === null) {
      return [
        hbmstress.element(
          "p",
          {},
          "Choose an op: click the map, move the slider, or press an arrow key on the map.",
        ),
      ];
    }
    const step = hbmstress.stepAt(run, op);
    const heading = hbmstress.element(
      "b",
      {},
      `${hbmstress.opName(run, op)}${step === "" ? "" : `, ${step}`}: `,
    );
    const parts = [hbmstress.element("p", {}, heading, hbmstress.opInWords(run, op).join(" · "))];
    const occupancy = map.index.occupancy(map.host, op, map.limits.low, map.limits.high);
    parts.push(hbmstress.element("p", {}, hbmstress.occupancyInWords(occupancy)));
    parts.push(...this.markParts(map));
    for (const failure of run.failures.filter((each) => each.op === op)) {
      parts.push(this.failurePart(run, failure));
    }
    return parts;
  },

  markParts(map) {
    const { run, op } = map;
    const { marks } = run;
    const shownMax = 20;
    const from = hbmstress.lowerBound(marks.op, marks.count, op);
    const to = hbmstress.lowerBound(marks.op, marks.count, op + 1);
    if (from === to) {
      return [];
    }
    const list = hbmstress.element("ul");
    for (let i = from; i < Math.min(to, from + shownMax); i++) {
      list.append(hbmstress.element("li", {}, hbmstress.markInWords(run, marks, i)));
    }
    if (to - from > shownMax) {
      list.append(
        hbmstress.element("li", {}, `and ${hbmstress.formatCount(to - from - shownMax)} more`),
      );
    }
    return [list];
  },

  failurePart(run, failure) {
    const part = hbmstress.element(
      "div",
      { class: "map-failure" },
      hbmstress.element(
        "p",
        {},
        hbmstress.element(
          "b",
          {},
          failure.isOom ? `Out of memory, ${failure.verdict}. ` : "A promise was broken.",
        ),
        failure.isOom ? this.failureSentence(failure) : "",
      ),
    );
    if (failure.reason) {
      part.append(
        hbmstress.element(
          "p",
          {},
          failure.rule ? `${failure.rule}: ${failure.reason}` : failure.reason,
        ),
      );
    }
    if (failure.message) {
      part.append(hbmstress.element("pre", { class: "map-message" }, failure.message));
    }
    return part;
  },

  failureSentence(failure) {
    const lacking = failure.requested - failure.largestHole;
    return (
      `Asked ${hbmstress.formatExactBytes(failure.requested)}; ${hbmstress.formatBytes(failure.free)} were free, the largest ` +
      `hole ${hbmstress.formatBytes(failure.largestHole)}` +
      (lacking > 0 ? `: ${hbmstress.formatBytes(lacking)} too small.` : ": large enough.")
    );
  },

  // The failures in words: what the canvas shows, for who does not see it.
  makeFailureList(map, id) {
    const { run } = map;
    if (run.failures.length === 0) {
      return hbmstress.element("p", { id, class: "map-hint" }, "No request failed.");
    }
    const shown = run.failures.slice(0, 100);
    const list = hbmstress.element("ol");
    for (const failure of shown) {
      const text = hbmstress.failureInShort(run, failure);
      list.append(
        hbmstress.element(
          "li",
          {},
          this.makeButton(text, text, () => map.goToFailure(failure)),
        ),
      );
    }
    if (run.failureCount > shown.length) {
      list.append(
        hbmstress.element(
          "li",
          {},
          `and ${hbmstress.formatCount(run.failureCount - shown.length)} more`,
        ),
      );
    }
    const said = run.failures.every((failure) => failure.isOom)
      ? `${hbmstress.countOf(run.failureCount, "request")} failed`
      : hbmstress.countOf(run.failureCount, "failure");
    return hbmstress.element(
      "details",
      { id, class: "map-failures" },
      hbmstress.element("summary", {}, said),
      list,
    );
  },
};
