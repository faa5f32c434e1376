/** Mechanisms: what each signal follows from, how much of it that explains. */

import { h, replace } from "../dom.js";
import * as format from "../format.js";
import { live } from "../live.js";
import { navigate } from "../router.js";
import { listed, otherName, signalLink } from "../history/causes.js";
import { lagText } from "../lags.js";
import { filteredTable } from "./filtered.js";

const SHOWN = 4;

export function mount(panel, model, params) {
  const mechanisms = model.mechanisms ?? [];
  const guarded = live.plant.signals.filter((signal) => signal.guarded);
  const known = new Map(live.plant.signals.map((signal) => [signal.name, signal]));
  const rows = mechanisms.map((one) => {
    const signal = known.get(one.signal);
    return { ...one, unit: signal?.unit ?? null,
      text: [one.signal, signal?.label ?? ""].join(" ") };
  });
  replace(
    panel,
    h("p", null, "A signal is expected to be a weighted sum of its causes some time earlier. The share"
      + " explained is how much of its movement that accounts for; the spread is what remains."),
    filteredTable({
      caption: "Mechanisms", what: "signal", look: "card-rows", rows, query: params.get("search") ?? "",
      onQuery: (text) => navigate("/model", { tab: "mechanisms", search: text }, { replace: true, quiet: true }),
      columns: [
        { name: "Signal", head: true, key: (row) => row.signal, cell: (row) => [
          signalLink(row.signal), otherName(row.signal)] },
        { name: "Explained", number: true, key: (row) => row.explained ?? -1, cell: explained },
        { name: "Spread", number: true, key: (row) => row.spread ?? -1, cell: (row) =>
          `${format.number(row.spread, 3)}${row.unit ? ` ${row.unit}` : ""}` },
        { name: "Causes", number: true, key: (row) => row.causes.length, cell: (row) => row.causes.length },
        { name: "Strongest first: after, coefficient", cell: causes },
      ],
    }),
    guarded.length > 0
      ? h("section", null, h("h2", null, "Without a mechanism"),
        h("p", null, "These hardly move in normal operation; only their range is watched: ",
          listed(guarded.map((signal) => signalLink(signal.name))), "."))
      : null,
  );
  return null;
}

function explained(row) {
  const fill = h("span", null);
  fill.style.width = `${100 * Math.max(0, Math.min(1, row.explained ?? 0))}%`;
  return [format.percent(row.explained), h("span", { class: "bar", "aria-hidden": "true" }, fill)];
}

/** The strongest causes; the others fold out. */
function causes(row) {
  const sorted = [...row.causes].sort((one, other) => Math.abs(other.strength ?? 0) - Math.abs(one.strength ?? 0));
  if (sorted.length === 0) return h("span", { class: "soft" }, "none: it follows nothing that is watched");
  const list = h("ul", { class: "cause-list" }, sorted.slice(0, SHOWN).map((one) => cause(one, row)));
  const rest = sorted.slice(SHOWN);
  if (rest.length === 0) return list;
  const more = h("button", { type: "button", class: "quiet more-button",
    "aria-label": `Show ${rest.length} more causes of ${row.signal}`,
    onclick: () => { list.append(...rest.map((one) => cause(one, row))); more.remove(); },
  }, `${rest.length} more`);
  return [list, more];
}

function cause(one, row) {
  const strength = one.strength === null || one.strength === undefined ? null : `strength ${format.number(one.strength, 2)}`;
  return h("li", { title: strength },
    one.source === row.signal ? h("span", null, "itself") : signalLink(one.source), " ",
    h("span", { class: "soft" }, `${lagText(one.lag)}: `), format.number(one.coefficient, 3));
}
