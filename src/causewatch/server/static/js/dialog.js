/** A modal dialog with a form, on the browser's own <dialog>: focus is kept inside, Escape closes. */
import { h, text } from "./dom.js";

let last = 0;

/**
 * Ask something.
 *
 * @param {object} options
 * @param {string} options.title
 * @param {Array} options.content  Sentences and fields.
 * @param {string} options.verb  What the button that goes ahead says.
 * @param {function(): Promise} options.run  Does it; if it fails, its message is shown and the
 *   dialog stays open.
 * @returns {Promise<*>}  What `run` gave, or null if the person changed their mind.
 */
export function ask({ title, content, verb, run }) {
  const id = `dialog-${++last}`;
  const before = document.activeElement;
  const problem = h("p", { class: "error", role: "alert", hidden: true });
  const go = h("button", { type: "submit", class: "primary" }, verb);
  const dialog = h("dialog", { "aria-labelledby": id });
  return new Promise((resolve) => {
    let result = null;
    let busy = false;
    const form = h("form", { onsubmit: async (event) => {
      event.preventDefault();
      if (busy) return;
      busy = true;
      go.setAttribute("aria-disabled", "true");
      problem.hidden = true;
      try {
        result = await run();
        dialog.close();
      } catch (error) {
        text(problem, error.message);
        problem.hidden = false;
      } finally {
        busy = false;
        go.removeAttribute("aria-disabled");
      }
    } },
    h("h2", { id }, title),
    content,
    problem,
    h("div", { class: "dialog-end" },
      h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), go));
    dialog.append(form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      // The button that opened it may have been rebuilt meanwhile; then the view decides.
      if (before?.isConnected) before.focus();
      resolve(result);
    });
    document.body.append(dialog);
    dialog.showModal();
    const first = [...dialog.querySelectorAll("input, select, textarea")].find((field) => field.checkVisibility());
    (first ?? go).focus();
  });
}
