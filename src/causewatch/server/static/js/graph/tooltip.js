/** The note beside the pointer. It repeats what the panel says, so screen readers skip it. */

import { h, replace } from "../dom.js";
import { counted, number, percent } from "../format.js";
import { UNWELL } from "../health.js";
import { nameSpan } from "../named.js";
import { displayName } from "../names.js";
import { lagText } from "../lags.js";
import { brokenMeaning, changeText, deviationText, evidenceText, strengthText, unwellText, verdict } from "./words.js";

export class Tooltip {
  constructor(graph, context) {
    this.graph = graph;
    this.context = context;
    this.element = h("div", { class: "graph-tip", hidden: true, "aria-hidden": "true" });
  }

  hide() {
    this.element.hidden = true;
  }

  /** Show what stands at `place` ({x, y} within the picture): a node or an arrow of the scene. */
  show(key, scene, place) {
    const words = this.#words(key, scene);
    if (!words) {
      this.hide();
      return;
    }
    replace(this.element, words);
    this.element.hidden = false;
    const room = this.element.parentElement;
    // Kept inside the picture, on the side of the pointer that has room.
    const left = place.x > room.clientWidth / 2 ? place.x - this.element.offsetWidth - 14 : place.x + 14;
    const top = Math.min(place.y + 14, room.clientHeight - this.element.offsetHeight - 6);
    this.element.style.left = `${Math.max(4, left)}px`;
    this.element.style.top = `${Math.max(4, top)}px`;
  }

  #words(key, scene) {
    if (key[0] === "t") return h("p", null, "Click to close this stage.");
    const node = scene.nodes.find((one) => one.key === key);
    if (node) return node.stage === undefined ? this.#signal(node.signal) : this.#stage(node);
    const arrow = scene.arrows.find((one) => one.key === key);
    return arrow ? this.#arrow(arrow) : null;
  }

  #signal(index) {
    const { evidence, values, expected, unwell, faults, past } = this.context();
    const signal = this.graph.signals[index];
    const unit = signal.unit ? ` ${signal.unit}` : "";
    const cause = faults.causes.get(index);
    const ill = unwell[signal.name] ?? (faults.unwell.has(index) ? { state: faults.unwell.get(index) } : null);
    return [
      h("strong", null, nameSpan(signal)), displayName(signal) === signal.name ? null : h("p", null, signal.name),
      h("p", null, `${verdict(evidence[index], past)}: ${evidenceText(evidence[index], past)}`),
      past ? null : h("p", null, `Value ${number(values[index])}${unit}`,
        signal.guarded ? null : `, expected ${number(expected[index])}${unit}`),
      cause ? h("p", null, `◎ ${cause.sure ? "Starts here" : "May start here"} (${percent(cause.confidence)})`) : null,
      ill ? h("p", null, `${UNWELL} ${unwellText(ill)}`) : null,
    ];
  }

  #stage(node) {
    return [
      h("strong", null, this.graph.stages[node.stage].name),
      h("p", null, `${counted(node.members.length, "signal")}. Click to open.`),
    ];
  }

  #arrow(arrow) {
    const name = (key) => (key[0] === "s" ? nameSpan(this.graph.signals[Number(key.slice(1))]) : this.graph.stages[Number(key.slice(1))].name);
    const title = arrow.loop ? [name(arrow.a), ": own past"] : [name(arrow.a), arrow.directed ? " → " : " – ", name(arrow.b)];
    if (arrow.broken) {
      const worst = arrow.broken[0];
      const several = arrow.broken.some((one) => one.source !== worst.source || one.target !== worst.target);
      return [
        h("strong", null, "▲ ", title),
        arrow.broken.slice(0, 5).map((one) =>
          h("p", null, several ? [nameSpan(one.source), " → ", nameSpan(one.target), ", "] : "", `${lagText(one.lag)}: ${changeText(one.normal, one.observed)}, off by ${deviationText(one.deviation)}`)),
        arrow.loop || several ? null : h("p", null, brokenMeaning(displayName(worst.source), displayName(worst.target), worst)),
      ];
    }
    if (arrow.a[0] === "g" || arrow.b[0] === "g") {
      return [h("strong", null, title), h("p", null, `${counted(arrow.links.length, "link")}, strongest ${strengthText(arrow.strength)}`)];
    }
    return [
      h("strong", null, title),
      arrow.links.slice(0, 6).map((link) =>
        h("p", null, `${lagText(link.lag)}: strength ${strengthText(link.strength)}, coefficient ${number(link.coefficient, 3)}`)),
    ];
  }
}
