/**
 * History: alarms as a timeline and as a table, filtered by what stands in the address.
 *
 * Alarms that come or change while somebody looks are taken in without moving what is being read:
 * rows change in place, and new ones wait behind a button once the list has been scrolled.
 */

import { address } from "../api.js";
import { debounce, h, replace } from "../dom.js";
import { live } from "../live.js";
import { navigate } from "../router.js";
import { filterForm } from "../history/filters.js";
import { AlarmList } from "../history/list.js";
import { readFilters } from "../history/query.js";
import { RangeBar, readRange, spanOf } from "../history/range.js";
import { AlarmTable } from "../history/table.js";
import { Timeline } from "../history/timeline.js";

const PAGE = 100;
/** A range that reaches further back than what is loaded loads more by itself, up to this. */
const MOST_LOADED = 1000;
/** Pages without any fitting alarm after which a person is asked whether to go on. */
const MOST_EMPTY = 20;
/** Height of the header that stays at the top, in pixels. */
const HEADER = 46;

function mount(root, params) {
  const plant = live.plant;
  let filters = readFilters(params);
  let range = readRange(params);
  let list = new AlarmList(filters);
  let shown = PAGE;
  let waiting = new Set();
  let turn = 0; // Answers to questions that are no longer asked are dropped.
  let trouble = null;
  let busy = false;
  let over = false; // Whether another view is shown.

  const timeline = new Timeline();
  const table = new AlarmTable();
  const rangeBar = new RangeBar(plant.clock, (chosen) => { range = chosen; write(); fill(); draw(); });
  const form = filterForm(plant, filters, (chosen) => {
    filters = chosen;
    list = new AlarmList(filters);
    shown = PAGE;
    waiting = new Set();
    write();
    load();
  });
  const message = h("div", { class: "view-message", role: "status" });
  const counted = h("p", { class: "counted soft", role: "status" });
  const fresh = h("button", { type: "button", class: "fresh", hidden: true, onclick: showNew });
  const more = h("button", { type: "button", onclick: () => loadMore() }, "Load more");
  const exports = ["csv", "json"].map((ending) => h(
    "a", { class: "button", download: "" }, `Export ${ending.toUpperCase()}`,
  ));
  const scroller = h("div", { class: "table-frame" }, table.element);
  const foot = h("p", { class: "list-foot" }, more);

  replace(
    root,
    h("div", { class: "history stack" },
      h("header", { class: "row spread" }, h("h1", null, "History"), h("div", { class: "row" }, exports)),
      form.element,
      h("section", { class: "panel", "aria-labelledby": "timeline-title" },
        h("div", { class: "row spread panel-head" }, h("h2", { id: "timeline-title" }, "Timeline"), rangeBar.element),
        timeline.element, legend()),
      h("section", { class: "panel", "aria-labelledby": "list-title" },
        h("div", { class: "row spread panel-head" }, h("h2", { id: "list-title" }, "Alarms"), counted),
        message, scroller, foot),
      fresh),
  );

  function now() {
    return live.now?.t ?? null;
  }

  /** Keep the address in step, so that it can be passed on; no new entry for every letter. */
  function write() {
    const query = { ...filters, range: range.length, end: range.end };
    navigate("/history", query, { replace: true, quiet: true });
  }

  async function ask(work) {
    const mine = (turn += 1);
    busy = true;
    more.disabled = true;
    try {
      await work();
      if (mine !== turn) return;
      trouble = null;
    } catch (error) {
      if (mine !== turn) return;
      trouble = error.message;
    }
    busy = false;
    more.disabled = false;
    draw();
  }

  async function load() {
    const asked = list;
    draw();
    await ask(() => asked.refresh());
    // The server looks through so many alarms for one answer: a page may be empty, others follow.
    for (let k = 0; k < MOST_EMPTY && asked === list && !trouble && !over; k += 1) {
      if (list.alarms.length > 0 || list.next === null) break;
      await ask(() => asked.more());
    }
    await fill();
  }

  async function loadMore() {
    shown += PAGE;
    if (list.alarms.length < shown && list.next !== null) await ask(() => list.more());
    else draw();
  }

  /** Load what the chosen part of time needs. */
  async function fill() {
    const asked = list;
    while (asked === list && !over && range.length !== null && list.next !== null && !trouble
      && list.alarms.length < MOST_LOADED
      && (list.oldest ?? -Infinity) > spanOf(range, list.alarms, now())[0]) {
      await ask(() => asked.more());
    }
  }

  function draw() {
    const t = now();
    const visible = list.alarms.filter((alarm) => !waiting.has(alarm.id));
    table.show(visible.slice(0, shown), t);
    drawTimeline();
    const any = visible.length > 0;
    scroller.hidden = !any;
    foot.hidden = !(visible.length > shown || list.next !== null);
    replace(counted, any ? countText(Math.min(shown, visible.length), visible.length, list.next) : "");
    replace(message, messageFor(any));
    fresh.hidden = waiting.size === 0;
    fresh.textContent = `↑ ${waiting.size} new`;
    fresh.setAttribute("aria-label", `Show ${waiting.size} new ${waiting.size === 1 ? "alarm" : "alarms"}`);
    exports[0].setAttribute("href", address("/api/alarms.csv", filters));
    exports[1].setAttribute("href", address("/api/alarms.json", filters));
  }

  function drawTimeline() {
    const t = now();
    rangeBar.show(range, t);
    timeline.draw(list.alarms, ...spanOf(range, list.alarms, t), t, plant.clock);
  }

  function messageFor(any) {
    if (trouble) {
      return [h("p", { class: "error" }, trouble), " ",
        h("button", { type: "button", onclick: load }, "Try again")];
    }
    if (any) return null;
    if (busy || !list.loaded) return h("p", null, "Loading alarms…");
    if (Object.keys(filters).length > 0) {
      return h("p", null, "No alarm fits these filters; change one, or show all.");
    }
    return h("p", null, "No alarm has been raised yet. Alarms stay listed here once they are over.");
  }

  function showNew() {
    waiting = new Set();
    draw();
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    root.querySelector("#list-title")?.scrollIntoView({ behavior: still ? "auto" : "smooth" });
    table.element.querySelector("a")?.focus({ preventScroll: true });
  }

  /** Whether the top of the list is out of sight, so that new rows would push what is read. */
  function scrolled() {
    return !scroller.hidden && table.element.getBoundingClientRect().top < HEADER;
  }

  const redraw = debounce(draw, 100);
  function onAlarm(event) {
    const change = list.take(event.detail);
    if (change === "new" && scrolled()) waiting.add(event.detail.id);
    if (change === "gone") waiting.delete(event.detail.id);
    if (change !== null) redraw();
  }
  function onHello() {
    if (list.loaded || trouble) load();
  }
  let drawAgain = 0;
  function onStatus() {
    table.tick(now());
    // Time goes on in the timeline too, but slowly enough to be cheap: at most 1 % of the time.
    const begun = performance.now();
    if (range.end !== null || begun < drawAgain) return;
    drawTimeline();
    drawAgain = performance.now() + Math.max(5000, 100 * (performance.now() - begun));
  }
  live.addEventListener("alarm", onAlarm);
  live.addEventListener("hello", onHello);
  live.addEventListener("status", onStatus);
  load();

  return () => {
    turn += 1;
    over = true;
    form.stop();
    redraw.cancel();
    live.removeEventListener("alarm", onAlarm);
    live.removeEventListener("hello", onHello);
    live.removeEventListener("status", onStatus);
    timeline.destroy();
  };
}

function countText(shown, loaded, next) {
  if (next !== null) return `The latest ${shown} are listed; there are more.`;
  return shown < loaded ? `${shown} of ${loaded}` : `${loaded} ${loaded === 1 ? "alarm" : "alarms"}`;
}

function legend() {
  const keys = [
    ["anomaly", "anomaly, in the row of its first cause"], ["health", "◆ signal health, in the row of its signal"],
    ["on", "still on"], ["normal", "said to be normal"],
  ];
  return h("ul", { class: "timeline-key", "aria-label": "Key" }, keys.map(([name, text]) => h(
    "li", null, h("span", { class: `alarm-key ${name}`, "aria-hidden": "true" }), text,
  )));
}

export default { title: "History", mount };
