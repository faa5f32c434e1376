/** The programming interface: what can be asked for, from the description the server gives. */

import { get } from "../api.js";
import { h, replace } from "../dom.js";
import { eventsSection } from "./events.js";

const METHODS = ["get", "post", "put", "patch", "delete"];

export function mount(panel) {
  let gone = false;
  const body = h("div", null, h("p", { class: "loading" }, "Loading the description…"));
  replace(
    panel,
    h("p", null, "All that this page shows can be asked for by programs, as JSON. With tokens set, a"
      + " program sends its token in a header:"),
    h("pre", { class: "api-example", tabindex: "0" },
      `curl -H "Authorization: Bearer TOKEN" ${window.location.origin}/api/now`),
    h("p", null, "The whole description, with parameters and answers: ",
      h("a", { href: "/api/openapi.json", target: "_blank", rel: "noopener" }, "openapi.json"),
      " (OpenAPI)."),
    body,
  );
  get("/api/openapi.json").then((description) => {
    if (!gone) replace(body, table(endpointsOf(description)), eventsSection());
  }, (error) => {
    if (!gone) replace(body, h("p", { class: "error" }, error.message));
  });
  return () => { gone = true; };
}

/** The endpoints as `{method, path, says, plain}`; plain ones can be opened as they are. */
export function endpointsOf(description) {
  return Object.entries(description?.paths ?? {}).flatMap(([path, methods]) => METHODS
    .filter((method) => methods[method])
    .map((method) => {
      const about = methods[method];
      const parameters = about.parameters ?? [];
      return {
        method: method.toUpperCase(),
        path,
        says: firstSentence(about.description) || about.summary || "",
        parameters: parameters.filter((one) => one.in === "query").map((one) => one.name),
        plain: method === "get" && !path.includes("{") && path !== "/api/live"
          && !parameters.some((one) => one.required),
      };
    }));
}

function firstSentence(text) {
  return (text ?? "").trim().split(/\n\s*\n/)[0].replace(/\s+/g, " ");
}

/** Text in which `words` between backticks are code. */
function withCode(text) {
  return text.split("`").map((part, place) => (place % 2 ? h("code", null, part) : part));
}

function table(endpoints) {
  if (endpoints.length === 0) return h("p", { class: "empty" }, "The description lists nothing.");
  return h(
    "div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": "Endpoints" },
    h("table", { class: "endpoints" },
      h("thead", null, h("tr", null, ["Method", "Path", "What it does", "Parameters"].map(
        (name) => h("th", { scope: "col" }, name),
      ))),
      h("tbody", null, endpoints.map((one) => h(
        "tr", null,
        h("td", null, h("code", { class: `api-method ${one.method.toLowerCase()}` }, one.method)),
        h("th", { scope: "row" }, one.plain
          ? h("a", { href: one.path, target: "_blank", rel: "noopener" }, h("code", null, one.path))
          : h("code", null, one.path)),
        h("td", null, withCode(one.says)),
        h("td", { class: "soft" }, one.parameters.join(", ")),
      )))),
  );
}
