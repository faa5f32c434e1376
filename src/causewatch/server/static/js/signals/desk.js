/** Charts of some signals, one below the other, with one time axis. */

import { ChartGroup, SeriesFeed } from "../chart.js";
import { debounce, h, text } from "../dom.js";
import { live } from "../live.js";
import { navigate } from "../router.js";
import { SpanAlarms } from "./alarms.js";
import { SignalCard } from "./card.js";
import { Toolbar } from "./toolbar.js";
import { MOST_CHARTS, named, ranges } from "./words.js";

export class Desk {
  /**
   * @param {HTMLElement} root
   * @param {object} options
   * @param {string[]} options.names signals to begin with
   * @param {[number, number]|null} options.span to stand still on; null follows
   * @param {number|null} [options.width] seconds shown while following
   * @param {object|null} [options.alarm] whose course is shown
   * @param {Function} [options.ask] how series are asked for
   * @param {(names: string[]) => void} [options.onNames]
   */
  constructor(root, { names, span, width, alarm = null, ask = null, onNames = () => {} }) {
    const every = live.plant.every;
    this.alarm = alarm;
    this.onNames = onNames;
    this.usual = ranges(every)[0][0];
    this.group = new ChartGroup({ every, width: width === undefined ? this.usual : width });
    if (span) this.group.show(...span);
    this.cards = [];
    this.ended = new AbortController();
    this.toolbar = new Toolbar(this.group, (name) => this.tryAdd(name));
    this.trouble = h("p", { class: "error signals-trouble", role: "alert" });
    this.place = h("div", { class: "signals-cards" });
    this.alarms = new SpanAlarms(this.group, () => this.cards, alarm?.id ?? null);
    root.append(this.toolbar.root, this.alarms.root, this.trouble, this.place);
    this.feed = new SeriesFeed({
      group: this.group, charts: () => this.cards.map(({ chart }) => chart), ask,
      onState: (state) => this.told(state),
    });
    this.remember = debounce(() => this.write(true), 300);
    this.refresh = () => { for (const card of this.cards) card.refresh(); };
    this.group.addEventListener("range", ({ detail }) => {
      this.toolbar.refresh();
      if (detail.byHand) this.remember();
    });
    this.group.addEventListener("read", this.refresh);
    for (const event of ["hello", "status"]) live.addEventListener(event, this.refresh, { signal: this.ended.signal });
    for (const name of names.slice(0, MOST_CHARTS)) this.place.append(this.card(name).root);
    this.settled();
    this.feed.start();
    if (alarm) this.alarms.take(alarm);
  }

  get names() {
    return this.cards.map(({ name }) => name);
  }

  card(name) {
    const height = window.innerWidth < 640 ? 170 : 190;
    const card = new SignalCard(name, {
      group: this.group, height,
      onAdd: (other) => this.tryAdd(other), onRemove: (own) => this.remove(own),
    });
    this.cards.push(card);
    return card;
  }

  /** Add a signal; gives a sentence if that cannot be, else "". */
  tryAdd(typed) {
    const name = named(typed);
    if (live.index(name) < 0) return `There is no signal ${typed}; choose one of the list.`;
    if (this.names.includes(name)) return `${typed} is shown already.`;
    if (this.cards.length >= MOST_CHARTS) return `No more than ${MOST_CHARTS} signals are shown together; remove one first.`;
    this.place.append(this.card(name).root);
    this.changed();
    this.cards.at(-1).root.scrollIntoView({ block: "nearest" });
    return "";
  }

  remove(name) {
    const at = this.names.indexOf(name);
    if (at < 0) return;
    if (this.cards.length === 1 && !this.alarm) {
      navigate("/signals");
      return;
    }
    this.cards[at].destroy();
    this.cards.splice(at, 1);
    this.changed();
    // The button that had the focus is gone: go on where the eye is.
    (this.cards[Math.min(at, this.cards.length - 1)]?.root.querySelector("button") ?? this.toolbar.input).focus();
  }

  changed() {
    this.settled();
    this.write(false);
    this.alarms.apply();
    this.feed.load();
  }

  settled() {
    const names = this.names;
    this.feed.signals = names;
    for (const card of this.cards) card.mark(names, names.length >= MOST_CHARTS);
    this.onNames(names);
  }

  /** The address always says what is shown. */
  write(sameEntry) {
    const { group } = this;
    const params = { alarm: this.alarm?.id, signal: this.names };
    if (!group.live) Object.assign(params, { from: rounded(group.from), to: rounded(group.to) });
    else if (group.width === null) params.range = "all";
    else if (group.width !== this.usual) params.range = rounded(group.width);
    else if (this.alarm) params.range = "live";
    navigate("/signals", params, { replace: sameEntry, quiet: true });
  }

  told({ state, text: words }) {
    text(this.trouble, state === "error" ? words : "");
    for (const { chart } of this.cards) chart.setNote(state === "error" ? "" : words);
  }

  destroy() {
    this.ended.abort();
    this.feed.stop();
    this.alarms.stop();
    this.remember.cancel();
    for (const card of this.cards) card.destroy();
  }
}

function rounded(t) {
  return Math.round(t * 1000) / 1000;
}
