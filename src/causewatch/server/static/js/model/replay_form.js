/** The form that sends a recording to be replayed. */

import { h, text } from "../dom.js";
import * as format from "../format.js";

const MOST_BYTES = 256 * 1024 * 1024;
const KINDS = ".csv,.tsv,.txt,.json,.jsonl,.ndjson,.gz,.parquet,.pq,.xlsx,.xlsm,.xlsb,.xls,.ods,.bag,.mcap,.db3";

/**
 * Fields left empty are not sent: the replay then does as the watch does.
 *
 * @param begin `(file, settings, onProgress)`, a promise; what it throws is shown
 * @param inForce the settings of the watch, which stand in fields left empty
 */
export function replayForm(begin, inForce) {
  const file = h("input", { type: "file", accept: KINDS, required: true, id: "replay-file" });
  const limit = number("0.1", "10", "any", inForce.limit);
  const raiseAfter = number("1", "1000000", "1", inForce.raise_after);
  const clearAfter = number("1", "1000000", "1", inForce.clear_after);
  const button = h("button", { type: "submit", class: "primary" }, "Replay");
  const bar = h("progress", { max: "1", "aria-label": "Upload", hidden: true });
  const status = h("span", { role: "status" });

  async function submit(event) {
    event.preventDefault();
    const chosen = file.files[0];
    const refusal = !chosen ? "Choose a recording first."
      : chosen.size === 0 ? `${chosen.name} is empty; choose a recording with rows.`
        : chosen.size > MOST_BYTES
          ? `${chosen.name} has ${megabytes(chosen.size)}, which is more than the ${megabytes(MOST_BYTES)} taken here; cut it, or use causewatch watch.`
          : null;
    say(refusal ?? "Sending…", refusal !== null);
    if (refusal !== null) return;
    button.disabled = true;
    bar.hidden = false;
    bar.value = 0;
    try {
      const settings = { limit: limit.value, raise_after: raiseAfter.value, clear_after: clearAfter.value };
      await begin(chosen, settings, (share) => {
        bar.value = share;
        say(share < 1 ? `Sending: ${format.percent(share)}` : "Sent; the server looks at it.", false);
      });
      say("", false);
      file.value = "";
    } catch (error) {
      say(error.message, true);
    } finally {
      button.disabled = false;
      bar.hidden = true;
    }
  }

  function say(sentence, bad) {
    text(status, sentence);
    status.className = bad ? "error" : "soft";
    if (sentence === "") status.className = "";
  }

  return h(
    "form", { class: "replay-form", onsubmit: submit, "aria-label": "Replay a recording" },
    h("label", { class: "field-tall" }, "Recording", file),
    field("Limit", limit, "times the one learnt (0.1 to 10); below 1 alarms come earlier and more often"),
    field("Raise after", raiseAfter, "ticks in a row above the limit"),
    field("Clear after", clearAfter, "quiet ticks in a row"),
    h("div", { class: "row replay-go" }, button, bar, status),
  );
}

function field(name, input, hint) {
  const id = `replay-${name.toLowerCase().replaceAll(" ", "-")}`;
  input.setAttribute("aria-describedby", id);
  return h("div", { class: "field-tall" }, h("label", { class: "field-tall" }, name, input),
    h("span", { class: "small soft", id }, hint));
}

function number(min, max, step, now) {
  return h("input", { type: "number", min, max, step, placeholder: now === undefined ? "as now" : `now ${now}` });
}

function megabytes(bytes) {
  return `${format.number(bytes / 1024 / 1024, 3)} MB`;
}
