/** What to look at first: the signals that alarms start at, and those beside them that are unwell. */
import { inShort } from "../health.js";
import { live } from "../live.js";

/** Unwell ones that are added to the causes; more of them are a matter of the feed, not of a signal. */
const MOST_UNWELL = 2;

/**
 * Signals to look at, most urgent first, each once: the causes that the alarms name, in their order,
 * then sensors that are unwell if an anomaly concerns them or starts right beside them, since what
 * is drawn from those is not to be trusted.
 *
 * @param {object[]} alarms  Those that are on, anomalies first.
 * @returns {{alarm: object, signal: string, confidence: number|null, state: string}[]}  `state`: how
 *   an unwell one is ("stands still"), else "".
 */
export function lookFirst(alarms) {
  const unwell = live.now.status?.unwell ?? {};
  const state = (signal) => (unwell[signal] && unwell[signal].state !== "ok" ? inShort(unwell[signal].state) : "");
  const causes = alarms.flatMap(firstCauses).filter(({ signal }) => live.index(signal) >= 0);
  const beside = alarms.filter((alarm) => alarm.kind === "anomaly")
    .flatMap((alarm) => near(alarm).filter(state).map((signal) => ({ alarm, signal, confidence: null })));
  const found = new Map();
  const put = (one) => {
    if (!found.has(one.signal)) found.set(one.signal, { ...one, state: state(one.signal) });
  };
  for (const one of causes) put(one);
  for (const one of beside.slice(0, MOST_UNWELL)) put(one);
  return [...found.values()];
}

/** The signal above its limit whose evidence is highest now, as {signal, evidence}; null if there is none. */
export function highest() {
  let best = null;
  (live.now.evidence ?? []).forEach((evidence, k) => {
    if (evidence > 1 && !(evidence <= best?.evidence)) best = { signal: live.plant.signals[k].name, evidence };
  });
  return best;
}

/** Where an alarm most likely starts: its first cause, the first two if none stands out, or the unwell signal. */
function firstCauses(alarm) {
  if (alarm.causes.length) {
    return alarm.causes.slice(0, alarm.abstained ? 2 : 1).map(({ signal, confidence }) => ({ alarm, signal, confidence }));
  }
  return Object.keys(alarm.signals).slice(0, 1).map((signal) => ({ alarm, signal, confidence: null }));
}

/** The signals an alarm concerns, and those linked to its first cause. */
function near(alarm) {
  const { links, signals } = live.plant;
  const first = live.index(alarm.causes[0]?.signal);
  const beside = links.filter(([source, target]) => source === first || target === first)
    .flatMap(([source, target]) => [signals[source].name, signals[target].name]);
  return [...new Set([...Object.keys(alarm.signals), ...beside])];
}
