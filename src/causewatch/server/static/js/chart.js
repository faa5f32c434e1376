/**
 * Charts: signals against what the model expected, and the score against its limit.
 *
 *   import { SignalChart, scoreChart, ChartGroup, SeriesFeed } from "/static/js/chart.js";
 *
 * One signal, fed by you (the page of an alarm):
 *   const group = new ChartGroup();                       // charts that share time axis and cursor
 *   const chart = new SignalChart(container, { signal: "LIT101", height: 160, group });
 *   chart.setData(series);         // the answer of /api/series or /api/alarms/ID/course, whole
 *   chart.setAlarms([alarm], alarm.id);  // shaded from onset to cleared; the focused one is labelled
 *   group.show(from, to);          // seconds on the stream's clock; group.fit() shows all there is
 *   chart.append(ticks, skipped);  // both from the detail of the live event "ticks"
 *   chart.extend(series);          // only what is later than what the chart has
 *   chart.destroy();
 *
 * Kept up to date by itself, also over reconnects:
 *   const feed = new SeriesFeed({ group, charts: () => [chart], signals: ["LIT101"] });
 *   feed.start(); … feed.stop();
 *
 * The score, live and fed by itself (the Now view):
 *   const chart = scoreChart(container, { height: 140 });            // … chart.destroy()
 * The score of a replay (the Model view):
 *   const chart = scoreChart(container, { height: 180, live: false, clock: result.clock });
 *   chart.setData(result);  chart.setAlarms(result.alarms);
 *
 * Options of both: height (px of the drawing; a line of legend comes on top), group, gestures
 * (zoom, pan, keys; default true for SignalChart and replays, false for the live score), table
 * (a button that lists the last 20 ticks as text, default true), clock (default: the plant's),
 * name (what a screen reader calls the chart), timeLabel (whether the time axis says what it is).
 *
 * The space is taken at once and never changes with the data. Destroy what you make.
 * Times given as text (alarm.raised_at, alarm.onset …) become seconds by `seconds(text)`.
 */

export { ChartGroup } from "./chart/group.js";
export { SeriesFeed } from "./chart/feed.js";
export { ScoreChart, scoreChart } from "./chart/score.js";
export { SignalChart } from "./chart/signal.js";
export { moment } from "./chart/time.js";
export { seconds } from "./format.js";
