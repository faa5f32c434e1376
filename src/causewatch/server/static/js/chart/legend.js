/** The legend of a chart: a line of text whose numbers follow the cursor or the latest tick. */

import { h, text } from "../dom.js";

/**
 * Fill `line` with items and give a function that writes their values.
 *
 * @param {HTMLElement} line
 * @param {[string, string, string, string?][]} items [name, key: class of the drawn sample or "",
 *   word, what it means]
 * @returns {(values: Object<string, string>) => void}
 */
export function legendOf(line, items) {
  const places = new Map();
  for (const [name, key, word, meaning] of items) {
    const value = h("span", { class: "chart-value" });
    places.set(name, value);
    line.append(h("span", { class: `chart-item chart-item-${name}`, title: meaning },
      key ? h("span", { class: `chart-key ${key}`, "aria-hidden": "true" }) : null,
      word ? `${word} ` : null, value));
  }
  return (values) => {
    for (const [name, words] of Object.entries(values)) text(places.get(name), words);
  };
}
