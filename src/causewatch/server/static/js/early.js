/*
 * Sets the remembered theme before anything is painted. A classic script, because modules run only
 * after the page was parsed, and a dark page that flashes white first is a nuisance at night.
 */
(function () {
  "use strict";
  try {
    const theme = localStorage.getItem("causewatch.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    /* Storage may be forbidden; the system's theme is then used. */
  }
})();
