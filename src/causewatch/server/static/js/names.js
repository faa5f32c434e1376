/**
 * Names of signals where there is little room. Plants name signals by where they are, so names begin
 * alike ("Works/Boiler 1/…") and what tells them apart comes last: cut off at their end they would
 * all read the same. So units and what is common are left out first, but for a few letters of the
 * beginning where it says more than that this is the plant. No shortened name fits another signal as
 * long as there is any way to tell them apart.
 */
import { live } from "./live.js";

const CUT = "…";
/** Letters of its beginning that a name keeps at least, if any: fewer would say nothing. */
const LEAST_HEAD = 4;
/** Letters of its end that a long name keeps where no other begins alike. */
const LEAST_END = 8;
/** A unit at the end of a name: " [l/min]". */
const UNIT = /\s*(?:\[[^[\]]*\]|\([^()]*\))$/;
/** After these a part of a name ends. */
const ENDS = /[\s/\\.:|,;>_-]/;
/** How much of the room what a cut name begins with gets; the rest is for its end. In order of preference. */
const SHARES = [0.6, 1, 0.3, 0.8, 0];

/** What is shown for the signals of the plant, made anew for another plant. */
let book = { plant: null, shown: new Map(), all: [], short: new Map() };

/** What to call a signal: its label where the plant gives one that no other signal has, else its name. */
export function displayName(signal) {
  const name = nameOf(signal);
  return known().shown.get(name) ?? name;
}

/** Everything it is called, for titles: "Feed pump (P101)". */
export function nameTitle(signal) {
  const name = nameOf(signal);
  const label = live.plant?.signals[live.index(name)]?.label;
  return label && label !== name ? `${label} (${name})` : name;
}

/**
 * What to call a signal in a place for `most` characters: "…Boiler 1/Pressure", "Volume…1→2 [l/min]".
 *
 * @param {string|object} signal  Its name, or the signal itself.
 * @param {number} [most]
 */
export function shortName(signal, most = 24) {
  const whole = displayName(signal);
  if (whole.length <= most) return whole;
  const { short } = known();
  const key = `${most} ${whole}`;
  if (!short.has(key)) short.set(key, shorten(whole, most));
  return short.get(key);
}

/**
 * What to call a signal in a place `room` pixels wide.
 *
 * @param {string|object} signal  Its name, or the signal itself.
 * @param {number} room
 * @param {(text: string) => number} width  How wide a text is, in pixels.
 */
export function fittingName(signal, room, width) {
  const whole = displayName(signal);
  const all = width(whole);
  if (all <= room) return whole;
  let letters = Math.ceil((whole.length * room) / all);
  while (letters > LEAST_HEAD && width(shortName(signal, letters)) > room) letters -= 1;
  return shortName(signal, letters);
}

/** Where the part of a shown name begins that is kept longest: what tells it from those that begin alike. */
export function keptFrom(whole) {
  const others = known().all.filter((other) => other !== whole);
  const alike = Math.max(0, ...others.map((other) => common(whole, other)));
  let start = Math.min(alike, whole.length - 1);
  while (start > 0 && !ENDS.test(whole[start - 1])) start -= 1;
  if (start < LEAST_HEAD) start = alike >= LEAST_HEAD && alike < whole.length ? alike : whole.length - LEAST_END;
  return whole.length - pieceOf(whole.slice(start)).length;
}

function nameOf(signal) {
  return typeof signal === "string" ? signal : signal.name;
}

function known() {
  const { plant } = live;
  if (plant && book.plant !== plant) {
    const times = new Map();
    const note = (word) => times.set(word, (times.get(word) ?? 0) + 1);
    for (const { name, label } of plant.signals) {
      note(name);
      if (label && label !== name) note(label);
    }
    const shown = new Map(plant.signals.map(({ name, label }) => [name, label && times.get(label) === 1 ? label : name]));
    book = { plant, shown, all: [...shown.values()], short: new Map() };
  }
  return book;
}

function shorten(whole, most) {
  const others = known().all.filter((other) => other !== whole);
  const bare = whole.replace(UNIT, "");
  if (bare && bare.length < most && bare !== whole && !fits(others, false, bare, "")) return bare + CUT;
  const alike = Math.max(0, ...others.map((other) => common(whole, other)));
  const starts = [];
  for (let k = 1; k <= alike; k += 1) {
    if (ENDS.test(whole[k - 1]) && !ENDS.test(whole[k] ?? " ")) starts.push(k);
  }
  // As little as possible is left out …
  const tails = starts.map((start) => whole.slice(start)).filter((tail) => tail.length < most && !fits(others, true, "", tail));
  const bareTails = starts.map((start) => bare.slice(start)).filter((tail) => tail && !others.some((other) => other.includes(tail)));
  const begun = withHead(whole, tails, others, most) ?? withHead(whole, bareTails.map((tail) => tail + CUT), others, most);
  if (begun !== null) return begun;
  if (tails.length) return CUT + tails[0];
  // … but where the rest is still too long, all that is common goes first; failing that, as much of
  // it that what differs is in sight.
  for (const start of [...starts.reverse(), 0, Math.max(0, alike - 2)]) {
    const room = most - 1 - (start > 0 ? 1 : 0);
    for (const share of SHARES) {
      const [head, tail] = parts(whole.slice(start), room, share);
      if (!fits(others, start > 0, head, tail)) return `${start > 0 ? CUT : ""}${head}${CUT}${tail}`;
    }
  }
  const [head, tail] = parts(whole, most - 1, SHARES[0]);
  return head + CUT + tail;
}

/** The longest of `tails` that leaves room for a beginning, with that; null if there is none worth it. */
function withHead(whole, tails, others, most) {
  const ofAll = Math.min(...others.map((other) => common(whole, other)));
  const tail = tails.find((one) => one.length + 1 + LEAST_HEAD <= most);
  // Where all names begin alike, the beginning is that of the plant.
  if (tail === undefined || ofAll >= LEAST_HEAD) return null;
  return pieceOf(whole.slice(0, most - 1 - tail.length)).trimEnd() + CUT + tail;
}

/** How many characters two texts begin with alike. */
function common(a, b) {
  let k = 0;
  while (k < a.length && k < b.length && a[k] === b[k]) k += 1;
  return k;
}

/** Beginning and end of a text that is too long for `room`, without blanks beside the cut. */
function parts(text, room, share) {
  const first = Math.round(room * share);
  const rest = room - first;
  return [pieceOf(text.slice(0, first)).trimEnd(), rest ? pieceOf(text.slice(-rest)).trimStart() : ""];
}

/** A piece of text without halves of characters at its ends. */
function pieceOf(piece) {
  return piece.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
}

/** Whether one of `others` could be meant by `head…tail`; `open`: something is left out before `head`, too. */
function fits(others, open, head, tail) {
  return others.some((other) => {
    if (!other.endsWith(tail) || other.length < head.length + tail.length) return false;
    const rest = other.slice(0, other.length - tail.length);
    return open ? rest.includes(head) : rest.startsWith(head);
  });
}
