/**
 * What if: hold another recording, or other settings, against the model, beside the live watch.
 *
 * A recording is sent to the server, which goes through it in a process of its own; this page asks
 * how far it is. The replay that is shown stands in the address.
 */

import { get, remove, send } from "../api.js";
import { h, replace } from "../dom.js";
import * as format from "../format.js";
import { live } from "../live.js";
import { navigate } from "../router.js";
import { ReplayResult } from "./replay_result.js";
import { differences } from "./replay_settings.js";
import { replayForm } from "./replay_form.js";

const EVERY = 1000;
const STATES = {
  waiting: ["waits for its turn", ""], running: ["running", ""], done: ["done", "tag-good"],
  failed: ["failed", "tag-bad"], stopped: ["stopped", "tag-warn"],
};

export function mount(panel, model, params) {
  let gone = false;
  let timer = 0;
  let replays = null;
  let chosen = params.get("replay");
  let shownId = null;
  const list = h("div", null, h("p", { class: "loading" }, "Loading earlier replays…"));
  const result = new ReplayResult();
  const trouble = h("p", { class: "error", role: "status", hidden: true });
  const operate = live.session.role === "operate";
  const inForce = { limit: 1, ...model.settings };
  const under = new Set(); // those seen under way: what comes of them is shown once it is there

  replace(
    panel,
    h("p", null, "Hold a recording against the model as if it were watched live, perhaps with other"
      + " settings. The live watch goes on undisturbed, and nothing here raises a real alarm."),
    operate ? replayForm(begin, inForce) : h("p", { class: "soft" },
      "Your token allows looking; a replay can be started by those who may operate."),
    trouble,
    h("section", { "aria-labelledby": "replays-title" }, h("h2", { id: "replays-title" }, "Replays"), list),
    result.element,
  );

  async function begin(file, settings, onProgress) {
    const replay = await send("/api/replays", file, { name: file.name, ...settings }, onProgress);
    if (gone) return;
    choose(replay.id);
    await ask();
  }

  function choose(id) {
    chosen = id;
    navigate("/model", { tab: "replay", replay: id }, { replace: true, quiet: true });
    draw();
  }

  /** How far they are; asked again as long as one is under way. */
  async function ask() {
    clearTimeout(timer);
    try {
      const answer = await get("/api/replays");
      if (gone) return;
      const first = replays === null;
      replays = answer.replays;
      trouble.hidden = true;
      openFinished(first);
      draw();
    } catch (error) {
      if (gone) return;
      tell(error);
      timer = setTimeout(ask, 5 * EVERY);
      return;
    }
    if (replays.some(isUnder)) {
      timer = setTimeout(ask, EVERY);
    }
  }

  /** A replay that has just finished is shown by itself, and the latest where none was asked for. */
  function openFinished(first) {
    const done = replays.filter((one) => one.state === "done");
    const fresh = done.find((one) => under.has(one.id)) ?? (first && chosen === null ? done[0] : undefined);
    under.clear();
    for (const one of replays) if (isUnder(one)) under.add(one.id);
    if (!fresh || fresh.id === chosen) return;
    chosen = fresh.id;
    navigate("/model", { tab: "replay", replay: chosen }, { replace: true, quiet: true });
  }

  function tell(error) {
    trouble.textContent = error.message;
    trouble.hidden = false;
  }

  function draw() {
    if (replays === null) return;
    // Buttons are made anew while a replay runs; the focus stays where it was.
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    replace(list, replays.length === 0
      ? h("p", { class: "empty" }, "No recording has been replayed yet.")
      : h("ul", { class: "replays" }, replays.map(item)));
    if (focused) [...list.querySelectorAll("[data-key]")].find((one) => one.dataset.key === focused)?.focus();
    const replay = replays.find((one) => one.id === chosen);
    if (replay?.state === "done") {
      if (shownId !== chosen) showResult(replay);
    } else {
      shownId = null;
      result.clear();
    }
  }

  async function showResult(replay) {
    shownId = replay.id;
    result.wait(replay);
    try {
      const whole = await get(`/api/replays/${encodeURIComponent(replay.id)}`);
      if (!gone && shownId === replay.id) result.show(whole, inForce);
    } catch (error) {
      if (!gone && shownId === replay.id) result.fail(error.message);
    }
  }

  function item(replay) {
    const running = isUnder(replay);
    const [word, tone] = STATES[replay.state] ?? [replay.state, ""];
    return h(
      "li", { class: replay.id === chosen ? "chosen" : null },
      h("div", { class: "row spread" },
        h("div", { class: "row" },
          replay.state === "done"
            ? h("button", { type: "button", "data-key": `show ${replay.id}`, title: replay.name,
              "aria-pressed": String(replay.id === chosen), onclick: () => choose(replay.id) },
            h("span", { class: "cut" }, replay.name))
            : h("span", { class: "cut replay-name", title: replay.name }, replay.name),
          h("span", { class: `tag ${tone}` }, word),
          h("span", { class: "soft" }, `${format.wallTime(replay.begun)} · ${differences(replay.settings, inForce)}`)),
        operate ? h("button", {
          type: "button", class: "quiet", "data-key": `end ${replay.id}`,
          "aria-label": `${running ? "Stop" : "Delete"} the replay of ${replay.name}`,
          onclick: () => end(replay),
        }, running ? "Stop" : "Delete") : null),
      running ? progress(replay) : null,
      replay.error ? h("p", { class: "error" }, replay.error) : null,
    );
  }

  async function end(replay) {
    try {
      await remove(`/api/replays/${encodeURIComponent(replay.id)}`);
    } catch (error) {
      if (!gone && error.status !== 404) tell(error);
    }
    if (!gone) await ask();
  }

  ask();
  return () => {
    gone = true;
    clearTimeout(timer);
    result.clear();
  };
}

function progress(replay) {
  const bar = h("progress", { max: "1", "aria-label": `Progress of ${replay.name}` });
  if (replay.progress !== null && replay.state === "running") bar.value = replay.progress;
  return h("div", { class: "row" }, bar,
    h("span", { class: "soft" }, replay.progress === null ? "" : format.percent(replay.progress)));
}

function isUnder(replay) {
  return replay.state === "waiting" || replay.state === "running";
}
