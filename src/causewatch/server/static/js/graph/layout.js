/**
 * Where things stand, in the picture's own pixels. Positions come from the model (x to the right,
 * y downwards, in grid cells); this only stretches them, closes gaps that filters leave, and finds
 * room for stages that are closed to one card. The same scene always gets the same picture.
 */

import { shortName } from "../names.js";

/** The picture is not enlarged beyond this. */
export const LARGEST = 1.35;
const PILL_HEIGHT = 26;
const FONT = "12.5px system-ui, sans-serif";
const TITLE_FONT = "600 13px system-ui, sans-serif";
const PAD = 11;
const TITLE = 34;
const GAP = 22;
const CARD_GAP = 28;
const LOOSE_ROW = 36;
const LOOSE_GAP = 8;
const LEAST_ROW = 44;
const MOST_ROW = 92;
const MOST_AIR = 110;
const LONGEST = 25;
/** Places less wide than this, in pixels, show stages below one another. */
const NARROW = 500;
const CARD_ROW = 84;
/** Room between two signals of a line. */
const AIR = 26;

const pen = document.createElement("canvas").getContext("2d");

/** Width of a text on the canvas. */
export function widthOf(text, font = FONT) {
  pen.font = font;
  return pen.measureText(text).width;
}

/** What a signal is called in the picture: told apart from all others; panel and tooltip have it whole. */
export function nodeName(graph, index) {
  return short(shortName(graph.signals[index], LONGEST));
}

/** A name on one line, a long one with its middle left out. */
export function short(text, most = LONGEST) {
  const letters = [...text.replace(/[\s\p{C}]+/gu, " ")];
  if (letters.length <= most) return letters.join("");
  const half = Math.floor((most - 1) / 2);
  return `${letters.slice(0, half).join("")}…${letters.slice(-half).join("")}`;
}

/** Width of a node whose name stands in bold, with marks before it. */
export function widthMarked(label) {
  return widthOf(label, `700 ${FONT}`) + 30;
}

/**
 * @param graph a Graph
 * @param scene what `buildScene` gives
 * @param room {width, height} of the place for the picture
 * @returns {{boxes: Map<string, {x, y, w, h}>, regions: object[]}} centres and half sizes by node,
 *   and the background of every open stage {stage, x, y, w, h} (centre and full size)
 */
export function place(graph, scene, room) {
  if (isNarrow(room.width)) return stacked(graph, scene, room);
  const closed = scene.nodes.filter((node) => node.stage !== undefined);
  if (closed.length === scene.nodes.length && closed.length > 0) {
    return { boxes: ring(graph, closed, room.width / room.height), regions: [] };
  }
  const groups = groupByStage(graph, scene);
  const tight = flow(graph, groups, room, GAP);
  // A few signals would sit in a corner of the place: air between stages lets arrows be seen.
  const spare = room.width / LARGEST - tight.width;
  if (spare <= 0 || groups.length < 2) return tight;
  return flow(graph, groups, room, GAP + Math.min(MOST_AIR, spare / (groups.length - 1)));
}

/** Whether a place is too narrow for stages side by side. */
export function isNarrow(width) {
  return width < NARROW;
}

/** Stages below one another, the signals of each in lines, causes above effects. */
function stacked(graph, scene, room) {
  const lines = linesOf(graph, scene, room.width);
  const row = Math.min(MOST_ROW, Math.max(LEAST_ROW, room.height / (lines.length + 1)));
  const boxes = new Map();
  const regions = [];
  let top = 0;
  let region = null;
  lines.forEach(({ group, items }, k) => {
    if (group && group.stage !== region?.stage) {
      region = { stage: group.stage, x: room.width / 2, w: room.width + 2 * PAD, top };
      regions.push(region);
      top += graph.staged ? TITLE : 0;
    }
    const high = group ? row : CARD_ROW;
    const air = (room.width - items.reduce((sum, { w }) => sum + 2 * w, 0)) / (items.length + 1);
    let x = air * (k % 2 ? 1.25 : 0.75); // not straight below one another: arrows pass between
    for (const { key, w, h } of items) {
      boxes.set(key, { x: x + w, y: top + high / 2, w, h });
      x += 2 * w + air;
    }
    top += high;
    if (group && lines[k + 1]?.group !== group) {
      Object.assign(region, { y: (region.top + top) / 2, h: top - region.top });
      top += LOOSE_GAP;
    }
  });
  return { boxes, regions: graph.staged ? regions : [] };
}

/** What stands beside one another where stages are stacked: {group: null for closed stages, items: [{key, w, h}]}. */
function linesOf(graph, scene, room) {
  const lines = [];
  let wide = 0;
  const add = (item, group, gap) => {
    wide += 2 * item.w + gap;
    if (lines.at(-1)?.group !== group || wide > room) {
      lines.push({ group, items: [] });
      wide = 2 * item.w + gap;
    }
    lines.at(-1).items.push(item);
  };
  const at = (i) => graph.signals[i];
  for (const group of groupByStage(graph, scene)) {
    if (!group.members) add({ key: group.key, ...cardSize(graph, group) }, null, LOOSE_GAP);
    else {
      const linked = [...group.linked].sort((p, q) => at(p).x - at(q).x || at(p).y - at(q).y);
      for (const i of [...linked, ...group.loose]) add({ key: `s${i}`, ...pillSize(graph, i) }, group, AIR);
    }
  }
  return lines;
}

/** Half sizes of the card of a closed stage. */
function cardSize(graph, node) {
  const name = short(graph.stages[node.stage].name || "All signals");
  return { w: Math.max(widthOf(name, TITLE_FONT) + 44, 164) / 2, h: 31 };
}

/** Half sizes of a signal's pill; room for a mark before the name is always kept. */
function pillSize(graph, index) {
  return { w: widthOf(nodeName(graph, index)) / 2 + 17, h: PILL_HEIGHT / 2 };
}

/** All stages closed: cards round an ellipse, so that no arrow runs beneath a third card. */
function ring(graph, nodes, ratio) {
  const boxes = new Map();
  const sizes = nodes.map((node) => cardSize(graph, node));
  const wide = Math.min(2.2, Math.max(0.7, ratio));
  const unit = nodes.map((_, k) => {
    const angle = Math.PI + (2 * Math.PI * k) / nodes.length;
    return [wide * Math.cos(angle), Math.sin(angle)];
  });
  let radius = nodes.length === 1 ? 0 : 130;
  for (let i = 0; i < nodes.length; i++) {
    for (let j = 0; j < i; j++) {
      const dx = Math.abs(unit[i][0] - unit[j][0]) || 1e-9;
      const dy = Math.abs(unit[i][1] - unit[j][1]) || 1e-9;
      const apart = Math.min(
        (sizes[i].w + sizes[j].w + CARD_GAP) / dx, (sizes[i].h + sizes[j].h + CARD_GAP) / dy,
      );
      radius = Math.max(radius, Math.min(apart, 4000));
    }
  }
  nodes.forEach((node, k) => {
    boxes.set(node.key, { x: unit[k][0] * radius, y: unit[k][1] * radius, ...sizes[k] });
  });
  return boxes;
}

/** Open stages side by side in the plant's order, closed ones stacked in columns between them. */
function flow(graph, groups, room, gap) {
  const open = groups.filter((group) => group.members);
  // Rows are compared across stages: the same height means the same row everywhere.
  const rows = squeeze(open.flatMap((group) => group.linked.map((i) => graph.signals[i].y)), 1);
  const count = Math.max(0, ...rows.values()) + 1;
  const boxes = new Map();
  const regions = [];
  const tallest = Math.max(count * LEAST_ROW, 320);
  let left = 0;
  let stack = [];
  const unstack = () => {
    left = stackCards(stack, boxes, left, tallest, gap);
    stack = [];
  };
  for (const group of groups) {
    if (!group.members) {
      stack.push({ key: group.key, ...cardSize(graph, group) });
      continue;
    }
    unstack();
    left = openStage(graph, group, rows, count, boxes, regions, left) + gap;
  }
  unstack();
  const below = Math.max(0, ...open.map((group) => group.looseRows)) * LOOSE_ROW;
  const width = left - gap;
  const high = Math.max(width / (room.width / room.height), (0.9 * room.height) / LARGEST);
  const wanted = high - TITLE - 2 * PAD - below;
  const row = Math.min(MOST_ROW, Math.max(LEAST_ROW, wanted / count));
  const half = ((count - 1) / 2) * row + PILL_HEIGHT / 2;
  for (const group of open) {
    for (const i of group.linked) boxes.get(`s${i}`).y *= row;
    for (const i of group.loose) boxes.get(`s${i}`).y += half;
  }
  for (const region of regions) {
    region.h = 2 * half + 2 * PAD + TITLE + below;
    region.y = (below - TITLE) / 2;
  }
  return { boxes, regions: graph.staged ? regions : [], width };
}

function groupByStage(graph, scene) {
  const groups = new Map();
  for (const node of scene.nodes) {
    if (node.stage !== undefined) {
      groups.set(node.stage, { key: node.key, stage: node.stage, members: null });
    } else {
      const stage = graph.stageOf(node.signal);
      if (!groups.has(stage)) groups.set(stage, { stage, members: [] });
      groups.get(stage).members.push(node.signal);
    }
  }
  for (const group of groups.values()) {
    if (!group.members) continue;
    const linked = (i) => graph.into[i].length > 0 || graph.from[i].length > 0;
    group.linked = group.members.filter(linked);
    group.loose = group.members.filter((i) => !linked(i));
  }
  return [...groups.values()].sort((p, q) => p.stage - q.stage);
}

/** One open stage: its linked signals where the model puts them, the others in rows beneath. */
function openStage(graph, group, rows, count, boxes, regions, left) {
  const { linked, members } = group;
  const size = new Map(members.map((i) => [i, pillSize(graph, i)]));
  const across = squeeze(linked.map((i) => graph.signals[i].x), 2);
  const half = Math.max(...members.map((i) => size.get(i).w));
  // Columns are 2 cells apart and staggered by ±0.25, so 1.5 cells must hold a pill and some air.
  const step = Math.max(60, (2 * half + 22) / 1.5);
  const title = widthOf(short(graph.stages[group.stage].name), TITLE_FONT) + 40;
  const inner = 2 * half + Math.max(0, ...across.values()) * step;
  const width = Math.max(inner + 2 * PAD, graph.staged ? Math.min(title, 220) : 0);
  const start = left + (width - inner) / 2 + half;
  for (const i of linked) {
    boxes.set(`s${i}`, {
      x: start + across.get(graph.signals[i].x) * step,
      y: rows.get(graph.signals[i].y) - (count - 1) / 2,
      ...size.get(i),
    });
  }
  group.looseRows = packLoose(group.loose, size, boxes, left + width / 2, width - 2 * PAD);
  regions.push({ stage: group.stage, x: left + width / 2, w: width });
  return left + width;
}

/** Signals without links, which no arrow has to reach: in rows as wide as the stage. */
function packLoose(loose, size, boxes, middle, room) {
  const lines = [];
  for (const i of loose) {
    const wide = 2 * size.get(i).w;
    const line = lines.at(-1);
    if (line && line.wide + LOOSE_GAP + wide <= room) {
      line.members.push(i);
      line.wide += LOOSE_GAP + wide;
    } else {
      lines.push({ members: [i], wide });
    }
  }
  lines.forEach((line, row) => {
    let x = middle - line.wide / 2;
    for (const i of line.members) {
      const { w, h } = size.get(i);
      boxes.set(`s${i}`, { x: x + w, y: (row + 0.6) * LOOSE_ROW, w, h });
      x += 2 * w + LOOSE_GAP;
    }
  });
  return lines.length;
}

function stackCards(cards, boxes, left, tallest, gap) {
  const perColumn = Math.max(1, Math.floor(tallest / (62 + CARD_GAP)));
  for (let k = 0; k < cards.length; k += perColumn) {
    const column = cards.slice(k, k + perColumn);
    const half = Math.max(...column.map((card) => card.w));
    const pitch = Math.max(62 + CARD_GAP, Math.min(120, tallest / column.length));
    column.forEach((card, row) => {
      boxes.set(card.key, {
        x: left + half, y: (row - (column.length - 1) / 2) * pitch, w: card.w, h: card.h,
      });
    });
    left += 2 * half + gap;
  }
  return left;
}

/** Coordinates from 0 on, with every gap wider than `most` narrowed to it. */
function squeeze(values, most) {
  const sorted = [...new Set(values)].sort((p, q) => p - q);
  const found = new Map();
  let at = 0;
  sorted.forEach((value, k) => {
    if (k) at += Math.min(most, value - sorted[k - 1]);
    found.set(value, at);
  });
  return found;
}
