/**
 * Charts that share their time axis and cursor, and are drawn together, once a frame at most.
 *
 * A group either follows (its right edge is the latest tick) or stands still on a span.
 * It dispatches "range" (detail {live, from, to, byHand}) when that changes, and "read" when the
 * numbers in words are brought up to date.
 */

let count = 0;

/** Charts look no closer than this many ticks. */
const CLOSEST = 8;
/** Pixels a chart is taken to be wide when asking whether it has moved visibly. */
const WIDEST = 1000;
/** Milliseconds after which even an invisible move is drawn. */
const LONGEST_WAIT = 500;
/** Milliseconds between two readings of the numbers. */
const READ_EVERY = 250;

export class ChartGroup extends EventTarget {
  /**
   * @param {{width?: number|null, every?: number}} options width: seconds shown while following,
   *   null for all there is; every: seconds per tick
   */
  constructor({ width = null, every = 1 } = {}) {
    super();
    count += 1;
    this.key = `group-${count}`; // charts with the same key share their cursor
    this.every = every;
    this.width = width;
    this.live = true;
    this.from = null;
    this.to = null;
    this.charts = new Set();
    this.waiting = new Set();
    this.frame = 0;
    this.timer = 0;
    this.drawn = { to: null, at: 0 }; // the last frame: right edge, and when it was
    this.read = { at: -Infinity, timer: 0 }; // when the words of the legends were written last
  }

  add(chart) {
    this.charts.add(chart);
    this.touch(chart);
  }

  remove(chart) {
    this.charts.delete(chart);
    this.waiting.delete(chart);
    if (!this.charts.size) {
      cancelAnimationFrame(this.frame);
      clearTimeout(this.timer);
      clearTimeout(this.read.timer);
      this.frame = this.timer = this.read.timer = 0;
    }
  }

  /** The first and the last time any chart has. */
  extent() {
    let first = null, last = null;
    for (const { rows } of this.charts) {
      if (!rows.length) continue;
      if (first === null || rows.first < first) first = rows.first;
      if (last === null || rows.last > last) last = rows.last;
    }
    return [first, last];
  }

  /** What is to be shown, [from, to], whether there are ticks or not; [null, null] where nobody knows. */
  wanted() {
    if (!this.live) return [this.from, this.to];
    const [first, last] = this.extent();
    if (last === null) return [null, null];
    return [this.width === null ? first : last - this.width, last];
  }

  /**
   * What is shown now, [from, to]; [null, null] while there is nothing to show. A group that follows
   * leaves no room before the first tick there is: so a chart is full from the first minute on.
   */
  range() {
    const [from, to] = this.wanted();
    if (!this.live || to === null) return [from, to];
    return [Math.min(Math.max(from, this.extent()[0]), to - CLOSEST * this.every), to];
  }

  /** Follow the latest tick; `width` in seconds, null for everything, undefined for as it was. */
  follow(width, byHand = false) {
    if (width !== undefined) this.width = width;
    this.live = true;
    this.moved(byHand);
  }

  /** Stand still on the span `from` … `to`. */
  show(from, to, byHand = false) {
    const least = CLOSEST * this.every;
    if (to - from < least) {
      const middle = (from + to) / 2;
      from = middle - least / 2;
      to = middle + least / 2;
    }
    this.live = false;
    this.from = from;
    this.to = to;
    this.moved(byHand);
  }

  /** Stand still on all there is, with a little room at both ends. */
  fit() {
    const [first, last] = this.extent();
    if (first === null) return;
    const room = Math.max((last - first) * 0.01, this.every);
    this.show(first - room, last + room);
  }

  /** Stand still on what is shown now. */
  pause(byHand = false) {
    const [from, to] = this.range();
    if (from !== null) this.show(from, to, byHand);
  }

  /** Show `factor` times as much; the time `at` keeps its place (a following group its edge). */
  zoom(factor, at = null, byHand = true) {
    const [from, to] = this.range();
    if (from === null) return;
    const [first, last] = this.extent();
    const whole = first === null ? to - from : Math.max(last - first, to - from);
    const width = Math.min(Math.max((to - from) * factor, CLOSEST * this.every), 4 * whole);
    if (this.live) {
      this.follow(width, byHand);
      return;
    }
    const hold = at ?? (from + to) / 2;
    const start = hold - ((hold - from) / (to - from)) * width;
    this.show(start, start + width, byHand);
  }

  /** Move by `by` seconds; at the latest tick a group does not move on into the future. */
  pan(by, byHand = true) {
    const [from, to] = this.range();
    if (from === null) return;
    const last = this.extent()[1] ?? to;
    const most = Math.max(last + (to - from) * 0.5, to);
    const move = Math.min(by, most - to);
    this.show(from + move, to + move, byHand);
  }

  moved(byHand) {
    this.drawn.to = null;
    this.touchAll();
    const [from, to] = this.range();
    this.dispatchEvent(new CustomEvent("range", { detail: { live: this.live, from, to, byHand } }));
  }

  touchAll() {
    for (const chart of this.charts) this.touch(chart);
  }

  /**
   * Ask for `chart` to be drawn with the next frame. While following, all move together.
   * `soon` is for what must be seen at once; ticks that move the picture by less than half a
   * pixel wait for one another instead.
   */
  touch(chart, soon = true) {
    this.waiting.add(chart);
    if (soon) this.drawn.to = null;
    if (this.frame || (this.timer && !soon)) return;
    clearTimeout(this.timer);
    this.timer = 0;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const range = this.range();
      const wait = this.still(range);
      if (wait > 0) this.timer = setTimeout(() => { this.timer = 0; this.touch(chart); }, wait);
      else this.drawAll(range);
    });
  }

  /** Milliseconds for which the last frame still does. */
  still([from, to]) {
    const { drawn } = this;
    if (!this.live || drawn.to === null || from === null) return 0;
    const visible = 0.5 * ((to - from) / WIDEST);
    return to - drawn.to >= visible ? 0 : drawn.at + LONGEST_WAIT - performance.now();
  }

  drawAll([from, to]) {
    const charts = this.live ? [...this.charts] : [...this.waiting];
    this.waiting.clear();
    this.drawn = { to, at: performance.now() };
    for (const chart of charts) chart.draw(from, to);
    this.words();
  }

  /**
   * Write all legends, at most four times a second, and in the same frame as the drawing: words
   * that change on their own would cost a layout and a frame each.
   */
  words() {
    const wait = this.read.at + READ_EVERY - performance.now();
    if (wait > 0) {
      this.read.timer ||= setTimeout(() => { this.read.timer = 0; this.words(); }, wait + READ_EVERY / 2);
      return;
    }
    clearTimeout(this.read.timer);
    this.read = { at: performance.now(), timer: 0 };
    for (const chart of this.charts) chart.write();
    this.dispatchEvent(new Event("read"));
  }
}
