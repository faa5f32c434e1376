/**
 * Who acts. With a token the server knows the name; without, the person says it once and the
 * browser remembers it; "whochange" on window tells that it is another one.
 */
import { h, text } from "./dom.js";
import { live } from "./live.js";
import { recall, remember } from "./theme.js";

const KEY = "by";

/** Longest name the server takes. */
export const LONGEST_NAME = 80;

/** The name to act under; "" if it is not known yet. */
export function who() {
  return live.session?.name ?? (recall(KEY) ?? "").trim();
}

/** Whether this viewer may do something. */
export function mayAct() {
  return live.session?.role === "operate";
}

/** Why this viewer may not act: a sentence. */
export function whyNot() {
  return live.session?.name
    ? `You may look but not act: the token of ${live.session.name} has the role “look”.`
    : "You may look but not act: this server lets nobody act without a token.";
}

/**
 * A part of a form that asks for the name: what is known is shown, with a button to change it.
 *
 * @param {object} [options]  `change`: whether it is changed at once.
 * @returns {{element: HTMLElement, name: function(): string}}  `name()` also remembers it.
 */
export function nameField({ change = false } = {}) {
  if (live.session?.name) {
    return { element: h("p", { class: "soft" }, `As ${live.session.name}.`), name: () => live.session.name };
  }
  const input = h("input", {
    type: "text", name: "by", required: true, maxlength: LONGEST_NAME, autocomplete: "name", value: who(),
  });
  const field = h("label", { class: "field-tall", hidden: Boolean(who()) && !change }, "Your name, which stands beside what you do", input);
  const known = h("p", { class: "soft row", hidden: !who() || change }, h("span", null, `As ${who()}.`));
  known.append(h("button", { type: "button", class: "quiet", onclick: () => {
    known.hidden = true;
    field.hidden = false;
    input.select();
    input.focus();
  } }, "Change"));
  const name = () => {
    const said = input.value.trim();
    if (said) remember(KEY, said);
    window.dispatchEvent(new Event("whochange"));
    text(known.firstChild, `As ${said}.`);
    return said;
  };
  return { element: h("div", null, known, field), name };
}
