/**
 * Keeps charts up to date: asks the server for the span that is shown, adds live ticks, fills what
 * was missed after a reconnect, and asks anew when people move to where it has nothing (or only
 * thinned rows). Memory stays bounded: a chart that had to drop old rows gets a thinned span.
 */

import { get } from "../api.js";
import { debounce } from "../dom.js";
import { live } from "../live.js";

/** Ticks held back while an answer is awaited; more than that are asked for again. */
const HELD = 5000;

export class SeriesFeed {
  /**
   * @param {object} options
   * @param {ChartGroup} options.group whose range is to be filled
   * @param {() => object[]} options.charts the charts to feed
   * @param {string[]} [options.signals] asked for; none for the score alone
   * @param {number} [options.most] rows per answer
   * @param {(wanted: {signal: string[], from?: number, to?: number, most: number}, stop: AbortSignal) => Promise<object>}
   *   [options.ask] in place of /api/series
   * @param {(state: {state: "loading"|"ready"|"error", text: string}) => void} [options.onState]
   */
  constructor({ group, charts, signals = [], most = 1200, ask = null, onState = () => {} }) {
    Object.assign(this, { group, charts, signals, most, onState });
    this.ask = ask ?? ((wanted, signal) => get("/api/series", wanted, { signal }));
    this.span = null; // {from, to, tail, coarse, kept}: what the charts hold
    this.held = null; // ticks that came in while an answer is awaited
    this.request = null;
    this.boot = null;
    this.ended = new AbortController();
    this.later = debounce(() => this.load(), 120);
  }

  start() {
    const { signal } = this.ended;
    this.boot = live.plant?.boot ?? null;
    live.addEventListener("ticks", ({ detail }) => this.ticks(detail), { signal });
    live.addEventListener("hello", ({ detail }) => this.hello(detail), { signal });
    this.group.addEventListener("range", () => { if (this.short()) this.later(); }, { signal });
    return this.load();
  }

  stop() {
    this.ended.abort();
    this.request?.abort();
    this.later.cancel();
  }

  /** Ask for what is shown and some room around it. */
  async load() {
    const wanted = this.wanted();
    const tail = wanted.to === undefined;
    if (!this.span) this.onState({ state: "loading", text: "Loading ticks…" });
    const series = await this.answer(wanted);
    if (!series) return;
    const { t } = series;
    const last = t.length ? t[t.length - 1] : null;
    const step = t.length > 1 ? (last - t[0]) / (t.length - 1) : 0;
    this.span = {
      from: wanted.from ?? t[0] ?? -Infinity, to: wanted.to ?? last, tail,
      coarse: step > 1.5 * this.group.every, kept: series.kept_from ?? null,
    };
    for (const chart of this.charts()) chart.setData(series);
    this.release(tail);
    this.onState({ state: "ready", text: t.length ? "No ticks in this span." : this.nothing() });
    if (this.short()) this.later(); // people moved on in the meantime
  }

  nothing() {
    if (live.resumed) return "No ticks since this watch was started.";
    return live.now.t === null ? "There have been no ticks." : "No ticks are kept of this span.";
  }

  wanted() {
    const { group } = this;
    const base = { signal: this.signals, most: this.most };
    const now = live.now?.t ?? null;
    if (group.live) {
      if (group.width === null || now === null) return base;
      return { ...base, from: now - 1.5 * group.width };
    }
    const [from, to] = group.range();
    const width = to - from;
    const wanted = { ...base, from: from - width };
    if (now === null || to + width < now) wanted.to = to + width;
    return wanted;
  }

  /** Whether the charts lack something of what is shown. */
  short() {
    const { span, group } = this;
    const [from, to] = group.wanted();
    if (!span || this.request) return false;
    if (from === null) return false;
    const { every } = group;
    const first = this.charts().reduce((most, { rows }) => (rows.cut ? Math.max(most, rows.first) : most), span.from);
    if (from < first - every && (span.kept === null || first > span.kept + every)) return true;
    if (!span.tail && to > span.to + every) return true;
    const end = span.tail ? live.now?.t ?? span.to : span.to;
    return span.coarse && to - from < (end - first) / 3.5; // a new answer spans three times what is shown
  }

  /** The answer, or null if it was given up or failed; ticks are held back meanwhile. */
  async answer(wanted) {
    this.request?.abort();
    const request = (this.request = new AbortController());
    this.held ??= [];
    try {
      const series = await this.ask(wanted, request.signal);
      return request.signal.aborted ? null : series;
    } catch (error) {
      if (request.signal.aborted) return null;
      this.release(this.span?.tail ?? false);
      this.onState({ state: "error", text: error.message });
      return null;
    } finally {
      if (this.request === request) this.request = null;
    }
  }

  release(tail) {
    const held = this.held ?? [];
    this.held = null;
    if (tail) for (const { ticks, skipped } of held) for (const chart of this.charts()) chart.append(ticks, skipped);
  }

  ticks(detail) {
    if (this.held) {
      if (this.held.length < HELD) this.held.push(detail);
      return;
    }
    if (!this.span?.tail) return;
    let cut = false;
    for (const chart of this.charts()) {
      chart.append(detail.ticks, detail.skipped);
      cut ||= chart.rows.cut;
    }
    if (cut && this.short()) this.later();
  }

  /** Connected anew: fill the gap, or start anew where the stream did. */
  async hello(detail) {
    const last = this.charts().reduce((most, { rows }) => Math.max(most, rows.last ?? -Infinity), -Infinity);
    const fresh = detail.boot !== undefined && this.boot !== null && detail.boot !== this.boot;
    this.boot = detail.boot ?? this.boot;
    if (fresh || !this.span || last === -Infinity || (detail.t !== null && detail.t < last)) {
      await this.load();
      return;
    }
    if (!this.span.tail) return;
    // More than one answer holds would come thinned: rows so far apart that they look like gaps.
    if (detail.t !== null && detail.t - last > this.most * this.group.every) {
      await this.load();
      return;
    }
    const series = await this.answer({ signal: this.signals, most: this.most, from: last });
    if (!series) return;
    for (const chart of this.charts()) chart.extend(series);
    this.release(true);
    this.onState({ state: "ready", text: "No ticks in this span." });
    if (this.short()) this.later(); // filling may have taken the place of another request
  }
}
