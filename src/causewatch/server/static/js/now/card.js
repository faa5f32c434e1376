/** The card of an alarm that is on: what happened, where it starts, what to do. */
import { actionBar } from "../actions.js";
import { address } from "../api.js";
import { add, h, replace, text } from "../dom.js";
import { clockTime, counted, number, percent, score, span } from "../format.js";
import { inShort, ofRows, streamDetail, unwellWords } from "../health.js";
import { lengthOf, likely } from "../history/words.js";
import { lagText } from "../lags.js";
import { live } from "../live.js";
import { nameSpan, withNames } from "../named.js";
import { displayName, nameTitle } from "../names.js";

const MOST_CAUSES = 4;
const MOST_LINKS = 4;
const MOST_SIGNALS = 10;
const MOST_COMMENTS = 3;
/** Letters that fit into half a card, beside a bar. */
const HALF = 13;

/** A card; `update(alarm)` shows the alarm as it is now, `age()` how long it has been on and its peak. */
export function alarmCard(alarm) {
  const title = `alarm-${alarm.id}`;
  const head = h("div", { class: "card-head row" });
  const headline = h("h3", { class: "card-headline", id: title });
  const detail = h("p", { class: "card-detail" });
  const body = h("div", { class: "card-body" });
  const bar = actionBar(alarm);
  const element = h("article", { class: "card", "aria-labelledby": title, "data-alarm": alarm.id }, head, headline, detail, body, bar);
  const since = h("span", { class: "card-since" });
  const peak = h("span", { class: "tag", title: "Largest score so far; the limit is 1" });
  let current = alarm;

  const age = () => {
    const length = lengthOf(current, live.now.t);
    text(since, `since ${clockTime(current.raised_at)}${length === null ? "" : ` · ${span(length)}`}`);
    const said = streamDetail(current, live.now.status);
    detail.hidden = !said;
    text(detail, said);
    const most = live.peak(current);
    peak.hidden = most === null;
    text(peak, `Peak ${score(most)}`);
    for (const place of body.querySelectorAll("[data-peak]")) text(place, score(live.peak(current, place.dataset.peak)));
  };
  const update = (latest) => {
    current = latest;
    element.dataset.kind = latest.kind;
    element.classList.toggle("card-seen", Boolean(latest.acknowledged_by));
    keepFocus(element, () => {
      replace(head, tags(latest), peak, since);
      replace(headline, h("a", { href: page(latest) }, withNames(latest.headline || "An alarm without a description.")));
      body.classList.toggle("card-long", long(latest));
      replace(body, causes(latest), broken(latest), concerned(latest), comments(latest), links(latest));
      age();
      bar.update(latest);
    });
  };
  update(alarm);
  return { element, update, age };
}

/** Address of the page of an alarm. */
export function page(alarm) {
  return `/alarm/${encodeURIComponent(alarm.id)}`;
}

/** What an alarm is and what people did with it, as tags. */
export function tags(alarm) {
  return [
    alarm.kind === "anomaly"
      ? h("span", { class: "tag tag-bad" }, "Anomaly")
      : h("span", { class: "tag tag-warn" }, `${unwellWords(alarm.problem)}${alarm.problem ? `: ${inShort(alarm.problem)}` : ""}`),
    alarm.acknowledged_by && h("span", { class: "tag tag-good", title: `at ${clockTime(alarm.acknowledged_at)}` },
      h("span", { class: "cut" }, `Acknowledged by ${alarm.acknowledged_by}`)),
    alarm.shelved_until && !alarm.cleared_at && live.shelved(alarm)
      && h("span", { class: "tag" }, `Shelved until ${clockTime(alarm.shelved_until)}`),
    alarm.normal && h("span", { class: "tag" }, "Said to be normal"),
    alarm.merged > 0 && h("span", { class: "tag", title: "How often it came back after it had cleared" }, `Came back ${counted(alarm.merged, "time")}`),
  ];
}

function signalLink(alarm, name, ...more) {
  return h("a", { href: address("/signals", { alarm: alarm.id, signal: [name, ...more] }) }, nameSpan(name));
}

/** Whether causes and links stand below each other, each in the whole width of the card. */
function long(alarm) {
  if (!alarm.broken_links.length) return true;
  const names = [...likely(alarm.causes).map(({ signal }) => signal), ...alarm.broken_links.flatMap(({ source, target }) => [source, target])];
  return names.some((name) => displayName(name).length > HALF);
}

function causes(alarm) {
  if (!alarm.causes.length) {
    return alarm.kind === "anomaly" ? h("p", { class: "soft" }, "No cause could be told so far.") : null;
  }
  const all = likely(alarm.causes);
  const shown = all.slice(0, MOST_CAUSES);
  return h("section", { class: "card-part" },
    h("h4", null, alarm.abstained ? "It may start at" : "Where it starts"),
    alarm.abstained && h("p", { class: "soft small" }, "The evidence does not single out a cause; these are the likeliest."),
    h("ul", { class: "causes" }, shown.map(({ signal, confidence }) => {
      const fill = h("span", null);
      fill.style.width = `${Math.round(100 * Math.min(1, Math.max(0, confidence ?? 0)))}%`;
      return h("li", null, signalLink(alarm, signal),
        h("span", { class: "bar", "aria-hidden": "true" }, fill),
        h("span", { class: "number" }, percent(confidence), h("span", { class: "visually-hidden" }, " confidence")));
    })),
    more(alarm, all.length - shown.length, "cause"));
}

function broken(alarm) {
  if (!alarm.broken_links.length) return null;
  // Noise and offsets break the link of a signal to its own past as well, which says little.
  const ofItself = ({ source, target }) => source === target;
  const shown = [...alarm.broken_links].sort((a, b) => ofItself(a) - ofItself(b)).slice(0, MOST_LINKS);
  return h("section", { class: "card-part" },
    h("h4", null, shown.length === 1 && alarm.broken_links.length === 1 ? "Broken link" : "Broken links"),
    h("ul", { class: "broken" }, shown.map((link) => h("li", null,
      h("span", { class: "broken-names" },
        ofItself(link) ? [signalLink(alarm, link.source), h("span", null, "own past")]
          : [signalLink(alarm, link.source, link.target), h("span", { class: "arrow" }, "→"), signalLink(alarm, link.target, link.source)]),
      h("span", { class: "soft broken-lag" }, lagText(link.lag)),
      h("span", { class: "broken-change", title: `Coefficient: normal → observed; ${number(link.deviation, 3)} times the change that counts as broken` },
        h("span", { class: "visually-hidden" }, "coefficient "), `${number(link.normal, 3)} → ${number(link.observed, 3)}`)))),
    more(alarm, alarm.broken_links.length - shown.length, "link"));
}

function concerned(alarm) {
  const names = Object.keys(alarm.signals);
  if (!names.length || ofRows(alarm.problem)) return null;
  const shown = names.slice(0, MOST_SIGNALS);
  return h("section", { class: "card-part card-wide" },
    h("h4", null, "Signals concerned"),
    h("ul", { class: "chips" }, shown.map((name) => h("li", null,
      h("a", { class: "tag", href: address("/signals", { alarm: alarm.id, signal: name }), title: `${nameTitle(name)}: its largest evidence so far; the limit is 1` },
        nameSpan(name), alarm.signals[name] !== null && h("span", { class: "soft", "data-peak": name }))))),
    more(alarm, names.length - shown.length, "signal"));
}

function comments(alarm) {
  if (!alarm.comments.length) return null;
  const shown = alarm.comments.slice(-MOST_COMMENTS);
  return h("section", { class: "card-part card-wide" },
    h("h4", null, "Comments"),
    h("ul", { class: "comments" }, shown.map(({ by, time, text: words }) => h("li", null,
      h("bdi", { class: "comment-by" }, by), " ", h("span", { class: "soft small" }, clockTime(time)), h("p", { dir: "auto" }, words)))),
    more(alarm, alarm.comments.length - shown.length, "earlier comment"));
}

function more(alarm, n, what) {
  return n > 0 ? h("p", { class: "small" }, h("a", { href: page(alarm) }, `and ${counted(n, `more ${what}`)}`)) : null;
}

/** Where to look further; rows are no signal that could be drawn, nor a place in the graph. */
function links(alarm) {
  const first = [...new Set([...likely(alarm.causes).map((cause) => cause.signal), ...Object.keys(alarm.signals)])].slice(0, 3);
  return h("p", { class: "card-links row" },
    !ofRows(alarm.problem) && [
      h("a", { href: address("/signals", { alarm: alarm.id, signal: first }) }, "See the signals"),
      h("a", { href: address("/graph", { alarm: alarm.id }) }, "See it in the graph"),
    ],
    h("a", { href: page(alarm) }, "Everything about it"));
}

/** Run `change`; if the focus was on a link that was rebuilt, put it on the new one. */
function keepFocus(element, change) {
  const active = document.activeElement;
  const href = element.contains(active) ? active.getAttribute("href") : null;
  change();
  if (href !== null && !active.isConnected) {
    [...element.querySelectorAll("a[href]")].find((link) => link.getAttribute("href") === href)?.focus();
  }
}

/** A list of alarms that were on, one line each. */
export function alarmLines(alarms) {
  const list = h("ul", { class: "alarm-lines" });
  add(list, alarms.map((alarm) => {
    const length = lengthOf(alarm);
    return h("li", { "data-kind": alarm.kind },
      h("span", { class: "line-when" }, clockTime(alarm.raised_at)),
      h("a", { href: page(alarm), class: "line-words" },
        h("span", { class: "line-sign", "aria-hidden": "true" }, alarm.kind === "anomaly" ? "▲" : "◆"),
        h("span", { class: "visually-hidden" }, alarm.kind === "anomaly" ? "Anomaly: " : `${unwellWords(alarm.problem)}: `), withNames(alarm.headline)),
      h("span", { class: "line-long soft" }, length === null ? "" : span(length)));
  }));
  return list;
}
