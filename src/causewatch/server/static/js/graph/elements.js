/** A scene as elements of the picture: backgrounds of stages, nodes and arrows, by id. */

import { short, widthMarked, widthOf } from "./layout.js";
import { route } from "./routes.js";
import { lagList } from "../lags.js";
import { brokenLabel } from "./words.js";

/**
 * @param placed what `place` gives: boxes and regions
 * @param looks by node: {label, classes}
 * @returns {Map<string, object>} elements as cytoscape takes them, `classes` always a list
 */
export function elementsOf(graph, scene, { boxes, regions }, looks) {
  const elements = new Map();
  for (const region of regions) addRegion(elements, region, graph);
  for (const node of scene.nodes) addNode(elements, node, boxes.get(node.key), looks.get(node.key));
  addArrows(elements, scene, asDrawn(boxes, looks), regions.map(titleOf), graph);
  return elements;
}

/** Boxes as wide as they are drawn: marks before a name make its box wider. */
function asDrawn(boxes, looks) {
  const width = (key, { w }) => (looks.get(key)?.classes.length ? Math.max(w, widthMarked(looks.get(key).label) / 2) : w);
  return new Map([...boxes].map(([key, box]) => [key, key[0] === "s" ? { ...box, w: width(key, box) } : box]));
}

/** Where the title of an open stage stands: centre and half size. */
function titleOf({ x, y, w, h: high }) {
  return { x, y: y - high / 2 + 19, w: w / 2 - 8, h: 13 };
}

function addRegion(elements, region, graph) {
  const name = graph.stages[region.stage].name;
  elements.set(`r${region.stage}`, {
    group: "nodes", classes: ["region"], pannable: true,
    data: { id: `r${region.stage}`, label: "", w: region.w, h: region.h },
    position: { x: region.x, y: region.y },
  });
  const title = `▾ ${short(name, Math.max(5, Math.floor(region.w / 8.5)))}`;
  elements.set(`t${region.stage}`, {
    group: "nodes", classes: ["title"], pannable: true,
    data: { id: `t${region.stage}`, label: title, w: Math.min(region.w, widthOf(title) + 24), h: 26 },
    position: { x: region.x, y: titleOf(region).y },
  });
}

function addNode(elements, node, box, look) {
  elements.set(node.key, {
    group: "nodes", pannable: true,
    classes: [node.stage === undefined ? "signal" : "card", ...look.classes],
    data: { id: node.key, label: look.label, w: 2 * box.w, h: 2 * box.h, wMore: widthMarked(look.label), hMore: 2 * box.h + 6 },
    position: { x: box.x, y: box.y },
  });
}

function addArrows(elements, scene, boxes, titles, graph) {
  const labelled = scene.arrows.map((arrow) => {
    if (!arrow.broken) return arrow;
    const lines = brokenLabel(arrow.broken).split("\n");
    const w = Math.max(...lines.map((line) => widthOf(line, "600 11px system-ui, sans-serif"))) / 2 + 5;
    return { ...arrow, text: lines.join("\n"), label: { w, h: lines.length * 6.5 + 5 } };
  });
  const routes = route(labelled, boxes, graph.staged ? titles : []);
  const most = Math.max(1, ...scene.arrows.map((arrow) => arrow.links.length));
  for (const arrow of labelled) {
    const { distance, straight, note } = routes.get(arrow.key);
    const stages = arrow.a[0] === "g" || arrow.b[0] === "g";
    const share = stages ? arrow.links.length / most : arrow.strength / (graph.strongest || 1);
    const classes = [];
    if (arrow.broken) classes.push("broken");
    if (arrow.loop) classes.push("loop");
    if (straight) classes.push("straight");
    if (!arrow.directed) classes.push("line");
    const between = arrow.a[0] === "g" && arrow.b[0] === "g";
    if (stages && !arrow.broken && (between || arrow.links.length > 1)) classes.push("counted");
    elements.set(arrow.key, {
      group: "edges", classes,
      data: {
        id: arrow.key, source: arrow.a, target: arrow.b, distance,
        width: arrow.broken ? 3.5 : 0.9 + 2.1 * share,
        label: arrow.text ?? (stages ? String(arrow.links.length) : lagList(arrow.links)),
      },
    });
    if (note) addNote(elements, arrow, note);
  }
}

/** The label of a broken arrow stands by itself, so that no other arrow is drawn across it. */
function addNote(elements, arrow, note) {
  elements.set(`n${arrow.key}`, {
    group: "nodes", classes: ["note"], pannable: true,
    data: { id: `n${arrow.key}`, label: arrow.text, w: 2 * note.w, h: 2 * note.h },
    position: { x: note.x, y: note.y },
  });
}
