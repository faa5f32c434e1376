/** Audit: who asked for what, and what came of it. Only those who may operate see it. */

import { get } from "../api.js";
import { debounce, h, replace } from "../dom.js";
import * as format from "../format.js";
import { live } from "../live.js";
import { filteredTable } from "./filtered.js";

const MOST = 200;

export function mount(panel) {
  let gone = false;
  let query = "";
  const body = h("div", null, h("p", { class: "loading" }, "Loading the entries…"));
  const fresh = h("button", { type: "button", onclick: () => load() }, "Refresh");
  replace(
    panel,
    h("div", { class: "row spread" },
      h("p", null, `What operators asked for and what came of it; the latest ${MOST} entries.`), fresh),
    body,
  );

  async function load() {
    try {
      const { entries } = await get("/api/audit", { most: MOST });
      // A person who is typing into the search is not interrupted.
      if (gone || body.contains(document.activeElement)) return;
      replace(body, entries.length === 0
        ? h("p", { class: "empty" }, "Nobody has done anything yet.")
        : table(entries, query, (text) => { query = text; }));
    } catch (error) {
      if (!gone) replace(body, h("p", { class: "error" }, error.message));
    }
  }

  const soon = debounce(load, 500);
  live.addEventListener("alarm", soon);
  live.addEventListener("hello", soon);
  load();
  return () => {
    gone = true;
    soon.cancel();
    live.removeEventListener("alarm", soon);
    live.removeEventListener("hello", soon);
  };
}

function table(entries, query, onQuery) {
  const rows = entries.map((entry) => ({
    ...entry,
    text: Object.values(entry).filter((value) => typeof value === "string").join(" "),
    said: entry.text,
  }));
  return filteredTable({
    caption: "Audit", look: "card-rows", what: "entry", many: "entries", rows, query, onQuery,
    columns: [
      { name: "Time", key: (row) => row.time ?? "", cell: (row) => h("span", { class: "keep-line" }, format.wallTime(row.time)) },
      { name: "Who", key: (row) => row.who ?? "", cell: (row) => row.who ?? "nobody named" },
      { name: "Role", cell: (row) => row.role ?? "–" },
      { name: "From", key: (row) => row.from ?? "", cell: (row) => row.from ?? "–" },
      { name: "Action", key: (row) => row.action ?? "", cell: (row) => row.action ?? "–" },
      { name: "About", cell: about },
      { name: "Text", cell: (row) => h("span", { class: "said-text" }, row.said || "–") },
      { name: "Outcome", key: (row) => row.outcome ?? "", cell: outcome },
    ],
  });
}

/** An alarm's number leads to its page. */
function about(row) {
  if (!row.about) return "–";
  return /^[0-9a-f]{12}$/.test(row.about)
    ? h("a", { href: `/alarm/${row.about}` }, h("code", null, row.about)) : row.about;
}

function outcome(row) {
  const text = row.outcome ?? "–";
  const tone = text === "done" ? "tag-good" : /^(refused|failed)/.test(text) ? "tag-bad" : "";
  return h("span", { class: `tag outcome ${tone}`, title: text }, text);
}
