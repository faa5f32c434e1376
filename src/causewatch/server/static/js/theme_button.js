/** The button that goes through the themes. */
import { h, text } from "./dom.js";
import { choose, chosen } from "./theme.js";

const NEXT = { system: "light", light: "dark", dark: "system" };
const SIGNS = { system: "◐", light: "☀", dark: "☾" };
const WORDS = { system: "as the system says", light: "light", dark: "dark" };

/** A button that changes between system, light and dark, and says which is on. */
export function themeButton() {
  const sign = h("span", { "aria-hidden": "true" });
  const button = h("button", { type: "button", class: "quiet theme-button", onclick: () => {
    choose(NEXT[chosen()]);
    name();
  } }, sign);
  const name = () => {
    text(sign, SIGNS[chosen()]);
    const words = `Colours: ${WORDS[chosen()]}. Change to ${WORDS[NEXT[chosen()]]}.`;
    button.setAttribute("aria-label", words);
    button.title = words;
  };
  name();
  return button;
}
