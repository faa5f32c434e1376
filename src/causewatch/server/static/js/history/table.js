/** The list of alarms as a table whose rows change in place. */

import { h, replace, text } from "../dom.js";
import * as format from "../format.js";
import { UNWELL } from "../health.js";
import { live } from "../live.js";
import { nameSpan, withNames } from "../named.js";
import { kindWord, lengthOf, statesOf } from "./words.js";

const HEADS = ["Raised", "Lasted", "Kind", "What happened", "First cause", "Peak", "State"];

export class AlarmTable {
  constructor() {
    this.body = h("tbody", { role: "rowgroup" });
    this.rows = new Map();
    // Roles are written out: on a phone the rows are laid out as cards, which would lose them.
    this.element = h(
      "table", { class: "alarms", role: "table" },
      h("caption", { class: "visually-hidden" }, "Alarms, latest raised first"),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, HEADS.map((head) => h(
        "th", { scope: "col", role: "columnheader", class: head === "Peak" ? "number" : null }, head,
      )))),
      this.body,
    );
  }

  /** Show these alarms; rows of alarms that did not change are left alone. */
  show(alarms, now) {
    const rows = new Map();
    let place = this.body.firstElementChild;
    for (const alarm of alarms) {
      let row = this.rows.get(alarm.id);
      if (!row) row = makeRow();
      if (row.alarm !== alarm) fillRow(row, alarm, now);
      rows.set(alarm.id, row);
      if (row.element === place) place = place.nextElementSibling;
      else this.body.insertBefore(row.element, place);
    }
    for (const [id, row] of this.rows) if (!rows.has(id)) row.element.remove();
    this.rows = rows;
  }

  /** Bring durations and peaks of alarms that are on up to date. */
  tick(now) {
    for (const { alarm, cells } of this.rows.values()) {
      if (!alarm.cleared_at) showProgress(cells, alarm, now);
    }
  }
}

function makeRow() {
  const cells = {};
  for (const [name, label] of [
    ["raised", "Raised"], ["lasted", "Lasted"], ["kind", "Kind"], ["what", "What happened"],
    ["cause", "First cause"], ["peak", "Peak"], ["state", "State"],
  ]) {
    cells[name] = h("td", { role: "cell", class: `cell-${name}`, "data-label": label });
  }
  // One link per row, made once, so that it keeps the focus while the alarm changes.
  const link = h("a", { class: "headline" });
  cells.what.append(link);
  return { element: h("tr", { role: "row" }, Object.values(cells)), cells, link, alarm: null };
}

function fillRow(row, alarm, now) {
  const { cells, link, element } = row;
  row.alarm = alarm;
  element.className = `${alarm.kind}${alarm.cleared_at ? "" : " on"}${alarm.normal ? " normal" : ""}`;
  link.setAttribute("href", `/alarm/${encodeURIComponent(alarm.id)}`);
  replace(link, withNames(alarm.headline || `Alarm ${alarm.id}`));
  text(cells.raised, format.clockTime(alarm.raised_at));
  replace(cells.kind, kindTag(alarm));
  replace(cells.cause, firstCause(alarm));
  // A card on a phone leaves out what there is nothing to say about.
  cells.cause.classList.toggle("is-none", !alarm.causes?.length);
  showProgress(cells, alarm, now);
  replace(cells.state, stateTags(alarm));
}

/** What goes on while an alarm is on. */
function showProgress(cells, alarm, now) {
  const length = lengthOf(alarm, now);
  text(cells.lasted, length === null ? "–" : format.span(length));
  const peak = live.peak(alarm);
  cells.peak.classList.toggle("is-none", peak === null);
  text(cells.peak, format.score(peak));
}

/** The kind with the look that its bars have in the timeline. */
export function kindTag(alarm) {
  return h("span", { class: "alarm-kind" },
    h("span", { class: `alarm-key ${alarm.kind}`, "aria-hidden": "true" }),
    alarm.kind === "health" ? `${UNWELL} ${kindWord(alarm)}` : kindWord(alarm));
}

/** All states as tags. */
export function stateTags(alarm) {
  return statesOf(alarm).map(({ word, tone }) => h(
    "span", { class: `tag ${tone}`, title: word }, h("span", { class: "cut" }, word),
  ));
}

function firstCause(alarm) {
  const first = alarm.causes?.[0];
  if (!first) return h("span", { class: "soft" }, "–");
  const sure = first.confidence === null ? "" : format.percent(first.confidence);
  return [
    h("span", { class: "name" }, nameSpan(first.signal)), " ",
    h("span", { class: "soft keep-line" }, alarm.abstained ? `unclear, ${sure}` : sure),
  ];
}
