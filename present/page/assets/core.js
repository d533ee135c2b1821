// What every part of the page uses: the data, text that stays text, sizes as people write them.
"use strict";
const hbmstress = {};

// An element with attributes and children; a string becomes text, never markup.
hbmstress.element = function (name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
};

// The JSON of <script type="application/json" id=ID>; null where the page has none.
hbmstress.readData = function (id) {
  const script = document.getElementById(id);
  return script === null ? null : JSON.parse(script.textContent);
};

// "24.0K", "5.17M": as size_print_field prints bytes in messages, in tables and in words. Less than a
// byte is left of a rate alone.
hbmstress.formatBytes = function (bytes) {
  if (bytes < 1024) {
    return `${Number.isInteger(bytes) ? bytes : bytes.toFixed(1)}B`;
  }
  const units = "KMGTPE";
  let unit = 0;
  let value = Math.floor(bytes);
  while (value >= 1024 * 1024 && unit + 1 < units.length) {
    value = Math.floor(value / 1024);
    unit++;
  }
  const decimals = unit === 0 ? 1 : 2;
  const scaled = (value * 10 ** decimals) / 1024;
  const digits = Math.floor(scaled);
  const isUp = scaled - digits > 0.5 || (scaled - digits === 0.5 && digits % 2 === 1);
  return `${((digits + isUp) / 10 ** decimals).toFixed(decimals)}${units[unit]}`;
};

hbmstress.formatAddress = (address) => `0x${address.toString(16)}`;

// Calls back whenever the colours changed: the reader chose a theme, or the system's setting did.
hbmstress.onThemeChange = function (callback) {
  new MutationObserver(callback).observe(document.documentElement,
    { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", callback);
};

// Base64 text as bytes.
hbmstress.decodeBase64 = function (text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) {
    bytes[i] = binary.charCodeAt(i);
  }
  return bytes;
};

// Reads the numbers of a stream: LEB128, seven bits a byte, the lowest first, exact up to 2^53. Past
// the end all numbers are 0.
hbmstress.NumberReader = class {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  isAtEnd() {
    return this.at >= this.bytes.length;
  }
  unsigned() {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.at < this.bytes.length ? this.bytes[this.at] : 0;
      this.at++;
      value += (byte & 127) * scale;
      if (byte < 128) {
        return value;
      }
      scale *= 128;
    }
  }
  // 0, -1, 1, -2, 2 ... were written as 0, 1, 2, 3, 4.
  signed() {
    const value = this.unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
};

// What the help lists.  Each part of the page adds its own: {title, isThere, keys: [[keys, what they
// do], ...]}; keys are separated by blanks, and isThere() is whether the page has that part.
hbmstress.keyGroups = [];

// Parts of the page by the name of their script: each is a function that is called once the page
// is there.
hbmstress.parts = [];
