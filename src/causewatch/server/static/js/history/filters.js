/** The form with the filters of the history. */

import { debounce, h } from "../dom.js";
import { fieldSeconds, fieldValue, isDated } from "./times.js";

/**
 * @param plant what /api/plant says
 * @param filters the filters to begin with
 * @param onChange called with new filters when a person has changed them
 * @returns `{element, set(filters), stop()}`; after `stop` nothing is called any more
 */
export function filterForm(plant, filters, onChange) {
  const timed = isDated(plant.clock)
    ? { type: "datetime-local", step: "1" } : { type: "number", step: "any" };
  const unit = { elapsed: " (s)", rows: " row" }[plant.clock] ?? "";
  const kind = select("kind", [["", "All"], ["anomaly", "Anomalies"], ["health", "Signal health"]]);
  const on = select("on", [["", "All"], ["true", "On"], ["false", "Cleared"]]);
  const signal = h("input", { type: "search", list: "history-signals", autocomplete: "off",
    spellcheck: "false", placeholder: "any" });
  const since = h("input", timed);
  const until = h("input", timed);
  const text = h("input", { type: "search", autocomplete: "off", placeholder: "words" });
  const reset = h("button", { type: "button", class: "quiet" }, "Show all");
  // People know a signal by its label as well as by its name; the server knows names only.
  const byWord = new Map([...plant.signals].reverse().flatMap(({ name, label }) => (label ? [[label.toLowerCase(), name]] : [])));
  for (const { name } of plant.signals) byWord.set(name.toLowerCase(), name);
  const named = (typed) => byWord.get(typed.trim().toLowerCase()) ?? typed.trim();

  function set(values) {
    kind.value = values.kind ?? "";
    on.value = values.on ?? "";
    signal.value = values.signal ?? "";
    text.value = values.text ?? "";
    since.value = fieldValue(values.since ?? null, plant.clock);
    until.value = fieldValue(values.until ?? null, plant.clock);
    reset.disabled = Object.keys(values).length === 0;
  }

  function changed() {
    const values = {};
    if (kind.value) values.kind = kind.value;
    if (on.value) values.on = on.value;
    if (signal.value.trim()) values.signal = named(signal.value);
    if (text.value.trim()) values.text = text.value.trim();
    const from = fieldSeconds(since.value, plant.clock);
    const to = fieldSeconds(until.value, plant.clock);
    if (from !== null) values.since = from;
    if (to !== null) values.until = to;
    reset.disabled = Object.keys(values).length === 0;
    onChange(values);
  }

  const later = debounce(changed, 350);
  for (const one of [kind, on, since, until]) one.addEventListener("change", changed);
  text.addEventListener("input", later);
  signal.addEventListener("input", () => {
    // A name that is still being typed is no signal: wait until it is one, or the field is left.
    if (signal.value === "" || byWord.has(signal.value.trim().toLowerCase())) later();
  });
  signal.addEventListener("change", later);
  reset.addEventListener("click", () => { set({}); changed(); kind.focus(); });
  set(filters);

  const element = h(
    "form",
    { class: "filters", role: "search", "aria-label": "Filter alarms",
      onsubmit: (event) => { event.preventDefault(); changed(); } },
    field("Kind", kind), field("State", on), field("Signal", signal),
    field(`From${unit}`, since), field(`Until${unit}`, until),
    field("Text", text), reset,
    h("datalist", { id: "history-signals" }, plant.signals.map(
      (one) => h("option", { value: one.name }, one.label || null),
    )),
  );
  return { element, set, stop: later.cancel };
}

function field(name, input) {
  return h("label", { class: "field-tall" }, h("span", null, name), input);
}

function select(name, choices) {
  return h("select", { name }, choices.map(([value, text]) => h("option", { value }, text)));
}
