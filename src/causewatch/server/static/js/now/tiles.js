/**
 * How every signal is: a tile each with its value, its course and its evidence, grouped by stage,
 * made for hundreds of them. A tile is touched only when what it shows has changed.
 */
import { address } from "../api.js";
import { h, text } from "../dom.js";
import { counted, number, score } from "../format.js";
import { inShort, STREAM, UNWELL } from "../health.js";
import { live } from "../live.js";
import { displayName, fittingName, nameTitle } from "../names.js";
import { svg } from "../svg.js";
import { ROOM, Sparklines } from "./sparklines.js";

/** The bar of a tile ends here; its limit (1) is marked. */
const BAR_END = 1.5;
/** Changes of evidence smaller than this are not worth a repaint. */
const VISIBLE = 0.02;
/** From so many signals on, tiles are smaller. */
const MANY = 100;
/** Milliseconds between two drawings of the courses. */
const REDRAW_LINES = 1000;
/** A course that strays less than these spreads of what was expected does not fill its height. */
const LEAST_SPREADS = 6;
/** The longest that stands beside a name, by the state of its signal. */
const BESIDE = { above: "▲\u200a1.04", unknown: "–" };

/** The panel of all signals; `update()` shows what holds now. */
export function signalTiles() {
  const { plant } = live;
  const tiles = plant.signals.map((signal) => new Tile(signal));
  const groups = grouped(plant).map(({ name, members }) => {
    const note = h("span", { class: "stage-note" });
    const element = h("section", { class: "stage" },
      name && h("h3", { class: "stage-name" }, h("span", { class: "cut", title: name }, name), note),
      h("ul", { class: "tiles" }, members.map((k) => tiles[k].element)));
    return { element, note, members };
  });
  const summary = h("p", { class: "tiles-summary soft" });
  const few = h("input", { type: "checkbox", onchange: () => {
    element.classList.toggle("tiles-few", few.checked);
    update();
  } });
  const element = h("section", { class: `panel tiles-panel${tiles.length > MANY ? " tiles-many" : ""}`, "aria-labelledby": "tiles-title" },
    h("div", { class: "row spread" },
      h("h2", { id: "tiles-title" }, "Signals"),
      h("label", { class: "small" }, few, "Only those that stand out")),
    summary, groups.map((group) => group.element), legend());

  // How wide tiles are depends on the window.
  const observer = new ResizeObserver(() => {
    const shown = tiles.find((tile) => tile.link.clientWidth > 0);
    if (shown) fit(tiles, shown);
  });
  observer.observe(element);

  let drawn = -Infinity;
  const lines = new Sparklines(() => draw());
  const draw = () => {
    drawn = performance.now();
    tiles.forEach((tile, k) => tile.draw(lines, k));
  };

  const update = () => {
    const { evidence, status, values } = live.now;
    const unwell = status?.unwell ?? {};
    const states = plant.signals.map((signal, k) => tiles[k].show(evidence[k] ?? null, unwell[signal.name], values[k] ?? null));
    if (performance.now() - drawn >= REDRAW_LINES) draw();
    const sum = (which, members = states.keys()) => [...members].filter((k) => states[k][which]).length;
    for (const { members, note, element: stage } of groups) {
      const over = sum("above", members);
      const sick = sum("unwell", members);
      text(note, [over && `▲ ${over}`, sick && `${UNWELL} ${sick}`].filter(Boolean).join("  ") || String(members.length));
      if (over || sick) stage.dataset.state = over ? "above" : "unwell";
      else delete stage.dataset.state;
    }
    const [above, ill, both, unknown] = ["above", "unwell", "both", "unknown"].map((which) => sum(which));
    const stream = unwell[STREAM];
    if (unknown === tiles.length) {
      text(summary, live.resumed ? "No signal has been judged since this watch was started." : "No signal can be judged yet.");
      return;
    }
    const parts = [above && `▲ ${counted(above, "signal")} above the limit`, ill && `${UNWELL} ${counted(ill, "signal")} unwell`,
      unknown && `– ${counted(unknown, "signal")} that cannot be judged now`].filter(Boolean);
    text(summary, `${parts.length ? `${parts.join(", ")}${both ? `; ${counted(both, "is", "are")} both` : ""}.` : `All ${tiles.length} are within their limits and well.`}${stream ? ` ${stream.detail}` : ""}`);
  };
  const destroy = () => {
    observer.disconnect();
    lines.destroy();
  };
  return { element, update, destroy };
}

/** Tell all tiles how much room a name has, by one that is in sight. */
function fit(tiles, { link, name, word }) {
  const style = getComputedStyle(link);
  const pen = document.createElement("canvas").getContext("2d");
  const widthIn = ({ fontSize, fontFamily }, weight) => (words) => {
    pen.font = `${weight} ${fontSize} ${fontFamily}`;
    return Math.ceil(pen.measureText(words).width);
  };
  // One less: the width is a rounded one.
  const room = [style.paddingLeft, style.paddingRight, style.columnGap].reduce((rest, taken) => rest - parseFloat(taken), link.clientWidth - 1);
  const wordWidth = widthIn(getComputedStyle(word), 600);
  const beside = (state) => (BESIDE[state] ? wordWidth(BESIDE[state]) : 0);
  const width = widthIn(getComputedStyle(name), 400);
  for (const tile of tiles) tile.fit({ room, beside, width });
}

/** Places of the signals by stage, in the plant's order; those without a stage come last. */
function grouped({ stages, signals }) {
  const groups = stages.map((name) => ({ name, members: [] }));
  const rest = { name: stages.length ? "no stage" : "", members: [] };
  signals.forEach((signal, k) => (groups[signal.stage] ?? rest).members.push(k));
  return [...groups, rest].filter((group) => group.members.length);
}

class Tile {
  #state = "";
  #shown = NaN;
  #evidence = null;
  #health = null;
  #place = null;

  constructor(signal) {
    this.signal = signal;
    // The name may be cut, and signs read badly: who listens is told the whole, in words.
    this.name = h("span", { class: "tile-name", "aria-hidden": "true" }, displayName(signal));
    this.word = h("span", { class: "tile-word", "aria-hidden": "true" });
    this.said = h("span", { class: "visually-hidden" });
    this.value = h("span", { class: "tile-value" });
    this.line = svg("path", { "vector-effect": "non-scaling-stroke" });
    this.fill = h("span", { class: "tile-fill" });
    this.ill = h("span", { class: "tile-ill" });
    this.link = h("a", { class: "tile", href: address("/signals", { signal: signal.name }) },
      h("span", { class: "visually-hidden" }, `${nameTitle(signal)} `), this.name, this.word, this.said,
      h("span", { class: "tile-now" }, this.value, signal.unit && h("span", { class: "tile-unit" }, ` ${signal.unit}`),
        svg("svg", { class: "tile-line", viewBox: `0 0 ${ROOM.width} ${ROOM.height}`, preserveAspectRatio: "none", "aria-hidden": "true" }, this.line)),
      this.ill, h("span", { class: "tile-bar", "aria-hidden": "true" }, this.fill));
    const { guarded, low, high, spread } = signal;
    this.least = guarded ? high - low : LEAST_SPREADS * (spread ?? 0);
    // Titles change with every tick; they are written when somebody is about to read one.
    for (const event of ["pointerenter", "focus"]) this.link.addEventListener(event, () => this.#entitle());
    this.element = h("li", null, this.link);
  }

  /** Show evidence, health and value; gives what holds: above (the limit), unwell, both, unknown. */
  show(evidence, health, value) {
    this.#evidence = evidence;
    this.#health = health && health.state !== "ok" ? health : null;
    const unwell = this.#health !== null;
    const above = evidence > 1;
    const unknown = !unwell && evidence === null;
    const state = above ? "above" : unwell ? "unwell" : unknown ? "unknown" : "ok";
    if (`${state} ${unwell}` !== this.#state) {
      this.#state = `${state} ${unwell}`;
      this.link.dataset.state = state;
      this.element.dataset.state = state;
      this.link.toggleAttribute("data-unwell", unwell);
      this.#nameIt();
    }
    text(this.word, above ? `▲\u200a${short(evidence)}` : unknown ? "–" : "");
    text(this.said, above ? ` is above its limit, ${short(evidence)} times it; ` : unknown ? " cannot be judged now; " : "");
    text(this.value, number(value));
    text(this.ill, unwell ? `${UNWELL}\u200a${inShort(this.#health.state)}` : "");
    const share = evidence === null ? 0 : Math.min(1, Math.max(0, evidence / BAR_END));
    if (!(Math.abs(share - this.#shown) < VISIBLE)) {
      this.#shown = share;
      this.fill.style.transform = `scaleX(${share.toFixed(3)})`;
    }
    return { above, unwell, both: above && unwell, unknown };
  }

  /** Draw its course, number `k` of all. */
  draw(lines, k) {
    this.line.setAttribute("d", lines.path(k, this.least));
  }

  /** Take the room there is: {room, beside: what a state takes of it, width: measures a text}. */
  fit(place) {
    this.#place = place;
    this.#nameIt();
  }

  #nameIt() {
    if (!this.#place) return;
    const { room, beside, width } = this.#place;
    text(this.name, fittingName(this.signal, room - beside(this.link.dataset.state), width));
  }

  #entitle() {
    const k = live.index(this.signal.name);
    const { unit } = this.signal;
    const withUnit = (x) => `${number(x)}${unit ? ` ${unit}` : ""}`;
    const { values, expected } = live.now;
    this.link.title = [
      nameTitle(this.signal),
      `now ${withUnit(values[k])}${expected[k] === null || expected[k] === undefined ? "" : `, expected ${withUnit(expected[k])}`}`,
      `evidence ${score(this.#evidence)} (limit 1)`,
      this.#health?.detail,
    ].filter(Boolean).join("\n");
  }
}

/** Evidence above the limit in little room: "1.04" must not read as the limit itself. */
function short(evidence) {
  return evidence < 1.1 ? score(evidence) : evidence < 9.95 ? evidence.toFixed(1) : number(evidence, 2);
}

function legend() {
  return h("p", { class: "tiles-legend small soft" },
    h("span", null, h("span", { class: "tile-bar legend-bar", "aria-hidden": "true" }, h("span", { class: "tile-fill" })), "evidence, with the limit marked"),
    h("span", null, "line: its course in the time of the score"),
    h("span", null, "▲ above the limit"), h("span", null, `${UNWELL} unwell (no value, stands still …)`), h("span", null, "– cannot be judged now"));
}
