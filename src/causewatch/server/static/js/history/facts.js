/** The facts about an alarm, in a few short lines at the top of its page. */

import { h } from "../dom.js";
import * as format from "../format.js";
import { meaning, streamDetail } from "../health.js";
import { live } from "../live.js";
import { lengthOf } from "./words.js";

/** Names and values as a list of definitions. */
export function factList(alarm, now) {
  const length = lengthOf(alarm, now);
  const onset = format.seconds(alarm.onset);
  const raised = format.seconds(alarm.raised_at);
  const facts = [["raised", moment(alarm.raised_at)]];
  if (onset !== null && raised !== null && onset < raised) facts.push(["began", moment(alarm.onset)]);
  facts.push(["cleared", alarm.cleared_at ? moment(alarm.cleared_at) : "not yet"]);
  if (length !== null) facts.push([alarm.cleared_at ? "lasted" : "on for", format.span(length)]);
  if (alarm.kind === "anomaly") facts.push(["peak score (limit 1)", format.score(live.peak(alarm))]);
  if (alarm.problem) {
    facts.push(["problem", meaning(alarm.problem)]);
  }
  if (alarm.merged > 0) facts.push(["opened again", format.counted(alarm.merged, "time")]);
  facts.push(["number", alarm.id]);
  return h("dl", { class: "fact-list" }, facts.map(([name, value]) => h(
    "div", null, h("dt", null, name), h("dd", null, value),
  )));
}

function moment(text) {
  return h("time", { title: text }, format.clockTime(text, { date: true }));
}

/** Since when no rows come, who has acknowledged it and until when it is shelved, as sentences; null if there is nothing. */
export function standing(alarm) {
  const said = [streamDetail(alarm, live.now.status)].filter(Boolean);
  if (alarm.normal) said.push("An operator said that this was normal; the like is not raised again.");
  if (alarm.acknowledged_by) {
    // What people call themselves may turn the direction of writing: not that of the sentence.
    said.push(["Acknowledged by ", h("bdi", null, alarm.acknowledged_by), `, ${format.clockTime(alarm.acknowledged_at)}.`]);
  }
  if (alarm.shelved_until) said.push(`Shelved until ${format.clockTime(alarm.shelved_until)}.`);
  return said.length === 0 ? null : h("p", { class: "standing" }, said.map((sentence, k) => [k ? " " : null, sentence]));
}
