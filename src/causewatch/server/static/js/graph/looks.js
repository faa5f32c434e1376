/**
 * How a node looks in its present state, as a label and classes. Evidence is cut into a few levels,
 * so that most ticks change no look at all.
 */

import { counted } from "../format.js";
import { UNWELL } from "../health.js";
import { nodeName, short } from "./layout.js";

/** 0 normal, 1 near the limit, 2 above it, 3 far above it; unknown evidence counts as 0. */
export function level(evidence) {
  if (evidence === null || evidence === undefined || evidence < 0.5) return 0;
  return evidence < 1 ? 1 : evidence < 2 ? 2 : 3;
}

/**
 * The same without flicker: a signal leaves "near" or "far above" only when its evidence has fallen
 * clearly. The limit itself is kept to the letter.
 */
function steady(evidence, before) {
  const now = level(evidence);
  const falls = before - now === 1 && before !== 2;
  return falls ? level(1.2 * evidence) : now;
}

/**
 * @param node a node of the scene
 * @param state {evidence: by signal number, unwell: by name, faults}
 * @param before its look until now, if it had one
 * @returns {{label: string, classes: string[], high: number}}
 */
export function lookOf(graph, node, state, before) {
  return node.stage === undefined
    ? signalLook(graph, node.signal, state, before?.high ?? 0)
    : cardLook(graph, node, state);
}

/** Whether two looks are the same. */
export function sameLook(p, q) {
  return p !== undefined && p.label === q.label && p.classes.join() === q.classes.join();
}

function signalLook(graph, index, { evidence, unwell, faults }, before) {
  const { name } = graph.signals[index];
  const high = steady(evidence[index], before);
  const cause = faults.causes.get(index);
  const classes = high ? [`level${high}`] : [];
  let marks = "";
  if (cause) {
    classes.push("cause");
    if (!cause.sure) classes.push("unsure");
    marks += "◎";
  }
  if (high >= 2) marks += "▲";
  if (unwell[name] || faults.unwell.has(index)) {
    classes.push("unwell");
    marks += UNWELL;
  }
  return { label: `${marks ? `${marks} ` : ""}${nodeName(graph, index)}`, classes, high };
}

function cardLook(graph, node, { evidence, unwell, faults }) {
  const { members } = node;
  const high = members.map((index) => level(evidence[index]));
  const above = high.filter((one) => one >= 2).length;
  const ill = members.filter((index) => unwell[graph.signals[index].name] || faults.unwell.has(index)).length;
  const causes = members.filter((index) => faults.causes.has(index));
  const inside = new Set(members);
  let broken = 0;
  for (const list of faults.broken.values()) {
    if (inside.has(list[0].sourceIndex) && inside.has(list[0].targetIndex)) broken += list.length;
  }
  // Near its limit is a signal's affair; among many signals one nearly always is.
  const worst = Math.max(0, ...high);
  const classes = worst >= 2 ? [`level${worst}`] : [];
  if (causes.length) {
    classes.push("cause");
    if (!causes.some((index) => faults.causes.get(index).sure)) classes.push("unsure");
  }
  if (ill) classes.push("unwell");
  const notes = [];
  if (above) notes.push(`▲ ${above} above`);
  if (broken) notes.push(`${broken} broken`);
  if (ill) notes.push(`${UNWELL} ${ill} unwell`);
  const name = short(graph.stages[node.stage].name || "All signals");
  const lines = [`▸ ${causes.length ? "◎ " : ""}${name}`, counted(members.length, "signal")];
  if (notes.length) lines.push(notes.slice(0, 2).join(" · "));
  return { label: lines.join("\n"), classes, high: worst };
}
