/** What happened to an alarm, when, and what was said about it by whom. */

import { h } from "../dom.js";
import * as format from "../format.js";
import { withNames } from "../named.js";

/**
 * The log as lines `{time, what, by, text}`, oldest first.
 *
 * Every event repeats the whole alarm, so a line says what is different from the event before.
 * Comments are kept in the alarm and may stand in several events: each is told once.
 */
export function logOf(events) {
  const lines = [];
  const said = new Set();
  let before = null;
  for (const event of events) {
    for (const what of changesOf(event, before)) lines.push({ time: event.time, ...what });
    for (const remark of event.comments ?? []) {
      const key = JSON.stringify([remark.by, remark.time, remark.text]);
      if (said.has(key) || !remark.text) continue;
      said.add(key);
      lines.push({ time: remark.time, what: "comment", by: remark.by, text: remark.text });
    }
    before = event;
  }
  return lines;
}

function changesOf(event, before) {
  const changes = [];
  if (event.event === "raised") {
    const again = before !== null && (event.merged ?? 0) > (before.merged ?? 0);
    changes.push({ what: again ? "opened again" : "raised", text: event.headline });
  }
  if (event.event === "cleared") changes.push({ what: "cleared" });
  if (event.acknowledged_by && event.acknowledged_by !== before?.acknowledged_by) {
    changes.push({ what: "acknowledged", by: event.acknowledged_by });
  }
  if ((event.shelved_until ?? null) !== (before?.shelved_until ?? null)) {
    changes.push(event.shelved_until
      ? { what: `shelved until ${format.clockTime(event.shelved_until)}` }
      : { what: "no longer shelved" });
  }
  if (Boolean(event.normal) !== Boolean(before?.normal)) {
    changes.push({ what: event.normal ? "said to be normal" : "no longer said to be normal" });
  }
  if (event.event === "updated") {
    if (before && event.headline !== before.headline) {
      changes.push({ what: "explained anew", text: event.headline });
    } else if (before && event.peak_score !== before.peak_score && event.peak_score !== null) {
      changes.push({ what: `peak score ${format.number(event.peak_score)}` });
    } else if (before && (event.merged ?? 0) > (before.merged ?? 0)) {
      changes.push({ what: "opened again" });
    }
  }
  return changes;
}

/** The section with the log. */
export function eventsSection(events) {
  const lines = logOf(events);
  return h(
    "section", { class: "panel", "aria-labelledby": "events-title" },
    h("h2", { id: "events-title" }, "What happened when"),
    lines.length === 0
      ? h("p", { class: "soft" }, "Nothing is kept about this alarm any longer.")
      : h("ol", { class: "event-log" }, lines.map((line) => h(
        "li", { class: line.what === "comment" ? "comment" : null },
        h("time", null, format.clockTime(line.time)),
        h("div", null,
          h("span", { class: "what" }, line.what === "comment" ? "" : line.what,
            line.by && (line.what === "comment" ? [h("bdi", null, line.by), " said"] : [" by ", h("bdi", null, line.by)])),
          line.text ? h("p", { class: "said-text" }, line.what === "comment" ? line.text : withNames(line.text)) : null),
      ))),
  );
}
