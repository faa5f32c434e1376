/** The panel of one signal: how it is now, its causes and its effects. */

import { address } from "../api.js";
import { h, text } from "../dom.js";
import { number, percent } from "../format.js";
import { UNWELL } from "../health.js";
import { lagList } from "../lags.js";
import { nameSpan } from "../named.js";
import { displayName } from "../names.js";
import { arrowKey } from "./model.js";
import { evidenceText, strengthText, unwellText, verdict } from "./words.js";

/** @returns {{children, update}} */
export function signalPanel(panel, index) {
  const { graph, context, act } = panel;
  const signal = graph.signals[index];
  const { faults, past, alarm } = context();
  const value = h("dd");
  const expected = h("dd");
  const state = h("dd");
  const bar = h("span");
  const evidence = h("dd", null, h("span"), h("span", { class: "bar", "aria-hidden": "true" }, bar));
  const ill = h("p", { class: "graph-ill" });
  // The other of its two names, if it has two.
  const under = displayName(signal) === signal.name ? signal.label : signal.name;
  const unit = signal.unit ? ` ${signal.unit}` : "";
  const cause = faults.causes.get(index);
  const told = faults.unwell.has(index) ? { state: faults.unwell.get(index) } : null;
  const update = () => {
    const now = context();
    const known = now.evidence[index];
    text(value, number(now.values[index]) + unit);
    text(expected, expectedText(signal, now.expected[index]) + unit);
    text(evidence.firstChild, evidenceText(known, past));
    text(state, told && (known ?? null) === null ? `${UNWELL} Unwell` : verdict(known, past));
    bar.style.width = `${Math.min(100, 50 * (known ?? 0))}%`;
    bar.parentNode.classList.toggle("bar-bad", known >= 1);
    const unwell = now.unwell[signal.name] ?? told;
    text(ill, unwell ? `${UNWELL} ${unwellText(unwell)}` : "");
    ill.hidden = !unwell;
  };
  const links = (title, list, end) => linkList(panel, title, list, end, faults);
  return {
    children: [
      h("div", { class: "graph-head" }, panel.heading(nameSpan(signal)), panel.back()),
      under ? h("p", { class: "soft graph-tag" }, under) : null,
      cause ? h("p", { class: "graph-cause" },
        `◎ ${cause.sure ? "The alarm starts here" : "The alarm may start here"} (${percent(cause.confidence)}).`) : null,
      ill,
      h("dl", { class: "graph-facts" },
        past ? null : [h("dt", null, "Value now"), value, h("dt", null, "Expected"), expected],
        h("dt", null, past ? "State in this alarm" : "State"), state,
        h("dt", null, "Evidence"), evidence,
        graph.staged ? [h("dt", null, "Stage"), h("dd", null, graph.stages[signal.stage].name)] : null,
        h("dt", null, "Explained"), h("dd", { title: "Share of its changes that its causes explain" },
          signal.guarded ? "guarded: normally constant" : percent(signal.explained))),
      h("div", { class: "row graph-acts" },
        h("a", { class: "button", href: address("/signals", { alarm: alarm?.id, signal: signal.name }) }, "See its course"),
        h("button", { type: "button", onclick: () => act.around(index, 1) }, "Only neighbours")),
      links("Causes", graph.into[index], "source"),
      links("Effects", graph.from[index], "target"),
      ownPast(panel, index, faults),
    ],
    update,
  };
}

function expectedText(signal, expected) {
  if (signal.guarded) return `${number(signal.low)} to ${number(signal.high)}`;
  if (expected === null || expected === undefined || !Number.isFinite(signal.spread)) return number(expected);
  return `${number(expected)} ± ${number(3 * signal.spread, 2)}`;
}

/** Causes or effects: one line per signal, the name one click away, the link another. */
function linkList(panel, title, links, end, faults) {
  const { graph, act } = panel;
  const byOther = new Map();
  for (const link of links) {
    if (!byOther.has(link[end])) byOther.set(link[end], []);
    byOther.get(link[end]).push(link);
  }
  const line = ([other, bundle]) => {
    const strongest = bundle[0];
    const { source, target } = strongest;
    const broken = faults.broken.has(arrowKey(source, target));
    const shown = `${broken ? "▲ broken · " : ""}${lagList(bundle)} · ${strengthText(strongest.strength)}`;
    return h("li", { class: broken ? "graph-is-broken" : null },
      panel.toSignal(other),
      h("button", {
        type: "button", class: "graph-go graph-link",
        "aria-label": `${shown}: link from ${displayName(graph.signals[source])} to ${displayName(graph.signals[target])}`,
        onclick: () => act.link(source, target),
      }, shown));
  };
  return [
    h("h3", { class: "graph-between" }, `${title} (${byOther.size})`, byOther.size ? h("span", { class: "graph-hint" }, "lag · strength") : null),
    byOther.size
      ? h("ul", { class: "graph-list" }, [...byOther].map(line))
      : h("p", { class: "soft" }, title === "Causes" ? "No other signal was found to cause it." : "It was found to cause no other signal."),
  ];
}

function ownPast(panel, index, faults) {
  const own = panel.graph.own[index];
  const broken = faults.broken.has(arrowKey(index, index));
  if (!own.length && !broken) return null;
  return h("p", { class: "small" }, "It also follows its ",
    h("button", { type: "button", class: "graph-go", onclick: () => panel.act.link(index, index) }, "own past"),
    broken ? ", and no longer as learnt (▲ broken)." : ".");
}
