/** The frame of the dashboard: header, connection banner, and the view that the address names. */
import { announce, watchAlarms } from "./announce.js";
import { clear, h, replace, text } from "./dom.js";
import { UNWELL } from "./health.js";
import { live } from "./live.js";
import { leadsSomewhere, start } from "./router.js";
import { themeButton } from "./theme_button.js";
import { setAhead, setTitle } from "./title.js";
import { whoButton } from "./who_button.js";

/** Views by the first part of the path; loaded when first shown. */
const VIEWS = {
  "": () => import("./views/now.js"),
  graph: () => import("./views/graph.js"),
  signals: () => import("./views/signals.js"),
  history: () => import("./views/history.js"),
  alarm: () => import("./views/alarm.js"),
  model: () => import("./views/model.js"),
};
const PAGES = [["/", "Now"], ["/graph", "Graph"], ["/signals", "Signals"], ["/history", "History"], ["/model", "Model"]];

/** What an address shows that leads to no view. */
const NOWHERE = {
  title: "Nothing here",
  mount: (place) => void replace(place,
    h("h1", null, "There is nothing at this address."),
    h("p", null, h("a", { href: "/" }, "See what is happening now"), ", or choose a view above.")),
};

const root = document.getElementById("view");
const banner = document.getElementById("banner");
const badge = h("span", { class: "badge", hidden: true });
const place = h("span", { class: "header-place" });
const links = PAGES.map(([path, name]) => h("a", { href: path }, name, path === "/" ? badge : null));
let leave = null;
let turn = 0;
let section = null;

function header() {
  replace(
    document.getElementById("header"),
    h("a", { class: "brand", href: "/", title: "To what is happening now" },
      h("span", { class: "brand-name" }, "causewatch")),
    h("nav", { class: "nav", "aria-label": "Views" }, links),
    h("div", { class: "header-end" }, place, whoButton(), themeButton()),
  );
}

/** Show the view of an address. The former one is left first, and a slow one never comes late. */
async function show(path, params) {
  const mine = ++turn;
  const name = path.split("/")[1] ?? "";
  mark(leadsSomewhere(path) ? name : null);
  let view = NOWHERE;
  try {
    if (leadsSomewhere(path)) view = (await VIEWS[name]()).default;
  } catch (error) {
    if (mine === turn) fail("This view could not be loaded.", error);
    return;
  }
  if (mine !== turn) return;
  unmount();
  clear(root);
  root.className = view === NOWHERE ? "view" : `view view-${name || "now"}`;
  setTitle(view.title);
  if (section !== null && section !== path) {
    scrollTo(0, 0);
    root.focus({ preventScroll: true }); // so that keyboard and screen reader go on from here
    announce(`${view.title} is shown.`);
  }
  section = path;
  try {
    leave = view.mount(root, params, path) ?? null;
  } catch (error) {
    fail("This view could not be shown.", error);
  }
}

function unmount() {
  const former = leave;
  leave = null;
  try {
    former?.();
  } catch (error) {
    console.error(error);
  }
}

function fail(sentence, error) {
  console.error(error);
  unmount();
  replace(root,
    h("h1", null, "Something went wrong"),
    h("p", null, `${sentence} Load the page again; if that does not help, the browser's console says more.`),
    loadAgain());
}

function mark(name) {
  const current = name === "alarm" ? "history" : name;
  links.forEach((link, k) => {
    if (PAGES[k][0] === `/${current}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
}

/** Show how many alarms are on that nobody has shelved, and of which kind, in the title and the navigation. */
function countAlarms() {
  const loud = live.alarms().filter((alarm) => !live.shelved(alarm));
  const on = loud.length;
  const kind = loud.some((alarm) => alarm.kind === "anomaly") ? "anomaly" : "health";
  const count = `${kind === "anomaly" ? "▲" : UNWELL} ${on}`;
  setAhead(on ? count : "");
  badge.hidden = !on;
  badge.dataset.kind = kind;
  replace(badge, count, h("span", { class: "visually-hidden" }, `${kind === "health" ? " health" : ""} ${on === 1 ? "alarm is" : "alarms are"} on`));
}

/** One line at the lower edge while there is something to say about the connection. */
function connection() {
  const lost = live.connection === "lost" && live.plant !== null;
  banner.classList.toggle("banner-on", lost);
  if (!lost) {
    clear(banner);
    return;
  }
  if (live.turnedAway) {
    replace(banner, h("span", null, live.reason), loadAgain());
    return;
  }
  const words = `Disconnected: what you see may be old. ${live.reason} The page goes on trying.`;
  if (banner.firstChild) text(banner.firstChild, words);
  else replace(banner, h("span", null, words), h("button", { type: "button", onclick: () => live.retry() }, "Try now"));
}

function loadAgain() {
  return h("button", { type: "button", onclick: () => location.reload() }, "Load again");
}

function named() {
  text(place, live.session?.watch ?? "");
  place.title = live.session?.watch ?? "";
}

header();
live.addEventListener("connection", connection);
for (const event of ["hello", "alarm", "status"]) live.addEventListener(event, countAlarms);
const shown = live.start();
// Until the server has answered once there is nothing to show but why.
live.addEventListener("connection", () => {
  if (live.plant || live.connection !== "lost") return;
  if (live.turnedAway) replace(root, h("p", { class: "loading" }, live.reason), loadAgain());
  else replace(root, h("p", { class: "loading" }, `Waiting for the server. ${live.reason}`));
});
await shown;
named();
watchAlarms();
start(show);
const showAgain = () => show(location.pathname, new URLSearchParams(location.search));
// All times that are shown were written with another clock.
live.addEventListener("clock", showAgain);
// Another run of the server may watch another plant: everything is built anew.
live.addEventListener("plant", () => {
  named();
  live.addEventListener("hello", showAgain, { once: true });
});
