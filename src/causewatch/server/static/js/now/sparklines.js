/**
 * The last values of all signals as lines the size of a word: thinned by the server where they are
 * old, and in the same way here where they come live.
 */
import { get } from "../api.js";
import { SHOWN } from "../chart/score.js"; // the lines go as far back as the score beside them
import { live } from "../live.js";

const POINTS = 60;
/** The room that a line is drawn in; the page stretches it. */
export const ROOM = { width: 60, height: 16 };
const EDGE = 1.5;

export class Sparklines {
  #rows = []; // {from, t, values, off: how far each value is from what was expected}
  #ended = new AbortController();
  #onLoaded;

  /** `onLoaded` is called when what is old has come. */
  constructor(onLoaded) {
    this.#onLoaded = onLoaded;
    const { signal } = this.#ended;
    live.addEventListener("ticks", ({ detail }) => {
      for (const [t, , , values, expected] of detail.ticks) this.#add(t, values, expected);
    }, { signal });
    live.addEventListener("hello", () => this.#load(), { signal });
    this.#load();
  }

  destroy() {
    this.#ended.abort();
  }

  async #load() {
    try {
      const { t, values } = await get("/api/sparklines", { ticks: SHOWN, most: POINTS }, { signal: this.#ended.signal });
      const last = t.at(-1) ?? -Infinity;
      const old = t.map((at, i) => ({ from: -Infinity, t: at, values: values.map((column) => column[i]), off: [] }));
      this.#rows = [...old, ...this.#rows.filter((row) => row.t > last)];
      this.#onLoaded();
    } catch {
      /* The lines then begin with what comes live. */
    }
  }

  /** One tick; of those that share a point, each signal is stood for by the value furthest from what was expected. */
  #add(t, values, expected) {
    const rows = this.#rows;
    const last = rows.at(-1);
    if (last && t <= last.t) return;
    const { every } = live.plant;
    const off = values.map((value, k) => (value === null ? -1 : Math.abs(value - (expected[k] ?? value))));
    if (!last || t - last.from >= (SHOWN / POINTS) * every) rows.push({ from: t, t, values: [...values], off });
    else {
      last.t = t;
      off.forEach((far, k) => {
        if (far < last.off[k]) return;
        last.off[k] = far;
        last.values[k] = values[k];
      });
    }
    while (rows[0].t < t - SHOWN * every) rows.shift();
  }

  /**
   * The line of the signal at `k` as the path of a drawing; "" while there is none.
   *
   * @param {number} k
   * @param {number} least  Values that differ by less fill only a part of the height.
   */
  path(k, least) {
    const rows = this.#rows;
    let low = Infinity, high = -Infinity;
    for (const { values } of rows) {
      const value = values[k];
      if (value === null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    if (rows.length < 2 || low > high) return "";
    const size = Math.max(high - low, least) || 1;
    const bottom = (low + high - size) / 2;
    const first = rows[0].t;
    const across = ROOM.width / (rows.at(-1).t - first);
    const down = (ROOM.height - 2 * EDGE) / size;
    let pen = "M";
    let path = "";
    for (const { t, values } of rows) {
      const value = values[k];
      if (value === null) {
        pen = "M";
        continue;
      }
      path += `${pen}${((t - first) * across).toFixed(1)} ${(ROOM.height - EDGE - (value - bottom) * down).toFixed(1)}`;
      pen = "L";
    }
    return path;
  }
}
