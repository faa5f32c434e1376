/** Provenance: which recordings a model was learnt from, when, with what. */

import { h, replace } from "../dom.js";
import * as format from "../format.js";
import { lagText } from "../lags.js";
import { live } from "../live.js";
import { plain, ticksText, valueTable } from "./values.js";

/** What was not asked for was chosen by what the recording is like. */
const chosen = (write) => (value) => (value === null || value === undefined ? "chosen from the recording" : write(value));
const lasting = (seconds) => (typeof seconds === "number" ? format.duration(seconds) : plain(seconds));

/** The settings of learning as people call them; see `valueTable`. */
const ASKED = {
  preset: ["Preset", plain],
  method: ["Method", (name) => String(name).toUpperCase()],
  test: ["Test of independence", plain],
  alpha: ["Chance of a false link (alpha)", plain],
  fdr: ["Corrected for many tests", plain],
  keep_start_up: ["Start-up learnt as well", plain],
  every: ["One tick every", chosen(lasting)],
  max_lag: ["Longest lag", chosen(lagText)],
  false_alarm_every: ["One false alarm in", (value) => (value === null ? null : lasting(value))],
  seed: ["Seed of random numbers", plain],
};

/** How rows become ticks; see `valueTable`. */
const TAKEN = {
  every: ["One tick every", lasting],
  max_lag: ["Longest lag", lagText],
  hold: ["Last value fills gaps of up to", (ticks) => (ticks ? ticksText(ticks) : null)],
  step: ["Rows of a tick", (step) => (step === null ? "averaged" : `one in ${step} is taken as it is`)],
  reason: ["Chosen because", plain],
};

export function mount(panel, model) {
  const origin = model.provenance ?? {};
  const { plant } = live;
  const { signals, dropped, ...steps } = model.preprocessing ?? {};
  const facts = [
    ["learnt", format.wallTime(origin.created)],
    ["rows", format.count(origin.rows)],
    ["ticks", `${format.count(origin.ticks)}, each of ${plant.tick}`],
    ["windows", format.count(origin.windows)],
    ["from", format.clockTime(origin.first, { date: true })],
    ["to", format.clockTime(origin.last, { date: true })],
    ["preset", plant.preset],
    ["signals", format.count((signals ?? plant.signals).length)],
    ["links", format.count(plant.links.length)],
  ];
  replace(
    panel,
    h("dl", { class: "fact-list" }, facts.map(([name, value]) => h(
      "div", null, h("dt", null, name), h("dd", null, value ?? "–"),
    ))),
    h("h2", null, "Files"),
    files(origin.files ?? []),
    h("div", { class: "halves" },
      h("section", null, h("h2", null, "What was asked for"),
        valueTable(origin.settings, "Settings of learning", ASKED)),
      h("section", null, h("h2", null, "How rows become ticks"),
        valueTable(steps, "How rows become ticks", TAKEN),
        dropped && Object.keys(dropped).length > 0
          ? [h("h2", null, "Left out"), valueTable(dropped, "Signals left out")] : null,
        h("h2", null, "Versions"), valueTable(origin.versions, "Versions of libraries"))),
  );
  return null;
}

function files(list) {
  if (list.length === 0) {
    return h("p", { class: "soft" }, "The model was learnt from a table in memory, not from files.");
  }
  return h(
    "div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": "Files" },
    h("table", { class: "file-table" },
      h("thead", null, h("tr", null,
        h("th", { scope: "col" }, "Name"), h("th", { scope: "col", class: "number" }, "Rows"),
        h("th", { scope: "col" }, "SHA-256"))),
      h("tbody", null, list.map((file) => h(
        "tr", null, h("th", { scope: "row" }, file.name),
        h("td", { class: "number" }, format.count(file.rows)),
        h("td", null, h("code", null, file.sha256 ?? "not known")),
      )))),
  );
}
