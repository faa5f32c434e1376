/** Which part of time the timeline shows: a length that ends at some time, or all of it. */

import { h, replace } from "../dom.js";
import * as format from "../format.js";

const LENGTHS = [600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400];
const ROWS = [100, 1000, 10000, 100000];

/** The range in an address: `{length, end}` in seconds; null is all of it, and until now. */
export function readRange(params) {
  const length = Number(params.get("range"));
  const end = Number(params.get("end"));
  const chosen = params.get("range") !== null && Number.isFinite(length) && length > 0;
  return {
    length: chosen ? length : null,
    end: chosen && params.get("end") !== null && Number.isFinite(end) ? end : null,
  };
}

/** From when to when to draw, given the alarms that are loaded and the time of the stream. */
export function spanOf(range, alarms, now) {
  const starts = alarms.map((one) => format.seconds(one.raised_at)).filter((t) => t !== null);
  const ends = alarms.map((one) => format.seconds(one.cleared_at)).filter((t) => t !== null);
  const latest = now ?? Math.max(...starts, ...ends, 0);
  if (range.length !== null) {
    const end = range.end ?? latest;
    return [end - range.length, end];
  }
  if (starts.length === 0) return [latest - 3600, latest];
  const first = Math.min(...starts);
  const room = Math.max(60, (latest - first) * 0.02);
  return [first - room, Math.max(latest, ...ends)];
}

/** Buttons for the length, and for going earlier and later. */
export class RangeBar {
  constructor(clock, onChange) {
    this.onChange = onChange;
    this.lengths = clock === "rows" ? ROWS : LENGTHS;
    this.name = (length) => (clock === "rows" ? `${length} rows` : format.duration(length));
    this.earlier = h("button", { type: "button", onclick: () => this.shift(-1) }, "← Earlier");
    this.later = h("button", { type: "button", onclick: () => this.shift(1) }, "Later →");
    this.choices = h("div", { class: "segments", role: "group", "aria-label": "Time shown" });
    this.element = h("div", { class: "range-bar" }, this.choices, this.earlier, this.later);
    this.buttons = new Map();
    replace(this.choices, [...this.lengths, null].map((length) => {
      const button = h(
        "button",
        { type: "button", "aria-pressed": "false",
          onclick: () => this.onChange({ length, end: null }) },
        length === null ? "All" : this.name(length),
      );
      this.buttons.set(length, button);
      return button;
    }));
  }

  show(range, now) {
    this.range = range;
    this.now = now;
    for (const [length, button] of this.buttons) {
      button.setAttribute("aria-pressed", String(length === range.length));
    }
    this.earlier.disabled = range.length === null;
    this.later.disabled = range.length === null || range.end === null;
  }

  /** Half a length earlier or later; at the end of the stream it follows the stream again. */
  shift(sign) {
    const { length, end } = this.range;
    const goal = (end ?? this.now ?? 0) + (sign * length) / 2;
    this.onChange({ length, end: this.now !== null && goal >= this.now ? null : goal });
  }
}
