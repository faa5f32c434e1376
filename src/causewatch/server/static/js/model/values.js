/** Settings and other plain data as lists that people can read. */

import { h } from "../dom.js";
import * as format from "../format.js";
import { live } from "../live.js";

/** So many ticks, and how long that is: "5 ticks (50 s)". */
export function ticksText(ticks) {
  const { every, clock } = live.plant;
  const counted = format.counted(ticks, "tick");
  return clock === "rows" || !every ? counted : `${counted} (${format.duration(ticks * every)})`;
}

/** A plain value as text; long lists are shortened. */
export function plain(value) {
  if (value === null || value === undefined || value === "") return "–";
  if (value === true) return "yes";
  if (value === false) return "no";
  if (typeof value === "number") return format.number(value, 6);
  if (Array.isArray(value)) {
    if (value.length === 0) return "none";
    const shown = value.slice(0, 8).map(plain).join(", ");
    return value.length > 8 ? `${shown} and ${value.length - 8} more` : shown;
  }
  if (typeof value === "object") {
    const parts = Object.entries(value);
    if (parts.length === 0) return "none";
    const shown = parts.slice(0, 8).map(([name, one]) => `${name}: ${plain(one)}`).join("; ");
    return parts.length > 8 ? `${shown}; and ${parts.length - 8} more` : shown;
  }
  return String(value);
}

/**
 * Rows of name, value and (where known) meaning.
 *
 * @param data names and values
 * @param caption what the table is called, for screen readers
 * @param told by name: [what it is called, how its value is written, what it means]; only these are
 *   shown, in this order, and of them not those whose text is null. Without it all are, by name.
 */
export function valueTable(data, caption, told = null) {
  const given = data ?? {};
  const rows = told === null
    ? Object.entries(given).map(([name, value]) => [name, plain(value), null])
    : Object.entries(told).filter(([name]) => name in given).map(([name, [title, write, meaning]]) => [title, write(given[name]), meaning]);
  const shown = rows.filter(([, value]) => value !== null);
  if (shown.length === 0) return h("p", { class: "soft" }, "Nothing is noted.");
  const explained = shown.some(([, , meaning]) => meaning);
  return h(
    "div", { class: "table-frame" },
    h("table", { class: "value-table" },
      h("caption", { class: "visually-hidden" }, caption),
      h("tbody", null, shown.map(([title, value, meaning]) => h(
        "tr", null,
        h("th", { scope: "row" }, title),
        h("td", { class: "value" }, value),
        explained ? h("td", { class: "soft" }, meaning ?? "") : null,
      )))),
  );
}
