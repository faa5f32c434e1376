/**
 * Signals: all of them as a list; some of them as charts; those of an alarm as they went.
 *
 * /signals · /signals?signal=A&signal=B[&range=seconds|all | &from=t&to=t] · /signals?alarm=ID[&signal=A]
 */

import { address, get } from "../api.js";
import { h, replace, text } from "../dom.js";
import { clockTime } from "../format.js";
import { live } from "../live.js";
import { nameSpan, withNames } from "../named.js";
import { displayName, nameTitle } from "../names.js";
import { courseAsker, firstOf, signalsOf, spanOf } from "../signals/course.js";
import { Desk } from "../signals/desk.js";
import { signalList } from "../signals/list.js";
import { MOST_CHARTS } from "../signals/words.js";
import { setTitle } from "../title.js";

export default {
  title: "Signals",
  mount(root, params) {
    if (params.get("alarm")) return alarmCharts(root, params);
    if (params.getAll("signal").length) return charts(root, params);
    return signalList(root, params);
  },
};

/** What the address says about time: {span} or {width}. */
function timeOf(params) {
  const [from, to] = ["from", "to"].map((name) => (params.get(name) ? Number(params.get(name)) : NaN));
  if (Number.isFinite(from) && Number.isFinite(to) && to > from) return { span: [from, to] };
  // One end alone: a span of the usual length that begins or ends there.
  const some = 150 * live.plant.every;
  if (Number.isFinite(from)) return { span: [from, from + 2 * some] };
  if (Number.isFinite(to)) return { span: [to - 2 * some, to] };
  const range = params.get("range");
  if (range === "all") return { span: null, width: null };
  return { span: null, width: Number(range) > 0 ? Number(range) : undefined };
}

function charts(root, params) {
  const asked = [...new Set(params.getAll("signal"))];
  const names = asked.filter((name) => live.index(name) >= 0);
  const unknown = asked.filter((name) => live.index(name) < 0);
  root.append(h("h1", { class: "visually-hidden" }, "Signals over time"), back());
  if (unknown.length) {
    root.append(h("p", { class: "error" }, `This plant has no signal ${unknown.join(", ")}; the list has all of them.`));
  }
  if (names.length > MOST_CHARTS) {
    root.append(h("p", { class: "soft" }, `The first ${MOST_CHARTS} of ${names.length} signals are shown; more do not fit together.`));
  }
  if (!names.length) return null;
  const desk = new Desk(root, { names, ...timeOf(params), onNames: (shown) => setTitle(`Signals: ${shown.map((name) => displayName(name)).join(", ")}`) });
  return () => desk.destroy();
}

function back() {
  return h("p", { class: "signals-back" }, h("a", { href: "/signals" }, "← All signals"));
}

function alarmCharts(root, params) {
  const id = params.get("alarm");
  const stop = new AbortController();
  const heading = h("h1", null, "Signals of an alarm");
  const place = h("div", null, h("p", { class: "loading" }, "Loading the alarm…"));
  let desk = null;
  root.append(back(), heading, place);
  begin();
  return () => { stop.abort(); desk?.destroy(); };

  async function begin() {
    let found;
    try {
      found = await get(`/api/alarms/${encodeURIComponent(id)}`, null, { signal: stop.signal });
    } catch (error) {
      if (stop.signal.aborted) return;
      replace(place, h("p", { class: "error" }, error.message),
        h("p", null, h("a", { href: "/history" }, "The history"), " lists the alarms that are kept."));
      live.addEventListener("hello", begin, { once: true, signal: stop.signal });
      return;
    }
    if (!stop.signal.aborted) show(found);
  }

  function show({ alarm, explanation }) {
    const names = signalsOf(alarm, explanation);
    const asked = params.getAll("signal").filter((name) => live.index(name) >= 0);
    const facts = h("p", { class: "soft" });
    const chips = new Map(names.map((name) => [name, chip(name)]));
    replace(heading, withNames(alarm.headline));
    text(facts, factsOf(alarm));
    replace(place, h("div", { class: "alarm-facts" }, facts,
      h("a", { href: `/alarm/${encodeURIComponent(id)}` }, "The alarm"),
      h("a", { href: address("/graph", { alarm: id }) }, "In the graph")));
    if (!names.length) place.append(h("p", { class: "empty" }, "This alarm names no signal of this plant."));
    else place.append(h("div", { class: "signals-chips", role: "group", "aria-label": "Signals of this alarm" }, [...chips.values()]));
    const { span, width } = timeOf(params);
    const free = params.get("range") !== null;
    desk = new Desk(place, {
      names: asked.length ? asked : firstOf(alarm, names), alarm, ask: courseAsker(id),
      span: span ?? (free ? null : spanOf(alarm, live.plant.every)), width,
      onNames: (shown) => {
        setTitle(`Signals: ${alarm.headline}`);
        for (const [name, button] of chips) {
          button.setAttribute("aria-pressed", String(shown.includes(name)));
          button.disabled = shown.length >= MOST_CHARTS && !shown.includes(name);
        }
      },
    });
    live.addEventListener("alarm", ({ detail }) => {
      if (detail.id !== id) return;
      replace(heading, withNames(detail.headline));
      text(facts, factsOf(detail));
    }, { signal: stop.signal });
  }

  function chip(name) {
    return h("button", {
      type: "button", "aria-pressed": "false", title: `Show or hide ${nameTitle(name)}`,
      onclick: () => (desk.names.includes(name) ? desk.remove(name) : desk.tryAdd(name)),
    }, nameSpan(name));
  }
}

function factsOf({ onset, raised_at: raised, cleared_at: cleared }) {
  const begun = onset && onset !== raised ? `Onset ${clockTime(onset)}, raised ${clockTime(raised)}` : `Raised ${clockTime(raised)}`;
  return `${begun}, ${cleared ? `cleared ${clockTime(cleared)}` : "still on"}.`;
}
