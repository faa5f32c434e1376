/**
 * The time axis for each of the four clocks a stream may have.
 *
 * utc: shown in the zone of the browser, and the axis says which zone that is. naive: as it was
 * written, no zone is invented. elapsed: hours, minutes and seconds since the start. rows: numbers.
 */

import { live } from "../live.js";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const MINUTE = 60, HOUR = 3600, DAY = 86400;

/** Steps between two labels of a time axis, in seconds. */
const STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30,
  MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR,
  DAY, 2 * DAY, 5 * DAY, 10 * DAY, 30 * DAY, 100 * DAY, 365 * DAY, 1000 * DAY, 3650 * DAY,
];
const ROW_STEPS = [];
for (let power = 1; power < 1e12; power *= 10) ROW_STEPS.push(power, 2 * power, 5 * power);

const plantClock = () => live.plant?.clock ?? "utc";

/** Seconds to add to `t` so that plain arithmetic gives the time of day that is shown. */
function offset(t, clock) {
  return clock === "utc" ? -new Date(t * 1000).getTimezoneOffset() * MINUTE : 0;
}

/** What the axis is called. */
export function axisName(clock = plantClock()) {
  if (clock === "rows") return "Row";
  if (clock === "elapsed") return "Time since the start (h:mm:ss)";
  if (clock === "naive") return "Time as recorded";
  return `Time in ${Intl.DateTimeFormat().resolvedOptions().timeZone || "local time"}`;
}

/** The distances allowed between labels. */
export function steps(clock) {
  return clock === "rows" ? ROW_STEPS : STEPS;
}

/** Where labels stand: round times of day (in the zone shown), round durations or round numbers. */
export function splits(clock, min, max, step) {
  const marks = [];
  const shift = offset(min, clock);
  let wall = Math.ceil((min + shift) / step) * step;
  for (let guard = 0; guard < 200; guard += 1, wall += step) {
    // The offset is looked up again at each mark: summer time may begin in between.
    const t = wall - offset(wall - shift, clock);
    if (t > max) break;
    if (t >= min) marks.push(t);
  }
  return marks;
}

/** Texts of the labels; the date is added to the first one and where it changes. */
export function labels(clock, marks, step) {
  if (clock === "rows") return marks.map((t) => String(Math.round(t)));
  if (clock === "elapsed") return marks.map((t) => elapsed(t, step));
  let day = null;
  return marks.map((t) => {
    const parts = wallParts(t, clock);
    const date = `${parts.day} ${MONTHS[parts.month]}`;
    const first = date !== day;
    day = date;
    if (step >= DAY) return step >= 30 * DAY ? `${date} ${parts.year}` : date;
    const text = timeOfDay(parts, step);
    return first ? `${text}\n${date}` : text;
  });
}

function wallParts(t, clock) {
  const date = new Date(Math.round((t + offset(t, clock)) * 1000));
  return {
    year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate(),
    hour: date.getUTCHours(), minute: date.getUTCMinutes(), second: date.getUTCSeconds(),
    milli: date.getUTCMilliseconds(),
  };
}

const two = (number) => String(number).padStart(2, "0");

function timeOfDay({ hour, minute, second, milli }, step) {
  const text = `${two(hour)}:${two(minute)}`;
  if (step >= MINUTE) return text;
  const fine = `${text}:${two(second)}`;
  if (step >= 1) return fine;
  return `${fine}.${String(milli).padStart(3, "0").slice(0, step >= 0.1 ? 1 : step >= 0.01 ? 2 : 3)}`;
}

function elapsed(t, step) {
  const sign = t < 0 ? "−" : "";
  const digits = step >= 1 ? 0 : step >= 0.1 ? 1 : step >= 0.01 ? 2 : 3;
  const scale = 10 ** digits;
  const whole = Math.round(Math.abs(t) * scale);
  const days = Math.floor(whole / scale / DAY);
  const hour = Math.floor(whole / scale / HOUR) % 24;
  const minute = Math.floor(whole / scale / MINUTE) % 60;
  const second = ((whole / scale) % MINUTE).toFixed(digits);
  const clockText = `${hour}:${two(minute)}:${second.padStart(digits ? digits + 3 : 2, "0")}`;
  return days ? `${sign}${days} d ${clockText}` : sign + clockText;
}

/** One moment in full, as the readout and the table show it. */
export function moment(t, clock = plantClock(), step = live.plant?.every ?? 1) {
  if (t === null || t === undefined) return "–";
  if (clock === "rows") return `row ${Math.round(t)}`;
  const fine = Math.min(step, 1);
  if (clock === "elapsed") return elapsed(t, fine);
  const parts = wallParts(t, clock);
  return `${parts.day} ${MONTHS[parts.month]} ${timeOfDay(parts, fine)}`;
}
