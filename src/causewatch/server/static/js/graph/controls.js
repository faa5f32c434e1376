/** The filters above the picture and the buttons on it: real form controls, each with its words. */

import { h, text, throttle } from "../dom.js";
import { displayName } from "../names.js";

const HOPS = [["0", "Whole graph"], ["1", "1 step around it"], ["2", "2 steps around it"], ["3", "3 steps around it"]];

/**
 * The filters.
 *
 * @param change called with the part of the state that a person changed
 * @returns {{element, update(state, scene), stop()}}
 */
export function filters(graph, change) {
  const names = h("datalist", { id: "graph-names" },
    graph.signals.map((signal) => h("option", { value: signal.name }, signal.label ?? "")));
  const search = h("input", {
    type: "search", list: "graph-names", placeholder: "name", autocomplete: "off", spellcheck: "false",
  });
  const said = h("span", { class: "graph-unfound", role: "status" });
  const find = () => {
    const wanted = search.value.trim();
    const found = graph.find(wanted);
    text(said, wanted && found < 0 ? "No signal has such a name." : "");
    if (!wanted) change({ signal: -1, to: -1, hops: 0 });
    else if (found >= 0) change({ signal: found, to: -1 });
  };
  search.addEventListener("change", find);
  const hops = h("select", { onchange: () => change({ hops: Number(hops.value) }) },
    HOPS.map(([value, words]) => h("option", { value }, words)));
  const stage = h("select", { onchange: () => change({ stage: Number(stage.value) }) },
    h("option", { value: "-1" }, "all"),
    graph.stages.map((one, k) => h("option", { value: String(k) }, one.name || "all")));
  const least = h("output", { class: "graph-least" });
  const most = Math.max(0.05, Math.floor(graph.strongest * 100) / 100);
  const strength = h("input", { type: "range", min: "0", max: String(most), step: "0.01" });
  // Finding a way for hundreds of arrows takes a while; the number follows the slider at once.
  const choose = throttle(() => change({ strength: Number(strength.value) }), 120);
  strength.addEventListener("input", () => {
    text(least, Number(strength.value).toFixed(2));
    choose();
  });
  const automatic = h("button", {
    type: "button", class: "quiet", title: "Let the number of arrows decide",
    onclick: () => change({ strength: null }),
  }, "Automatic");
  const broken = h("input", { type: "checkbox", onchange: () => change({ broken: broken.checked }) });
  const element = h("form", {
    class: "graph-filters", "aria-label": "What the graph shows",
    onsubmit: (event) => { event.preventDefault(); find(); },
  },
  h("label", null, "Signal", search), names, said,
  h("label", null, h("span", { class: "visually-hidden" }, "How much around the signal"), hops),
  graph.staged ? h("label", null, "Stage", stage) : null,
  h("span", { class: "graph-strength" }, h("label", null, "Strength ≥", strength, least), automatic),
  h("label", null, broken, "Only broken links"));

  const update = (state, scene) => {
    if (document.activeElement !== search) search.value = state.signal >= 0 ? displayName(graph.signals[state.signal]) : "";
    if (state.signal >= 0) text(said, "");
    hops.value = String(state.hops);
    hops.disabled = state.signal < 0;
    stage.value = String(state.stage);
    if (document.activeElement !== strength || state.strength === null) strength.value = String(scene.least);
    text(least, scene.least.toFixed(2));
    automatic.setAttribute("aria-pressed", String(state.strength === null));
    broken.checked = state.broken;
  };
  return { element, update, stop: choose.cancel };
}

/** Buttons that move the picture, and open or close all stages. */
export function viewButtons(graph, canvas, change) {
  const button = (words, label, onclick) =>
    h("button", { type: "button", "aria-label": label, title: label, onclick }, words);
  return h("div", { class: "graph-buttons", role: "group", "aria-label": "Move the picture" },
    graph.stages.length > 1 ? [
      button("Open all", "Open all stages", () => change({ open: new Set(graph.stages.keys()), stage: -1 })),
      button("Close all", "Close all stages to one card each", () => change({ open: new Set(), stage: -1, signal: -1, to: -1, hops: 0 })),
    ] : null,
    button("+", "Zoom in", () => canvas().zoomBy(1.3)),
    button("−", "Zoom out", () => canvas().zoomBy(1 / 1.3)),
    button("Fit", "Fit: show everything", () => canvas().fit()));
}

/** Arrow keys move the picture, + and − zoom, 0 fits. */
export function keys(event, canvas) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = 60;
  const moves = {
    ArrowLeft: () => canvas.panBy(step, 0), ArrowRight: () => canvas.panBy(-step, 0),
    ArrowUp: () => canvas.panBy(0, step), ArrowDown: () => canvas.panBy(0, -step),
    "+": () => canvas.zoomBy(1.3), "=": () => canvas.zoomBy(1.3), "-": () => canvas.zoomBy(1 / 1.3),
    0: () => canvas.fit(),
  };
  if (!moves[event.key]) return;
  event.preventDefault();
  moves[event.key]();
}

/** What the signs mean. */
export function legend() {
  const entry = (kind, words) => h("li", null, h("span", { class: `graph-sign graph-sign-${kind}`, "aria-hidden": "true" }), words);
  return h("ul", { class: "graph-legend", "aria-label": "Legend" },
    entry("normal", "normal"), entry("near", "near its limit"), entry("above", "▲ above its limit"),
    entry("unwell", "◆ unwell (no good values)"), entry("cause", "◎ where it starts (dashed: may start)"),
    entry("link", "cause → effect, thicker is stronger"),
    entry("broken", "broken link: lag (+ more), coefficient normal → now"));
}

/** Files of the graph. `onPng` makes the picture's. */
export function downloads(onPng) {
  const file = (kind, what) =>
    h("a", { class: "button quiet", href: `/api/graph.${kind}`, download: "", title: what }, kind.toUpperCase());
  return h("div", { class: "graph-downloads", role: "group", "aria-label": "Download the graph" },
    h("span", { class: "soft", "aria-hidden": "true" }, "Download"),
    h("button", { type: "button", class: "quiet", onclick: onPng, title: "The picture as it is now" }, "PNG"),
    file("gml", "For network programs such as Gephi and networkx"),
    file("dot", "For Graphviz"), file("json", "For programs"));
}
