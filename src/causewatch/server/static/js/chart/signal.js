/** A signal over time: what was seen, what the model expected, and the band between. */

import uPlot from "../../vendor/uPlot.esm.js";
import { number, score } from "../format.js";
import { live } from "../live.js";
import { displayName } from "../names.js";
import { drawBand, undrawn } from "./band.js";
import { Chart, LINE } from "./base.js";
import { legendOf } from "./legend.js";
import { axisNumbers, calmRange } from "./range.js";
import { moment } from "./time.js";

/** Half the height of the band, in units of the signal's spread. */
const BAND = 3;

export class SignalChart extends Chart {
  constructor(container, options) {
    const facts = live.plant?.signals[live.index(options.signal)] ?? {};
    const unit = facts.unit ? ` ${facts.unit}` : "";
    super(container, ["values", "expected", "evidence", "low", "high"], { name: displayName(options.signal), ...options });
    this.signal = options.signal;
    this.unit = unit;
    this.spread = facts.spread ?? null;
    this.bounds = facts.guarded ? [facts.low ?? null, facts.high ?? null] : null;
    this.legendText = legendOf(this.legendLine, [
      ["time", "", ""],
      ["seen", "key-seen", "seen"],
      ["expected", "key-expected", this.bounds ? "" : "expected", "What was expected one tick ahead, from the values seen until then"],
      ["band", "key-band", this.bounds ? "allowed" : "band", this.bounds ? "The range it is kept within" : `Expected ± ${BAND} times its usual spread`],
      ["evidence", "key-strip", "evidence", "How much speaks against it; 1 is its limit, red is above"],
    ]);
    if (this.bounds) this.legendLine.querySelector(".chart-item-expected").remove();
    this.write();
  }

  /** Start anew with an answer of /api/series or of an alarm's course. */
  setData(series) {
    this.rows.replace(series.t ?? [], this.columnsOf(series));
    this.changed();
  }

  /** Add what is later than the last row. */
  extend(series) {
    this.rows.extend(series.t ?? [], this.columnsOf(series));
    this.changed();
  }

  /** Add live ticks; `skipped` is how many the server left out of the frame. */
  append(ticks, skipped = 0) {
    const at = live.index(this.signal);
    if (at === undefined || at < 0) return;
    for (const [t, , , values, expected, evidence] of ticks) {
      const [low, high] = this.bandOf(expected[at]);
      const row = { values: values[at], expected: expected[at], evidence: evidence[at], low, high };
      this.rows.push(t, (name) => row[name], skipped > 0);
    }
    this.rows.trim();
    this.changed(false);
  }

  bandOf(expected) {
    if (this.bounds) return this.bounds;
    if (expected === null || expected === undefined || this.spread === null) return [null, null];
    return [expected - BAND * this.spread, expected + BAND * this.spread];
  }

  columnsOf(series) {
    const own = series.signals?.[this.signal] ?? { values: [], expected: [], evidence: [] };
    const bands = (series.t ?? []).map((_, i) => this.bandOf(own.expected?.[i]));
    return { ...own, low: bands.map((band) => band[0]), high: bands.map((band) => band[1]) };
  }

  // How it is drawn.

  columns() {
    const { t, low, high, expected, values } = this.rows;
    return [t, low, high, expected, values];
  }

  lines(colour) {
    const edge = { scale: "y", paths: undrawn, points: { show: false } };
    return [
      { ...edge }, { ...edge },
      { scale: "y", stroke: colour("expected"), width: LINE, dash: [5, 4], points: { show: false } },
      // A single row between two gaps would be invisible as a line: such points are drawn as dots.
      { scale: "y", stroke: colour("seen"), width: LINE, points: { size: 4, fill: colour("seen"), show: false, filter: lonely } },
    ];
  }

  underAll(plot) {
    drawBand(plot, this.rows.t, this.rows.low, this.rows.high, this.colours.band);
  }

  yScale() {
    return { auto: true, range: calmRange(() => (this.spread === null ? null : 2 * this.spread)) };
  }

  yAxis() {
    return { values: (_plot, marks, _axis, _space, step) => axisNumbers(marks, step) };
  }

  /** A strip along the bottom where the evidence is above the limit of this signal. */
  overAll(plot) {
    const { t, evidence } = this.rows;
    const [from, to] = plot.series[0].idxs ?? [0, -1];
    const { ctx, bbox } = plot;
    const high = 4 * uPlot.pxRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = this.colours.bad;
    for (let i = from; i <= to; i += 1) {
      if (!(evidence[i] >= 1)) continue;
      const start = i;
      while (i < to && evidence[i + 1] >= 1) i += 1;
      const left = plot.valToPos(t[Math.max(start - 1, 0)], "x", true);
      const right = plot.valToPos(t[i], "x", true);
      ctx.fillRect(left, bbox.top + bbox.height - high, Math.max(right - left, uPlot.pxRatio), high);
    }
    ctx.restore();
  }

  // How it reads.

  legend(i) {
    const { values, expected, evidence, low, high } = this.rows;
    const known = i >= 0;
    this.legendText({
      time: known ? this.when(i) : "",
      seen: known ? number(values[i]) + this.unit : "–",
      band: known && low[i] !== null ? `${number(low[i])} to ${number(high[i])}` : "–",
      evidence: known ? evidenceWords(evidence[i]) : "–",
      ...(this.bounds ? {} : { expected: known ? number(expected[i]) + this.unit : "–" }),
    });
  }

  sentence(i) {
    const { t, values, expected, evidence, low, high } = this.rows;
    const band = low[i] === null ? "" : `, band ${number(low[i])} to ${number(high[i])}`;
    const should = this.bounds ? `allowed ${number(low[i])} to ${number(high[i])}` : `expected ${number(expected[i])}${this.unit}${band}`;
    const seen = values[i] === null ? "no value" : `${number(values[i])}${this.unit}`;
    return `${this.group.live ? "latest" : "last"} value ${seen} at ${moment(t[i], this.clock, this.every)}, ${should}, evidence ${evidenceWords(evidence[i])}.`;
  }

  head() {
    return ["Seen", "Expected", "Evidence"];
  }

  cells(i) {
    const { values, expected, evidence } = this.rows;
    return [number(values[i]), number(expected[i]), evidenceWords(evidence[i])];
  }
}

/** Evidence with a sign where it is above the limit, so that colour is not needed. */
export function evidenceWords(evidence) {
  if (evidence === null || evidence === undefined) return "–";
  return evidence >= 1 ? `▲ ${score(evidence)}` : score(evidence);
}

/** Indices of rows that have a value while both neighbours have none. */
function lonely(plot, seriesIndex, _show, _gaps) {
  const values = plot.data[seriesIndex];
  const [from, to] = plot.series[0].idxs;
  const found = [];
  for (let i = from; i <= to; i += 1) {
    if (values[i] !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null) found.push(i);
  }
  return found.length ? found : null;
}
