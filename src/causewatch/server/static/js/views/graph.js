/**
 * The Graph view: which signal causes which, where that is broken now (or was, in one alarm), and
 * where the trouble starts.
 *
 * The address says what is shown: signal, to (the link signal → to), hops, strength, stage, broken,
 * alarm, open (stages; closed=all for none).
 */

import { address, get } from "../api.js";
import { h, replace, text, throttle } from "../dom.js";
import { clockTime, counted } from "../format.js";
import { GraphCanvas } from "../graph/canvas.js";
import { downloads, filters, keys, legend, viewButtons } from "../graph/controls.js";
import { readFaults, signature } from "../graph/faults.js";
import { isNarrow } from "../graph/layout.js";
import { lookOf, sameLook } from "../graph/looks.js";
import { Graph } from "../graph/model.js";
import { Panel } from "../graph/panel.js";
import { buildScene } from "../graph/scene.js";
import { openAtFirst, readState, writeState } from "../graph/state.js";
import { Tooltip } from "../graph/tooltip.js";
import { arrowsText, unwellList } from "../graph/words.js";
import { live } from "../live.js";
import { withNames } from "../named.js";
import { displayName } from "../names.js";
import { navigate } from "../router.js";

/** The picture follows the plant about three times a second, however fast ticks come. */
const REDRAW_EVERY = 350;

/** A change of an alarm may move arrows and labels, which is more work and harder to read. */
const REREAD_EVERY = 1000;

/** What was seen last, for the way back from another view. */
let seen = null;

class GraphView {
  constructor(root, params) {
    this.graph = new Graph(live.plant);
    this.state = readState(params, this.graph);
    this.alarm = null;
    this.trouble = this.state.unknown.join(" ");
    this.attention = null;
    this.looks = new Map();
    this.aborted = new AbortController();
    this.context = () => this.#context();
    const change = (part) => this.change(part);
    this.filters = filters(this.graph, change);
    this.panel = new Panel(this.graph, this.context, {
      signal: (index) => change({ signal: index, to: -1 }),
      link: (source, target) => change({ signal: source, to: target }),
      clear: () => change({ signal: -1, to: -1, hops: 0 }),
      around: (index, hops) => change({ signal: index, to: -1, hops, stage: -1 }),
    });
    this.tip = new Tooltip(this.graph, this.context);
    this.note = h("div", { class: "graph-note" });
    this.status = h("p", { class: "graph-status soft", role: "status" });
    const picture = h("div", { class: "graph-canvas", role: "img", "aria-label": "Causal graph" });
    this.picture = picture;
    const frame = h("div", {
      class: "graph-frame", tabindex: "0", role: "group",
      "aria-label": "Picture of the graph: arrow keys move it, + and − zoom, 0 shows everything",
      onkeydown: (event) => event.target === event.currentTarget && keys(event, this.canvas),
    }, picture, this.tip.element);
    replace(root,
      h("h1", { class: "visually-hidden" }, "Causal graph"),
      this.filters.element, this.note,
      h("div", { class: "graph-main" },
        h("div", { class: "graph-side" },
          h("div", { class: "graph-stage panel" }, frame,
            h("div", { class: "graph-strip" },
              downloads(() => this.#png()), viewButtons(this.graph, () => this.canvas, change))),
          this.status, legend()),
        this.panel.element));
    this.canvas = new GraphCanvas(this.graph, picture, {
      pick: (key) => this.#picked(key),
      nothing: () => this.state.signal >= 0 && change({ signal: -1, to: -1, hops: 0 }),
      over: (key, place) => (key ? this.tip.show(key, this.scene, place) : this.tip.hide()),
    });
    this.redraw = throttle(() => this.#redraw(), REDRAW_EVERY);
    this.reread = throttle(() => this.#reread(), REREAD_EVERY);
    for (const event of ["ticks", "status"]) live.addEventListener(event, this.redraw);
    for (const event of ["alarm", "hello"]) live.addEventListener(event, this.reread);
    this.#readFaults();
    this.apply();
    this.canvas.viewport = seen;
    if (this.state.alarm) this.#loadAlarm();
  }

  destroy() {
    for (const event of ["ticks", "status"]) live.removeEventListener(event, this.redraw);
    for (const event of ["alarm", "hello"]) live.removeEventListener(event, this.reread);
    this.redraw.cancel();
    this.reread.cancel();
    this.filters.stop();
    this.aborted.abort();
    seen = this.canvas.viewport;
    this.canvas.destroy();
  }

  /** Take over what a person changed, and put it into the address. */
  change(part) {
    const chosen = "signal" in part && part.signal >= 0 && part.signal !== this.state.signal;
    // Moving a slider or clicking about must not fill the browser's history with every step.
    const replaces = "strength" in part || "open" in part;
    Object.assign(this.state, part);
    const { state, graph } = this;
    this.trouble = "";
    if (part.stage >= 0) Object.assign(state, { hops: 0, open: null });
    if (state.signal < 0) state.hops = 0;
    // What is selected must be visible: its stage opens, and another stage's filter goes.
    for (const index of [state.signal, state.to].filter((one) => one >= 0)) {
      const stage = graph.stageOf(index);
      if (state.stage >= 0 && state.stage !== stage && index === state.signal) state.stage = -1;
      if (state.stage < 0 && !this.#open().has(stage)) state.open = new Set(this.#open()).add(stage);
    }
    navigate("/graph", writeState(state, graph), { quiet: true, replace: replaces });
    this.apply();
    if (chosen) this.canvas.reveal(`s${state.signal}`);
  }

  /** Build what the state asks for. */
  apply() {
    const { state, graph } = this;
    this.tip.hide();
    this.scene = buildScene(graph, { ...state, open: this.#open(), narrow: this.#narrow() }, this.faults);
    this.looks = this.#looksNow();
    const focus = this.#focus();
    this.canvas.show(this.scene, this.looks, focus);
    this.attention = null;
    this.canvas.pick(this.#pickedKey());
    this.filters.update(state, this.scene);
    this.panel.show(state);
    this.#say();
  }

  #narrow() {
    return isNarrow(this.picture.clientWidth);
  }

  #open() {
    this.first ??= openAtFirst(this.graph, this.faults, this.#narrow());
    return this.state.open ?? this.first;
  }

  /** Values and evidence to show: the plant's now, or an alarm's that is over. */
  #context() {
    const past = this.alarm?.cleared_at ? this.alarm : null;
    const now = live.now;
    return {
      values: now.values, expected: now.expected, faults: this.faults, alarm: this.alarm,
      evidence: past ? this.graph.signals.map((signal) => past.signals?.[signal.name] ?? null) : now.evidence,
      unwell: past ? {} : (now.status?.unwell ?? {}), past: Boolean(past),
    };
  }

  #readFaults() {
    const alarms = this.state.alarm ? (this.alarm ? [this.alarm] : []) : live.alarms();
    this.faults = readFaults(this.graph, alarms);
    this.faultsSaid = signature(this.faults);
  }

  /** An alarm came or changed: build anew only if that changes what is drawn. */
  #reread() {
    if (this.alarm && live.now.alarms.has(this.alarm.id)) this.alarm = live.now.alarms.get(this.alarm.id);
    else if (this.alarm && !this.alarm.cleared_at) this.#loadAlarm();
    const said = this.faultsSaid;
    this.#readFaults();
    if (said !== this.faultsSaid) this.apply();
    else this.#redraw();
  }

  async #loadAlarm() {
    const { signal } = this.aborted;
    const id = this.state.alarm;
    try {
      const { alarm } = await get(`/api/alarms/${encodeURIComponent(id)}`, null, { signal });
      if (signal.aborted || this.state.alarm !== id) return;
      this.alarm = alarm;
      this.first = null;
    } catch (error) {
      if (signal.aborted) return;
      const words = [404, 422].includes(error.status) ? `There is no alarm ${id}; it may have been forgotten.` : error.message;
      this.trouble = [...this.state.unknown, words].join(" ");
    }
    this.#readFaults();
    this.apply();
    this.canvas.settle();
  }

  /** Only what changed since the last look. */
  #redraw() {
    const fresh = this.#looksNow();
    const changed = new Map([...fresh].filter(([key, look]) => !sameLook(this.looks.get(key), look)));
    this.looks = fresh;
    this.canvas.mark(changed);
    this.panel.update();
  }

  #looksNow() {
    const context = this.#context();
    return new Map(this.scene.nodes.map((node) => [node.key, lookOf(this.graph, node, context, this.looks.get(node.key))]));
  }

  #keyOf(index) {
    const stage = this.graph.stageOf(index);
    return this.scene.open.has(stage) ? `s${index}` : `g${stage}`;
  }

  #pickedKey() {
    const { signal, to } = this.state;
    if (signal < 0) return null;
    if (to < 0) return this.#keyOf(signal);
    const [a, b] = [this.#keyOf(signal), this.#keyOf(to)];
    const found = this.scene.arrows.filter((arrow) => (arrow.a === a && arrow.b === b) || (!arrow.directed && arrow.a === b && arrow.b === a));
    return (found.find((arrow) => arrow.broken) ?? found[0])?.key ?? a;
  }

  /** What to look at first where not everything fits. */
  #focus() {
    if (this.attention) return [this.attention];
    if (this.state.signal >= 0) return [this.#keyOf(this.state.signal)];
    const ends = [...this.faults.broken.values()].flatMap((list) => [list[0].sourceIndex, list[0].targetIndex]);
    return [...this.faults.causes.keys(), ...ends, ...this.faults.unwell.keys()].slice(0, 1).map((index) => this.#keyOf(index));
  }

  #picked(key) {
    const number = Number(key.slice(1));
    if (key[0] === "t") this.#toggle(number, false);
    else if (!key.includes(">") && key[0] === "g") this.#toggle(number, true);
    else if (!key.includes(">")) {
      const again = this.state.signal === number && this.state.to < 0;
      this.change(again ? { signal: -1, to: -1, hops: 0 } : { signal: number, to: -1 });
    } else {
      const arrow = this.scene.arrows.find((one) => one.key === key);
      const worst = arrow?.broken?.[0];
      if (worst) this.change({ signal: worst.sourceIndex, to: worst.targetIndex });
      else if (arrow) this.change({ signal: arrow.ends[0], to: arrow.ends[1] });
    }
  }

  #toggle(stage, open) {
    const set = new Set(this.scene.open);
    if (open) set.add(stage);
    else set.delete(stage);
    this.attention = open ? `r${stage}` : `g${stage}`;
    const { signal } = this.state;
    const hides = !open && signal >= 0 && this.graph.stageOf(signal) === stage;
    this.change({ open: set, stage: -1, hops: 0, ...(hides ? { signal: -1, to: -1 } : {}) });
  }

  #say() {
    const { scene, faults, graph, state } = this;
    const broken = [...faults.broken.values()].flat().length;
    const shown = scene.nodes.filter((node) => node.stage === undefined).length;
    const closed = scene.nodes.length - shown;
    const parts = [];
    if (shown) parts.push(`${shown} of ${counted(graph.signals.length, "signal")}`);
    if (closed) parts.push(`${counted(closed, "closed stage")} (click to open)`);
    let words = `Shown: ${parts.join(" and ")}, `;
    words += `${state.broken ? "only broken links" : arrowsText(scene)}. `;
    if (!scene.open.size && !state.broken) {
      const some = scene.drawn < scene.total ? `the ${scene.drawn} heaviest of ${counted(scene.total, "arrow")}` : counted(scene.total, "arrow");
      words = `Shown: ${parts.join("")}, and ${some} between them; an arrow's number counts its links. `;
    }
    if (!graph.arrows.size) words = "The model holds no links between signals. ";
    const ill = unwellList(graph, faults.unwell, displayName);
    const links = broken ? `${counted(broken, "link is", "links are")} broken` : "No link is broken";
    const said = `${links}${ill ? `; ${ill}` : ""}.`;
    text(this.status, words + said);
    this.picture.setAttribute("aria-label", `Causal graph. ${words}${said} The panel beside it lists the same.`);
    this.#sayAlarm();
  }

  #sayAlarm() {
    const { alarm, state } = this;
    const leave = h("a", { href: "/graph" }, "Show what is on now");
    if (this.trouble) replace(this.note, h("p", { class: "error" }, this.trouble), state.alarm ? leave : null);
    else if (alarm) {
      replace(this.note, h("p", null,
        h("strong", null, `Alarm of ${clockTime(alarm.raised_at)}${alarm.cleared_at ? " (over)" : ""}: `),
        h("a", { href: address(`/alarm/${encodeURIComponent(alarm.id)}`) }, withNames(alarm.headline))), leave);
    } else replace(this.note, state.alarm ? h("p", { class: "soft" }, "Loading the alarm …") : null);
    this.note.hidden = !this.note.firstChild;
  }

  async #png() {
    const file = URL.createObjectURL(await this.canvas.png());
    h("a", { href: file, download: "causal-graph.png" }).click();
    // The browser reads the file after the click; forgetting it at once would lose it.
    setTimeout(() => URL.revokeObjectURL(file), 60_000);
  }
}

export default {
  title: "Graph",
  mount(root, params) {
    if (!live.plant.signals.length) {
      replace(root, h("h1", null, "Causal graph"), h("p", { class: "empty" }, "The model holds no signals."));
      return () => {};
    }
    const view = new GraphView(root, params);
    return () => view.destroy();
  },
};
