/**
 * What all charts have in common: place, size, theme, legend as text, text alternative and table.
 *
 * A chart itself (see signal.js, score.js) says which columns it keeps, how they are drawn
 * (`lines`, `yScale`, `yAxis`), and how a row reads (`legend`, `sentence`, `head`, `cells`).
 */

import uPlot from "../../vendor/uPlot.esm.js";
import { h, text, throttle } from "../dom.js";
import { live } from "../live.js";
import { Buffer } from "./buffer.js";
import { palette } from "./colours.js";
import { HINT, gestures } from "./gestures.js";
import { ChartGroup } from "./group.js";
import { drawLines, drawSpans, spansOf } from "./marks.js";
import { TickTable } from "./table.js";
import { axisName, labels, moment, splits, steps } from "./time.js";

const FONT = '12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
/** Width of lines. Anything but 1 costs ten times as much to draw where there is no graphics card. */
export const LINE = 1;
const WIDTH_OF_AXIS = 58; // the same for all charts, so that they stand exactly below one another
const EDGE = 12; // room at the right for half a label

export class Chart {
  constructor(container, columns, options) {
    const plant = live.plant;
    this.options = { height: 180, gestures: true, table: true, timeLabel: true, valueTitle: "", name: "Chart", ...options };
    this.clock = options.clock ?? plant?.clock ?? "utc";
    this.every = options.every ?? plant?.every ?? 1;
    this.rows = new Buffer(columns, this.every);
    this.group = options.group ?? new ChartGroup({ every: this.every });
    this.alarms = [];
    this.focus = null;
    this.hover = null; // row under the cursor
    this.plot = null;
    this.ended = new AbortController();
    this.build(container);
    this.describe = throttle(() => this.say(), 5000);
    this.observer = new ResizeObserver(() => this.fitWidth());
    this.observer.observe(this.frame);
    window.addEventListener("themechange", () => this.restyle(), { signal: this.ended.signal });
    this.group.add(this);
  }

  build(container) {
    this.legendLine = h("p", { class: "chart-legend" });
    this.note = h("p", { class: "chart-note" }, "Waiting for ticks…");
    this.frame = h("div", {
      class: "chart-plot", role: "img", tabindex: this.options.gestures ? "0" : null,
      "aria-label": `${this.options.name}: no ticks yet.`,
    });
    this.frame.style.height = `${this.options.height}px`;
    this.table = this.options.table ? new TickTable(this) : null;
    this.root = h("figure", { class: "chart chart-bare chart-void" },
      h("div", { class: "chart-head" }, this.legendLine, this.table?.button),
      h("div", { class: "chart-place" }, this.frame, this.note,
        h("span", { class: "chart-axis", "aria-hidden": "true", hidden: !this.options.timeLabel }, axisName(this.clock)),
        this.options.valueTitle ? h("span", { class: "chart-value-title", "aria-hidden": "true" }, this.options.valueTitle) : null),
      this.table?.root);
    container.append(this.root);
  }

  /** Make the drawing once its width is known, later give it the width it has now. */
  fitWidth() {
    const width = Math.floor(this.frame.clientWidth);
    if (width < 40) return;
    if (!this.plot) this.make(width);
    else if (this.plot.width !== width) this.plot.setSize({ width, height: this.options.height });
    this.group.touch(this);
  }

  make(width) {
    this.colours = palette(this.frame);
    const colour = (name) => () => this.colours[name];
    const grid = { stroke: colour("line"), width: 1 };
    const ticks = { stroke: colour("line"), width: 1, size: 4 };
    const axis = { stroke: colour("soft"), font: FONT, grid, ticks };
    const nothing = () => null; // no listener: gestures.js does these
    this.plot = new uPlot({
      width, height: this.options.height,
      padding: [this.options.valueTitle ? 20 : 6, EDGE, 0, 0],
      legend: { show: false },
      select: { show: true },
      cursor: {
        y: false, points: { show: false },
        drag: { x: false, y: false, setScale: false },
        bind: { mousedown: nothing, mouseup: nothing, dblclick: nothing, click: nothing },
        sync: { key: this.group.key, scales: ["x", null], filters: { pub: (type) => type === "mousemove", sub: () => true } },
      },
      scales: { x: { time: false, range: (_plot, min, max) => [min, max] }, y: this.yScale() },
      axes: [
        {
          ...axis, scale: "x", size: 36, gap: 3, space: 72,
          incrs: steps(this.clock),
          splits: (_plot, _axis, min, max, step) => splits(this.clock, min, max, step),
          values: (plot, marks, _axis, _space, step) => this.withinEdge(plot, marks, labels(this.clock, marks, step)),
        },
        { ...axis, scale: "y", size: WIDTH_OF_AXIS, gap: 4, space: 28, ...this.yAxis() },
      ],
      series: [{}, ...this.lines(colour)],
      hooks: {
        drawClear: [(plot) => { drawSpans(plot, this.alarms, this.colours); this.underAll(plot); }],
        drawSeries: [(plot, index) => this.overSeries(plot, index)],
        draw: [(plot) => { this.overAll(plot); drawLines(plot, this.alarms, this.focus, this.colours); }],
        setCursor: [(plot) => this.point(plot.cursor.idx)],
      },
    }, this.columns(), this.frame);
    if (this.options.gestures) {
      gestures(this.frame, this.plot, this.group, this.ended.signal);
      this.frame.title = `Click, then turn the wheel to zoom; drag to move; Shift and drag to choose a span. ${HINT}`;
      this.frame.setAttribute("aria-keyshortcuts", "ArrowLeft ArrowRight + - 0");
    }
  }

  /** Leave out a label that would be cut off at the right edge. */
  withinEdge(plot, marks, words) {
    const wide = plot.width - WIDTH_OF_AXIS;
    const half = (word) => Math.max(...word.split("\n").map((line) => line.length)) * 3.4;
    const { min, max } = plot.scales.x;
    return words.map((word, i) => ((marks[i] - min) / (max - min)) * (wide - EDGE) + half(word) > wide ? "" : word);
  }

  // What a chart may add to the drawing.
  underAll() {}
  overSeries() {}
  overAll() {}

  /** Draw what is kept between `from` and `to`; called by the group, once a frame. */
  draw(from, to) {
    const empty = from === null || !this.rows.length;
    this.root.classList.toggle("chart-bare", empty);
    this.root.classList.toggle("chart-void", empty || this.rows.last < from || this.rows.first > to);
    if (!this.plot || empty) return;
    this.plot.batch(() => {
      this.plot.setData(this.columns(), false);
      this.plot.setScale("x", { min: from, max: to });
    });
    if (!this.group.live) { // what is told follows what is shown
      this.describe();
      this.table?.refresh();
    }
  }

  /** To be called by a chart whose rows have changed; `soon` unless it is one tick among many. */
  changed(soon = true) {
    this.group.touch(this, soon);
    this.describe();
    this.table?.refresh();
  }

  /** A sentence in place of the drawing while there are no rows. */
  setNote(sentence) {
    text(this.note, sentence);
  }

  /** Alarm objects to be marked; the one with the id `focus` gets words as well. */
  setAlarms(alarms, focus = null) {
    this.alarms = spansOf(alarms);
    this.focus = focus;
    this.group.touch(this);
  }

  point(index) {
    const hover = index ?? null;
    if (hover === this.hover && hover === null) return;
    this.hover = hover;
    this.write();
  }

  /** The row the legend tells of: under the cursor, else the last one shown. */
  current() {
    return this.hover !== null && this.hover < this.rows.length ? this.hover : this.lastShown();
  }

  /** The last row within what is shown; -1 if there is none. */
  lastShown() {
    const { rows, group } = this;
    let last = rows.length - 1;
    if (group.live) return last;
    while (last >= 0 && rows.t[last] > group.to) last -= 1;
    return last >= 0 && rows.t[last] >= group.from ? last : -1;
  }

  /** The time of a row, with a word where it is the latest there is. */
  when(i) {
    const latest = this.group.live && this.hover === null && live.now?.t === this.rows.t[i];
    return moment(this.rows.t[i], this.clock, this.every) + (latest ? " (latest)" : "");
  }

  write() {
    this.legend(this.current());
  }

  say() {
    const last = this.lastShown();
    const sentence = `${this.options.name}: ${last >= 0 ? this.sentence(last) : "no ticks in this span."}`;
    this.frame.setAttribute("aria-label", this.options.gestures ? `${sentence} ${HINT}` : sentence);
  }

  restyle() {
    if (!this.plot) return;
    this.colours = palette(this.frame);
    this.group.touch(this);
  }

  destroy() {
    this.ended.abort();
    this.observer.disconnect();
    this.describe.cancel();
    this.table?.destroy();
    this.group.remove(this);
    this.plot?.destroy();
    this.plot = null;
    this.root.remove();
  }
}
