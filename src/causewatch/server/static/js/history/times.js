/** Times between seconds on the stream's clock, what a person types into a field, and an axis. */

/** Whether times of this clock are dates; otherwise they are seconds or row numbers. */
export function isDated(clock) {
  return clock === "utc" || clock === "naive";
}

/** Seconds as the value of a field for times: local date and time, or a plain number. */
export function fieldValue(t, clock) {
  if (t === null || !Number.isFinite(t)) return "";
  if (!isDated(clock)) return String(t);
  // A field for dates knows no zones. UTC is shown in the zone of the browser, naive as written.
  const shift = clock === "utc" ? new Date(t * 1000).getTimezoneOffset() * 60 : 0;
  const moment = new Date((t - shift) * 1000);
  return Number.isNaN(moment.getTime()) ? "" : moment.toISOString().slice(0, 19);
}

/** What stands in such a field, as seconds; null if it is empty or no time. */
export function fieldSeconds(value, clock) {
  if (value.trim() === "") return null;
  if (!isDated(clock)) return Number.isFinite(Number(value)) ? Number(value) : null;
  const ms = Date.parse(clock === "utc" ? value : `${value}Z`);
  return Number.isNaN(ms) ? null : ms / 1000;
}

const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
  172800, 604800, 1209600, 2592000, 7776000, 31536000,
];

/** Round times between two others, at most `most` of them, for the marks of an axis. */
export function axisMarks(from, to, most, clock) {
  const span = to - from;
  if (!(span > 0) || most < 1) return [];
  let step = STEPS.find((size) => span / size <= most);
  if (step === undefined || clock === "rows") {
    const rough = span / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    step = [1, 2, 5, 10].map((k) => k * power).find((size) => span / size <= most);
  }
  // Days begin at midnight where the person is.
  const shift = clock === "utc" ? new Date(to * 1000).getTimezoneOffset() * 60 : 0;
  const marks = [];
  const first = Math.ceil((from - shift) / step) * step + shift;
  for (let k = 0; k <= most && first + k * step <= to; k += 1) marks.push(first + k * step);
  return marks;
}
