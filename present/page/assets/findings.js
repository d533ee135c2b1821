// The bar and the keyboard: links to sections, theme, folding, copy buttons, filters, help.
"use strict";
(function () { // its names are its own

// --- what is said to who does not see it ---

// A region that screen readers read out when its text changes.
hbmstress.announce = function (text) {
  let region = document.getElementById("announcement");
  if (region === null) {
    region = hbmstress.element("p", {
      id: "announcement", class: "is-hidden-text", "aria-live": "polite",
    });
    document.body.append(region);
  }
  region.textContent = text;
};

hbmstress.makeButton = function (text, attributes, onClick) {
  const button = hbmstress.element("button", { type: "button", ...attributes }, text);
  button.addEventListener("click", onClick);
  return button;
};

// --- copying ---

// A page from disk may have no clipboard: a selection can still be copied.
function copySelection(text) {
  const area = hbmstress.element("textarea", { class: "is-hidden-text", readonly: "" });
  area.value = text;
  document.body.append(area);
  area.select();
  let isCopied = false;
  try {
    isCopied = document.execCommand("copy");
  } catch {
    // Refused: the caller says so.
  }
  area.remove();
  return isCopied;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelection(text);
  }
}

function makeCopyButton(code) {
  const button = hbmstress.makeButton("Copy", { class: "copy" }, async () => {
    const isCopied = await copyText(code.textContent);
    button.focus();
    button.textContent = isCopied ? "Copied" : "Not copied";
    hbmstress.announce(isCopied ? "Copied to the clipboard" : "The browser refused to copy");
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  });
  button.setAttribute("aria-label", `Copy: ${code.textContent.trim().slice(0, 60)}`);
  return button;
}

// The button stands beside the text, and outside of <pre>, so that nobody selects it as well.
function addCopyButtons() {
  for (const code of document.querySelectorAll("code.copy")) {
    const box = code.parentElement.localName === "pre" ? code.parentElement : code;
    const row = hbmstress.element(box === code ? "span" : "div", { class: "copying" });
    box.replaceWith(row);
    row.append(box, makeCopyButton(code));
  }
}

// --- theme ---

const themes = ["system", "light", "dark"];

// A page from disk may have no storage: then the choice lasts as long as the page.
function readStoredTheme() {
  try {
    const theme = localStorage.getItem("hbmstress-theme");
    return themes.includes(theme) ? theme : "system";
  } catch {
    return "system";
  }
}

function storeTheme(theme) {
  try {
    localStorage.setItem("hbmstress-theme", theme);
  } catch {
    // Nothing is lost but the choice.
  }
}

function applyTheme(theme) {
  if (theme === "system") {
    delete document.documentElement.dataset.theme;
  } else {
    document.documentElement.dataset.theme = theme;
  }
}

function makeThemeSelect() {
  const options = themes.map((theme) =>
    hbmstress.element("option", { value: theme }, theme === "system" ? "system theme" : theme));
  const select = hbmstress.element("select", { class: "theme", "aria-label": "Theme" }, ...options);
  select.value = readStoredTheme();
  applyTheme(select.value);
  select.addEventListener("change", () => {
    applyTheme(select.value);
    storeTheme(select.value);
  });
  return select;
}

// --- folding ---

// The text says what a click does; a reader who opened some of them wants the others open, too.
function makeFoldButton() {
  const all = () => [...document.querySelectorAll("details")];
  const isOpening = () => all().some((details) => !details.open);
  const button = hbmstress.makeButton("", { class: "fold" }, () => {
    const open = isOpening();
    for (const details of all()) {
      details.open = open;
    }
  });
  const label = () => {
    button.textContent = isOpening() ? "Open all" : "Fold all";
  };
  // Toggling does not bubble, but it can be captured.
  document.addEventListener("toggle", label, true);
  label();
  button.hidden = all().length === 0;
  return button;
}

// A link may lead into what is folded.
function openTarget() {
  const target = location.hash === "" ? null : document.getElementById(location.hash.slice(1));
  for (let at = target; at !== null; at = at.parentElement) {
    if (at.localName === "details") {
      at.open = true;
    }
  }
}

// --- findings, one by one ---

function visibleFindings() {
  return [...document.querySelectorAll("article.finding")].filter((finding) => !finding.hidden);
}

// From where the reader is: the finding that has the focus, or what is at the top of the window.
function currentFinding(findings) {
  const focused = findings.indexOf(document.activeElement?.closest("article.finding"));
  if (focused !== -1) {
    return focused;
  }
  const top = document.querySelector("body > header").getBoundingClientRect().bottom;
  const passed = findings.filter((finding) => finding.getBoundingClientRect().top < top);
  return passed.length - 1;
}

function goToFinding(step) {
  const findings = visibleFindings();
  if (findings.length === 0) {
    hbmstress.announce("No finding is shown");
    return;
  }
  const wanted = currentFinding(findings) + step;
  const finding = findings[Math.min(Math.max(wanted, 0), findings.length - 1)];
  finding.tabIndex = -1;
  finding.focus({ preventScroll: true });
  finding.scrollIntoView({ block: "start" });
}

// --- filters ---

// Shows those of items whose text has all words; text is that of the filter.
function filterItems(items, text) {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  let shown = 0;
  for (const item of items) {
    const content = item.textContent.toLowerCase();
    item.hidden = !words.every((word) => content.includes(word));
    shown += item.hidden ? 0 : 1;
  }
  return shown;
}

function makeFilter(items, what) {
  const input = hbmstress.element("input", {
    type: "search", placeholder: `Filter ${items.length} ${what}`, "aria-label": `Filter ${what}`,
  });
  const count = hbmstress.element("span", { class: "note", role: "status" });
  input.addEventListener("input", () => {
    const shown = filterItems(items, input.value);
    count.textContent = input.value === "" ? "" : `${shown} of ${items.length} shown`;
  });
  return hbmstress.element("div", { class: "filter" }, input, count);
}

// Below that many the eye is faster.
const filteredRowsMin = 20;
const filteredFindingsMin = 3;

function addFilters() {
  for (const table of document.querySelectorAll("main table")) {
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
    if (rows.length > filteredRowsMin) {
      table.closest(".scroll").before(makeFilter(rows, "rows"));
    }
  }
  const findings = [...document.querySelectorAll("article.finding")];
  if (findings.length >= filteredFindingsMin) {
    findings[0].before(makeFilter(findings, "findings"));
  }
}

// --- tables ---

// A table wider than the page scrolls within its own box, which the keyboard reaches.
function markWideTable(box, table) {
  const isWide = table.offsetWidth > box.clientWidth;
  box.classList.toggle("is-wide", isWide);
  if (isWide) {
    box.tabIndex = 0;
  } else {
    box.removeAttribute("tabindex");
  }
}

hbmstress.boxTable = function (table) {
  const name = table.caption?.textContent ?? "Table";
  const box = hbmstress.element("div", { class: "scroll", role: "region", "aria-label": name });
  table.replaceWith(box);
  box.append(table);
  new ResizeObserver(() => markWideTable(box, table)).observe(box);
};

// --- the bar ---

function makeLinks() {
  const sections = document.querySelectorAll("main > section[id]");
  const links = [...sections].map((section) => {
    const heading = section.querySelector("h2");
    return hbmstress.element("a", { href: `#${section.id}` }, heading?.textContent ?? section.id);
  });
  return hbmstress.element("nav", { "aria-label": "Sections" }, ...links);
}

// How much of the bar stays in view: all of it, or its links where they have a line of their own.
function measureBar(header) {
  const links = header.querySelector("nav");
  const isNarrow = links.offsetTop > header.querySelector("h1").offsetHeight;
  const hidden = isNarrow ? links.offsetTop - 4 : 0;
  const style = document.documentElement.style;
  style.setProperty("--bar-hidden", `${hidden}px`);
  style.setProperty("--bar", `${header.offsetHeight - hidden}px`);
}

function makeTools() {
  const tools = hbmstress.element("div", { class: "tools" });
  if (document.querySelector("article.finding") !== null) {
    tools.append(hbmstress.makeButton("Next finding", { title: "n" }, () => goToFinding(1)));
  }
  tools.append(makeFoldButton(), makeThemeSelect(),
    hbmstress.makeButton("?", { "aria-label": "Keys", title: "?" }, showHelp));
  return tools;
}

// --- keys ---

hbmstress.keyGroups.unshift({
  title: "Page",
  isThere: () => true,
  keys: [["n p", "next and previous finding"], ["t", "next theme"], ["f", "open or fold all"],
    ["?", "this help"]],
});

hbmstress.keyGroups.push({
  title: "Memory map",
  isThere: () => (hbmstress.maps ?? []).length > 0,
  keys: [["← →", "to the next op (Shift: by 10, Page: by 100)"], ["↑ ↓", "other addresses"],
    ["f", "to the next failure"], ["+ -", "zoom"], ["0", "the whole"]],
});

function makeKeyList(group) {
  const list = hbmstress.element("dl", { class: "keys" });
  for (const [keys, text] of group.keys) {
    const term = hbmstress.element("dt");
    for (const key of keys.split(" ")) {
      term.append(hbmstress.element("kbd", {}, key), " ");
    }
    list.append(term, hbmstress.element("dd", {}, text));
  }
  return list;
}

function makeHelp() {
  const dialog = hbmstress.element("dialog", { id: "keys", "aria-labelledby": "keys-title" },
    hbmstress.element("h2", { id: "keys-title" }, "Keys"));
  for (const group of hbmstress.keyGroups.filter((each) => each.isThere())) {
    dialog.append(hbmstress.element("h3", {}, group.title), makeKeyList(group));
  }
  dialog.append(hbmstress.makeButton("Close", {}, () => dialog.close()));
  document.body.append(dialog);
  return dialog;
}

function showHelp() {
  const dialog = document.getElementById("keys") ?? makeHelp();
  if (!dialog.open) {
    dialog.showModal();
  }
}

function stepTheme() {
  const select = document.querySelector("select.theme");
  select.selectedIndex = (select.selectedIndex + 1) % themes.length;
  select.dispatchEvent(new Event("change"));
  hbmstress.announce(`Theme: ${select.value}`);
}

const pageKeys = {
  n: () => goToFinding(1),
  p: () => goToFinding(-1),
  t: stepTheme,
  f: () => document.querySelector("button.fold").click(),
  "?": showHelp,
};

// Keys are the reader's text where text is typed, and the browser's with Ctrl, Alt or Meta.
function handleKey(event) {
  const isTyping = event.target.closest?.("input, select, textarea, dialog") ?? null;
  if (isTyping === null && !event.ctrlKey && !event.altKey && !event.metaKey &&
      !event.defaultPrevented && Object.hasOwn(pageKeys, event.key)) {
    event.preventDefault();
    pageKeys[event.key]();
  }
}

// --- paper ---

// On paper nothing unfolds; canvases are drawn in light colours.
function prepareToPrint() {
  const theme = document.documentElement.dataset.theme;
  const folded = [...document.querySelectorAll("details:not([open])")];
  applyTheme("light");
  for (const details of folded) {
    details.open = true;
  }
  addEventListener("afterprint", () => {
    applyTheme(theme ?? "system");
    for (const details of folded) {
      details.open = false;
    }
  }, { once: true });
}

function mountBar(header) {
  if (header.querySelector("nav") === null) {
    header.append(makeLinks());
  }
  header.append(makeTools());
  new ResizeObserver(() => measureBar(header)).observe(header);
}

hbmstress.parts.push(function mountPage() {
  const header = document.querySelector("body > header");
  if (header === null) {
    return; // a part of the page, alone
  }
  mountBar(header);
  document.querySelectorAll("main table").forEach(hbmstress.boxTable);
  addFilters();
  addCopyButtons();
  openTarget();
  addEventListener("hashchange", openTarget);
  addEventListener("keydown", handleKey);
  addEventListener("beforeprint", prepareToPrint);
});
})();
