/** What is said about an alarm in a few words: kind, state, length, first cause. */

import { seconds } from "../format.js";
import { UNWELL, does, ofRows } from "../health.js";
import { live } from "../live.js";
import { shortName } from "../names.js";

/** Causes less likely than this are not worth a line, a chart or a shade. */
const LEAST_LIKELY = 0.01;

/** The causes worth telling: the first, and those that are not all but ruled out. */
export function likely(causes) {
  return (causes ?? []).filter((cause, place) => place === 0 || cause.confidence === null || cause.confidence >= LEAST_LIKELY);
}

/** What an alarm is about in a few words: its first cause, or "LIT101 stands still". */
export function subject(alarm, most = 40) {
  if (alarm.kind !== "health") return alarm.causes?.[0] ? shortName(alarm.causes[0].signal, most) : "cause unclear";
  const names = Object.keys(alarm.signals ?? {});
  if (ofRows(alarm.problem)) return `Rows ${does(alarm.problem)}`;
  const others = names.length > 1 ? ` and ${names.length - 1} more` : "";
  return `${names.length ? shortName(names[0], most) : "A signal"} ${does(alarm.problem)}${others}`;
}

/** "Anomaly", "Signal health" or "Stream health". */
export function kindWord(alarm) {
  if (alarm.kind !== "health") return "Anomaly";
  return ofRows(alarm.problem) ? "Stream health" : "Signal health";
}

/**
 * How long an alarm lasted, or has lasted until `now`, in seconds; null if that is unknown, as it is
 * while no rows come: the plant's time stands still.
 */
export function lengthOf(alarm, now = null) {
  if (!alarm.cleared_at && alarm.problem === "silent") return null;
  const start = seconds(alarm.raised_at);
  const end = alarm.cleared_at ? seconds(alarm.cleared_at) : now;
  return start === null || end === null ? null : Math.max(0, end - start);
}

/** The states of an alarm, most important first, as `{word, tone}`; tones are classes of tags. */
export function statesOf(alarm) {
  const states = [alarm.cleared_at ? { word: "cleared", tone: "tag-good" } : { word: "on", tone: alarm.kind === "health" ? "tag-warn" : "tag-bad" }];
  if (alarm.normal) states.push({ word: "said to be normal", tone: "" });
  if (alarm.acknowledged_by) {
    states.push({ word: `acknowledged by ${alarm.acknowledged_by}`, tone: "" });
  }
  if (live.shelved(alarm)) states.push({ word: "shelved", tone: "" });
  return states;
}

/**
 * The row of a timeline that an alarm belongs to: a key to group by, its name, and where that may be
 * long a function `short` that fits names in it into a line of so many letters.
 */
export function rowOf(alarm) {
  if (alarm.kind === "health") {
    const key = JSON.stringify([alarm.problem, Object.keys(alarm.signals ?? {})]);
    const name = (most) => `${UNWELL} ${subject(alarm, most - 2)}`;
    return { key: `health ${key}`, name: name(Infinity), short: name, kind: "health" };
  }
  const first = alarm.causes?.[0];
  if (alarm.abstained || !first) {
    return { key: "unclear", name: "Cause unclear", kind: "anomaly" };
  }
  const { signal } = first;
  return { key: `cause ${signal}`, name: shortName(signal, Infinity), short: (most) => shortName(signal, most), kind: "anomaly" };
}

/** The signals that an alarm is about: causes first, then others concerned; each once. */
export function signalsOf(alarm) {
  const causes = (alarm.causes || []).map((cause) => cause.signal);
  return [...new Set([...causes, ...Object.keys(alarm.signals || {})])];
}
