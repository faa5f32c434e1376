/** The panel of the link from one signal to another, with all its lags. */

import { h } from "../dom.js";
import { number } from "../format.js";
import { lagText } from "../lags.js";
import { nameSpan } from "../named.js";
import { displayName } from "../names.js";
import { arrowKey } from "./model.js";
import {
  brokenMeaning, chanceText, deviationText, linkMeaning, strengthText, strengthWord,
} from "./words.js";

/** @returns {{children, update}} */
export function linkPanel(panel, source, target) {
  const { graph, context } = panel;
  const names = [source, target].map((index) => displayName(graph.signals[index]));
  const { faults, past } = context();
  const broken = faults.broken.get(arrowKey(source, target)) ?? [];
  const links = source === target ? graph.own[source] : (graph.arrows.get(arrowKey(source, target))?.links ?? []);
  const lags = [...new Set([...broken, ...links].map((one) => one.lag))];
  const spans = [source, target].map((index) => nameSpan(graph.signals[index]));
  const title = source === target ? [spans[0], " and its own past"] : [spans[0], " → ", spans[1]];
  return {
    children: [
      h("div", { class: "graph-head" }, panel.heading(title), panel.back()),
      h("p", { class: "row" }, broken.length
        ? h("span", { class: "tag tag-bad" }, past ? "Broken in this alarm" : "Broken")
        : h("span", { class: "tag tag-good" }, "As learnt"),
      source === target ? null : [panel.toSignal(source), "causes", panel.toSignal(target)]),
      lags.length ? null : h("p", null, "The model holds no such link."),
      lags.map((lag) => section(
        names, links.find((one) => one.lag === lag), broken.find((one) => one.lag === lag), graph,
        lags.length > 1, past,
      )),
      source === target || !graph.arrows.has(arrowKey(target, source)) ? null
        : h("p", { class: "small" }, "There is a link the other way as well: ",
          h("button", { type: "button", class: "graph-go", onclick: () => panel.act.link(target, source) },
            `${names[1]} → ${names[0]}`)),
    ],
    update: () => {},
  };
}

/** One lag of the link. */
function section([source, target], link, found, graph, several, past) {
  const lag = (link ?? found).lag;
  const facts = [];
  const fact = (name, value, hint) => facts.push(h("dt", null, name), h("dd", { title: hint }, value));
  if (!several) fact("Lag", lagText(lag));
  if (found) {
    fact("Coefficient, normal", number(found.normal, 3));
    fact(past ? "Coefficient, in the alarm" : "Coefficient, now", number(found.observed, 3));
    fact("Off by", deviationText(found.deviation), "1 is as far as normal operation strays");
  } else {
    fact("Coefficient", number(link.coefficient, 3), "Change of the effect per unit of the cause");
  }
  if (link) {
    fact("Strength", `${strengthText(link.strength)} (${strengthWord(link.strength)})`, "Partial correlation: 1 and −1 are the strongest");
    fact("p-value", chanceText(link.p), "How likely chance alone would look like this link");
  }
  return [
    several ? h("h3", null, found ? `▲ ${lagText(lag)}: broken` : lagText(lag)) : null,
    h("dl", { class: "graph-facts" }, facts),
    link && source !== target ? h("p", null, linkMeaning(source, target, link)) : null,
    source === target ? h("p", null, `${target} depends on what it was ${lagText(lag)} before.`) : null,
    found ? h("p", { class: "graph-meaning" }, source === target
      ? `Now ${target} moves from one value to the next in another way than it normally does.`
      : brokenMeaning(source, target, found)) : null,
  ];
}
