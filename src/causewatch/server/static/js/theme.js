/** Light, dark, or as the system says. Charts listen for "themechange" on window to redraw. */

const KEY = "causewatch.theme";
const CHOICES = ["system", "light", "dark"];
const dark = matchMedia("(prefers-color-scheme: dark)");

/** What was chosen: "system", "light" or "dark". */
export function chosen() {
  const theme = document.documentElement.dataset.theme;
  return CHOICES.includes(theme) ? theme : "system";
}

/** What is shown: "light" or "dark". */
export function shown() {
  const theme = chosen();
  return theme === "system" ? (dark.matches ? "dark" : "light") : theme;
}

/** Choose a theme and remember it. */
export function choose(theme) {
  if (!CHOICES.includes(theme)) throw new Error(`There is no theme ${theme}.`);
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  remember(KEY, theme);
  tell();
}

/** The value of a custom property, such as colour("--bad"), for canvases. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Write to localStorage where that is allowed; a private window may refuse. */
export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    /* It is then forgotten with the page. */
  }
}

/** Read from localStorage; null where nothing was written or reading is not allowed. */
export function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function tell() {
  window.dispatchEvent(new CustomEvent("themechange", { detail: shown() }));
}

dark.addEventListener("change", () => {
  if (chosen() === "system") tell();
});
