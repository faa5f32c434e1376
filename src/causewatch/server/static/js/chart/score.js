/** The score over time against its limit, which is 1. What is above is filled and drawn red. */

import uPlot from "../../vendor/uPlot.esm.js";
import { score as scoreText } from "../format.js";
import { live as watch } from "../live.js";
import { drawBand } from "./band.js";
import { Chart, LINE } from "./base.js";
import { SeriesFeed } from "./feed.js";
import { ChartGroup } from "./group.js";
import { legendOf } from "./legend.js";
import { moment } from "./time.js";

const SCORE = 1; // place of the score among the lines
const MARKS = [0, 0.5, 1, ...[1, 10, 100, 1000, 1e4, 1e5].flatMap((power) => [2 * power, 5 * power, 10 * power])];
const LOWEST_TOP = 1.3; // so that the limit is seen with room above it

/** Ticks the live chart shows. */
export const SHOWN = 300;

export class ScoreChart extends Chart {
  constructor(container, options = {}) {
    super(container, ["score", "over", "limit"], { name: "Score", valueTitle: "Score (compressed scale)", ...options });
    this.legendText = legendOf(this.legendLine, [["time", "", ""], ["score", "key-seen", "score"], ["limit", "key-limit", "alarm limit"]]);
    this.top = LOWEST_TOP;
    this.write();
  }

  /** Start anew with {t, score}: an answer of /api/series or the result of a replay. */
  setData(series) {
    this.rows.replace(series.t ?? [], columnsOf(series));
    this.changed();
  }

  /** Add what is later than the last row. */
  extend(series) {
    this.rows.extend(series.t ?? [], columnsOf(series));
    this.changed();
  }

  /** Add live ticks; `skipped` is how many the server left out of the frame. */
  append(ticks, skipped = 0) {
    for (const [t, score] of ticks) {
      const row = { score, over: over(score), limit: 1 };
      this.rows.push(t, (name) => row[name], skipped > 0);
    }
    this.rows.trim();
    this.changed(false);
  }

  // How it is drawn.

  columns() {
    return [this.rows.t, this.rows.score];
  }

  lines(colour) {
    return [{ scale: "y", stroke: colour("seen"), width: LINE, points: { show: false } }];
  }

  underAll(plot) {
    const { t, limit, over: above } = this.rows;
    drawBand(plot, t, limit, above, this.colours.over);
  }

  /**
   * Nearly even up to the limit, then more and more closed up: a score of 50 must not press
   * everything below the limit flat. The scale ends at a mark, so that the highest value can be
   * told from it.
   */
  yScale() {
    return {
      distr: 4, asinh: 1, auto: true,
      range: (_plot, _min, max) => {
        const need = topFor(max ?? 0);
        if (need > this.top || topFor(1.3 * (max ?? 0)) < this.top) this.top = need;
        return [0, this.top];
      },
    };
  }

  yAxis() {
    return {
      space: 22,
      filter: (_plot, marks) => marks,
      splits: (plot, _axis, _min, max) => spaced(plot, MARKS.filter((mark) => mark <= max), max),
      values: (_plot, marks) => marks.map((mark) => mark.toLocaleString("en-GB")),
    };
  }

  /** Draw the part of the line above the limit again, red and thicker. */
  overSeries(plot, index) {
    const path = plot.series[index]._paths;
    if (index !== SCORE || !path?.stroke) return;
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, plot.valToPos(1, "y", true) - bbox.top);
    ctx.clip();
    if (path.clip) ctx.clip(path.clip);
    ctx.strokeStyle = this.colours.bad;
    ctx.lineWidth = 2 * uPlot.pxRatio;
    ctx.stroke(path.stroke);
    ctx.restore();
  }

  overAll(plot) {
    const { ctx, bbox } = plot;
    const y = Math.round(plot.valToPos(1, "y", true)) + 0.5;
    ctx.save();
    ctx.strokeStyle = this.colours.bad;
    ctx.lineWidth = uPlot.pxRatio;
    ctx.setLineDash([6 * uPlot.pxRatio, 4 * uPlot.pxRatio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.restore();
  }

  // How it reads.

  legend(i) {
    const { score } = this.rows;
    this.legendText({
      time: i < 0 ? "" : this.when(i),
      score: i < 0 ? "–" : words(score[i]),
      limit: "1",
    });
  }

  sentence(i) {
    const { t, score } = this.rows;
    const state = score[i] === null ? "not known yet" : score[i] >= 1 ? "above the alarm limit of 1" : "below the alarm limit of 1";
    return `${scoreText(score[i])} at ${moment(t[i], this.clock, this.every)}, ${state}.`;
  }

  head() {
    return ["Score"];
  }

  cells(i) {
    return [words(this.rows.score[i])];
  }
}

const over = (score) => (score === null || score === undefined ? null : Math.max(score, 1));
const words = (score) => (score >= 1 ? `▲ ${scoreText(score)}` : scoreText(score));

function columnsOf({ t = [], score = [] }) {
  return { score, over: score.map(over), limit: t.map(() => 1) };
}

/** The end of the scale for this highest value: the next mark. */
function topFor(max) {
  return max <= 1 ? LOWEST_TOP : MARKS.find((mark) => mark >= max) ?? 1.1 * max;
}

/** Leave out labels that would run into each other; 0, 1 and the top always stay. */
function spaced(plot, marks, top) {
  const kept = [];
  const first = [1, 0, top];
  const rank = (mark) => (first.includes(mark) ? first.indexOf(mark) : first.length);
  for (const mark of [...marks].sort((a, b) => rank(a) - rank(b) || a - b)) {
    const y = plot.valToPos(mark, "y");
    if (kept.every((other) => Math.abs(plot.valToPos(other, "y") - y) >= 18)) kept.push(mark);
  }
  return kept.sort((a, b) => a - b);
}

/**
 * The score in `container`. With `live` (the default) it feeds itself and follows the watch;
 * otherwise `setData` shows what it is given, whole.
 */
export function scoreChart(container, { live = true, ...options } = {}) {
  if (!live) return new StillScore(container, options);
  const every = watch.plant?.every ?? 1;
  const group = options.group ?? new ChartGroup({ every, width: SHOWN * every });
  const chart = new ScoreChart(container, { gestures: false, ...options, group });
  const feed = new SeriesFeed({ group, charts: () => [chart], most: 1000, onState: ({ text }) => chart.setNote(text) });
  const end = chart.destroy.bind(chart);
  chart.destroy = () => { feed.stop(); end(); };
  feed.start();
  return chart;
}

/** A score that does not go on: all of it is shown, and "back to live" means all of it. */
class StillScore extends ScoreChart {
  setData(series) {
    const { t = [] } = series;
    if (t.length > 1) this.rows.every = (t[t.length - 1] - t[0]) / (t.length - 1);
    super.setData(series);
    this.group.every = this.rows.every;
    this.group.follow(null);
  }
}
