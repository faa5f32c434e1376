/** Words about signals and links, as the list and the charts use them. */

import { number, span } from "../format.js";
import { inShort, meaning } from "../health.js";
import { lagText, laterText } from "../lags.js";
import { live } from "../live.js";

/** How many signals can be shown together. */
export const MOST_CHARTS = 6;

/** Lengths of time worth offering, in seconds. */
const LENGTHS = [10, 30, 300, 1800, 7200, 43200, 3 * 86400, 14 * 86400, 90 * 86400];
/** The shortest one offered holds at least this many ticks. */
const FEWEST_TICKS = 150;

/** Three lengths of time that suit the plant's pace, as [seconds, word], and everything. */
export function ranges(every) {
  const rows = live.plant?.clock === "rows";
  const ladder = rows ? [100, 300, 1000, 3000, 10000, 30000, 1e5, 3e5, 1e6] : LENGTHS;
  const first = Math.min(ladder.findIndex((length) => length >= FEWEST_TICKS * every) >>> 0, ladder.length - 3);
  return [...ladder.slice(first, first + 3).map((length) => [length, span(length)]), [null, "All kept"]];
}

/** The name of the signal that is meant: people may give its label instead. */
export function named(typed) {
  if (live.index(typed) >= 0) return typed;
  const wanted = typed.toLowerCase();
  return live.plant.signals.find(({ name, label }) => [name, label ?? ""].some((word) => word.toLowerCase() === wanted))?.name ?? typed;
}

/** How a signal is: {word, kind: "good"|"bad"|"warn"|"", detail}. */
export function health(name) {
  const unwell = live.now.status?.unwell?.[name];
  if (unwell) return { word: inShort(unwell.state), kind: "warn", detail: unwell.detail || meaning(unwell.state) };
  const evidence = live.now.evidence?.[live.index(name)] ?? null;
  if (evidence === null) return { word: "not judged", kind: "", detail: "Nothing is known of it yet, or it is not watched." };
  if (evidence >= 1) return { word: "above limit", kind: "bad", detail: "Its evidence is above the limit of 1." };
  return { word: "ok", kind: "good", detail: "As the model expects it." };
}

/**
 * Signals with links to (parents) or from (children) the signal at `index`, strongest first:
 * [{name, links: [{lag, strength, coefficient}]}]. Its links to itself are left out.
 */
export function relatives(index) {
  const { links, signals } = live.plant;
  const parents = new Map(), children = new Map();
  for (const [source, target, lag, strength, , coefficient] of links) {
    if (source === target || (source !== index && target !== index)) continue;
    const [kin, other] = target === index ? [parents, source] : [children, target];
    if (!kin.has(other)) kin.set(other, { name: signals[other].name, links: [] });
    kin.get(other).links.push({ lag, strength, coefficient });
  }
  const strongest = ({ links: own }) => Math.max(...own.map(({ strength }) => Math.abs(strength)));
  const sorted = (kin) => {
    const all = [...kin.values()];
    for (const one of all) one.links.sort((a, b) => a.lag - b.lag);
    return all.sort((a, b) => strongest(b) - strongest(a));
  };
  return { parents: sorted(parents), children: sorted(children) };
}

/** The links of one relative in one line: "20 s: 0.82"; in full "20 s later: coefficient 0.82". */
export function linkWords(links, full = false) {
  return links.map(({ lag, coefficient }) => {
    const size = number(coefficient, 3);
    return full ? `${laterText(lag)}: coefficient ${size}` : `${lagText(lag)}: ${size}`;
  }).join(full ? "; " : " · ");
}
