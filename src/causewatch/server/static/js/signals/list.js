/** All signals by stage: what they are now, what was expected, how they are. */

import { debounce, h, text, throttle } from "../dom.js";
import { counted, number } from "../format.js";
import { live } from "../live.js";
import { nameSpan } from "../named.js";
import { displayName } from "../names.js";
import { navigate } from "../router.js";
import { address } from "../api.js";
import { evidenceWords } from "../chart/signal.js";
import { MOST_CHARTS, health } from "./words.js";

/** At most four times a second, however fast ticks come. */
const PAUSE = 250;

/** Fill `root`; gives a function that ends it. */
export function signalList(root, params) {
  const ended = new AbortController();
  const { stages, signals } = live.plant;
  const chosen = new Set();
  const search = h("input", {
    type: "search", id: "signal-search", placeholder: "Name or label", autocomplete: "off", value: params.get("text") ?? "",
  });
  const only = h("input", { type: "checkbox", checked: params.get("only") === "1" });
  const found = h("p", { class: "soft signals-found", role: "status" });
  const none = h("p", { class: "empty", hidden: true }, "No signal has this in its name or label; try fewer letters.");
  const open = h("button", { type: "button", class: "signals-open", disabled: true, onclick: () => navigate("/signals", { signal: [...chosen] }) }, "Show chosen");

  const rows = signals.map((signal, index) => new Row(signal, index, (on) => choose(signal.name, on)));
  const groups = groupsOf(stages, signals).map(([name, members]) => ({ members, section: section(name, members.map((i) => rows[i])) }));

  root.append(
    h("div", { class: "signals-head" },
      h("h1", null, "Signals"),
      h("form", { class: "signals-filter", role: "search", onsubmit: (event) => event.preventDefault() },
        h("label", { for: "signal-search" }, "Search"), search,
        h("label", null, only, "only above limit or unwell"),
        open)),
    found, none, h("div", { class: "signals-stages" }, groups.map(({ section: element }) => element)));

  function choose(name, on) {
    if (on) chosen.add(name);
    else chosen.delete(name);
    open.disabled = !chosen.size;
    open.classList.toggle("primary", chosen.size > 0);
    text(open, chosen.size ? `Show ${counted(chosen.size, "signal")} together` : "Show chosen");
    for (const row of rows) row.box.disabled = !row.box.checked && chosen.size >= MOST_CHARTS;
  }

  function filter() {
    const words = search.value.trim().toLowerCase().split(/\s+/);
    let count = 0;
    for (const row of rows) {
      const fits = words.every((word) => row.words.includes(word)) && (!only.checked || row.unusual);
      row.element.hidden = !fits;
      count += fits;
    }
    for (const { members, section: element } of groups) element.hidden = members.every((i) => rows[i].element.hidden);
    none.hidden = count > 0;
    text(none, only.checked && !search.value ? "No signal is above its limit or unwell." : "No signal has this in its name or label; try fewer letters.");
    text(found, count === rows.length ? `${counted(count, "signal")}. Choose a name for its chart, or tick up to ${MOST_CHARTS} to see them together.` : `${count} of ${counted(rows.length, "signal")}`);
  }
  const remember = debounce(() => navigate("/signals", { text: search.value.trim(), only: only.checked ? 1 : "" }, { replace: true, quiet: true }), 300);
  const narrow = () => { filter(); remember(); };
  search.addEventListener("input", narrow);
  only.addEventListener("change", narrow);

  const refresh = throttle(() => {
    for (const row of rows) row.refresh();
    if (only.checked) filter();
  }, PAUSE);
  for (const event of ["ticks", "hello", "status"]) live.addEventListener(event, refresh, { signal: ended.signal });
  for (const row of rows) row.refresh();
  filter();
  return () => { ended.abort(); refresh.cancel(); remember.cancel(); };
}

/** [[stage, indices]] in the order of stages; those without one come last. */
function groupsOf(stages, signals) {
  const groups = stages.map((name) => [name, []]);
  const rest = [];
  signals.forEach(({ stage }, i) => (groups[stage]?.[1] ?? rest).push(i));
  if (rest.length) groups.push([stages.length ? "No stage" : "All signals", rest]);
  return groups.filter(([, members]) => members.length);
}

function section(name, rows) {
  return h("section", { class: "panel signals-stage" },
    h("h2", { title: name }, name),
    h("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": `Signals of ${name}` },
      // Roles are written out: on a phone the rows are laid out in two lines, which would lose them.
      h("table", { class: "signals-table", role: "table" },
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" },
          head("col-box", h("span", { class: "visually-hidden" }, "Chosen")), head("col-name", "Signal"), head("number", "Value"),
          head("col-unit", "Unit"), head("number", "Expected"), head("number", "Evidence"), head("col-health", "Health"))),
        h("tbody", { role: "rowgroup" }, rows.map(({ element }) => element)))));
}

function head(look, words) {
  return h("th", { scope: "col", role: "columnheader", class: look }, words);
}

/** One signal of the list; its cells are made once and only their words change. */
class Row {
  constructor(signal, index, onChoose) {
    const { name, label, unit, guarded, low, high } = signal;
    const shown = displayName(signal);
    this.name = name;
    this.index = index;
    this.words = `${name} ${label ?? ""}`.toLowerCase();
    this.unusual = false;
    // A guarded signal has no expectation, only limits, which do not change.
    this.allowed = guarded && low !== null && high !== null ? (low === high ? number(low) : `${number(low, 3)} … ${number(high, 3)}`) : null;
    this.value = h("td", { role: "cell", class: "number" });
    this.expected = h("td", { role: "cell", class: "number soft" }, this.allowed);
    this.evidence = h("td", { role: "cell", class: "number col-evidence" });
    this.health = h("span", { class: "tag" });
    this.box = h("input", { type: "checkbox", "aria-label": `Choose ${shown}`, onchange: (event) => onChoose(event.target.checked) });
    this.element = h("tr", { role: "row" },
      h("td", { role: "cell", class: "col-box" }, this.box),
      h("th", { scope: "row", role: "rowheader", class: "col-name" },
        h("a", { href: address("/signals", { signal: name }) }, nameSpan(signal)),
        shown === name ? null : h("span", { class: "soft cut", title: name }, name)),
      this.value, h("td", { role: "cell", class: "soft col-unit", title: unit }, unit ?? ""), this.expected, this.evidence,
      h("td", { role: "cell", class: "col-health" }, this.health));
  }

  refresh() {
    const { values, expected, evidence } = live.now;
    const own = evidence?.[this.index] ?? null;
    const { word, kind, detail } = health(this.name);
    text(this.value, number(values?.[this.index] ?? null));
    if (!this.allowed) text(this.expected, number(expected?.[this.index] ?? null, 3));
    text(this.evidence, evidenceWords(own));
    if (text(this.health, word).title !== detail) this.health.title = detail;
    const look = kind ? `tag tag-${kind}` : "tag";
    if (this.health.className !== look) this.health.className = look;
    this.unusual = kind === "bad" || kind === "warn";
  }
}
