/** Where the bars of a timeline go: rows by first cause or kind, lanes where bars overlap. */

import { seconds } from "../format.js";
import { rowOf } from "./words.js";

const MOST_ROWS = 12;
const MOST_LANES = 4;

/**
 * Sort alarms into rows.
 *
 * @param alarms the alarms
 * @param from, to the part of time that is shown, in seconds
 * @param now until when alarms that are on reach
 * @param least the least length of a bar that can be seen, in seconds
 * @returns rows `{name, kind, lanes, bars: [{alarm, start, end, lane}]}`; signals with most alarms
 *   first, then unclear ones, then health. Rows beyond twelve are put into one.
 */
export function arrange(alarms, from, to, now, least) {
  const rows = new Map();
  for (const alarm of alarms) {
    const start = seconds(alarm.raised_at);
    if (start === null) continue;
    const end = Math.max(start, seconds(alarm.cleared_at) ?? now ?? start);
    if (end < from || start > to) continue;
    const { key, ...row } = rowOf(alarm);
    if (!rows.has(key)) rows.set(key, { key, ...row, bars: [] });
    rows.get(key).bars.push({ alarm, start, end });
  }
  const sorted = shorten([...rows.values()].sort(byPlace));
  for (const row of sorted) stack(row, least);
  return sorted;
}

function byPlace(one, other) {
  return place(one) - place(other) || other.bars.length - one.bars.length
    || one.name.localeCompare(other.name);
}

function place(row) {
  if (row.kind === "health") return 2;
  return row.key === "unclear" ? 1 : 0;
}

/** At most `MOST_ROWS`: the causes with fewest alarms share a row, and so do unwell signals. */
function shorten(rows) {
  let result = rows;
  for (const [kind, name] of [["anomaly", "Other causes"], ["health", "◆ Other signals unwell"]]) {
    const surplus = result.length - MOST_ROWS;
    if (surplus <= 0) break;
    const fitting = result.filter((row) => row.kind === kind && row.key !== "unclear");
    const merged = fitting.slice(-Math.min(fitting.length, surplus + 1));
    if (merged.length < 2) continue;
    const row = { key: `other ${kind}`, name, kind, bars: merged.flatMap((one) => one.bars) };
    const at = result.indexOf(merged[0]);
    result = result.filter((one) => !merged.includes(one));
    result.splice(at, 0, row);
  }
  return result;
}

/** Give each bar the first lane that is free at its start. */
function stack(row, least) {
  row.bars.sort((one, other) => one.start - other.start);
  const free = [];
  for (const bar of row.bars) {
    let lane = free.findIndex((until) => until <= bar.start);
    if (lane < 0) lane = free.length < MOST_LANES ? free.length : MOST_LANES - 1;
    free[lane] = Math.max(bar.end, bar.start + least);
    bar.lane = lane;
  }
  row.lanes = Math.max(1, free.length);
}
