/** Who acts in this browser, where that was said once; a press changes it. */
import { ask } from "./dialog.js";
import { h, text } from "./dom.js";
import { live } from "./live.js";
import { nameField, who } from "./who.js";

/** The button; it is not there while nobody has said a name, and where a token says it. */
export function whoButton() {
  const button = h("button", { type: "button", class: "quiet who-button", onclick: () => {
    const field = nameField({ change: true });
    ask({ title: "Who acts in this browser", content: [field.element], verb: "Remember", run: async () => field.name() });
  } }, h("span", { class: "cut" }));
  const show = () => {
    const name = who();
    button.hidden = !name || Boolean(live.session?.name);
    text(button.firstChild, name);
    button.setAttribute("aria-label", `You act as ${name}: change`);
    button.title = `What you do is noted as done by ${name}; press to change the name`;
  };
  for (const event of ["whochange", "storage"]) window.addEventListener(event, show);
  live.addEventListener("hello", show);
  show();
  return button;
}
