/**
 * Numbers, times and durations as text. Missing is "–", never 0.
 *
 * Times of clock "utc" are shown in the browser's zone, of "naive" as they were written, of
 * "elapsed" as durations, of "rows" as row numbers. `setClock` is called once the plant is
 * known, and again if the first row says otherwise.
 */

const NONE = "–";
const MINUS = "−";
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
let clock = "utc";
let today = () => null;

/** What the stream's times count, and a function that gives the time it has come to (or null). */
export function setClock(name, now) {
  clock = name;
  today = now ?? today;
}

// Making a formatter is slow, using it is not, and hundreds of numbers change ten times a second.
const formatters = [];

function formatter(decimals) {
  return (formatters[decimals] ??= new Intl.NumberFormat("en-GB", { maximumFractionDigits: decimals }));
}

/** A number with `digits` significant digits, thousands separated: 1,234 · 0.0123 · 1.2e-7. */
export function number(x, digits = 4) {
  if (x === null || x === undefined || !Number.isFinite(x)) return NONE;
  if (x === 0) return "0";
  const size = Math.abs(x);
  let text;
  if (size >= 1e9 || size < 1e-4) text = Number(size.toPrecision(Math.min(digits, 3))).toExponential();
  else {
    const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
    text = formatter(Math.min(decimals, 12)).format(size);
  }
  return x < 0 ? MINUS + text : text;
}

/** A score or evidence (1 is the limit): two decimals, fewer where it is large; keeps its width. */
export function score(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return NONE;
  if (x >= 1000) return number(x, 3);
  return x.toFixed(x >= 100 ? 0 : x >= 10 ? 1 : 2);
}

/** A whole number with separators. */
export function count(n) {
  return n === null || n === undefined || !Number.isFinite(n) ? NONE : formatter(0).format(Math.round(n));
}

/** "1 alarm", "2 alarms". */
export function counted(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** A share as percent: 0.123 → "12 %"; small ones keep a digit, never a false 0 or 100. */
export function percent(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return NONE;
  if (x > 0 && x < 0.005) return "< 1 %";
  if (x < 1 && x > 0.995) return "> 99 %";
  return `${Math.round(100 * x)} %`;
}

/** How long: "0.5 s", "12 s", "3 min", "1 h 05 min", "2 d 3 h". */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE;
  // Rounded before it is taken apart, so that 59.7 s is a minute and not 60 s.
  const s = Math.abs(seconds) < 9.95 ? Number(Math.abs(seconds).toPrecision(2)) : Math.round(Math.abs(seconds));
  const sign = seconds < 0 ? MINUS : "";
  if (s < 60) return `${sign}${s} s`;
  if (s < 600 && s % 60) return `${sign}${Math.floor(s / 60)} min ${String(s % 60).padStart(2, "0")} s`;
  const minutes = Math.round(s / 60);
  if (minutes < 60) return `${sign}${minutes} min`;
  const hours = s < 86_370 ? Math.floor(minutes / 60) : Math.round(s / 3600);
  if (hours < 24) return sign + (minutes % 60 ? `${hours} h ${String(minutes % 60).padStart(2, "0")} min` : `${hours} h`);
  const days = Math.floor(hours / 24);
  return sign + (hours % 24 ? `${days} d ${hours % 24} h` : `${days} d`);
}

/** How long on the stream's clock, which may count rows. */
export function span(seconds) {
  return clock === "rows" && Number.isFinite(seconds) ? counted(Math.round(seconds), "row") : duration(seconds);
}

/** How long before the time the stream has come to: "3 min ago"; "" where that is unknown. */
export function ago(t, now = today()) {
  if (!Number.isFinite(t) || !Number.isFinite(now)) return "";
  return now - t < 1 ? "just now" : `${span(now - t)} ago`;
}

/**
 * A time on the stream's clock.
 *
 * @param {number|null} t  Seconds.
 * @param {object} [options]  `date`: true, false, or "auto" (only if it is not the stream's today);
 *   `millis`: with milliseconds.
 */
export function time(t, { date = "auto", millis = false } = {}) {
  if (t === null || t === undefined || !Number.isFinite(t)) return NONE;
  if (clock === "rows") return `row ${count(t)}`;
  if (clock === "elapsed") return elapsed(t, millis);
  const [day, hours] = parts(t, millis);
  const now = today();
  const withDate = date === true || (date === "auto" && (now === null || parts(now)[0] !== day));
  return withDate ? `${day}, ${hours}` : hours;
}

/** A time text of the API, shown as `time` does. */
export function clockTime(text, options) {
  if (!text) return NONE;
  const t = seconds(text);
  return t === null ? String(text) : time(t, options);
}

/** Seconds on the stream's clock of a time text of the API ("2026-…", "90s", "row 7"); null if it is none. */
export function seconds(text) {
  if (typeof text === "number") return text;
  if (!text) return null;
  const plain = /^(?:row )?(-?[\d.]+(?:e[+-]?\d+)?)s?$/.exec(text);
  if (plain) return Number(plain[1]);
  const zoned = /(?:Z|[+-]\d\d:?\d\d)$/.test(text);
  const t = Date.parse(zoned ? text : `${text}Z`);
  return Number.isNaN(t) ? null : t / 1000;
}

/** The zone times are shown in: "UTC+02:00" for clock utc, "" for the others. */
export function zone(t = today()) {
  if (clock !== "utc") return "";
  const minutes = -new Date(Number.isFinite(t) ? t * 1000 : Date.now()).getTimezoneOffset();
  if (!minutes) return "UTC";
  const size = Math.abs(minutes);
  const two = (n) => String(n).padStart(2, "0");
  return `UTC${minutes < 0 ? MINUS : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** Wall-clock time text of the server (always UTC) in the browser's zone, whatever the stream's clock. */
export function wallTime(text) {
  const t = Date.parse(text ?? "");
  if (Number.isNaN(t)) return text ?? NONE;
  const [day, hours] = split(new Date(t), true);
  return `${day}, ${hours}`;
}

/** Day and time of day, as shown. */
function parts(t, millis) {
  return split(new Date(t * 1000), clock === "utc", millis);
}

function split(date, local, millis) {
  const of = (part) => (local ? date[`get${part}`]() : date[`getUTC${part}`]());
  const two = (n) => String(n).padStart(2, "0");
  const day = `${of("Date")} ${MONTHS[of("Month")]} ${of("FullYear")}`;
  const tail = millis ? `.${String(of("Milliseconds")).padStart(3, "0")}` : "";
  return [day, `${two(of("Hours"))}:${two(of("Minutes"))}:${two(of("Seconds"))}${tail}`];
}

/** Elapsed seconds as a clock: "1:02:03". */
function elapsed(t, millis) {
  const s = Math.abs(t);
  const two = (n) => String(n).padStart(2, "0");
  const places = millis ? 3 : 1;
  const rest = Math.floor((s % 1) * 10 ** places + 1e-6); // cut, not rounded: a rounded 59.96 would read 59.0
  const tail = millis || rest ? `.${String(rest).padStart(places, "0")}` : "";
  return `${t < 0 ? MINUS : ""}${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(Math.floor(s % 60))}${tail}`;
}
