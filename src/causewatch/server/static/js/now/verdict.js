/** The verdict: one line that can be read from across the room, and a sentence below it. */
import { address } from "../api.js";
import { h, replace, text } from "../dom.js";
import { counted, percent, score, span, time } from "../format.js";
import { does, ofRows, STREAM } from "../health.js";
import { live } from "../live.js";
import { nameSpan } from "../named.js";
import { highest, lookFirst } from "./first.js";

const MOST_STARTS = 4;
const SIGNS = { good: "✓", warn: "◆", bad: "▲", none: "…" };

/** After so long without a connection (ms) the verdict is withdrawn: old news must not look new. */
export const PATIENCE = 2000;

/** The verdict; without a connection there is none, only what it was. `earlier`: whether an anomaly was on lately. */
export function judge(earlier) {
  const verdict = judgeState(earlier);
  if (live.lostAt === null || performance.now() - live.lostAt < PATIENCE) return verdict;
  const last = live.now.t === null ? "" : ` (at ${time(live.now.t)})`;
  return { level: "none", words: "Disconnected", more: `The last that was known${last}: ${verdict.words}.` };
}

/**
 * What can be said of the plant by the last state known.
 *
 * @returns {{level: "good"|"warn"|"bad"|"none", words: string, more: string, start?: Array}}  `start`:
 *   what to look at first.
 */
function judgeState(earlier) {
  const { status, score: now, t } = live.now;
  const alarms = live.alarms();
  const loud = alarms.filter((alarm) => !live.shelved(alarm));
  const shelved = alarms.length - loud.length;
  const aside = shelved ? ` ${counted(shelved, "alarm")} shelved.` : "";
  const feed = !status ? "" : status.ended
    ? `The recording has ended; its last tick is of ${time(t, { date: true })}.`
    : status.away ? `No rows come: ${sentence(status.source)}`
      : ["silent", "not_judged"].includes(status.unwell[STREAM]?.state) ? status.unwell[STREAM].detail
        : live.resumed ? resumedWords() : "";

  if (loud.length) {
    const anomalies = loud.filter((alarm) => alarm.kind === "anomaly").length;
    const rows = loud.filter((alarm) => ofRows(alarm.problem));
    const health = loud.length - anomalies - rows.length;
    const parts = [anomalies && counted(anomalies, "anomaly", "anomalies"), health && counted(health, "signal unwell", "signals unwell"),
      ...rows.map((alarm) => `rows ${does(alarm.problem)}`)];
    return {
      level: anomalies ? "bad" : "warn",
      // Amber and red are told apart by words as well.
      words: counted(loud.length, `${anomalies ? "" : "health "}alarm is on`, `${anomalies ? "" : "health "}alarms are on`),
      more: feed || `${sentence(parts.filter(Boolean).join(", "))}${aside}`,
      start: lookFirst(loud),
    };
  }
  if (status?.ended) return { level: "none", words: "The recording has ended", more: `${t === null ? "It held no ticks." : `Its last tick is of ${time(t, { date: true })}${shelved ? "." : "; no alarm was on then."}`}${aside}` };
  if (status?.unwell[STREAM]?.state === "not_judged") {
    return { level: "warn", words: "Rows are not judged", more: `${status.unwell[STREAM].detail}${aside}` };
  }
  if (live.quiet) {
    const why = status.away ? sentence(status.source) : status.unwell[STREAM].detail;
    return { level: "warn", words: "No rows come", more: `${why}${t === null ? "" : ` The last tick is of ${time(t)}.`}${aside}` };
  }
  if (t === null) return { level: "none", words: "Waiting for rows", more: `No tick has come yet from ${live.plant.source}.` };
  if (live.resumed) return { level: "none", words: "Waiting for rows", more: `${resumedWords()}${aside}` };
  if (now === null) {
    const { max_lag: lag, every } = live.plant;
    return { level: "none", words: "Warming up", more: `There are too few ticks in a row to judge; it takes at least ${span((lag + 1) * every)}.` };
  }
  if (now > 1) {
    const why = shelved ? `; ${counted(shelved, "alarm that is on is", "alarms that are on are")} shelved.`
      : earlier ? "; for a while after an alarm, only stronger trouble raises another one." : "; no alarm is raised yet.";
    return { level: "warn", words: "Above the limit", more: `The score is ${score(now)}${why}` };
  }
  return { level: "good", words: "Healthy", more: `No alarm is on, and the score is below its limit.${aside}` };
}

/** That nothing is known since the watch was started again. */
function resumedWords() {
  const { status, t } = live.now;
  return `${status?.rows ? "No whole tick" : "No rows"} since this watch was started; the last tick is of ${time(t, { date: true })}.`;
}

/** A text of the server as a sentence. */
export function sentence(words) {
  const said = (words ?? "").trim();
  if (!said) return "";
  const begun = said[0].toUpperCase() + said.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

/** The panel with verdict and score; `update()` shows what holds now. */
export function verdictPanel() {
  const sign = h("span", { class: "verdict-sign", "aria-hidden": "true" });
  const words = h("span", { class: "verdict-words" });
  const more = h("p", { class: "verdict-more" });
  const start = h("p", { class: "verdict-start" });
  const trouble = h("p", { class: "verdict-trouble", hidden: true });
  const label = h("span", { class: "soft verdict-label" });
  const value = h("span", { class: "verdict-score" });
  const fill = h("span");
  const gauge = h("div", { class: "gauge", "aria-hidden": "true" }, fill);
  const element = h("section", { class: "panel verdict", "aria-label": "Verdict" },
    h("h1", { class: "verdict-line" }, sign, words),
    more, start, trouble,
    h("div", { class: "verdict-foot" },
      label, value, gauge, h("span", { class: "soft small" }, "limit 1")));
  let level = "";
  let earlier = false;
  const update = () => {
    const verdict = judge(earlier);
    if (verdict.level !== level) {
      level = verdict.level;
      element.dataset.level = level;
    }
    text(sign, SIGNS[level]);
    text(words, verdict.words);
    text(more, verdict.more);
    showStart(verdict.start ?? []);
    const stored = live.now.status?.trouble ?? "";
    trouble.hidden = !stored;
    text(trouble, stored ? `Alarms cannot be stored at the moment: ${sentence(stored)}` : "");
    updateScore();
  };
  let told = "";
  let most = null; // the text that says how high the highest is: it changes with every tick
  const showStart = (starts) => {
    const shown = starts.slice(0, MOST_STARTS);
    const top = shown.length ? highest() : null;
    const other = top && !shown.some(({ signal }) => signal === top.signal) ? top : null;
    const key = JSON.stringify([starts.map((one) => [one.alarm.id, one.signal, one.state, percent(one.confidence)]), other?.signal]);
    if (key !== told) {
      told = key;
      most = other && document.createTextNode("");
      replace(start, shown.length ? "Look first at " : null, shown.map(({ alarm, signal, confidence, state }, k) => [
        k ? ", " : null, named(signal, { alarm: alarm.id, signal }), remarks(state, confidence),
      ]), starts.length > shown.length ? ` and ${starts.length - shown.length} more` : null,
      other ? ["; highest now: ", named(other.signal, { signal: other.signal }), ", ", most] : null, shown.length ? "." : null);
    }
    if (other && most.data !== score(other.evidence)) most.data = score(other.evidence);
  };
  const updateScore = () => {
    const now = live.now.score;
    const old = live.connection !== "live" || live.quiet;
    text(label, old ? "Last score" : "Score now");
    value.classList.toggle("verdict-old", old);
    text(value, score(now));
    // The gauge ends at twice the limit; what lies beyond is told by the number.
    fill.style.transform = `scaleX(${now === null ? 0 : Math.min(1, Math.max(0, now / 2))})`;
    gauge.classList.toggle("gauge-over", now !== null && now > 1);
  };
  /** Say whether an anomaly was on lately. */
  const setEarlier = (was) => {
    if (was === earlier) return;
    earlier = was;
    update();
  };
  return { element, update, setEarlier };
}

function named(signal, params) {
  return h("a", { href: address("/signals", params) }, nameSpan(signal));
}

/** " (stands still, 46 %)"; no line ends within it. */
function remarks(state, confidence) {
  const words = [state, confidence === null ? "" : percent(confidence).replaceAll(" ", "\u00a0")].filter(Boolean);
  return words.length ? ` (${words.join(", ")})` : null;
}
