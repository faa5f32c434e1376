/** Where an alarm starts: causes with bars of confidence, what is unwatched, what follows. */

import { address } from "../api.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { live } from "../live.js";
import { nameSpan, withNames } from "../named.js";
import { displayName } from "../names.js";
import { likely } from "./words.js";

const MOST_CAUSES = 5;
const MOST_LISTED = 20;

/** A link to a signal's chart. Signals that the model does not know are told as text. */
export function signalLink(name, id = null) {
  if (live.index(name) < 0) return h("span", { class: "name" }, nameSpan(name));
  return h("a", { class: "name", href: address("/signals", { alarm: id, signal: name }) }, nameSpan(name));
}

/** The section about causes and consequences; null for an alarm without any. */
export function causesSection(alarm, explanation) {
  const told = explanation ?? alarm;
  const causes = likely(told.causes).slice(0, MOST_CAUSES);
  const unwatched = told.unwatched ?? [];
  const consequences = told.consequences ?? [];
  const checks = told.checks ?? [];
  if (alarm.kind === "health" && causes.length === 0) return null;
  return h(
    "section", { class: "panel", "aria-labelledby": "causes-title" },
    h("h2", { id: "causes-title" }, told.abstained ? "Candidates" : "Where it starts"),
    told.abstained
      ? h("p", null, "The evidence does not single out one signal. The likeliest come first.")
      : null,
    causes.length === 0
      ? h("p", { class: "soft" }, "No cause could be told from the ticks around this alarm.")
      : h("table", { class: "cause-table" },
        h("thead", null, h("tr", null,
          h("th", { scope: "col" }, "Signal"),
          h("th", { scope: "col", class: "number" }, "Confidence"),
          h("td", { class: "bar-cell" }))),
        h("tbody", null, causes.map((cause, place) => causeRow(cause, alarm, place)))),
    unwatched.length > 0
      ? h("p", null, "Not watched by the model, but known to act here: ",
        listed(unwatched.map((one) => h("span", { class: "name" }, nameSpan(one.signal)))), ".")
      : null,
    consequences.length > 0
      ? h("p", { class: "follows" }, "What follows: ",
        listed(consequences.slice(0, MOST_LISTED).map((name) => signalLink(name, alarm.id))),
        consequences.length > MOST_LISTED ? ` and ${consequences.length - MOST_LISTED} more` : "", ".")
      : null,
    checks.length > 0
      ? [h("h3", null, "What to look at next"),
        h("ul", { class: "checks" }, checks.map((check) => h("li", null, withNames(check.text))))]
      : null,
  );
}

function causeRow(cause, alarm, place) {
  const fill = h("span", null);
  fill.style.width = `${100 * Math.max(0, Math.min(1, cause.confidence ?? 0))}%`;
  return h(
    "tr", { class: place === 0 ? "first" : null },
    h("th", { scope: "row", class: "name-cell" }, signalLink(cause.signal, alarm.id), otherName(cause.signal)),
    h("td", { class: "number keep-line" }, format.percent(cause.confidence)),
    h("td", { class: "bar-cell", "aria-hidden": "true" }, h("span", { class: `bar${place === 0 ? " bar-bad" : ""}` }, fill)),
  );
}

/** The name of a signal that is called by its label; null for others. */
export function otherName(name) {
  return displayName(name) === name ? null : h("span", { class: "soft sub-label cut", title: name }, name);
}

/** Elements with commas between them. */
export function listed(elements) {
  return elements.flatMap((element, place) => (place === 0 ? [element] : [", ", element]));
}
