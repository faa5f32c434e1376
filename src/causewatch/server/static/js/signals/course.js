/** The course of an alarm: the ticks kept with it, joined with what the server still has. */

import { get } from "../api.js";
import { seconds } from "../format.js";
import { likely } from "../history/words.js";
import { live } from "../live.js";

/** How to ask for series around an alarm, for SeriesFeed: its own ticks fill what the trail lacks. */
export function courseAsker(id) {
  let key = null;
  let kept = null;
  return async (wanted, signal) => {
    const names = wanted.signal.join("\n");
    if (key !== names) {
      kept = get(`/api/alarms/${encodeURIComponent(id)}/course`, { signal: wanted.signal, most: wanted.most }).catch((error) => {
        key = null; // to be tried again with the next request
        if (error.status === 404) return null; // no ticks were kept with it
        throw error;
      });
      key = names;
    }
    const [course, series] = await Promise.all([kept, get("/api/series", wanted, { signal })]);
    return course ? union(course, series) : series;
  };
}

/** Two answers as one in order of time; where both have rows the second one counts. */
export function union(course, series) {
  if (!course.t.length) return series;
  if (!series.t.length) return course;
  const first = series.t[0], last = series.t[series.t.length - 1];
  const before = course.t.findIndex((t) => t >= first);
  const start = before < 0 ? course.t.length : before;
  const after = course.t.findIndex((t) => t > last);
  const join = (own, other) => [...own.slice(0, start), ...other, ...(after < 0 ? [] : own.slice(after))];
  const signals = {};
  for (const name of Object.keys(series.signals)) {
    const own = course.signals[name];
    const unknown = () => new Array(course.t.length).fill(null);
    signals[name] = Object.fromEntries(Object.entries(series.signals[name])
      .map(([column, values]) => [column, join(own?.[column] ?? unknown(), values)]));
  }
  const kept = series.kept_from === null ? course.t[0] : Math.min(series.kept_from, course.t[0]);
  return { kept_from: kept, t: join(course.t, series.t), score: join(course.score, series.score), signals };
}

/** The span to show for an alarm, with room to see what it was like before. */
export function spanOf(alarm, every) {
  const raised = seconds(alarm.raised_at);
  const from = Math.min(seconds(alarm.onset) ?? raised, raised);
  const to = seconds(alarm.cleared_at) ?? Math.max(live.now.t ?? raised, raised);
  const room = Math.max((to - from) * 0.25, 60 * every);
  return [from - room, to + room];
}

/** The signals an alarm is about, most telling first, as far as this plant has them. */
export function signalsOf(alarm, explanation) {
  const names = [
    ...likely(alarm.causes).map(({ signal }) => signal),
    ...alarm.broken_links.flatMap(({ source, target }) => [target, source]),
    ...Object.entries(alarm.signals).sort(([, a], [, b]) => (b ?? 0) - (a ?? 0)).map(([name]) => name),
    ...(explanation?.consequences ?? []),
  ];
  return [...new Set(names)].filter((name) => live.index(name) >= 0);
}

/** Those to show first: the likeliest cause, then what it upset. */
export function firstOf(alarm, names) {
  const wanted = [alarm.causes[0]?.signal, ...alarm.broken_links.map(({ target }) => target), ...names];
  return [...new Set(wanted)].filter((name) => names.includes(name)).slice(0, 3);
}
