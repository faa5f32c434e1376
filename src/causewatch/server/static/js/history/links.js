/** The table of broken links of an alarm. */

import { h } from "../dom.js";
import * as format from "../format.js";
import { lagText } from "../lags.js";
import { signalLink } from "./causes.js";

const MOST_LINKS = 12;
const HEADS = [
  ["From"], ["To"], ["After"], ["Normal → observed", "number"], ["Times its limit", "number"],
];

function told(value) {
  return value === null || value === undefined ? "unknown" : format.number(value, 3);
}

/** The section about broken links; null if there are none. */
export function linksSection(alarm, explanation) {
  const links = (explanation ?? alarm).broken_links ?? [];
  if (links.length === 0) return null;
  const rows = h("tbody", { role: "rowgroup" });
  const rest = links.slice(MOST_LINKS);
  rows.append(...links.slice(0, MOST_LINKS).map((link) => linkRow(link, alarm)));
  const more = rest.length === 0 ? null : h("button", {
    type: "button",
    class: "quiet",
    onclick: () => { rows.append(...rest.map((link) => linkRow(link, alarm))); more.remove(); },
  }, `Show ${rest.length} more`);
  return h(
    "section", { class: "panel", "aria-labelledby": "links-title" },
    h("h2", { id: "links-title" }, "Broken links"),
    h("p", { class: "soft" }, "How strongly one signal acted on another when the plant was normal,"
      + " and how it did here. A change of 1 is the limit of that link."),
    h("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": "Table of broken links" },
      // Roles are written out: on a phone the rows are laid out as cards, which would lose them.
      h("table", { class: "broken-table", role: "table" },
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, HEADS.map(([name, look]) => h(
          "th", { scope: "col", role: "columnheader", class: look }, name,
        )))),
        rows)),
    more,
  );
}

function linkRow(link, alarm) {
  return h(
    "tr", { role: "row" },
    h("td", { role: "cell", class: "name-cell" }, link.source === link.target ? "its own past" : signalLink(link.source, alarm.id)),
    h("td", { role: "cell", class: "name-cell" }, h("span", { class: "arrow", "aria-hidden": "true" }, "→ "), signalLink(link.target, alarm.id)),
    h("td", { role: "cell", class: "keep-line" }, lagText(link.lag)),
    h("td", { role: "cell", class: "number" }, `${told(link.normal)} → ${told(link.observed)}`),
    h("td", { role: "cell", class: "number times" }, told(link.deviation)),
  );
}
