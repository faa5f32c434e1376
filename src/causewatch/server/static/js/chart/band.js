/**
 * A filled band between two columns.
 *
 * The chart library fills bands through clip paths, which costs several times the drawing of the
 * lines where there is no graphics card; a plain polygon does the same. Many rows that share a
 * pixel become one corner, at their extremes.
 */

/** Make a series count for the scale without being drawn. */
export const undrawn = () => null;

/**
 * @param {uPlot} plot
 * @param {number[]} t
 * @param {(number|null)[]} low
 * @param {(number|null)[]} high
 * @param {string} fill
 */
export function drawBand(plot, t, low, high, fill) {
  const [first, last] = plot.series[0].idxs ?? [0, -1];
  if (first === null || last === null) return;
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = fill;
  let run = []; // corners [x, low, high] of a stretch without a gap
  const end = Math.min(last + 1, t.length - 1);
  for (let i = Math.max(first - 1, 0); i <= end; i += 1) {
    if (low[i] === null || high[i] === null) {
      paint(plot, run);
      run = [];
      continue;
    }
    const x = Math.round(plot.valToPos(t[i], "x", true));
    const corner = run[run.length - 1];
    if (corner && corner[0] === x) {
      if (low[i] < corner[1]) corner[1] = low[i];
      if (high[i] > corner[2]) corner[2] = high[i];
    } else run.push([x, low[i], high[i]]);
  }
  paint(plot, run);
  ctx.restore();
}

function paint(plot, run) {
  if (run.length < 2) return;
  const { ctx } = plot;
  ctx.beginPath();
  for (const [x, , high] of run) ctx.lineTo(x, plot.valToPos(high, "y", true));
  for (let i = run.length - 1; i >= 0; i -= 1) ctx.lineTo(run[i][0], plot.valToPos(run[i][1], "y", true));
  ctx.fill();
}
