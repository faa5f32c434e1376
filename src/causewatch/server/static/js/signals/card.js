/** One signal with its chart, facts, parents and children. */

import { address } from "../api.js";
import { SignalChart } from "../chart.js";
import { evidenceWords } from "../chart/signal.js";
import { h, text } from "../dom.js";
import { number, percent } from "../format.js";
import { live } from "../live.js";
import { nameSpan } from "../named.js";
import { displayName, nameTitle } from "../names.js";
import { health, linkWords, relatives } from "./words.js";

export class SignalCard {
  /**
   * @param {string} name the signal
   * @param {object} options
   * @param {ChartGroup} options.group shared time axis
   * @param {number} options.height of the drawing
   * @param {(name: string) => void} options.onAdd show this one as well
   * @param {(name: string) => void} options.onRemove
   */
  constructor(name, { group, height, onAdd, onRemove }) {
    this.name = name;
    this.index = live.index(name);
    this.adders = new Map();
    const { label, unit, stage, explained, guarded, spread, low, high } = live.plant.signals[this.index];
    const shown = displayName(name);
    const other = shown === name ? label : name;
    const stageName = stage === null ? "none" : live.plant.stages[stage];
    this.health = h("span", { class: "tag" });
    this.evidence = h("dd");
    const place = h("div", { class: "signal-chart" });
    this.root = h("article", { class: "panel signal-card", "aria-label": shown },
      h("header", { class: "signal-head" },
        h("h2", null, nameSpan(name)),
        other ? h("span", { class: "soft cut", title: other }, other) : null,
        this.health,
        h("span", { class: "signal-tools" },
          h("a", { href: address("/graph", { signal: name }), class: "button quiet", "aria-label": `${shown} in the graph` }, "Graph"),
          h("button", { type: "button", class: "quiet", "aria-label": `Remove ${shown}`, onclick: () => onRemove(name) }, "✕"))),
      place,
      h("div", { class: "signal-side" },
        h("dl", { class: "signal-facts" },
          fact("Unit", unit ?? "none given"),
          fact("Stage", stageName),
          guarded ? fact("Allowed", low === null ? "–" : `${number(low)} to ${number(high)}`) : fact("Explained", percent(explained)),
          guarded ? null : fact("Spread", number(spread, 3)),
          h("div", null, h("dt", null, "Evidence now"), this.evidence)),
        guarded ? h("p", { class: "soft small" }, "Nothing was learnt that explains it; it is only kept within its limits.") : null,
        this.kin(onAdd)));
    this.chart = new SignalChart(place, { signal: name, group, height });
    this.refresh();
  }

  kin(onAdd) {
    const { parents, children } = relatives(this.index);
    return h("div", { class: "signal-kin" },
      this.kinList("Parents", "what it follows", parents, onAdd),
      this.kinList("Children", "what follows it", children, onAdd));
  }

  kinList(title, meaning, kin, onAdd) {
    return h("section", null,
      h("h3", null, `${title} `, h("span", { class: "soft" }, kin.length ? `${meaning} · ${kin.length}` : `${meaning} · none`)),
      h("ul", null, kin.map(({ name, links }) => {
        const add = h("button", { type: "button", class: "kin-add", "aria-label": `Add ${displayName(name)}`, title: `Show ${nameTitle(name)} as well`, onclick: () => onAdd(name) }, "+");
        if (!this.adders.has(name)) this.adders.set(name, []);
        this.adders.get(name).push(add);
        return h("li", null, add,
          h("a", { href: address("/signals", { signal: name }), title: `Go to ${nameTitle(name)}` }, nameSpan(name)),
          h("span", { class: "soft kin-link", title: linkWords(links, true) }, linkWords(links)));
      })));
  }

  /** `shown`: signals that are there already; `full`: no more can be added. */
  mark(shown, full) {
    for (const [name, buttons] of this.adders) for (const button of buttons) button.disabled = full || shown.includes(name);
  }

  refresh() {
    const { word, kind, detail } = health(this.name);
    text(this.health, this.chart.group.live ? word : `now ${word}`);
    if (this.health.title !== detail) this.health.title = detail;
    const look = kind ? `tag tag-${kind}` : "tag";
    if (this.health.className !== look) this.health.className = look;
    text(this.evidence, `${evidenceWords(live.now.evidence?.[this.index] ?? null)} of 1`);
  }

  destroy() {
    this.chart.destroy();
    this.root.remove();
  }
}

function fact(name, value) {
  return h("div", null, h("dt", null, name), h("dd", { class: "cut", title: value }, value));
}
