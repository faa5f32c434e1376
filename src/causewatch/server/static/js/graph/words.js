/** The sentences and short texts of the graph view. */

import { counted, number, percent, score } from "../format.js";
import { does } from "../health.js";
import { lagText, laterText } from "../lags.js";

/**
 * "0.82 → 0.10": the coefficient as learnt and as seen now, with the same number of decimals unless
 * one of them would then look like 0.
 */
export function changeText(normal, observed) {
  const sizes = [normal, observed].map(Math.abs);
  const most = Math.max(...sizes);
  const decimals = most >= 100 ? 0 : most >= 10 ? 1 : most >= 0.1 ? 2 : 3;
  const lost = (size) => size > 0 && size < 0.5 * 10 ** -decimals;
  const known = Number.isFinite(normal) && Number.isFinite(observed);
  if (!known || most >= 1000 || sizes.some(lost)) return `${number(normal, 2)} → ${number(observed, 2)}`;
  const text = (x) => (x < 0 ? "−" : "") + Math.abs(x).toFixed(decimals);
  return `${text(normal)} → ${text(observed)}`;
}

/** The label on a broken arrow: its worst link, and how many more it stands for. */
export function brokenLabel(broken) {
  const worst = broken[0];
  const more = broken.length > 1 ? ` (+${broken.length - 1})` : "";
  return `${lagText(worst.lag)}${more}\n${changeText(worst.normal, worst.observed)}`;
}

/** "2.31 × its limit": evidence of a signal in words. */
export function evidenceText(evidence, past) {
  if (evidence === null || evidence === undefined) return past ? "none told" : "not known yet";
  return `${score(evidence)} × its limit`;
}

/** What an evidence amounts to, in a word or two. */
export function verdict(evidence, past) {
  if (evidence === null || evidence === undefined) return past ? "Not part of this alarm" : "Unknown";
  if (evidence >= 1) return "▲ Above its limit";
  return evidence >= 0.5 ? "Near its limit" : "Normal";
}

/** How sure the model is that a link exists. */
export function chanceText(p) {
  if (p === null || p === undefined) return "not tested";
  return p < 0.001 ? "below 0.001" : number(p, 2);
}

/** A strength with two decimals and a proper minus: −0.30. */
export function strengthText(strength) {
  return (strength < 0 ? "−" : "") + Math.abs(strength).toFixed(2);
}

/** What a strength amounts to. */
export function strengthWord(strength) {
  const size = Math.abs(strength);
  return size >= 0.5 ? "strong" : size >= 0.25 ? "clear" : "weak";
}

/** What a healthy link says. */
export function linkMeaning(source, target, link) {
  const when = laterText(link.lag);
  // Where coefficient and strength disagree, the direction is not worth a sentence.
  if (!Number.isFinite(link.coefficient) || link.coefficient * link.strength <= 0) {
    return `When ${source} changes, ${target} answers ${when}.`;
  }
  const way = link.coefficient < 0 ? "goes down" : "goes up";
  return `When ${source} goes up, ${target} normally ${way} ${when}, if its other causes stay as they are.`;
}

/** What has become of a broken link. */
export function brokenMeaning(source, target, found) {
  const { normal, observed } = found;
  if (!Number.isFinite(normal) || !Number.isFinite(observed)) {
    return `${target} no longer answers to ${source} as it did in normal operation.`;
  }
  const share = observed / normal;
  if (normal === 0) return `Now ${target} answers to ${source}, which it normally hardly does.`;
  if (Math.abs(share) < 0.15) return `Now ${target} hardly answers to ${source} any more.`;
  if (share < 0) return `Now ${target} answers the other way round.`;
  if (share < 1) return `Now ${target} answers only ${percent(share)} as strongly as it normally does.`;
  return `Now ${target} answers ${number(share, 2)} times as strongly as it normally does.`;
}

/** How far a broken link is off. */
export function deviationText(deviation) {
  return Number.isFinite(deviation) ? `${score(deviation)} × its limit` : "–";
}

/** What health says about a signal: "Stands still: …". */
export function unwellText(unwell) {
  const said = does(unwell.state);
  return [said[0].toUpperCase() + said.slice(1), unwell.detail].filter(Boolean).join(": ");
}

/** "LIT101 stands still" for each signal that alarms call unwell, at most three. */
export function unwellList(graph, unwell, name) {
  const said = [...unwell].slice(0, 3).map(([index, problem]) => `${name(graph.signals[index])} ${does(problem)}`);
  return said.join(", ") + (unwell.size > 3 ? ` and ${unwell.size - 3} more are unwell` : "");
}

/** How many arrows are shown, and why not all. */
export function arrowsText({ drawn, total, least }) {
  if (!total) return "no arrows";
  if (drawn === total) return total === 1 ? "the only arrow" : `all ${total} arrows`;
  return `${drawn ? `the strongest ${drawn}` : "none"} of ${counted(total, "arrow")} (strength at least ${least.toFixed(2)})`;
}
