/**
 * The look of the picture. A canvas knows no CSS, so colours are read from the page's custom
 * properties and read again when the theme changes.
 *
 * State is never told by colour alone: above the limit is another shape with ▲ before the name,
 * unwell is dashed with ◆, a cause has a ring and ◎, a broken link is thick and labelled.
 */

const TOKENS = {
  ink: "--ink", soft: "--soft", paper: "--panel", band: "--band", rim: "--rim",
  accent: "--accent", bad: "--bad", warn: "--warn",
};
const FONT = "system-ui, sans-serif";

/** Colours of the theme in force, as rgb() texts, with the mixtures the picture needs. */
export function readColours(element) {
  const style = getComputedStyle(element);
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = {};
  for (const [name, token] of Object.entries(TOKENS)) {
    // Painting a dot resolves every notation of CSS colours; the library knows only the old ones.
    pen.fillStyle = style.getPropertyValue(token).trim() || "#888888";
    pen.fillRect(0, 0, 1, 1);
    rgb[name] = [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  }
  const text = (channels) => `rgb(${channels.map(Math.round).join(",")})`;
  const mix = (p, q, share) => text(rgb[p].map((v, k) => v * share + rgb[q][k] * (1 - share)));
  const colours = Object.fromEntries(Object.entries(rgb).map(([name, c]) => [name, text(c)]));
  return {
    ...colours,
    nearTint: mix("warn", "paper", 0.14),
    badTint: mix("bad", "paper", 0.14),
    badStrong: mix("bad", "paper", 0.28),
  };
}

/** The stylesheet of the picture for one set of colours. */
export function stylesheet(c) {
  return [...nodeStyles(c), ...edgeStyles(c)];
}

function nodeStyles(c) {
  return [
    { selector: "node", style: {
      "font-family": FONT, "font-size": 12.5, color: c.ink, label: "data(label)",
      "text-valign": "center", "text-halign": "center", width: "data(w)", height: "data(h)",
      "z-index-compare": "manual", "z-index": 10, "overlay-opacity": 0,
    } },
    { selector: ".region", style: {
      shape: "round-rectangle", "corner-radius": 10, "background-color": c.band, events: "no",
      "z-compound-depth": "bottom", "z-index": 0,
    } },
    { selector: ".title", style: {
      "background-opacity": 0, shape: "rectangle", color: c.soft, "font-size": 13,
      "font-weight": 600,
    } },
    { selector: ".signal", style: {
      shape: "round-rectangle", "corner-radius": 13, "background-color": c.paper,
      "border-width": 1, "border-color": c.rim,
    } },
    { selector: ".card", style: {
      shape: "round-rectangle", "corner-radius": 8, "background-color": c.paper,
      "border-width": 1.5, "border-color": c.rim, "text-wrap": "wrap", "line-height": 1.25,
    } },
    { selector: ".level1", style: {
      "background-color": c.nearTint, "border-color": c.warn, "border-width": 2,
    } },
    { selector: ".level2, .level3", style: {
      shape: "cut-rectangle", "corner-radius": 7, "background-color": c.badTint,
      "border-color": c.bad, "border-width": 2.5, "font-weight": 600,
    } },
    { selector: ".level3", style: {
      "background-color": c.badStrong, "border-width": 4, height: "data(hMore)",
    } },
    { selector: ".signal.level2, .signal.level3, .signal.cause, .signal.unwell", style: { width: "data(wMore)" } },
    { selector: ".card.level2, .card.level3", style: { height: "data(h)", "border-width": 3 } },
    { selector: ".unwell", style: {
      "border-style": "dashed", "border-width": 2.5, "border-color": c.warn,
    } },
    { selector: ".unwell.level2, .unwell.level3", style: { "border-color": c.bad } },
    { selector: ".cause", style: {
      "outline-color": c.ink, "outline-width": 2.5, "outline-offset": 3, "outline-opacity": 1,
      "font-weight": 700,
    } },
    { selector: ".cause.unsure", style: { "outline-style": "dashed", "outline-width": 2 } },
    { selector: ".note", style: {
      shape: "round-rectangle", "corner-radius": 3, "background-color": c.paper,
      "background-opacity": 0.94, "border-width": 1, "border-color": c.bad, "font-size": 11,
      "font-weight": 600, "text-wrap": "wrap", "line-height": 1.15, "z-index": 17,
    } },
    { selector: ".picked", style: {
      "underlay-color": c.accent, "underlay-opacity": 0.3, "underlay-padding": 8, "z-index": 20,
    } },
    { selector: "node.over", style: { "border-color": c.accent, "border-width": 2.5 } },
    { selector: ".title.over", style: { color: c.accent, "border-width": 0 } },
    { selector: "node.dim", style: { opacity: 0.35 } },
  ];
}

function edgeStyles(c) {
  return [
    { selector: "edge", style: {
      "curve-style": "unbundled-bezier", "edge-distances": "node-position",
      "control-point-distances": "data(distance)", "control-point-weights": 0.5,
      width: "data(width)", "line-color": c.rim, "target-arrow-color": c.rim,
      "target-arrow-shape": "triangle", "arrow-scale": 0.8, "line-opacity": 0.5,
      "font-family": FONT, "font-size": 10, color: c.ink,
      "z-index-compare": "manual", "z-index": 1, "overlay-opacity": 0,
    } },
    { selector: ".straight", style: { "curve-style": "straight" } },
    { selector: ".line", style: { "target-arrow-shape": "none" } },
    { selector: ".counted", style: {
      label: "data(label)", "text-background-color": c.paper, "text-background-opacity": 0.85,
      "text-background-padding": 1.5, color: c.soft,
    } },
    { selector: "edge.near, edge.over, edge.picked", style: {
      "line-color": c.accent, "target-arrow-color": c.accent, "line-opacity": 1, "z-index": 12,
      label: "data(label)", "text-background-color": c.paper, "text-background-opacity": 0.9,
      "text-background-padding": 2, "text-background-shape": "roundrectangle", color: c.ink,
    } },
    { selector: "edge.dim", style: { opacity: 0.25 } },
    { selector: ".broken", style: {
      "line-color": c.bad, "target-arrow-color": c.bad, "line-opacity": 1, "z-index": 15,
      "arrow-scale": 1.1, label: "",
    } },
    { selector: ".broken.dim", style: { opacity: 0.55 } },
    { selector: ".broken.picked, .broken.over", style: { "z-index": 16, width: 5 } },
    { selector: ".loop", style: {
      "curve-style": "bezier", "loop-direction": "0deg", "loop-sweep": "50deg",
      "control-point-step-size": 46,
    } },
  ];
}
