/** The alarms to be marked on the charts, and a line that lists those in the span shown. */

import { address, get } from "../api.js";
import { spansOf } from "../chart/marks.js";
import { debounce, h, replace, text } from "../dom.js";
import { counted, time } from "../format.js";
import { likely, subject } from "../history/words.js";
import { live } from "../live.js";

/** Links in the line; the history has the rest. */
const LISTED = 8;

export class SpanAlarms {
  /**
   * @param {ChartGroup} group
   * @param {() => SignalCard[]} cards
   * @param {string|null} focus id of the alarm whose course is shown
   */
  constructor(group, cards, focus = null) {
    Object.assign(this, { group, cards, focus });
    this.known = new Map();
    this.spans = new Map(); // times of the known alarms, by id
    this.ended = new AbortController();
    this.root = h("div", { class: "signals-alarms" });
    this.fetch = debounce(() => this.load(), 400);
    this.shown = "";
    const { signal } = this.ended;
    live.addEventListener("alarm", ({ detail }) => { this.known.set(detail.id, detail); this.apply(); }, { signal });
    live.addEventListener("hello", () => this.load(), { signal });
    group.addEventListener("range", () => { if (!group.live) this.fetch(); }, { signal });
    group.addEventListener("read", () => this.list(), { signal });
    this.load();
  }

  /** Alarms raised before the end of what is shown; older ones are of no use here. */
  async load() {
    const until = this.group.live ? undefined : this.group.range()[1] ?? undefined;
    try {
      const { alarms } = await get("/api/alarms", { until, most: 100 }, { signal: this.ended.signal });
      this.known = new Map([...alarms, ...live.now.alarms.values()].map((alarm) => [alarm.id, alarm]));
      this.apply();
    } catch {
      // The charts are of use without marks; the banner tells of a lost connection.
    }
  }

  take(alarm) {
    this.known.set(alarm.id, alarm);
    this.apply();
  }

  /** Mark on each chart the alarms that concern its signal. */
  apply() {
    const alarms = [...this.known.values()];
    this.spans = new Map(spansOf(alarms).map((span) => [span.id, span]));
    for (const { chart, name } of this.cards()) {
      chart.setAlarms(alarms.filter((alarm) => alarm.id === this.focus || concerns(alarm, name)), this.focus);
    }
    this.list();
  }

  /** List what lies in the span shown. */
  list() {
    const [from, to] = this.group.range();
    const names = this.cards().map(({ name }) => name);
    const within = from === null ? [] : [...this.known.values()].filter((alarm) => {
      const span = this.spans.get(alarm.id);
      return span && span.from <= to && (span.cleared ?? live.now.t ?? Infinity) >= from && names.some((name) => concerns(alarm, name));
    });
    within.sort((one, other) => (other.id === this.focus) - (one.id === this.focus)); // the one it is about first
    const shown = within.map(({ id, cleared_at: end }) => `${id}${end}`).join() + names.join();
    if (shown === this.shown) return; // nothing is built anew while ticks come in
    this.shown = shown;
    if (!within.length) {
      replace(this.root, h("span", { class: "soft" }, "No alarm about these signals in this span."));
      return;
    }
    replace(this.root, h("span", { class: "soft" }, `${counted(within.length, "alarm")} in this span:`),
      within.slice(0, LISTED).map((alarm) => this.link(alarm, names)),
      within.length > LISTED ? h("a", { href: "/history" }, `and ${within.length - LISTED} more`) : null);
  }

  link(alarm, names) {
    const words = `${time(this.spans.get(alarm.id).raised)} ${subject(alarm, 22)}`.trim();
    return h("a", {
      class: `tag ${alarm.kind === "health" ? "tag-warn" : "tag-bad"}`, href: address("/signals", { alarm: alarm.id, signal: names }),
      title: alarm.headline, "aria-current": alarm.id === this.focus ? "true" : null,
    }, text(h("span", { class: "cut" }), words), alarm.cleared_at ? null : " (on)");
  }

  stop() {
    this.ended.abort();
    this.fetch.cancel();
  }
}

/** Whether an alarm is about this signal. */
function concerns(alarm, name) {
  return Object.hasOwn(alarm.signals, name) || likely(alarm.causes).some(({ signal }) => signal === name)
    || alarm.broken_links.some(({ source, target }) => source === name || target === name);
}
