/** Makes SVG elements; text goes in as text. */

const SPACE = "http://www.w3.org/2000/svg";

/** `svg("rect", {x: 1}, …children)`; strings become text, null is skipped. */
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}
