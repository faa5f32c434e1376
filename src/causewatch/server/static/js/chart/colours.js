/** Colours of the drawings, taken from the custom properties of the page so that themes hold. */

const pen = document.createElement("canvas").getContext("2d");

/** `colour` with an opacity; understands whatever the browser does. */
export function faint(colour, opacity) {
  pen.fillStyle = "#000000";
  pen.fillStyle = colour;
  const plain = pen.fillStyle; // #rrggbb, or another form for a colour that is not opaque
  if (!plain.startsWith("#")) return colour;
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(plain.slice(at, at + 2), 16));
  return `rgba(${red}, ${green}, ${blue}, ${opacity})`;
}

/** The palette as `element` sees it now. */
export function palette(element) {
  const style = getComputedStyle(element);
  const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  const bad = read("--bad", "#b42318");
  const warn = read("--warn", "#8a5a00");
  return {
    ink: read("--ink", "#1b2530"),
    soft: read("--soft", "#535f6b"),
    line: read("--line", "#d6dbe1"),
    seen: read("--seen", "#0b4f9e"),
    expected: read("--expected", "#8a4b00"),
    band: read("--range", "rgba(138, 75, 0, 0.13)"),
    bad,
    warn,
    span: faint(bad, 0.12),
    illSpan: faint(warn, 0.12),
    over: faint(bad, 0.3),
    font: `12px ${style.fontFamily || "system-ui, sans-serif"}`,
  };
}
