/**
 * How arrows run: each is one curve between two boxes, bent so that it keeps clear of the others,
 * and the labels of broken links find a free place along it.
 */

/** Bends tried, as shares of the distance, the calmest first. */
const BENDS = [0.08, -0.08, 0, 0.16, -0.16, 0.26, -0.26, 0.38, -0.38, 0.55, -0.55, 0.8, -0.8];
const SAMPLES = 16;
const PLACES = [0.5, 0.42, 0.58, 0.35, 0.65, 0.28, 0.72, 0.2, 0.8];

/** So many labels are drawn unasked at most; the others show when their arrow is pointed at. */
const MOST_LABELS = 6;

/** What hiding any part of a name costs. */
const HIDING = 2.5;

/** A label that would hide more than this stays away until its arrow is pointed at. */
const TOLERABLE = 3;

/**
 * @param arrows the scene's arrows; `label` is {w, h} (half sizes) where one must find a place
 * @param boxes centres and half sizes by node
 * @param titles boxes of titles, which labels must not hide
 * @returns {Map<string, {distance, straight, note}>} by arrow: how far its control point stands
 *   from the middle between both ends, whether it must be a straight line instead, and where its
 *   label goes ({x, y, w, h}; null where it has none or there is no room)
 */
export function route(arrows, boxes, titles) {
  const routes = new Map();
  const taken = new Map();
  const all = [...boxes].map(([key, box]) => ({ key, ...box }));
  const bounds = {
    left: Math.min(...all.map((box) => box.x - box.w)), right: Math.max(...all.map((box) => box.x + box.w)),
    top: Math.min(...all.map((box) => box.y - box.h)), bottom: Math.max(...all.map((box) => box.y + box.h)),
  };
  const labels = [];
  for (const arrow of [...arrows].sort(byWeight)) {
    const a = boxes.get(arrow.a);
    const b = boxes.get(arrow.b);
    const found = arrow.loop ? { distance: 0, straight: false, curve: loopOf(a) } : bent(arrow, a, b, all, taken, bounds);
    const note = arrow.label ? freePlace(found.curve, arrow.label, [...all, ...titles], labels, bounds) : null;
    routes.set(arrow.key, { distance: found.distance, straight: found.straight, note });
  }
  return routes;
}

/** What matters most chooses first: the links that are off the most, then the strong ones. */
function byWeight(p, q) {
  const off = (arrow) => (arrow.broken ? 1 + (arrow.broken[0].deviation ?? 0) : 0);
  return off(q) - off(p) || q.strength - p.strength;
}

function bent(arrow, a, b, all, taken, bounds) {
  const pair = arrow.a < arrow.b ? arrow.a + arrow.b : arrow.b + arrow.a;
  const side = arrow.a < arrow.b ? 1 : -1;
  if (!taken.has(pair)) taken.set(pair, []);
  const others = all.filter((box) => box.key !== arrow.a && box.key !== arrow.b);
  const bend = calmest(a, b, others, taken.get(pair), side, bounds.top - 20, bounds.bottom + 20);
  taken.get(pair).push(side * bend);
  const curve = curveOf(a, b, bend);
  return { distance: bend * Math.hypot(b.x - a.x, b.y - a.y), straight: blocked(curve, a, b), curve };
}

function calmest(a, b, others, taken, side, top, bottom) {
  let best = 0;
  let least = Infinity;
  for (const bend of BENDS) {
    const curve = curveOf(a, b, bend);
    let cost = 3 * Math.abs(Math.abs(bend) - 0.08);
    // Two arrows between the same two boxes must not lie on each other.
    for (const other of taken) if (Math.abs(other - side * bend) < 0.15) cost += 8;
    if (blocked(curve, a, b)) cost += 100;
    const points = [];
    for (let k = 1; k < SAMPLES; k++) {
      const point = at(curve, k / SAMPLES);
      points.push(point);
      if (point[1] < top || point[1] > bottom) cost += 1.5;
    }
    for (const box of others) if (meets(curve, box) && points.some((point) => inside(point, box, 4))) cost += 10;
    if (cost < least) [best, least] = [bend, cost];
    if (least < 0.3) break;
  }
  return best;
}

/**
 * The place near the curve where a label hides the least, or null where it would hide too much.
 * A label must not hide a name, another label, or (on a short arrow) the arrow itself.
 */
function freePlace(curve, label, boxes, labels, { left, right }) {
  const middle = at(curve, 0.5);
  const course = [];
  for (let k = 2; k <= SAMPLES - 2; k++) course.push(at(curve, k / SAMPLES));
  const near = boxes.filter((box) => Math.hypot(box.x - middle[0], box.y - middle[1]) < 600);
  let best = null;
  let least = Infinity;
  for (const share of PLACES) {
    const [x, y] = at(curve, share);
    for (const [sideways, lift] of shifts(label)) {
      const box = { x: x + sideways, y: y + lift, w: label.w, h: label.h };
      let cost = Math.abs(share - 0.5) + (Math.abs(lift) + Math.abs(sideways)) / 60;
      if (box.x - label.w < left || box.x + label.w > right) cost += 2;
      cost += (3 * course.filter((point) => inside(point, box, 0)).length) / course.length;
      for (const other of near) {
        const share = covered(box, other);
        if (share > 0) cost += HIDING + 14 * share;
      }
      for (const other of labels) cost += 60 * covered(box, other);
      if (cost < least) [best, least] = [box, cost];
    }
  }
  if (labels.length > 0 && (least > TOLERABLE || labels.length >= MOST_LABELS)) return null;
  labels.push(best);
  return best;
}

/** Places round a point for a label: on it, above, below, beside. */
function shifts({ w, h }) {
  return [
    [0, 0], [0, -h - 5], [0, h + 5], [w + 5, 0], [-w - 5, 0], [0, -h - 18], [0, h + 18],
    [w + 5, -h - 5], [-w - 5, -h - 5], [w + 5, h + 5], [-w - 5, h + 5],
    [0, -h - 30], [0, h + 30], [w / 2, -h - 18], [-w / 2, -h - 18], [w / 2, h + 18], [-w / 2, h + 18],
    [w + 30, 0], [-w - 30, 0], [w + 60, 0], [-w - 60, 0], [w / 2, 0], [-w / 2, 0],
  ];
}

/** About where the library draws the arrow from a box to itself. */
function loopOf(box) {
  const top = box.y - box.h;
  return [box.x - 12, top, box.x, top - 56, box.x + 12, top];
}

/** Whether the control point lies in one of the ends, from where no curve can be drawn. */
function blocked(curve, a, b) {
  const control = [curve[2], curve[3]];
  return inside(control, a, 6) || inside(control, b, 6);
}

/** Start, control point and end of a curve, as the library draws it: from edge to edge of the boxes. */
function curveOf(a, b, bend) {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const control = [a.x + dx / 2 - bend * dy, a.y + dy / 2 + bend * dx];
  return [...edgeOf(a, control), ...control, ...edgeOf(b, control)];
}

/** Where the line from a box's centre to a point leaves the box. */
function edgeOf(box, [x, y]) {
  const dx = x - box.x;
  const dy = y - box.y;
  const share = Math.min(box.w / (Math.abs(dx) || 1e-9), box.h / (Math.abs(dy) || 1e-9), 1);
  return [box.x + share * dx, box.y + share * dy];
}

function at(c, t) {
  const [p, q, r] = [(1 - t) ** 2, 2 * t * (1 - t), t * t];
  return [p * c[0] + q * c[2] + r * c[4], p * c[1] + q * c[3] + r * c[5]];
}

/** Whether a box reaches into the rectangle that holds the curve: a quick look before a close one. */
function meets(c, box) {
  return box.x + box.w + 4 > Math.min(c[0], c[2], c[4]) && box.x - box.w - 4 < Math.max(c[0], c[2], c[4])
    && box.y + box.h + 4 > Math.min(c[1], c[3], c[5]) && box.y - box.h - 4 < Math.max(c[1], c[3], c[5]);
}

function inside([x, y], box, more) {
  return Math.abs(x - box.x) < box.w + more && Math.abs(y - box.y) < box.h + more;
}

/** Which share of box `q` lies beneath box `p`. */
function covered(p, q) {
  const across = Math.min(p.x + p.w, q.x + q.w) - Math.max(p.x - p.w, q.x - q.w);
  const down = Math.min(p.y + p.h, q.y + q.h) - Math.max(p.y - p.h, q.y - q.h);
  return across > 0 && down > 0 ? (across * down) / (4 * q.w * q.h) : 0;
}
