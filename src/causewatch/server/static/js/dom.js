/**
 * Making elements. Text always goes in as text nodes, so that names, comments and sentences can
 * never become markup; nothing in the dashboard parses HTML.
 */

const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "selected", "indeterminate", "open", "readOnly", "required", "multiple"]);
const ADDRESSES = new Set(["href", "src", "action", "formaction", "xlink:href"]);

/**
 * Make an element.
 *
 * @param {string} tag  Name of the element.
 * @param {object|null} attributes  `class`, `id`, `aria-…`, `data-…`, …; null, undefined and false
 *   are left out, true is an empty attribute; `on<event>` is a listener. `style` is refused: the
 *   content security policy forbids it (set `element.style.x` where a number decides).
 * @param {...*} children  Nodes, strings, numbers, or arrays of them; null and false are skipped.
 * @returns {HTMLElement}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) set(element, name, value);
  add(element, children);
  return element;
}

/** Set one attribute, property or listener as `h` does. */
export function set(element, name, value) {
  if (name === "style") throw new Error("h() takes no style attribute; use a class or element.style.");
  if (name.startsWith("on")) {
    if (typeof value === "function") element.addEventListener(name.slice(2).toLowerCase(), value);
    else if (value) throw new Error(`${name} must be a function.`);
    return;
  }
  if (PROPERTIES.has(name) && name in element) {
    element[name] = value ?? (name === "value" ? "" : false);
    return;
  }
  if (value === null || value === undefined || (value === false && !name.startsWith("aria-"))) {
    element.removeAttribute(name);
    return;
  }
  if (ADDRESSES.has(name) && !safe(value)) throw new Error(`${name} must be an address of this server.`);
  element.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : String(value));
}

/** Whether an address can be given to a link: no `javascript:` and the like. */
function safe(address) {
  const scheme = /^\s*([a-z][a-z0-9+.-]*):/i.exec(String(address));
  return !scheme || ["http", "https", "blob"].includes(scheme[1].toLowerCase());
}

/** Append children as `h` does. */
export function add(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === true) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** Remove everything inside `node`. */
export function clear(node) {
  node.replaceChildren();
  return node;
}

/** Put `children` in place of everything inside `node`. */
export function replace(node, ...children) {
  const fragment = document.createDocumentFragment();
  add(fragment, children);
  node.replaceChildren(fragment);
  return node;
}

/** Set the text of a node only where it changed: screen readers and the layout are left in peace. */
export function text(node, value) {
  const words = String(value ?? "");
  if (node.textContent !== words) node.textContent = words;
  return node;
}

/** `fn`, called once `ms` after the last call; `.cancel()` forgets a call that waits. */
export function debounce(fn, ms) {
  let timer = 0;
  const wrapped = (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => fn(...args), ms);
  };
  wrapped.cancel = () => clearTimeout(timer);
  return wrapped;
}

/** `fn`, called at most every `ms`, the last call always; `.cancel()` forgets a call that waits. */
export function throttle(fn, ms) {
  let timer = 0;
  let last = -Infinity;
  let latest = [];
  const run = () => {
    timer = 0;
    last = performance.now();
    fn(...latest);
  };
  const wrapped = (...args) => {
    latest = args;
    if (!timer) timer = setTimeout(run, Math.max(0, last + ms - performance.now()));
  };
  wrapped.cancel = () => {
    clearTimeout(timer);
    timer = 0;
  };
  return wrapped;
}
