/** A table with a search field whose columns can be sorted; made for some hundred rows. */

import { debounce, h, replace } from "../dom.js";
import * as format from "../format.js";

/**
 * @param caption what the table is called
 * @param what, many one row and several in a word, for counting
 * @param columns `{name, cell(row), key(row) (sorts by it if given), number, head}`
 * @param rows anything with `text`, in which is searched
 * @param query text to begin the search with
 * @param onQuery told of the text searched for
 * @param look a class for the table
 */
export function filteredTable({
  caption, what, many = `${what}s`, columns, rows, query = "", onQuery = () => {}, look = null,
}) {
  const body = h("tbody", { role: "rowgroup" });
  const counted = h("span", { class: "soft", role: "status" });
  const search = h("input", { type: "search", autocomplete: "off", value: query });
  const built = new Map(); // Rows are made once: searching and sorting only moves them.
  let sorted = { column: null, down: false };

  const heads = columns.map((column) => {
    const cell = h("th", { scope: "col", role: "columnheader", class: column.number ? "number" : null });
    if (!column.key) cell.append(column.name);
    else {
      cell.append(h("button", { type: "button", class: "sort", onclick: () => {
        sorted = { column, down: sorted.column === column ? !sorted.down : Boolean(column.number) };
        show();
      } }, column.name, h("span", { class: "sort-sign", "aria-hidden": "true" })));
    }
    return cell;
  });

  function rowElement(row) {
    if (!built.has(row)) {
      built.set(row, h("tr", { role: "row" }, columns.map((column) => h(
        column.head ? "th" : "td",
        { scope: column.head ? "row" : null, role: column.head ? "rowheader" : "cell",
          class: column.number ? "number" : null, "data-label": column.name },
        column.cell(row),
      ))));
    }
    return built.get(row);
  }

  function show() {
    const parts = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = rows.filter((row) => parts.every((part) => row.text.toLowerCase().includes(part)));
    const { column, down } = sorted;
    if (column) fitting.sort((one, other) => compare(column.key(one), column.key(other)) * (down ? -1 : 1));
    replace(body, fitting.length > 0
      ? fitting.map(rowElement)
      : h("tr", { role: "row" }, h("td", { role: "cell", colspan: columns.length, class: "soft" }, `No ${what} fits; change the search.`)));
    replace(counted, fitting.length === rows.length
      ? format.counted(rows.length, what, many) : `${fitting.length} of ${format.counted(rows.length, what, many)}`);
    columns.forEach((one, place) => {
      heads[place].setAttribute("aria-sort", one !== column ? "none" : down ? "descending" : "ascending");
      if (!one.key) heads[place].removeAttribute("aria-sort");
    });
  }

  search.addEventListener("input", debounce(() => { show(); onQuery(search.value.trim()); }, 150));
  show();
  return h(
    "div", { class: "filtered" },
    h("div", { class: "row" }, h("label", { class: "field" }, "Search", search), counted),
    h("div", { class: "table-frame tall-table", tabindex: "0", role: "region", "aria-label": caption },
      // Roles are written out: on a phone some tables are laid out as cards, which would lose them.
      h("table", { class: look, role: "table" }, h("caption", { class: "visually-hidden" }, caption),
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads)), body)),
  );
}

function compare(one, other) {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), "en", { numeric: true });
}
