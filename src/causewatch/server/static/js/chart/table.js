/** The last ticks of a chart as a table, for those who would rather read, or cannot see. */

import { h, text, throttle } from "../dom.js";
import { moment } from "./time.js";

const ROWS = 20;

export class TickTable {
  constructor(chart) {
    this.chart = chart;
    this.body = null;
    this.root = h("div", { class: "chart-table", hidden: true, tabindex: "0", role: "region", "aria-label": `${chart.options.name}: the last ${ROWS} ticks shown` });
    this.button = h("button", {
      type: "button", class: "chart-table-button", "aria-expanded": "false",
      "aria-label": `Table of ${chart.options.name}`, title: `The last ${ROWS} ticks as a table`, onclick: () => this.toggle(),
    }, "Table");
    this.refresh = throttle(() => this.fill(), 1000);
  }

  toggle() {
    const open = this.root.hidden;
    this.root.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    if (open) this.fill();
  }

  /** Rows are made once and only their words change: nothing jumps while ticks come in. */
  fill() {
    if (this.root.hidden) return;
    if (!this.body) this.make();
    const { rows, clock, every } = this.chart;
    let at = this.chart.lastShown();
    for (const row of this.body.rows) {
      while (at >= 0 && rows.names.every((name) => rows[name][at] === null)) at -= 1;
      const words = at < 0 ? [] : [moment(rows.t[at], clock, every), ...this.chart.cells(at)];
      [...row.cells].forEach((cell, i) => text(cell, words[i] ?? ""));
      at -= 1;
    }
  }

  make() {
    const heads = ["Time", ...this.chart.head()];
    this.body = h("tbody", null, Array.from({ length: ROWS }, () =>
      h("tr", null, heads.map((_, i) => h(i ? "td" : "th", { scope: i ? null : "row", class: "number" })))));
    this.root.append(h("table", null,
      h("caption", { class: "visually-hidden" }, `${this.chart.options.name}: the last ${ROWS} ticks, latest first`),
      h("thead", null, h("tr", null, heads.map((head) => h("th", { scope: "col", class: "number" }, head)))),
      this.body));
  }

  destroy() {
    this.refresh.cancel();
  }
}
