/** Alarms on a chart: a shaded span from onset to the end, a line where it was raised. */

import uPlot from "../../vendor/uPlot.esm.js";
import { seconds } from "../format.js";

/** The times of alarm objects, in seconds; those without a beginning are left out. */
export function spansOf(alarms) {
  return [...alarms]
    .map((alarm) => ({
      id: alarm.id,
      ill: alarm.kind === "health",
      onset: seconds(alarm.onset),
      raised: seconds(alarm.raised_at),
      cleared: seconds(alarm.cleared_at), // null while it is on
    }))
    .filter((span) => span.raised !== null)
    .map((span) => ({ ...span, from: Math.min(span.onset ?? span.raised, span.raised) }));
}

/** Shade the spans; goes below everything else. */
export function drawSpans(plot, spans, colours) {
  const { ctx, bbox } = plot;
  const { min, max } = plot.scales.x;
  const last = plot.data[0].at(-1) ?? max; // an alarm that is on reaches to the last tick
  ctx.save();
  for (const span of spans) {
    ctx.fillStyle = span.ill ? colours.illSpan : colours.span;
    const to = span.cleared ?? Math.max(last, span.raised);
    if (to < min || span.from > max) continue;
    const left = plot.valToPos(Math.max(span.from, min), "x", true);
    const right = plot.valToPos(Math.min(to, max), "x", true);
    ctx.fillRect(left, bbox.top, Math.max(right - left, uPlot.pxRatio), bbox.height);
  }
  ctx.restore();
}

/** Lines and words: where an alarm was raised, and onset and end of the one in focus. */
export function drawLines(plot, spans, focus, colours) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.font = colours.font.replace(/^\d+px/, `${11 * uPlot.pxRatio}px`);
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  for (const span of spans) {
    const chosen = span.id === focus;
    const sign = span.ill ? "◆" : "▲";
    const colour = span.ill ? colours.warn : colours.bad;
    const shared = chosen && span.onset !== null && close(plot, span.onset, span.raised);
    if (chosen && span.onset !== null && !shared) mark(plot, span.onset, "onset", true, colour, 0);
    mark(plot, span.raised, chosen ? `${sign} ${shared ? "onset, " : ""}raised` : sign, false, colour, shared ? 0 : 1);
    if (chosen && span.cleared !== null) mark(plot, span.cleared, "cleared", true, colour, 0);
  }
  ctx.restore();
}

/** Whether two words would run into each other. */
function close(plot, one, other) {
  return Math.abs(plot.valToPos(one, "x") - plot.valToPos(other, "x")) < 3;
}

function mark(plot, t, word, dashed, colour, row) {
  const { min, max } = plot.scales.x;
  if (t < min || t > max) return;
  const { ctx, bbox } = plot;
  const ratio = uPlot.pxRatio;
  const x = Math.round(plot.valToPos(t, "x", true)) + 0.5;
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.lineWidth = ratio * (dashed ? 1 : 1.5);
  ctx.setLineDash(dashed ? [4 * ratio, 3 * ratio] : []);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  // Words go to the left of a line that is near the right edge.
  const wide = ctx.measureText(word).width + 4 * ratio;
  const left = x + wide > bbox.left + bbox.width ? x - wide : x + 4 * ratio;
  ctx.fillText(word, left, bbox.top + (2 + 13 * row) * ratio);
}
