/** The rows of one chart: columns of equal length in order of time, bounded. */

/** No chart keeps more rows than this; the oldest go first, in blocks. */
export const MOST = 20000;
const BLOCK = 2000;

export class Buffer {
  /**
   * @param {string[]} names columns besides the time
   * @param {number} every seconds per tick, to tell a gap from a step
   */
  constructor(names, every) {
    this.names = names;
    this.every = every;
    this.t = [];
    for (const name of names) this[name] = [];
    this.step = every; // mean distance of rows: more than a tick where the server has thinned
    this.cut = false; // whether old rows had to go
  }

  get length() {
    return this.t.length;
  }

  get first() {
    return this.t.length ? this.t[0] : null;
  }

  get last() {
    return this.t.length ? this.t[this.t.length - 1] : null;
  }

  /** Start anew with these columns (arrays; a missing one is unknown throughout). */
  replace(t, columns) {
    this.clear();
    this.step = t.length > 1 ? (t[t.length - 1] - t[0]) / (t.length - 1) : this.every;
    for (let i = 0; i < t.length; i += 1) this.put(t, columns, i);
    this.trim();
  }

  /** Add the rows of these columns that are later than the last one. */
  extend(t, columns) {
    for (let i = 0; i < t.length; i += 1) this.put(t, columns, i);
    this.trim();
  }

  put(t, columns, i) {
    this.push(t[i], (name) => columns[name]?.[i]);
  }

  /**
   * Add one row; `value(name)` gives its cells. A row that is not later is left out.
   * `joined`: rows in between exist and were only not sent, so this is no gap.
   */
  push(t, value, joined = false) {
    const last = this.last;
    if (last !== null) {
      if (!(t > last)) return false;
      // Where nothing was recorded for a while the line must not be drawn through.
      if (!joined && t - last > Math.max(3.5 * this.every, 8 * this.step)) this.add((last + t) / 2, () => null);
    }
    this.add(t, value);
    return true;
  }

  add(t, value) {
    this.t.push(t);
    for (const name of this.names) this[name].push(value(name) ?? null);
  }

  trim() {
    if (this.t.length <= MOST) return;
    const surplus = this.t.length - MOST + BLOCK;
    this.t.splice(0, surplus);
    for (const name of this.names) this[name].splice(0, surplus);
    this.cut = true;
  }

  clear() {
    this.t.length = 0;
    for (const name of this.names) this[name].length = 0;
    this.step = this.every;
    this.cut = false;
  }
}
