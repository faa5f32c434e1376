/**
 * Addresses within the page. Links with an address of this server that leads to a view change the
 * view without loading; everything else (downloads, reports, new tabs) is left to the browser.
 */
import { address } from "./api.js";

const PAGES = /^\/(?:graph|signals|history|model|alarm\/[^/]+)?$/;
let show = () => {};
/** The address that is shown, without what stands behind "#". */
let here = "";

/** Whether there is a view at this address. */
export function leadsSomewhere(path) {
  return PAGES.test(path);
}

/** Call `callback(path, params)` now and whenever the address changes. */
export function start(callback) {
  show = () => {
    here = current();
    callback(location.pathname, new URLSearchParams(location.search));
  };
  // Going to a place within the page ("#view") is told, too, but the view stays as it is: building it
  // anew would take the focus away from whoever skipped to it.
  addEventListener("popstate", () => current() !== here && show());
  document.addEventListener("click", follow);
  show();
}

/**
 * Go to a view.
 *
 * @param {string} path  Such as "/signals"; may bring its own query if `params` is not given.
 * @param {object|URLSearchParams} [params]  The query.
 * @param {object} [options]  `replace`: no entry of its own in the browser's history; `quiet`: only
 *   the address changes, the view stays as it is (for filters a view has already applied).
 */
export function navigate(path, params, { replace = false, quiet = false } = {}) {
  // A view that is being left changes the address no more: it is that of the next one.
  if (quiet && path !== location.pathname) return;
  const url = params ? address(path, params) : path;
  if (url === current()) {
    if (!quiet) show();
    return;
  }
  history[replace ? "replaceState" : "pushState"](null, "", url);
  here = current();
  if (!quiet) show();
}

function current() {
  return location.pathname + location.search;
}

function follow(event) {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest?.("a[href]");
  if (!link || link.target || link.hasAttribute("download")) return;
  const url = new URL(link.href, location.href);
  if (url.origin !== location.origin || !PAGES.test(url.pathname)) return;
  if (url.hash && url.pathname === location.pathname && url.search === location.search) return;
  event.preventDefault();
  navigate(url.pathname + url.search);
}
