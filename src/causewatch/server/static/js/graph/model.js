/**
 * The learnt causal graph as the graph view needs it: signals by stage, links by signal, and
 * "arrows", each of which bundles all links (lags) from one signal to another.
 *
 * Pure functions of the plant that /api/plant gives: no page, no live values.
 */

/** More signals than this and the stages are closed at first. */
export const MANY_SIGNALS = 80;

/** About so many healthy arrows are drawn while the strength limit is chosen automatically. */
export const MOST_ARROWS = 120;

/** Key of the arrow from signal number `source` to signal number `target`. */
export function arrowKey(source, target) {
  return `${source}>${target}`;
}

/** The learnt graph, indexed for looking up. */
export class Graph {
  /** @param plant the answer of /api/plant */
  constructor(plant) {
    this.signals = plant.signals.map((signal, index) => ({ ...signal, index }));
    this.byName = new Map(this.signals.map((signal) => [signal.name, signal.index]));
    this.stages = stagesOf(plant.stages, this.signals);
    this.links = plant.links.map(readLink);
    this.into = this.signals.map(() => []);
    this.from = this.signals.map(() => []);
    this.own = this.signals.map(() => []);
    this.arrows = new Map();
    const mutual = new Set(
      this.links.filter((link) => link.lag === 0).map((link) => arrowKey(link.source, link.target)),
    );
    for (const link of this.links) {
      if (link.source === link.target) {
        this.own[link.source].push(link);
        continue;
      }
      this.into[link.target].push(link);
      this.from[link.source].push(link);
      // A link at lag 0 in both directions asserts none: drawn as a line without a head.
      link.directed = link.lag > 0 || !mutual.has(arrowKey(link.target, link.source));
      const arrow = this.arrowBetween(link.source, link.target);
      arrow.links.push(link);
      arrow.strength = Math.max(arrow.strength, Math.abs(link.strength));
    }
    const strongestFirst = (p, q) => Math.abs(q.strength) - Math.abs(p.strength);
    for (const lists of [this.into, this.from, this.own]) {
      for (const list of lists) list.sort(strongestFirst);
    }
    for (const arrow of this.arrows.values()) {
      arrow.links.sort((p, q) => p.lag - q.lag);
      arrow.directed = arrow.links.some((link) => link.directed);
    }
    this.strongest = Math.max(0, ...[...this.arrows.values()].map((arrow) => arrow.strength));
  }

  /** The arrow from one signal to another, made (without links) where there is none yet. */
  arrowBetween(source, target) {
    const key = arrowKey(source, target);
    if (!this.arrows.has(key)) {
      this.arrows.set(key, { key, source, target, links: [], strength: 0, directed: true });
    }
    return this.arrows.get(key);
  }

  /** Number of the stage of a signal; every signal has one here. */
  stageOf(index) {
    return this.signals[index].stage;
  }

  /** Number of the stage with this name, or -1. */
  stageNamed(name) {
    return this.stages.findIndex((stage) => stage.name === name);
  }

  /** Whether there are stages worth a title. */
  get staged() {
    return this.stages.length > 1 || this.stages[0]?.name !== "";
  }

  /** Number of the signal a person means by `text` (name, label, or a part of them), or -1. */
  find(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return -1;
    const words = this.signals.map((signal) =>
      [signal.name, signal.label ?? ""].map((word) => word.toLowerCase()),
    );
    for (const fits of [(w) => w === wanted, (w) => w.startsWith(wanted), (w) => w.includes(wanted)]) {
      const found = words.findIndex((pair) => pair.some(fits));
      if (found >= 0) return found;
    }
    return -1;
  }

  /** Signals at most `hops` links away from `index`, whichever way the links point. */
  neighbourhood(index, hops, least) {
    const reached = new Set([index]);
    let edge = [index];
    for (let hop = 0; hop < hops; hop++) {
      const next = [];
      for (const at of edge) {
        for (const link of [...this.into[at], ...this.from[at]]) {
          const other = link.source === at ? link.target : link.source;
          // The signal's own links all count: a weakly linked signal has a neighbourhood as well.
          if (reached.has(other) || (hop > 0 && Math.abs(link.strength) < least)) continue;
          reached.add(other);
          next.push(other);
        }
      }
      edge = next;
    }
    return reached;
  }
}

/** The limit, in steps of 0.01, at which at most `most` of these strengths remain. */
export function automaticStrength(strengths, most) {
  if (strengths.length <= most) return 0;
  const sorted = [...strengths].sort((p, q) => q - p);
  return Math.ceil(sorted[most] * 100 + 1e-6) / 100;
}

function readLink([source, target, lag, strength, p, coefficient]) {
  return { source, target, lag, strength, p, coefficient, directed: true };
}

/** Stages with their members; signals without one form the last, and a plant may have none. */
function stagesOf(names, signals) {
  const stages = names.map((name) => ({ name, members: [] }));
  const rest = { name: names.length ? "Without a stage" : "", members: [] };
  for (const signal of signals) {
    if (signal.stage === null || signal.stage === undefined) {
      signal.stage = stages.length;
      rest.members.push(signal.index);
    } else {
      stages[signal.stage].members.push(signal.index);
    }
  }
  if (rest.members.length) stages.push(rest);
  return stages;
}
