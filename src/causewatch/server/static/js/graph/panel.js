/**
 * The panel beside the picture: everything the picture shows, as text, lists and tables that a
 * keyboard and a screen reader reach. Without a selection it lists broken links, causes and signals.
 */

import { h, replace, text } from "../dom.js";
import { address } from "../api.js";
import { counted, percent } from "../format.js";
import { linkPanel } from "./panel_link.js";
import { signalPanel } from "./panel_signal.js";
import { level } from "./looks.js";
import { nameSpan, withNames } from "../named.js";
import { displayName } from "../names.js";
import { likelyCauses } from "./faults.js";
import { lagText } from "../lags.js";
import { changeText, deviationText, evidenceText, unwellList } from "./words.js";

export class Panel {
  #update = () => {};
  #shown = "";

  /** Names of the stages whose lists are unfolded. */
  unfolded = new Set();

  /**
   * @param context () => {evidence, values, expected, unwell, faults, past, alarm}
   * @param act {signal(index), link(source, target), clear(), around(index, hops)}
   */
  constructor(graph, context, act) {
    this.graph = graph;
    this.context = context;
    this.act = act;
    this.element = h("aside", { class: "graph-panel panel", "aria-label": "Signals and links" });
  }

  /**
   * Show what is selected: {signal, to}, both -1 for nothing. The focus stays in the panel: on its
   * heading where the content is another, else where it was, as an alarm may change at any time.
   */
  show({ signal, to }) {
    const same = this.#shown === `${signal}>${to}`;
    const focus = this.#focused();
    const { scrollTop } = this.element;
    const make = signal < 0 ? overview : to < 0 ? signalPanel : linkPanel;
    const { children, update } = make(this, signal, to);
    replace(this.element, children);
    this.#shown = `${signal}>${to}`;
    this.#update = update;
    update();
    this.element.scrollTop = same ? scrollTop : 0;
    if (focus) this.#refocus(same ? focus : null);
  }

  /** What holds the focus: its words, and the how manyth with these words it is. */
  #focused() {
    const held = document.activeElement;
    if (!this.element.contains(held)) return null;
    const words = held.textContent;
    return { words, place: this.#withWords(words).indexOf(held) };
  }

  #refocus(focus) {
    const again = focus && this.#withWords(focus.words)[focus.place];
    (again ?? this.element.querySelector("h2"))?.focus({ preventScroll: true });
  }

  #withWords(words) {
    return [...this.element.querySelectorAll("button, a, summary")].filter((one) => one.textContent === words);
  }

  /** Bring values up to date without building anything anew. */
  update() {
    this.#update();
  }

  /** Heading of the panel; it takes the focus when the content changes under it. */
  heading(...words) {
    return h("h2", { tabindex: "-1" }, words);
  }

  /** A button that leads to a signal. */
  toSignal(index) {
    const signal = this.graph.signals[index];
    return h("button", {
      type: "button", class: "graph-go", onclick: () => this.act.signal(index),
    }, nameSpan(signal));
  }

  /** Button that goes back to the overview. */
  back() {
    return h("button", { type: "button", class: "quiet graph-back", onclick: () => this.act.clear() }, "‹ All");
  }
}

function overview(panel) {
  const { graph, context } = panel;
  const { faults, alarm } = context();
  const top = h("div");
  const high = h("div");
  let known = null;
  let shown = null;
  const update = () => {
    const { evidence, past } = context();
    // The first judgement may come while somebody looks, without any alarm.
    const judged = past || evidence.some((one) => one !== null);
    if (judged !== known) {
      known = judged;
      replace(top, troubles(panel, faults, judged));
    }
    const above = graph.signals.filter((signal) => level(evidence[signal.index]) >= 2).map((signal) => signal.index);
    const key = above.join();
    if (key !== shown) {
      shown = key;
      replace(high, aboveList(panel, above));
    }
    for (const node of high.querySelectorAll("[data-signal]")) {
      text(node, evidenceText(evidence[Number(node.dataset.signal)]));
    }
  };
  return {
    children: [
      panel.heading(alarm ? "In this alarm" : "Now"),
      top, brokenTable(panel, faults), high,
      h("h3", null, "Signals"),
      graph.stages.map((stage) => stageList(panel, stage, graph.stages.length === 1)),
    ],
    update,
  };
}

function troubles(panel, faults, judged) {
  if (!faults.alarms.length) {
    return h("p", { class: "soft" }, judged ? "No alarm is on. Choose a signal to see its causes and effects."
      : "How the signals are is not known: too few ticks have come since this watch was started.");
  }
  return h("ul", { class: "graph-alarms" }, faults.alarms.slice(0, 5).map((alarm) =>
    h("li", null,
      h("a", { href: address(`/alarm/${encodeURIComponent(alarm.id)}`) }, withNames(alarm.headline)),
      causesOf(panel, alarm))),
  faults.alarms.length > 5 ? h("li", { class: "soft" }, `and ${counted(faults.alarms.length - 5, "more alarm")}`) : null);
}

function causesOf(panel, alarm) {
  const causes = likelyCauses(alarm);
  const known = causes.map((cause) => [panel.graph.byName.get(cause.signal), cause.confidence])
    .filter(([index]) => index !== undefined);
  if (!known.length) return null;
  const joint = alarm.abstained ? " or " : " and ";
  return h("p", { class: "small" }, `◎ It ${alarm.abstained ? "may start" : "starts"} at `, known.map(([index, confidence], k) => [
    k ? (k === known.length - 1 ? joint : ", ") : null, panel.toSignal(index), " ", h("span", { class: "keep-line" }, `(${percent(confidence)})`),
  ]), ".");
}

function brokenTable(panel, faults) {
  const ofItself = ({ source, target }) => source === target;
  const rows = [...faults.broken.values()].flat().sort((p, q) => ofItself(p) - ofItself(q) || (q.deviation ?? 0) - (p.deviation ?? 0));
  if (!rows.length) {
    const ill = unwellList(panel.graph, faults.unwell, displayName);
    return h("p", null, `No link is broken${ill ? `; ${ill}` : ""}.`);
  }
  const row = (found) => h("tr", null,
    h("td", null, h("button", {
      type: "button", class: "graph-go",
      title: `${found.source} → ${found.target}: off by ${deviationText(found.deviation)}`,
      onclick: () => panel.act.link(found.sourceIndex, found.targetIndex),
    }, found.source === found.target ? h("span", { class: "graph-pair" }, nameSpan(found.source), ": own past")
      : h("span", { class: "graph-pair" }, nameSpan(found.source), " → ", nameSpan(found.target))),
    h("span", { class: "small soft graph-under" }, lagText(found.lag))),
    h("td", { class: "number" }, changeText(found.normal, found.observed),
      h("span", { class: "small soft graph-under" }, deviationText(found.deviation))));
  return [
    h("h3", null, counted(rows.length, "broken link")),
    h("table", { class: "graph-broken" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Link, lag"), h("th", { scope: "col", class: "number" }, "Coefficient, off by"))),
      h("tbody", null, rows.map(row))),
  ];
}

function aboveList(panel, above) {
  if (!above.length) return [];
  return [
    h("h3", null, `▲ ${counted(above.length, "signal")} above the limit`),
    h("ul", { class: "graph-list" }, above.slice(0, 30).map((index) =>
      h("li", null, panel.toSignal(index), h("span", { class: "small soft", "data-signal": String(index) })))),
    above.length > 30 ? h("p", { class: "soft" }, `and ${above.length - 30} more`) : null,
  ];
}

function stageList(panel, stage, only) {
  const list = h("ul", { class: "graph-names" }, stage.members.map((index) => h("li", null, panel.toSignal(index))));
  if (only && stage.members.length <= 40) return list;
  const keep = ({ target }) => (target.open ? panel.unfolded.add(stage.name) : panel.unfolded.delete(stage.name));
  return h("details", { open: panel.unfolded.has(stage.name), ontoggle: keep },
    h("summary", null, stage.name || "All signals", h("span", { class: "soft" }, ` · ${counted(stage.members.length, "signal")}`)), list);
}
