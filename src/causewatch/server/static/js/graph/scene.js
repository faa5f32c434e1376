/**
 * What the picture shows, given the filters: which signals stand there by themselves, which stages
 * are closed to one card, and which arrows are drawn between them.
 */

import { MANY_SIGNALS, MOST_ARROWS, automaticStrength } from "./model.js";

/** Arrows drawn per stage while every stage is closed; more would be a tangle. */
const MOST_PER_STAGE = 4;

/** More arrows than this are never drawn, whatever the limit: nobody can follow them. */
const MOST_DRAWN = 300;

/** Fewer arrows than this are never cut to make the picture calmer. */
const FEW_ARROWS = 40;

/**
 * @param graph a Graph
 * @param view {signal, hops, strength (null: automatic), stage, broken, open: Set of stages, narrow: whether the place is}
 * @param faults what `readFaults` gives
 * @returns {{nodes, arrows, open, least, drawn, total, onlySome}} nodes are {key, signal} or
 *   {key, stage, members}; arrows are {key, a, b, links, strength, directed, broken, loop}, the
 *   broken ones last so that they lie on top; `drawn` counts arrows drawn for their strength,
 *   `total` all of them, so that neither changes when a link breaks.
 */
export function buildScene(graph, view, faults) {
  const shown = shownSignals(graph, view, faults);
  const open = openStages(graph, view, shown);
  const keyOf = (index) => (open.has(graph.stageOf(index)) ? `s${index}` : `g${graph.stageOf(index)}`);
  const bundles = bundle(graph, faults, shown, keyOf, open.size > 0);
  const between = bundles.filter((arrow) => !arrow.loop);
  const loose = [...shown].filter((index) => open.has(graph.stageOf(index))).length;
  const most = open.size ? Math.max(FEW_ARROWS, Math.min(MOST_ARROWS, (view.narrow ? 1 : 2) * loose)) : MOST_ARROWS;
  // Broken arrows count as well, lest the limit move whenever an alarm comes or goes.
  const automatic = automaticStrength(between.map((arrow) => arrow.strength), most);
  const least = view.strength ?? automatic;
  const picked = view.signal >= 0 && view.strength === null ? keyOf(view.signal) : null;
  const passing = between.filter(
    (arrow) => arrow.strength >= least || arrow.a === picked || arrow.b === picked,
  );
  let drawn = view.broken ? [] : passing.slice(0, MOST_DRAWN);
  if (!open.size) {
    drawn = [...drawn].sort((p, q) => q.total - p.total).slice(0, MOST_PER_STAGE * graph.stages.length);
  }
  const arrows = [...drawn.filter((arrow) => !arrow.broken), ...bundles.filter((arrow) => arrow.broken)];
  return {
    nodes: nodesOf(graph, view, shown, open, arrows),
    arrows, open, least, drawn: placesOf(drawn), total: placesOf(between),
    onlySome: shown.size < graph.signals.length,
  };
}

/** How many arrows there are if broken links beside healthy ones are not counted apart. */
function placesOf(arrows) {
  return new Set(arrows.map((arrow) => arrow.key.replace("!", ""))).size;
}

function shownSignals(graph, view, faults) {
  if (view.signal >= 0 && view.hops > 0) {
    const every = [...graph.arrows.values()].map((arrow) => arrow.strength);
    const least = view.strength ?? automaticStrength(every, MOST_ARROWS);
    return graph.neighbourhood(view.signal, view.hops, least);
  }
  if (view.broken && faults.broken.size) {
    const touched = new Set([...faults.causes.keys(), ...faults.unwell.keys()]);
    for (const list of faults.broken.values()) touched.add(list[0].sourceIndex).add(list[0].targetIndex);
    if (view.signal >= 0) touched.add(view.signal);
    return touched;
  }
  return new Set(graph.signals.keys());
}

function openStages(graph, view, shown) {
  if (view.stage >= 0 && !view.hops) return new Set([view.stage]);
  // A part of the graph that is small enough needs no closed stages.
  const part = shown.size < graph.signals.length && shown.size <= MANY_SIGNALS;
  return part ? new Set(graph.stages.keys()) : new Set(view.open);
}

/** Arrows between what is drawn: pairs of signals, or stages where they are closed. */
function bundle(graph, faults, shown, keyOf, someOpen) {
  const found = new Map();
  const keys = new Set([...graph.arrows.keys(), ...faults.broken.keys()]);
  for (const key of keys) {
    const broken = faults.broken.get(key) ?? null;
    const arrow = graph.arrows.get(key) ?? bare(key);
    if (!shown.has(arrow.source) || !shown.has(arrow.target)) continue;
    let [a, b] = [keyOf(arrow.source), keyOf(arrow.target)];
    const stageToStage = a[0] === "g" && b[0] === "g";
    if (a === b && (a[0] === "g" || !broken)) continue;
    if (stageToStage && someOpen && !broken) continue;
    if (!arrow.directed && a > b) [a, b] = [b, a];
    // Broken links keep an arrow of their own beside the healthy ones of the same two stages.
    const id = `${a}>${b}${broken ? "!" : ""}${arrow.directed ? "" : "-"}`;
    if (!found.has(id)) {
      found.set(id, {
        key: id, a, b, links: [], strength: 0, total: 0, directed: arrow.directed, broken: null,
        loop: a === b, ends: [arrow.source, arrow.target],
      });
    }
    const one = found.get(id);
    one.links.push(...arrow.links);
    one.strength = Math.max(one.strength, arrow.strength);
    one.total += arrow.strength;
    if (broken) {
      one.broken = [...(one.broken ?? []), ...broken].sort((p, q) => (q.deviation ?? 0) - (p.deviation ?? 0));
    }
  }
  return [...found.values()].sort((p, q) => q.strength - p.strength);
}

/** An arrow the model holds no link for: a link of a signal to its own past. */
function bare(key) {
  const [source, target] = key.split(">").map(Number);
  return { key, source, target, links: [], strength: 0, directed: true };
}

function nodesOf(graph, view, shown, open, arrows) {
  const linked = new Set(arrows.flatMap((arrow) => [arrow.a, arrow.b]));
  const nodes = [];
  graph.stages.forEach((stage, g) => {
    const members = stage.members.filter((index) => shown.has(index));
    if (!members.length) return;
    if (open.has(g)) {
      for (const index of members) nodes.push({ key: `s${index}`, signal: index });
    } else if (view.stage < 0 || linked.has(`g${g}`)) {
      // With one stage chosen, the others only stand there as the far ends of its links.
      nodes.push({ key: `g${g}`, stage: g, members });
    }
  });
  return nodes;
}
