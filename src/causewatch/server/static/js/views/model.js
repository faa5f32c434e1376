/**
 * Model: what was learnt from which recording, how far it can be trusted, and what it would have
 * said about another one. One tab each; the address names it.
 */

import { get } from "../api.js";
import { h, replace } from "../dom.js";
import { live } from "../live.js";
import { navigate } from "../router.js";
import * as audit from "../model/audit.js";
import * as endpoints from "../model/endpoints.js";
import * as limits from "../model/limits.js";
import * as mechanisms from "../model/mechanisms.js";
import * as provenance from "../model/provenance.js";
import * as quality from "../model/quality.js";
import * as replay from "../model/replay.js";

/** Name in the address, title, module, and whether it needs what /api/model says. */
const TABS = [
  ["quality", "Data quality", quality, true],
  ["provenance", "Provenance", provenance, true],
  ["limits", "Limits", limits, true],
  ["mechanisms", "Mechanisms", mechanisms, true],
  ["replay", "What if", replay, true],
  ["api", "API", endpoints, false],
  ["audit", "Audit", audit, false],
];

function mount(root, params) {
  const tabs = TABS.filter(([id]) => id !== "audit" || live.session.role === "operate");
  let current = tabs.find(([id]) => id === params.get("tab")) ?? tabs[0];
  let cleanup = null;
  let model = null;
  let turn = 0;
  let waiting = null; // The query of a tab that could not be loaded; tried again on reconnecting.

  const buttons = tabs.map((tab) => h("button", {
    type: "button", role: "tab", id: `tab-${tab[0]}`, "aria-controls": "tab-panel",
    onclick: () => choose(tab),
  }, tab[1]));
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": "About the model", onkeydown: move }, buttons);
  const panel = h("div", { class: "panel tab-panel", role: "tabpanel", id: "tab-panel", tabindex: "0" });
  replace(root, h("div", { class: "model" }, h("h1", null, "Model"), list, panel));

  function choose(tab) {
    if (tab === current) return;
    current = tab;
    navigate("/model", { tab: tab[0] }, { replace: true, quiet: true });
    show(new URLSearchParams());
  }

  function move(event) {
    const at = tabs.indexOf(current);
    const goal = {
      ArrowLeft: (at + tabs.length - 1) % tabs.length, ArrowRight: (at + 1) % tabs.length,
      Home: 0, End: tabs.length - 1,
    }[event.key];
    if (goal === undefined) return;
    event.preventDefault();
    choose(tabs[goal]);
    buttons[goal].focus();
  }

  async function show(query) {
    const mine = (turn += 1);
    waiting = null;
    const [id, , module, needed] = current;
    tabs.forEach((tab, place) => {
      buttons[place].setAttribute("aria-selected", String(tab === current));
      buttons[place].tabIndex = tab === current ? 0 : -1;
    });
    buttons[tabs.indexOf(current)].scrollIntoView({ block: "nearest", inline: "nearest" });
    panel.setAttribute("aria-labelledby", `tab-${id}`);
    leave();
    if (needed && model === null) {
      replace(panel, h("p", { class: "loading" }, "Loading the model…"));
      try {
        const answer = await get("/api/model");
        model = answer;
      } catch (error) {
        if (mine === turn) {
          waiting = query;
          replace(panel, h("p", { class: "error" }, error.message),
            h("button", { type: "button", onclick: () => show(query) }, "Try again"));
        }
        return;
      }
      if (mine !== turn) return;
    }
    replace(panel);
    cleanup = module.mount(panel, model, query);
  }

  function leave() {
    cleanup?.();
    cleanup = null;
  }

  function onHello() {
    if (waiting !== null) show(waiting);
  }
  live.addEventListener("hello", onHello);
  show(params);
  return () => {
    turn += 1;
    live.removeEventListener("hello", onHello);
    leave();
  };
}

export default { title: "Model", mount };
