/** Data quality: what learning found in the recording, what it means, and what to do. */

import { h, replace } from "../dom.js";
import * as format from "../format.js";
import { signalLink, listed } from "../history/causes.js";

const SEVERITIES = [
  ["problem", "Problems", "tag-bad", "The model should not be trusted as it is."],
  ["warning", "Warnings", "tag-warn", "The model works, but not as well as it could."],
  ["info", "Notes", "", "Good to know."],
];
const MOST_SIGNALS = 12;

export function mount(panel, model) {
  const findings = model.findings ?? [];
  if (findings.length === 0) {
    replace(panel, h("p", { class: "empty" }, "Nothing was found in the recording that one should know about."));
    return null;
  }
  const groups = SEVERITIES.map(([severity, title, tag, meaning]) => ({
    title, tag, meaning, severity, found: findings.filter((one) => one.severity === severity),
  }));
  replace(
    panel,
    h("p", null, "What learning found in the recording: ",
      groups.map(({ title, tag, found }) => [
        h("span", { class: `tag ${found.length > 0 ? tag : ""}` }, tally(found.length, title)), " ",
      ])),
    groups.filter((group) => group.found.length > 0).map(({ title, meaning, severity, found }) => h(
      "section", { class: `findings ${severity}`, "aria-labelledby": `findings-${severity}` },
      h("h2", { id: `findings-${severity}` }, `${title} `, h("span", { class: "soft" }, meaning)),
      h("ul", { class: "finding-list" }, found.map(finding)),
    )),
  );
  return null;
}

/** "1 warning", "2 warnings": titles are plural. */
function tally(count, title) {
  const word = title.toLowerCase();
  return `${count} ${count === 1 ? word.replace(/s$/, "") : word}`;
}

function finding(one) {
  return h(
    "li", { class: "finding" },
    h("p", { class: "finding-text" }, one.text),
    h("dl", { class: "finding-pairs" },
      pair("Means", one.meaning),
      one.remedy ? pair("Do", one.remedy) : null,
      one.span ? pair("When", `${format.clockTime(one.span[0], { date: true })} – ${format.clockTime(one.span[1], { date: true })}`) : null,
      one.signals?.length > 0 ? pair("Signals", signals(one.signals)) : null),
  );
}

function pair(name, value) {
  return h("div", null, h("dt", null, name), h("dd", null, value));
}

function signals(names) {
  const shown = listed(names.slice(0, MOST_SIGNALS).map((name) => signalLink(name)));
  if (names.length <= MOST_SIGNALS) return shown;
  const rest = h("span", { hidden: true }, ", ", listed(names.slice(MOST_SIGNALS).map((name) => signalLink(name))));
  const more = h("button", {
    type: "button", class: "quiet more-button", onclick: () => { rest.hidden = false; more.remove(); },
  }, `and ${names.length - MOST_SIGNALS} more`);
  return [shown, rest, " ", more];
}
