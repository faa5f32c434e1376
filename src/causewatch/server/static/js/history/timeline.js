/**
 * Alarms as bars over time, one row per first cause (or unwell signal).
 *
 * The bars are links to the alarms. Only one of them is a stop of the tab key; arrow keys go from
 * bar to bar, so that a thousand alarms do not stand between a keyboard and the table below.
 * Whatever bar is pointed at is told in a line below whose place is reserved.
 */

import { h, replace } from "../dom.js";
import * as format from "../format.js";
import { navigate } from "../router.js";
import { arrange } from "./lanes.js";
import { svg } from "../svg.js";
import { axisMarks } from "./times.js";
import { kindWord, lengthOf, statesOf } from "./words.js";

const LANE = 14;
const GAP = 14;
const AXIS = 24;
/** Width of a letter of the names, about. */
const LETTER = 6.8;
const LEAST_WIDTH = 5;

/** How to read about a bar: a finger cannot point without touching. */
const HINT = matchMedia("(hover: none)").matches
  ? "Touch a bar to open its alarm." : "Point at a bar, or go there with the keyboard, to read about it.";

export class Timeline {
  constructor() {
    this.labels = h("div", { class: "timeline-names", "aria-hidden": "true" });
    // One listener for all bars: there may be a thousand.
    this.drawing = h("div", {
      class: "timeline-drawing", onkeydown: (event) => this.move(event), onclick: (event) => this.open(event),
      onfocusin: (event) => this.focused(event),
      onmouseover: (event) => this.tell(this.barAt(event)?.alarm ?? null),
      onmouseleave: () => this.tell(null),
    });
    this.note = h("p", { class: "timeline-note" });
    this.element = h(
      "div", { class: "timeline" },
      h("div", { class: "timeline-body" }, this.labels, this.drawing), this.note,
    );
    this.bars = [];
    this.byNode = new Map();
    this.stop = null;
    this.current = null;
    this.told = undefined;
    this.shown = null;
    this.width = 0;
    this.observer = new ResizeObserver(() => {
      const width = this.drawing.clientWidth;
      if (width !== this.width && this.shown) this.draw(...this.shown);
    });
    this.observer.observe(this.drawing);
    this.tell(null);
  }

  destroy() {
    this.observer.disconnect();
  }

  /**
   * @param alarms alarms to show
   * @param from, to part of time, in seconds
   * @param now time of the stream, until which alarms that are on reach; null if unknown
   * @param clock what the times count
   */
  draw(alarms, from, to, now, clock) {
    this.shown = [alarms, from, to, now, clock];
    this.now = now;
    this.width = this.drawing.clientWidth;
    const width = Math.max(120, this.width);
    const focused = this.element.contains(document.activeElement) ? this.current : null;
    const scale = width / Math.max(1e-9, to - from);
    const rows = arrange(alarms, from, to, now, LEAST_WIDTH / scale);

    const letters = Math.floor(this.labels.clientWidth / LETTER);
    let y = GAP / 2;
    const grid = [], names = [];
    this.bars = [];
    this.byNode = new Map();
    this.stop = null;
    for (const row of rows) {
      const height = row.lanes * LANE + GAP;
      const label = h("span", { class: `timeline-name ${row.kind}`, title: row.name },
        h("span", { class: "timeline-words" }, row.short?.(letters) ?? row.name));
      label.style.height = `${height}px`;
      names.push(label);
      grid.push(svg("line", { class: "lane", x1: 0, x2: width, y1: y + height - GAP / 2,
        y2: y + height - GAP / 2 }));
      for (const bar of row.bars) {
        bar.node = this.bar(bar, (bar.start - from) * scale, (bar.end - from) * scale,
          y + bar.lane * LANE, width);
        this.bars.push(bar);
        this.byNode.set(bar.node, bar);
      }
      y += height;
    }
    this.bars.sort((one, other) => one.start - other.start);
    const bottom = y + GAP / 2;
    const most = Math.max(2, Math.floor(width / (to - from > 86400 ? 110 : 70)));
    for (const t of axisMarks(from, to, most, clock)) {
      const x = (t - from) * scale;
      const anchor = x < 40 ? "start" : x > width - 40 ? "end" : "middle";
      grid.push(
        svg("line", { class: "mark", x1: x, x2: x, y1: 0, y2: bottom }),
        svg("text", { x, y: bottom + 16, "text-anchor": anchor }, axisText(t, to - from, clock)),
      );
    }
    if (now !== null && now >= from && now <= to) {
      const x = Math.min(width - 1, (now - from) * scale);
      grid.push(svg("line", { class: "now-line", x1: x, x2: x, y1: 0, y2: bottom }));
    }
    const count = this.bars.length;
    const picture = svg(
      "svg",
      { width, height: bottom + AXIS, role: "group",
        "aria-label": `Timeline of ${count} ${count === 1 ? "alarm" : "alarms"};`
          + " arrow keys go from one to the next, the table below lists them too" },
      hatching(), grid, this.bars.map((bar) => bar.node),
    );
    replace(this.labels, names);
    replace(this.drawing, picture);
    this.select(this.bars.find((bar) => bar.alarm.id === this.current) || this.bars.at(-1));
    if (focused !== null) this.bars.find((bar) => bar.alarm.id === focused)?.node.focus();
    else this.tell(null);
  }

  /** One alarm as a link; what is on ends in an arrow, ill health is hatched. */
  bar(bar, left, right, y, width) {
    const { alarm } = bar;
    const on = !alarm.cleared_at;
    const x = Math.max(0, Math.min(left, width - LEAST_WIDTH));
    const end = Math.min(width, Math.max(right, x + LEAST_WIDTH));
    const tall = LANE - 4;
    const tip = on && end - x > 8 ? 5 : 0;
    const path = `M${x} ${y}H${end - tip}L${end} ${y + tall / 2}L${end - tip} ${y + tall}H${x}Z`;
    const address = `/alarm/${encodeURIComponent(alarm.id)}`;
    const tone = alarm.normal ? "normal" : alarm.kind;
    const node = svg(
      "a",
      {
        href: address, class: `alarm-bar ${tone}${on ? " on" : ""}`, tabindex: -1,
        "aria-label": summary(alarm, this.now),
      },
      svg("path", { class: "ground", d: path }),
      svg("path", { class: "shape", d: path }),
    );
    return node;
  }

  /** The one bar that the tab key stops at. */
  select(bar) {
    this.stop?.node.setAttribute("tabindex", "-1");
    bar?.node.setAttribute("tabindex", "0");
    this.stop = bar ?? null;
    this.current = bar ? bar.alarm.id : null;
  }

  /** The bar that an event is about. */
  barAt(event) {
    return this.byNode.get(event.target.closest?.(".alarm-bar")) ?? null;
  }

  open(event) {
    const bar = this.barAt(event);
    // With a modifier the browser opens a tab, as with any link.
    if (!bar || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    navigate(bar.node.getAttribute("href"));
  }

  focused(event) {
    const bar = this.barAt(event);
    if (!bar) return;
    this.select(bar);
    this.tell(bar.alarm);
  }

  move(event) {
    const at = this.bars.findIndex((bar) => bar.alarm.id === this.current);
    const goal = {
      ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1,
      Home: 0, End: this.bars.length - 1,
    }[event.key];
    if (goal === undefined || at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.bars[Math.max(0, Math.min(this.bars.length - 1, goal))].node.focus();
  }

  tell(alarm) {
    const key = alarm ?? this.bars.length; // the same is not told twice
    if (key === this.told) return;
    this.told = key;
    replace(
      this.note,
      alarm
        ? [h("strong", null, `${kindWord(alarm)}, ${format.clockTime(alarm.raised_at)}: `),
          summary(alarm, this.now)]
        : h("span", { class: "soft" }, this.bars.length
          ? HINT
          : "No alarms in this part of time."),
    );
  }
}

function summary(alarm, now) {
  const length = lengthOf(alarm, now);
  const lasted = length === null ? "" : ` ${alarm.cleared_at ? "Lasted" : "On for"} ${format.span(length)}.`;
  const states = statesOf(alarm).map((state) => state.word).join(", ");
  return `${alarm.headline || "No headline."}${lasted} State: ${states}.`;
}

/** Short text for a mark: time of day, and the date where days are passed. */
function axisText(t, span, clock) {
  if (clock === "rows") return String(Math.round(t));
  if (clock === "elapsed") return format.duration(t);
  const zone = clock === "utc" ? undefined : "UTC";
  const moment = new Date(t * 1000);
  const options = span > 3 * 86400
    ? { day: "numeric", month: "short" }
    : span > 86400
      ? { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }
      : { hour: "2-digit", minute: "2-digit", ...(span < 600 ? { second: "2-digit" } : {}) };
  return moment.toLocaleString("en-GB", { ...options, timeZone: zone });
}

function hatching() {
  return svg(
    "defs", null,
    svg("pattern", { id: "timeline-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse",
      patternTransform: "rotate(45)" },
    svg("rect", { class: "hatch-line", width: 2.5, height: 6 })),
  );
}
