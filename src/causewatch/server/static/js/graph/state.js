/** What the graph view shows, as its address says it: filters, selection and opened stages. */

import { MANY_SIGNALS } from "./model.js";

/** More signals than this and the stages are closed at first where the place is narrow. */
const MANY_IF_NARROW = 40;
/** Stages opened by themselves because trouble is in them, at most. */
const MOST_OPENED = 3;

/** Read the query of an address; `unknown` names what the plant does not have. */
export function readState(params, graph) {
  const unknown = [];
  const named = (name, find, what) => {
    const value = params.get(name);
    if (!value) return -1;
    const found = find(value);
    if (found < 0) unknown.push(`There is no ${what} named “${value}”.`);
    return found;
  };
  const signalNamed = (name) => graph.byName.get(name) ?? -1;
  const stageNamed = (name) => graph.stageNamed(name);
  const signal = named("signal", signalNamed, "signal");
  const strength = params.has("strength") ? Number(params.get("strength")) : NaN;
  const hops = Math.round(Number(params.get("hops") ?? 0));
  let open = null;
  if (params.get("closed") === "all") open = new Set();
  else if (params.has("open")) {
    open = new Set(params.getAll("open").map(stageNamed).filter((stage) => stage >= 0));
  }
  return {
    signal,
    to: signal >= 0 ? named("to", signalNamed, "signal") : -1,
    hops: signal >= 0 && hops >= 1 ? Math.min(hops, 3) : 0,
    strength: Number.isFinite(strength) ? Math.min(1, Math.max(0, strength)) : null,
    stage: named("stage", stageNamed, "stage"),
    broken: params.get("broken") === "1",
    alarm: params.get("alarm") || null,
    open,
    unknown,
  };
}

/** The query that leads back to this state. */
export function writeState(state, graph) {
  const name = (index) => (index >= 0 ? graph.signals[index].name : null);
  const query = new URLSearchParams();
  const put = (key, value) => value !== null && value !== "" && query.append(key, value);
  put("alarm", state.alarm);
  put("signal", name(state.signal));
  put("to", name(state.to));
  put("hops", state.hops ? String(state.hops) : null);
  put("strength", state.strength === null ? null : String(state.strength));
  put("stage", state.stage >= 0 ? graph.stages[state.stage].name : null);
  put("broken", state.broken ? "1" : null);
  if (state.open) {
    if (!state.open.size) query.append("closed", "all");
    for (const stage of state.open) query.append("open", graph.stages[stage].name);
  }
  return query;
}

/** Stages open at first: all of a small plant, those in trouble of one that is large for the place. */
export function openAtFirst(graph, faults, narrow) {
  const many = narrow ? MANY_IF_NARROW : MANY_SIGNALS;
  if (graph.signals.length <= many || graph.stages.length < 2) return new Set(graph.stages.keys());
  const troubled = new Set();
  for (const index of [...faults.causes.keys(), ...faults.unwell.keys()]) troubled.add(graph.stageOf(index));
  for (const list of faults.broken.values()) {
    troubled.add(graph.stageOf(list[0].targetIndex)).add(graph.stageOf(list[0].sourceIndex));
  }
  return new Set([...troubled].slice(0, narrow ? 1 : MOST_OPENED));
}
