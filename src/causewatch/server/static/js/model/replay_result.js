/** What a replay led to: the score over time, and the alarms that would have been raised. */

import { scoreChart } from "../chart.js";
import { h, replace } from "../dom.js";
import * as format from "../format.js";
import { live } from "../live.js";
import { listed, signalLink } from "../history/causes.js";
import { lengthOf, likely } from "../history/words.js";
import { kindTag } from "../history/table.js";
import { withNames } from "../named.js";
import { differences } from "./replay_settings.js";

/** Columns of the table of alarms: name and class. */
const COLUMNS = [["Raised", "keep-line"], ["Lasted", "keep-line"], ["Kind", null], ["What happened", "what"], ["Causes", null], ["Peak", "number"]];
const MOST_CAUSES = 3;
const MOST_MISSING = 12;

export class ReplayResult {
  constructor() {
    this.title = h("h2", { id: "result-title" });
    this.body = h("div");
    this.element = h("section", { class: "replay-result", "aria-labelledby": "result-title", hidden: true },
      this.title, this.body);
    this.chart = null;
  }

  clear() {
    this.chart?.destroy();
    this.chart = null;
    this.element.hidden = true;
    replace(this.body);
  }

  wait(replay) {
    this.clear();
    this.element.hidden = false;
    this.title.textContent = `Result of ${replay.name}`;
    replace(this.body, h("p", { class: "loading" }, "Loading the result…"));
  }

  fail(sentence) {
    replace(this.body, h("p", { class: "error" }, sentence));
  }

  show(replay, inForce) {
    const { result } = replay;
    if (!result) {
      this.fail("The result is no longer kept; replay the recording again.");
      return;
    }
    const alarms = result.alarms ?? [];
    const anomalies = alarms.filter((alarm) => alarm.kind === "anomaly").length;
    const place = h("div", { class: "result-chart" });
    replace(
      this.body,
      h("p", { class: "lead-line" }, verdict(alarms.length, anomalies, result)),
      h("p", null, `Replayed: ${differences(replay.settings, inForce)}.`),
      missing(result.missing),
      place,
      alarms.length > 0 ? alarmTable(alarms, result.clock) : null,
      problems(result.problems),
    );
    this.chart = scoreChart(place, {
      height: 200, live: false, clock: result.clock, name: `Score of ${replay.name}`,
    });
    this.chart.setData(result);
    this.chart.setAlarms(alarms);
  }
}

function verdict(all, anomalies, result) {
  const size = `${format.counted(result.rows, "row")}, ${format.counted(result.ticks, "tick")}`;
  if (all === 0) return `No alarm would have been raised (${size}).`;
  const health = all - anomalies;
  const parts = [];
  if (anomalies > 0) parts.push(anomalies === 1 ? "1 anomaly" : `${format.count(anomalies)} anomalies`);
  if (health > 0) parts.push(`${format.counted(health, "time")} a signal unwell`);
  const share = typeof result.under_alarm_share === "number"
    ? ` An alarm would have been on for ${format.percent(result.under_alarm_share)} of the time.` : "";
  return `${format.counted(all, "alarm")} would have been raised: ${parts.join(", ")} (${size}).${share}`;
}

function alarmTable(alarms, clock) {
  const ordered = [...alarms].sort(
    (one, other) => (format.seconds(one.raised_at) ?? 0) - (format.seconds(other.raised_at) ?? 0),
  );
  return h(
    "div", { class: "table-frame tall-table", tabindex: "0", role: "region", "aria-label": "Alarms of the replay" },
    // Roles are written out: on a phone the rows are laid out as cards, which would lose them.
    h("table", { class: "replay-alarms card-rows", role: "table" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, COLUMNS.map(
        ([name, look]) => h("th", { scope: "col", role: "columnheader", class: look }, name),
      ))),
      h("tbody", { role: "rowgroup" }, ordered.map((alarm) => {
        const cells = [moment(alarm.raised_at, clock), lasted(alarm), kindTag(alarm), withNames(alarm.headline), causes(alarm), format.score(alarm.peak_score)];
        return h("tr", { role: "row" }, cells.map((cell, k) => h(
          "td", { role: "cell", class: COLUMNS[k][1], "data-label": COLUMNS[k][0] }, cell,
        )));
      }))),
  );
}

/** A recording may count its times otherwise than the live stream: then they stand as written. */
function moment(text, clock) {
  return clock === live.plant.clock ? format.clockTime(text, { date: true }) : String(text ?? "–").replace("T", " ");
}

function lasted(alarm) {
  const length = lengthOf(alarm);
  return length === null ? "until the end" : format.span(length);
}

function causes(alarm) {
  const first = likely(alarm.causes).slice(0, MOST_CAUSES);
  if (first.length === 0) return h("span", { class: "soft" }, "–");
  return listed(first.map((cause) => h("span", null, signalLink(cause.signal), " ",
    h("span", { class: "soft keep-line" }, format.percent(cause.confidence)))));
}

/** Signals that the recording does not have: nothing can be said about them. */
function missing(names) {
  if (!names?.length) return null;
  const shown = listed(names.slice(0, MOST_MISSING).map((name) => signalLink(name)));
  const more = names.length > MOST_MISSING ? ` and ${names.length - MOST_MISSING} more` : "";
  return h("p", null, `The recording lacks ${format.counted(names.length, "signal")} of the model: `, shown, more,
    ". They counted as missing throughout.");
}

function problems(counted) {
  const entries = Object.entries(counted ?? {});
  if (entries.length === 0) return null;
  return h("p", { class: "soft" }, "Left out or put right while reading: ",
    entries.map(([kind, n]) => `${kind.replaceAll("_", " ")} ${format.count(n)}`).join(", "), ".");
}
