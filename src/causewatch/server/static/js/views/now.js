/** Now: is the plant healthy, what is wrong, where does it start, what to look at first. */
import { get } from "../api.js";
import { scoreChart } from "../chart.js";
import { h, replace, text, throttle } from "../dom.js";
import { seconds } from "../format.js";
import { live } from "../live.js";
import { alarmCard, alarmLines } from "../now/card.js";
import { statusLine } from "../now/status_line.js";
import { signalTiles } from "../now/tiles.js";
import { PATIENCE, verdictPanel } from "../now/verdict.js";

/** Calm enough to read, quick enough to feel live. */
const REDRAW = 250;
const DAY = 86_400;
const MOST_RECENT = 5;
const CHART_HEIGHT = 120;

function mount(root) {
  const verdict = verdictPanel();
  const status = statusLine();
  const tiles = signalTiles();
  const chartBox = h("div", { class: "now-chart" });
  const active = new CardList("active-title", "Active alarms");
  const shelf = h("details", { class: "panel shelf", hidden: true });
  const shelfTitle = h("summary", null);
  const shelved = new CardList();
  shelf.append(shelfTitle, shelved.element);
  const recent = h("section", { class: "panel recent", "aria-labelledby": "recent-title" },
    h("h2", { id: "recent-title" }, "Earlier alarms"), h("p", { class: "soft" }, "Loading …"));

  replace(root,
    h("div", { class: "now" },
      verdict.element,
      h("div", { class: "now-alarms stack" }, active.element, shelf, recent),
      h("section", { class: "panel now-score", "aria-labelledby": "score-title" }, h("h2", { id: "score-title" }, "Score"), chartBox),
      h("div", { class: "now-signals" }, tiles.element),
      h("div", { class: "now-status" }, status.element)));
  const chart = scoreChart(chartBox, { height: CHART_HEIGHT });

  let gone = false;
  let later = 0;
  const controller = new AbortController();
  const showAlarms = () => {
    const alarms = live.alarms();
    active.show(alarms.filter((alarm) => !live.shelved(alarm)));
    const aside = alarms.filter((alarm) => live.shelved(alarm));
    shelved.show(aside);
    shelf.hidden = !aside.length;
    text(shelfTitle, `Shelved (${aside.length})`);
    text(active.none, aside.length ? "None but what is shelved." : "No alarm is on.");
  };
  const showRecent = async () => {
    try {
      const { alarms } = await get("/api/alarms", { on: false, most: MOST_RECENT }, { signal: controller.signal });
      if (gone) return;
      const since = (live.now.t ?? Infinity) - DAY;
      const late = alarms.filter((alarm) => (seconds(alarm.cleared_at) ?? Infinity) >= since);
      verdict.setEarlier(late.some((alarm) => alarm.kind === "anomaly"));
      replace(recent, recent.firstElementChild, h("p", { class: "soft small" }, earlierWords(late.length, alarms.length)),
        late.length ? alarmLines(late) : null,
        h("p", { class: "small" }, h("a", { href: "/history" }, "All alarms")));
    } catch (error) {
      if (gone) return;
      replace(recent, recent.firstElementChild, h("p", { class: "error" }, error.message),
        h("button", { type: "button", onclick: showRecent }, "Try again"));
    }
  };
  const soonRecent = throttle(showRecent, 1000);
  const redraw = throttle(() => {
    verdict.update();
    tiles.update();
    status.update(); // its time goes with the charts
  }, REDRAW);
  const everything = () => {
    verdict.update();
    tiles.update();
    status.update();
    showAlarms();
    showRecent();
  };
  const on = {
    hello: everything,
    ticks: redraw,
    connection: () => {
      redraw();
      clearTimeout(later);
      later = setTimeout(redraw, PATIENCE + 50);
    },
    alarm: ({ detail }) => {
      showAlarms();
      verdict.update();
      if (detail.cleared_at) soonRecent();
    },
    status: () => {
      redraw(); // also without ticks: a source that is away is told by status alone
      showAlarms(); // an alarm comes off the shelf by itself when its time is over
      active.age();
      shelved.age();
    },
  };
  for (const [name, handle] of Object.entries(on)) live.addEventListener(name, handle);
  everything();

  return () => {
    gone = true;
    controller.abort();
    for (const [name, handle] of Object.entries(on)) live.removeEventListener(name, handle);
    clearTimeout(later);
    redraw.cancel();
    soonRecent.cancel();
    tiles.destroy();
    chart.destroy();
  };
}

/** What the list of earlier alarms holds. */
function earlierWords(late, all) {
  if (late) return `${late < MOST_RECENT ? "Those" : `The latest ${MOST_RECENT} of those`} that ended within the last day of plant time.`;
  return all ? "None ended within the last day of plant time; the history has those before." : "No alarm has ended yet.";
}

/** Cards of alarms, kept in order; a card lives as long as its alarm is in the list. */
class CardList {
  #cards = new Map();
  #seen = new Map();

  constructor(id, title) {
    this.list = h("div", { class: "cards" });
    this.none = h("p", { class: "soft none" });
    this.element = id
      ? h("section", { class: "panel", "aria-labelledby": id }, h("h2", { id }, title), this.none, this.list)
      : h("div", null, this.list);
  }

  show(alarms) {
    const ids = new Set(alarms.map((alarm) => alarm.id));
    for (const [id, card] of this.#cards) {
      if (ids.has(id)) continue;
      const focused = card.element.contains(document.activeElement);
      card.element.remove();
      if (focused) document.getElementById("view").focus({ preventScroll: true });
      this.#cards.delete(id);
      this.#seen.delete(id);
    }
    alarms.forEach((alarm, place) => {
      const card = this.#cards.get(alarm.id) ?? alarmCard(alarm);
      if (this.#cards.has(alarm.id) && this.#seen.get(alarm.id) !== alarm) card.update(alarm);
      this.#cards.set(alarm.id, card);
      this.#seen.set(alarm.id, alarm);
      if (this.list.children[place] !== card.element) this.list.insertBefore(card.element, this.list.children[place] ?? null);
    });
    this.none.hidden = alarms.length > 0;
  }

  age() {
    for (const card of this.#cards.values()) card.age();
  }
}

export default { title: "Now", mount };
