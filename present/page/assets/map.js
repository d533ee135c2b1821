// The memory map, address by time, in each <div class="map" data-run="run-N">.
"use strict";

hbmstress.maps = [];

hbmstress.mountMap = function (place, number) {
  const run = hbmstress.loadRun(place.dataset.run);
  if (run === null) {
    return;
  }
  const listId = `map-${number}-failures`;
  const canvas = hbmstress.element("canvas", {
    class: "map-picture",
    tabindex: 0,
    role: "application",
    "aria-roledescription": "memory map",
    "aria-describedby": listId,
    "aria-label":
      `Memory map of ${run.title}: addresses by ops. ` +
      "Arrow keys step op by op, plus and minus zoom, f goes to the next failure.",
  });
  const overview = hbmstress.element("canvas", { class: "map-overview", "aria-hidden": "true" });
  const tip = hbmstress.element("div", { class: "map-tip", "aria-hidden": "true" });
  tip.hidden = true;
  const map = new hbmstress.MemoryMap(run, canvas, overview);
  map.listeners.push(() => {
    if (map.op !== null) {
      document.dispatchEvent(new CustomEvent("hbmstress:op", { detail: { run: place.dataset.run, op: map.op } }));
    }
  });
  const { panel, hand } = hbmstress;
  place.append(
    panel.makeControls(map),
    panel.makeLegend(map),
    canvas,
    overview,
    tip,
    panel.makeSlider(map),
    panel.makePanel(map),
    hbmstress.element(
      "p",
      { class: "map-hint" },
      "Wheel: fewer or more ops; with Shift: addresses. Drag: move. Click: choose an op. On the map, " +
        "← → step by one op (Shift: 10, Page: 100), ↑ ↓ move addresses, " +
        "+ − zoom, 0 shows the whole run, f goes to the next failure.",
    ),
    panel.makeFailureList(map, listId),
  );
  hand.listenToWheel(map);
  hand.listenToPointers(map, tip);
  hand.listenToKeys(map, place);
  hand.listenToOverview(map);
  // What was folded until now may have a size by then: what is printed unfolds, in light colours.
  hbmstress.onThemeChange(() => {
    map.resize();
    map.drawNow();
  });
  new ResizeObserver(() => map.resize()).observe(canvas);
  map.resize();
  if (run.gravest !== null) {
    map.select(run.gravest.op);
  }
  hbmstress.maps.push(map);
};

hbmstress.parts.push(() =>
  document.querySelectorAll("div.map[data-run]").forEach(hbmstress.mountMap),
);
