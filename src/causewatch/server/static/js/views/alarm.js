/** The page of one alarm: what `causewatch explain` reports about it, live, with what can be done. */

import { actionBar } from "../actions.js";
import { address, get } from "../api.js";
import { debounce, h, replace } from "../dom.js";
import * as format from "../format.js";
import { ofRows } from "../health.js";
import { live } from "../live.js";
import { causesSection } from "../history/causes.js";
import { CourseCharts } from "../history/course.js";
import { eventsSection } from "../history/events.js";
import { factList, standing } from "../history/facts.js";
import { linksSection } from "../history/links.js";
import { after, before } from "../history/neighbours.js";
import { kindTag, stateTags } from "../history/table.js";
import { withNames } from "../named.js";
import { setTitle } from "../title.js";

function mount(root, params, path) {
  const id = identity(path);
  const place = `/api/alarms/${encodeURIComponent(id)}`;
  let data = null;
  let gone = false;
  let bar = null;

  const tags = h("p", { class: "row tags" });
  const headline = h("h1", { class: "alarm-headline" }, "Loading the alarm…");
  const facts = h("div", { class: "facts-place" });
  const stands = h("div");
  const actions = h("div", { class: "actions-place" });
  const ways = h("nav", { class: "row ways", "aria-label": "About this alarm" });
  const sides = h("nav", { class: "row sides", "aria-label": "Other alarms" });
  // Only where the ticks around the alarm are kept, and the model that raised it.
  const report = h("a", { class: "button", href: `${place}/report`, target: "_blank", rel: "noopener" },
    "Full report", h("span", { class: "visually-hidden" }, " (opens in a new tab)"));
  const causes = h("div");
  const links = h("div");
  const events = h("div");
  const trouble = h("div", { class: "view-message", role: "status" });
  const charts = new CourseCharts();
  charts.element.hidden = true;

  replace(
    root,
    h("div", { class: "alarm-page stack" },
      h("div", { class: "row spread alarm-top" },
        h("a", { href: "/history" }, "← All alarms"), sides),
      trouble,
      h("header", { class: "panel alarm-head" }, tags, headline, facts, stands, actions, ways),
      h("div", { class: "alarm-columns" }, causes, links),
      charts.element, events),
  );

  async function load() {
    try {
      const answer = await get(place);
      if (gone) return;
      const first = data === null;
      data = answer;
      replace(trouble);
      draw();
      charts.element.hidden = ofRows(data.alarm.problem);
      charts.show(data.alarm, data.explanation, data.course);
      if (first) showSides();
    } catch (error) {
      if (gone) return;
      if ([400, 404, 422].includes(error.status)) unknown();
      else {
        if (data === null) headline.textContent = "This alarm cannot be shown now";
        replace(trouble, h("p", { class: "error" }, error.message), " ",
          h("button", { type: "button", onclick: load }, "Try again"));
      }
    }
  }

  function unknown() {
    replace(root, h("div", { class: "alarm-page" },
      h("h1", null, "Unknown alarm"),
      h("p", null, `No alarm with the number ${id} is kept here; it may have been forgotten, or the`
        + " address may be incomplete."),
      h("p", null, h("a", { href: "/history" }, "See all alarms"))));
  }

  function draw() {
    const { alarm, explanation } = data;
    const t = live.now?.t ?? null;
    replace(tags, kindTag(alarm), stateTags(alarm));
    const sentence = alarm.headline || `Alarm ${alarm.id}`;
    if (headline.textContent !== sentence) replace(headline, withNames(sentence));
    setTitle(sentence);
    replace(facts, factList(alarm, t));
    replace(stands, standing(alarm));
    if (bar === null) {
      bar = actionBar(alarm);
      replace(actions, bar);
    } else bar.update(alarm);
    if (!ways.hasChildNodes()) replace(ways, waysOn(alarm), report, copyButton());
    report.hidden = explanation === null;
    replace(causes, causesSection(alarm, explanation));
    replace(links, linksSection(alarm, explanation));
    replace(events, eventsSection(data.events));
  }

  async function showSides() {
    try {
      const [earlier, later] = await Promise.all([before(data.alarm), after(data.alarm)]);
      if (gone) return;
      replace(sides, side(earlier, "← Previous", "prev"), side(later, "Next →", "next"));
    } catch {
      // The page is whole without them.
    }
  }

  const reload = debounce(load, 200);
  function onAlarm(event) {
    const alarm = event.detail;
    if (alarm.id !== id) return;
    if (data) {
      // Told at once; what explaining it anew says is fetched right after.
      data = { ...data, alarm };
      draw();
    }
    reload();
  }
  function onHello() {
    reload();
  }
  function onStatus() {
    if (!data || data.alarm.cleared_at) return;
    replace(facts, factList(data.alarm, live.now?.t ?? null));
    replace(stands, standing(data.alarm));
  }
  function onTicks(event) {
    charts.append(event.detail);
  }
  live.addEventListener("alarm", onAlarm);
  live.addEventListener("ticks", onTicks);
  live.addEventListener("hello", onHello);
  live.addEventListener("status", onStatus);
  load();

  return () => {
    gone = true;
    reload.cancel();
    charts.destroy();
    live.removeEventListener("alarm", onAlarm);
    live.removeEventListener("ticks", onTicks);
    live.removeEventListener("hello", onHello);
    live.removeEventListener("status", onStatus);
  };
}

/** The number in the address; an address that cannot be decoded is taken as it is. */
function identity(path) {
  const part = path.split("/")[2] ?? "";
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function side(alarm, text, relation) {
  if (!alarm) return h("span", { class: "soft" }, text);
  return h("a", {
    href: `/alarm/${encodeURIComponent(alarm.id)}`, rel: relation,
    title: `${format.clockTime(alarm.raised_at)}: ${alarm.headline}`,
  }, text);
}

/** Where to look further; rows are no signal that could be drawn, nor a place in the graph. */
function waysOn(alarm) {
  if (ofRows(alarm.problem)) return null;
  return [
    h("a", { class: "button", href: address("/signals", { alarm: alarm.id }) }, "Signals at that time"),
    h("a", { class: "button", href: address("/graph", { alarm: alarm.id }) }, "In the graph"),
  ];
}

/** A button for the address to pass on. */
function copyButton() {
  const copy = h("button", { type: "button", class: "quiet" }, "Copy address");
  copy.addEventListener("click", async () => {
    // A page that came over plain HTTP from elsewhere has no clipboard; then the address is shown.
    try {
      await navigator.clipboard.writeText(window.location.href);
      copy.textContent = "Address copied";
    } catch {
      copy.textContent = window.location.href;
    }
    setTimeout(() => { copy.textContent = "Copy address"; }, 4000);
  });
  return copy;
}

export default { title: "Alarm", mount };
