/**
 * What the alarms say about the graph: which links are broken, where the trouble starts, and which
 * signals are unwell.
 */

import { arrowKey } from "./model.js";

/** So many causes of one alarm are marked at most. */
const MOST_CAUSES = 3;

/**
 * Broken links and causes of some alarms, by the graph's own keys.
 *
 * @returns {{broken: Map<string, object[]>, causes: Map<number, object>, unwell: Map<number, string>, alarms: object[]}}
 *   `broken`: by arrow, its broken links (lag, normal, observed, deviation, alarm), worst first;
 *   `causes`: by signal, {rank, confidence, sure, alarm}; `unwell`: by signal, the problem that
 *   alarms about health name.
 */
export function readFaults(graph, alarms) {
  const broken = new Map();
  const causes = new Map();
  const unwell = new Map();
  for (const alarm of alarms) {
    for (const name of alarm.kind === "health" ? Object.keys(alarm.signals ?? {}) : []) {
      const index = graph.byName.get(name);
      if (index !== undefined) unwell.set(index, alarm.problem);
    }
    for (const found of alarm.broken_links ?? []) addBroken(graph, broken, found, alarm);
    likelyCauses(alarm).forEach((cause, k) => {
      const index = graph.byName.get(cause.signal);
      const earlier = causes.get(index);
      if (index === undefined || (earlier && earlier.rank <= k + 1)) return;
      causes.set(index, {
        rank: k + 1, confidence: cause.confidence, sure: !alarm.abstained, alarm: alarm.id,
      });
    });
  }
  for (const list of broken.values()) list.sort((p, q) => (q.deviation ?? 0) - (p.deviation ?? 0));
  return { broken, causes, unwell, alarms };
}

/** The causes worth marking: the first, and those at least half as likely. */
export function likelyCauses(alarm) {
  const causes = alarm.causes ?? [];
  const least = (causes[0]?.confidence ?? 0) / 2;
  return causes.filter((cause, k) => k === 0 || cause.confidence >= least).slice(0, MOST_CAUSES);
}

/** Text that changes whenever something drawn because of the faults changes. */
export function signature(faults) {
  const links = [...faults.broken].map(
    ([key, list]) => key + list.map((b) => `:${b.lag},${[b.normal, b.observed, b.deviation].map(rough)}`).join(""),
  );
  const causes = [...faults.causes].map(([index, c]) => `${index}#${c.rank}${c.sure}${rough(c.confidence)}`);
  const alarms = faults.alarms.map((alarm) => `${alarm.id}${alarm.headline}${alarm.event}`);
  return [...links, ...causes, ...alarms].join("|");
}

/** A number as exactly as it is shown. */
function rough(x) {
  return Number.isFinite(x) ? x.toPrecision(3) : "–";
}

function addBroken(graph, broken, found, alarm) {
  const source = graph.byName.get(found.source);
  const target = graph.byName.get(found.target);
  if (source === undefined || target === undefined) return;
  const key = arrowKey(source, target);
  if (!broken.has(key)) broken.set(key, []);
  const list = broken.get(key);
  const entry = { ...found, sourceIndex: source, targetIndex: target, alarm: alarm.id };
  const twin = list.findIndex((other) => other.lag === found.lag);
  if (twin < 0) list.push(entry);
  // Two alarms may name the same link: the graver finding stands.
  else if ((found.deviation ?? 0) > (list[twin].deviation ?? 0)) list[twin] = entry;
}
