/** Limits: how rarely a false alarm is aimed at, when alarms come and go, and the limit of each signal. */

import { get } from "../api.js";
import { h, replace } from "../dom.js";
import * as format from "../format.js";
import { live } from "../live.js";
import { otherName, signalLink } from "../history/causes.js";
import { filteredTable } from "./filtered.js";
import { ticksText, valueTable } from "./values.js";

/** With hundreds of signals what would be noticed takes minutes to work out; the server says when it gives up. */
const LONG = 310_000;

const times = (x) => `${format.number(x)} × the limit`;

/** The settings of alarms that matter to people: what it is called, the value, what it means. */
const SETTINGS = {
  raise_after: ["Raised after", ticksText, "so long in a row above the limit"],
  clear_below: ["Cleared below", times, "to which all its signals must fall …"],
  clear_after: ["Cleared after", ticksText, "… and stay there for so long"],
  merge_within: ["Opened again within", ticksText, "if the same signals are in trouble so soon after it was cleared"],
  join_within: ["An alarm of its own after", ticksText, "if no signal has joined the one that is on for so long"],
  health_after: ["Unwell for", ticksText, "before an alarm about a signal's health is raised"],
};

export function mount(panel, model) {
  const limits = model.limits ?? {};
  const signals = h("div");
  replace(
    panel,
    h("p", { class: "lead-line" }, sentence(limits)),
    h("dl", { class: "fact-list" }, [
      ["a false alarm aimed at every", often(limits.false_alarm_every)],
      ["the recording bears out up to", often(limits.supported)],
      ["margin", typeof limits.margin === "number" ? format.number(limits.margin) : "–"],
    ].map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))),
    h("h2", null, "When alarms come and go"),
    valueTable(model.settings, "Settings of alarms", SETTINGS),
    h("h2", null, "Signals"),
    signals,
  );
  const stop = new AbortController();
  async function load() {
    replace(signals, h("p", { class: "loading" }, "What would be noticed is being worked out…"), signalTable([]));
    try {
      const answer = await get("/api/noticed", null, { signal: stop.signal, patience: LONG });
      replace(signals, signalTable(answer.signals));
    } catch (error) {
      if (stop.signal.aborted) return;
      const again = h("button", { type: "button", onclick: load }, "Try again");
      replace(signals, h("p", { class: "error" }, error.message, " ", again), signalTable([]));
    }
  }
  load();
  return () => stop.abort();
}

function often(seconds) {
  return seconds === null || seconds === undefined ? "not known" : format.duration(seconds);
}

const ABOVE = "The limits lie by a margin above all that normal operation showed.";

function sentence(limits) {
  const { false_alarm_every: aimed, supported } = limits;
  if (aimed === null || aimed === undefined) {
    return "The limits are those of the published method, one for each link; how often they are wrong is not known.";
  }
  if (supported !== null && supported !== undefined && supported < aimed) {
    return `${ABOVE} One false alarm in ${format.duration(aimed)} is aimed at, but the normal recording is too short`
      + ` to bear out more than ${format.duration(supported)}: expect more false alarms, or learn from a longer one.`;
  }
  return `${ABOVE} One false alarm in ${format.duration(aimed)} is aimed at,`
    + " and the recording is long enough to bear that out.";
}

/**
 * What would be noticed about each signal. A change counts as noticed if it passes a limit in time
 * in half of the cases; null says that no such change is, however large.
 */
function signalTable(found) {
  const { signals, stages } = live.plant;
  const noticed = new Map(found.map((one) => [one.signal, one]));
  const rows = signals.map((signal) => {
    const stage = signal.stage === null ? null : stages[signal.stage];
    return { signal, stage, noticed: noticed.get(signal.name) ?? null,
      text: [signal.name, signal.label ?? "", stage ?? ""].join(" ") };
  });
  const columns = [
    { name: "Signal", head: true, cell: (row) => [signalLink(row.signal.name), otherName(row.signal.name)], key: (row) => row.signal.name },
    { name: "Stage", cell: (row) => row.stage ?? "–", key: (row) => row.stage ?? "" },
    { name: "Watched by", cell: (row) => (row.signal.guarded ? "its range" : "its causes"),
      key: (row) => Number(row.signal.guarded) },
    { name: "Band", cell: (row) => within(row.signal) },
  ];
  if (noticed.size > 0) {
    columns.push(
      { name: "Offset", number: true, key: (row) => row.noticed?.bias ?? Infinity,
        cell: (row) => least(row, "bias", 1, row.signal.unit) },
      { name: "Drift per min", number: true, key: (row) => row.noticed?.drift_per_s ?? Infinity,
        cell: (row) => least(row, "drift_per_s", 60, row.signal.unit) },
      { name: "Weaker causes", number: true, key: (row) => row.noticed?.mechanism_share ?? Infinity,
        cell: (row) => (row.noticed ? share(row.noticed.mechanism_share) : "–") },
    );
  }
  const time = found[0]?.within_s;
  return [
    noticed.size > 0
      ? h("p", null, "The smallest change of a signal that is noticed",
        time ? ` within ${format.duration(time)}` : "", " in half of the cases: an offset of the sensor,"
        + " a growing offset, or a signal that follows its causes more weakly.")
      : null,
    filteredTable({ caption: "Limits of signals", what: "signal", look: "card-rows", columns, rows }),
  ];
}

function least(row, name, times, unit) {
  if (!row.noticed) return "–";
  const value = row.noticed[name];
  if (value === null || value === undefined) return "not noticed";
  return `${format.number(value * times, 3)}${unit ? ` ${unit}` : ""}`;
}

function share(value) {
  if (value === null || value === undefined) return "not noticed";
  return value > 1 ? "more than 100 %" : format.percent(value); // as the command line says it
}

function within(signal) {
  if (signal.guarded) return `${format.number(signal.low)} to ${format.number(signal.high)}`;
  return signal.spread === null ? "–" : `expected ± ${format.number(3 * signal.spread, 3)}`;
}
