/** The line that says how the rows come in: source, rows, pace, delay, problems. */
import { h, text } from "../dom.js";
import { count, counted, duration, number, time, zone } from "../format.js";
import { live } from "../live.js";

/** Words for kinds of problems whose name does not say enough. */
const plain = (kind) => kind.replaceAll("_", " ");

/** The line; `update()` shows what holds now. */
export function statusLine() {
  const cells = new Map();
  const element = h("dl", { class: "status-line", "aria-label": "How the rows come in" });
  const cell = (name) => {
    if (!cells.has(name)) {
      const value = h("dd", null);
      const box = h("div", null, h("dt", null, name), value);
      element.append(box);
      cells.set(name, { box, value });
    }
    return cells.get(name);
  };
  const show = (name, words, title = "") => {
    const { box, value } = cell(name);
    text(value, words);
    if (value.title !== title) value.title = title;
    box.hidden = words === "";
  };
  const update = () => {
    const { status, t } = live.now;
    show("Source", live.plant.source, status?.source ?? "");
    show("Plant time", t === null ? "–" : `${time(t, { date: true })}${zone() ? ` (${zone()})` : ""}`);
    if (!status) return;
    show("Rows", count(status.rows), `${counted(status.ticks, "tick")} of ${duration(live.plant.every)} each`);
    show("Pace", status.ended ? "ended" : `${number(status.pace, 3)} rows/s`);
    show("Delay", status.lag === null ? "–" : duration(status.lag), "How far the last row is behind the clock");
    const kinds = Object.entries(status.problems ?? {}).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
    const sum = kinds.reduce((all, [, n]) => all + n, 0);
    const some = kinds.slice(0, 3).map(([kind, n]) => `${plain(kind)} ${count(n)}`).join(", ");
    show("Problems in the rows", sum ? some + (kinds.length > 3 ? ` and ${kinds.length - 3} more kinds` : "") : "none",
      kinds.map(([kind, n]) => `${plain(kind)}: ${count(n)}`).join("\n"));
    show("Viewers", count(status.viewers));
  };
  return { element, update };
}
