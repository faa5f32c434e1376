/** Charts of the first causes and effects around an alarm, sharing one time axis. */

import { get } from "../api.js";
import { ChartGroup, SignalChart } from "../chart.js";
import { h, replace, text } from "../dom.js";
import * as format from "../format.js";
import { live } from "../live.js";
import { signalLink } from "./causes.js";
import { likely, signalsOf } from "./words.js";

const MOST_CHARTS = 4;
/** A cause less likely than this gives its place to what was upset. */
const LEAST_CHARTED = 0.05;
const HEIGHT = 150;
/** Ticks that may lie between the course of an alarm and the live stream for the two to be joined. */
const NEAR = 60;

/** Signals worth a chart: causes, then ends of broken links, then others concerned. */
export function charted(alarm, explanation) {
  const told = explanation ?? alarm;
  const causes = (told.causes ?? [])
    .filter((cause, place) => place === 0 || cause.confidence >= LEAST_CHARTED)
    .map((cause) => cause.signal);
  const links = (told.broken_links ?? []).flatMap((link) => [link.target, link.source]);
  const known = new Set(live.plant.signals.map((one) => one.name));
  const all = [...causes.slice(0, 2), ...links, ...(told.consequences ?? []), ...signalsOf({ ...alarm, causes: likely(alarm.causes) })];
  return [...new Set(all)].filter((name) => known.has(name)).slice(0, MOST_CHARTS);
}

/** Why a headline and the drawing beside it may give different numbers. */
const DASHED = "The dashed line is what was expected one tick ahead, from the values seen until then. The headline"
  + " compares with what its causes alone would have given since the onset, so its number may differ.";

/** A sentence where the ticks that are kept end before the alarm does; "" otherwise. */
function endText(alarm, t) {
  const end = format.seconds(alarm.cleared_at) ?? live.now?.t ?? null;
  if (t.length < 2 || end === null) return "";
  const last = t.at(-1);
  const step = (last - t[0]) / (t.length - 1); // more than a tick where they were thinned
  if (end - last <= Math.max(NEAR * live.plant.every, 3 * step)) return "";
  return `The ticks kept with this alarm end at ${format.time(last)}, before the alarm ${alarm.cleared_at ? `does (${format.clockTime(alarm.cleared_at)})` : "does; it is still on"}.`;
}

export class CourseCharts {
  constructor() {
    this.body = h("div", { class: "course-charts" });
    this.element = h(
      "section", { class: "panel", "aria-labelledby": "course-title" },
      h("h2", { id: "course-title" }, "Course"), this.body,
    );
    this.names = [];
    this.charts = [];
    this.turn = 0;
  }

  destroy() {
    this.turn += 1;
    for (const chart of this.charts) chart.destroy();
    this.charts = [];
    this.group = null;
  }

  /** Show an alarm; charts are made anew only if other signals are to be shown. */
  async show(alarm, explanation, kept) {
    this.id = alarm.id;
    const names = charted(alarm, explanation);
    if (!kept || names.length === 0) {
      this.destroy();
      this.names = [];
      replace(this.body, h("p", { class: "soft" }, names.length === 0
        ? "This alarm names no signal that could be drawn."
        : "The ticks around this alarm are no longer kept, so nothing can be drawn."));
      return;
    }
    if (names.join("\n") !== this.names.join("\n")) this.build(names);
    const turn = (this.turn += 1);
    try {
      const series = await get(`/api/alarms/${encodeURIComponent(alarm.id)}/course`, { signal: names });
      if (turn !== this.turn) return;
      const last = series.t.at(-1) ?? -Infinity;
      for (const chart of this.charts) {
        // Live ticks may have gone beyond what is kept with the alarm; they stay.
        if (last >= (chart.rows.last ?? -Infinity)) chart.setData(series);
        chart.setAlarms([alarm], alarm.id);
      }
      this.on = !alarm.cleared_at;
      if (!this.moved && this.on) this.group.follow(null);
      else if (!this.moved) this.group.fit();
      text(this.note, series.t.length === 0 ? "No ticks are kept of that time." : "");
      text(this.under, [endText(alarm, series.t), alarm.kind === "anomaly" ? DASHED : ""].filter(Boolean).join(" "));
    } catch (error) {
      if (turn === this.turn) replace(this.note, error.message);
    }
  }

  /** Live ticks go on in the charts of an alarm that is on, unless there is a gap in between. */
  append({ ticks, skipped }) {
    const first = ticks[0]?.[0];
    if (!this.on || first === undefined) return;
    for (const chart of this.charts) {
      const { last } = chart.rows;
      if (last !== null && first - last <= NEAR * live.plant.every) chart.append(ticks, skipped);
    }
  }

  build(names) {
    this.destroy();
    this.names = names;
    this.on = false;
    this.moved = false; // Whoever has zoomed or panned keeps what is shown.
    this.group = new ChartGroup({ every: live.plant.every });
    this.group.addEventListener("range", ({ detail }) => { if (detail.byHand) this.moved = true; });
    this.note = h("p", { class: "soft", role: "status" }, "Loading the ticks around this alarm…");
    const places = names.map((name) => ({ name, place: h("div", { class: "course-chart" }) }));
    this.under = h("p", { class: "soft course-under" });
    replace(this.body, this.note, places.map(({ name, place }) => h(
      "div", null, h("h3", null, signalLink(name, this.id)), place,
    )), this.under);
    this.charts = places.map(({ name, place }, k) => new SignalChart(
      place, { signal: name, height: HEIGHT, group: this.group, timeLabel: k === places.length - 1 },
    ));
  }
}
