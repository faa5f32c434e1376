/**
 * Names of signals on the page. None is broken between two lines; where there is no room for the
 * whole, its middle is left out before the part that tells it from others. The whole stays in the
 * page, for those who listen and those who search.
 */
import { h } from "./dom.js";
import { live } from "./live.js";
import { displayName, keptFrom, nameTitle } from "./names.js";

/** Names of so many letters fit everywhere. */
const SHORT = 16;
/** Dates within a sentence, which are not broken either. */
const DATE = String.raw`\d{4}-\d\d-\d\d`;

/** What finds names and dates in the sentences of the plant, made anew for another plant. */
let book = { plant: null, pattern: null, names: new Set() };

/** What a signal is called, as an element. */
export function nameSpan(signal) {
  return unbroken(displayName(signal), nameTitle(signal));
}

/** A sentence of the server as text and elements: the names in it, and dates, are not broken. */
export function withNames(sentence) {
  const { pattern, names } = known();
  if (!pattern) return [sentence];
  return String(sentence ?? "").split(pattern).map((part, k) => {
    if (k % 2 === 0) return part;
    return names.has(part) ? unbroken(part, part) : h("span", { class: "keep-line" }, part);
  });
}

function unbroken(name, title) {
  if (name.length <= SHORT) return h("span", { class: "signal-name", title: title === name ? null : title }, name);
  const at = keptFrom(name);
  return h("span", { class: "signal-name signal-name-long", title },
    h("span", { class: "signal-name-head" }, name.slice(0, at)), h("span", { class: "signal-name-kept" }, name.slice(at)));
}

function known() {
  const { plant } = live;
  if (plant && book.plant !== plant) {
    const names = new Set(plant.signals.flatMap(({ name, label }) => [name, label]).filter(Boolean));
    const longestFirst = [...names].sort((p, q) => q.length - p.length);
    const words = longestFirst.map((name) => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
    const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(${[DATE, ...words].join("|")})(?![\\p{L}\\p{N}_])`, "u");
    book = { plant, pattern, names };
  }
  return book;
}
