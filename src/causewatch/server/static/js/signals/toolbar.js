/** The bar above the charts: live or standing still, how much is shown, one more signal. */

import { moment } from "../chart.js";
import { axisName } from "../chart/time.js";
import { h, text } from "../dom.js";
import { live } from "../live.js";
import { named, ranges } from "./words.js";

export class Toolbar {
  /**
   * @param {ChartGroup} group
   * @param {(name: string) => boolean} onAdd gives whether the name is a signal that can be added
   */
  constructor(group, onAdd) {
    this.group = group;
    this.live = h("button", {
      type: "button", class: "live-button", "aria-pressed": "true",
      onclick: () => (group.live ? group.pause(true) : group.follow(undefined, true)),
    }, "● Live");
    this.choices = ranges(group.every).map(([width, word]) => ({
      width,
      button: h("button", { type: "button", "aria-pressed": "false", onclick: () => this.choose(width) }, word),
    }));
    this.state = h("span", { class: "soft signals-state", role: "status" });
    this.input = h("input", { id: "add-signal", list: "add-signal-names", placeholder: "Name", autocomplete: "off", size: "12" });
    this.problem = h("span", { class: "error small signals-trouble", role: "alert" });
    const form = h("form", {
      class: "row signals-add",
      onsubmit: (event) => {
        event.preventDefault();
        this.add(onAdd);
      },
    },
    h("label", { for: "add-signal" }, "Add"), this.input,
    h("datalist", { id: "add-signal-names" }, live.plant.signals.map(({ name, label }) => h("option", { value: name }, label))),
    h("button", { type: "submit" }, "Add"), this.problem);
    this.input.addEventListener("change", () => { if (live.index(named(this.input.value.trim())) >= 0) this.add(onAdd); });
    this.root = h("div", { class: "signals-bar" },
      h("div", { class: "row", role: "group", "aria-label": "Time shown" },
        this.live, h("span", { class: "signals-ranges" }, this.choices.map(({ button }) => button))),
      this.state, form);
    this.refresh();
  }

  choose(width) {
    const { group } = this;
    const [from, to] = group.range();
    if (group.live || width === null || from === null) group.follow(width, true);
    else group.show((from + to - width) / 2, (from + to + width) / 2, true);
  }

  add(onAdd) {
    const name = this.input.value.trim();
    if (!name) return;
    const problem = onAdd(name);
    text(this.problem, problem);
    if (!problem) this.input.value = "";
  }

  refresh() {
    const { group } = this;
    const [from, to] = group.range();
    this.live.setAttribute("aria-pressed", String(group.live));
    text(this.live, group.live ? "● Live" : "○ Live");
    this.live.title = group.live ? "Follows the latest tick; press to stand still" : "Stands still; press to follow the latest tick";
    for (const { width, button } of this.choices) button.setAttribute("aria-pressed", String(group.live && group.width === width));
    const clock = live.plant.clock;
    const zone = clock === "utc" ? ` (${axisName(clock).replace("Time in ", "")})` : "";
    text(this.state, group.live ? "Follows the latest tick." : from === null ? "" : `Shows ${moment(from, clock, 1)} to ${moment(to, clock, 1)}${zone}.`);
  }
}
