"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
const svg = byId("drawing"), panel = byId("panel");
const MOST = 120, MOST_PER_GROUP = 4, MOST_LABELS = 90, FEW = 20;
const LOW_ROW = 46, HIGH_ROW = 84, PILL = 24, PAD = 18, HEAD = 34;
const signals = data.signals;
const links = data.links.map(([source, target, lag, value, p]) => ({source, target, lag, value, p}));
const sameTick = new Set(links.filter(k => k.lag === 0).map(k => k.source + ">" + k.target));
for (const k of links) k.directed = k.lag > 0 || !sameTick.has(k.target + ">" + k.source);
const members = data.groups.map((_, g) => signals.map((s, i) => i).filter(i => signals[i].group === g));
const named = data.groups.length > 1 || data.groups[0] !== "";
const state = {least: data.least, lag: "", open: new Set(), picked: null, over: null, weak: false};
let boxes = new Map(), arrows = [], view = null, bounds = null;

/* ---- small helpers: every name reaches the page as text, never as markup ---- */
function make(tag, attributes = {}, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
function html(tag, text, parent) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}
const pen = document.createElement("canvas").getContext("2d");
function widthOf(text, font = "12px system-ui, 'DejaVu Sans', sans-serif") {
  pen.font = font;
  return pen.measureText(text).width;
}
function short(text, most = 26) {
  const chars = [...text];
  return chars.length <= most ? text
    : chars.slice(0, most / 2).join("") + "…" + chars.slice(1 - most / 2).join("");
}
function count(n, noun) { return n + " " + noun + (n === 1 ? "" : "s"); }
function signed(value) { return (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2); }
function colour(stops, low, high, value) {
  const at = Math.min(1, Math.max(0, (value - low) / (high - low || 1))) * (stops.length - 1);
  const k = Math.min(stops.length - 2, Math.floor(at)), part = at - k;
  const channel = c => {
    const [a, b] = [stops[k], stops[k + 1]].map(hex => parseInt(hex.slice(1 + 2 * c, 3 + 2 * c), 16));
    return Math.round(a + (b - a) * part);
  };
  return `rgb(${channel(0)},${channel(1)},${channel(2)})`;
}
const arrowColour = value => colour(data.cross, -data.crossLimit, data.crossLimit, value);
const nodeColour = value => colour(data.node, data.autoLow, data.autoHigh, value);

/* ---- what is shown ---- */
function shownLinks() {
  return links.filter(k => Math.abs(k.value) > state.least
    && (state.lag === "" || k.lag === Number(state.lag)));
}
function keyOf(signal) {
  const group = signals[signal].group;
  return state.open.has(group) ? "s" + signal : "g" + group;
}
function touches(arrow, key) { return arrow.a === key || arrow.b === key; }
function bundle(shown) {
  const found = new Map();
  for (const link of shown) {
    let [a, b] = [keyOf(link.source), keyOf(link.target)];
    if (a === b || (state.open.size && a[0] === "g" && b[0] === "g")) continue;
    if (!link.directed && a > b) [a, b] = [b, a];
    const key = a + ">" + b + link.directed;
    if (!found.has(key)) {
      found.set(key, {a, b, directed: link.directed, value: 0, lags: new Set(), links: 0, total: 0});
    }
    const arrow = found.get(key);
    if (Math.abs(link.value) > Math.abs(arrow.value)) arrow.value = link.value;
    arrow.lags.add(link.lag);
    arrow.links += 1;
    arrow.total += Math.abs(link.value);
  }
  const all = [...found.values()];
  return all.sort((p, q) => q.total - p.total);
}

/* ---- where it is drawn ---- */
function card(group) {
  const name = short(data.groups[group] || "all signals");
  const across = Math.max(4, Math.ceil(Math.sqrt(2.2 * members[group].length)));
  const rows = Math.ceil(members[group].length / across);
  const width = Math.max(widthOf(name, "600 13px system-ui, sans-serif"), 104, across * 12) + 24;
  return {w: width / 2, h: (50 + rows * 12) / 2, across};
}
function ring() {
  const cards = members.map((_, g) => card(g)), n = cards.length;
  const unit = cards.map((_, k) => {
    const angle = Math.PI + 2 * Math.PI * k / n;
    return [1.7 * Math.cos(angle), Math.sin(angle)];
  });
  let radius = 150;
  for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) {
    const dx = Math.abs(unit[i][0] - unit[j][0]), dy = Math.abs(unit[i][1] - unit[j][1]);
    const need = Math.min((cards[i].w + cards[j].w + 40) / (dx || 1e-9),
      (cards[i].h + cards[j].h + 40) / (dy || 1e-9));
    radius = Math.max(radius, Math.min(need, 4000));
  }
  cards.forEach((c, g) => boxes.set("g" + g, n === 1 ? {x: 0, y: 0, ...c}
    : {x: unit[g][0] * radius, y: unit[g][1] * radius, ...c}));
  return [];
}
function roomy() { return state.open.size < Math.min(3, data.groups.length); }
function flow() {
  const bands = [];
  const widest = Math.max(...signals.map((s, i) => state.open.has(s.group) ? widthOf(short(s.label)) : 0));
  const gap = roomy() ? 200 : 60, narrow = Math.max(56, (widest + 80) / 1.5);
  const rows = Math.max(...[...state.open].map(g => {
    const ys = members[g].map(i => signals[i].y);
    return Math.max(...ys) - Math.min(...ys);
  }));
  const tallest = Math.max(rows * LOW_ROW, 420);
  let left = 0, stack = [];
  const unload = () => {
    while (stack.length) {
      const column = [];
      let height = 0;
      while (stack.length && (!column.length || height + 2 * stack[0][1].h + 24 <= tallest + 60)) {
        height += 2 * stack[0][1].h + 24;
        column.push(stack.shift());
      }
      const half = Math.max(...column.map(([, c]) => c.w));
      let y = -height / 2 + 12;
      for (const [g, c] of column) {
        boxes.set("g" + g, {x: left + half, y: y + c.h, ...c});
        y += 2 * c.h + 24;
      }
      left += 2 * half + gap;
    }
  };
  data.groups.forEach((name, g) => {
    if (!state.open.has(g)) { stack.push([g, card(g)]); return; }
    unload();
    const xs = members[g].map(i => signals[i].x), ys = members[g].map(i => signals[i].y);
    const [x0, x1] = [Math.min(...xs), Math.max(...xs)], mid = (Math.min(...ys) + Math.max(...ys)) / 2;
    const half = Math.max(...members[g].map(i => widthOf(short(signals[i].label)) / 2 + 10));
    const step = roomy() && x1 - x0 < 1 ? 4 * narrow : narrow;
    for (const i of members[g]) {
      boxes.set("s" + i, {
        x: left + PAD + half + (signals[i].x - x0) * step, y: signals[i].y - mid,
        w: widthOf(short(signals[i].label)) / 2 + 10, h: PILL / 2,
      });
    }
    const width = 2 * PAD + 2 * half + (x1 - x0) * step;
    bands.push({g, x: left, width, half: Math.max(...ys) - mid});
    left += width + gap;
  });
  unload();
  const wanted = left / ((svg.clientWidth || 4) / (svg.clientHeight || 3)) - 2 * HEAD;
  const row = Math.min(HIGH_ROW, Math.max(LOW_ROW, wanted / (rows + 1)));
  for (const [key, box] of boxes) if (key[0] === "s") box.y *= row;
  for (const band of bands) band.half = band.half * row + PILL / 2 + PAD;
  return bands;
}

/* ---- curves that keep clear of boxes ---- */
const BENDS = [0.08, -0.08, 0, 0.16, -0.16, 0.25, -0.25, 0.36, -0.36, 0.5, -0.5, 0.75, -0.75];
function at(c, t) {
  const a = (1 - t) ** 2, b = 2 * t * (1 - t), d = t * t;
  return [a * c[0] + b * c[2] + d * c[4], a * c[1] + b * c[3] + d * c[5]];
}
function within(point, box) {
  const radius = box.across ? 9 : box.h;
  const dx = Math.abs(point[0] - box.x) - box.w + radius, dy = Math.abs(point[1] - box.y) - box.h + radius;
  return Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) < radius;
}
function inside(point, box, more = 0) {
  return Math.abs(point[0] - box.x) < box.w + more && Math.abs(point[1] - box.y) < box.h + more;
}
function route(arrow, taken, spots) {
  const a = boxes.get(arrow.a), b = boxes.get(arrow.b), dx = b.x - a.x, dy = b.y - a.y;
  const others = [...boxes].filter(([key]) => key !== arrow.a && key !== arrow.b).map(([, box]) => box);
  const pair = arrow.a < arrow.b ? arrow.a + arrow.b : arrow.b + arrow.a;
  const sign = arrow.a < arrow.b ? 1 : -1;
  if (!taken.has(pair)) taken.set(pair, []);
  let best = null, least = Infinity;
  for (const bend of BENDS) {
    const curve = [a.x, a.y, a.x + dx / 2 - bend * dy, a.y + dy / 2 + bend * dx, b.x, b.y];
    let cost = 3 * Math.abs(Math.abs(bend) - 0.08);
    for (const other of taken.get(pair)) if (Math.abs(other - sign * bend) < 0.15) cost += 8;
    const points = [];
    for (let k = 1; k < 20; k++) points.push(at(curve, k / 20));
    for (const box of others) if (points.some(point => inside(point, box, 4))) cost += 10;
    const beyond = points.map(([x, y]) => Math.max(bounds.top - y, y - bounds.bottom, bounds.left - x, x - bounds.right));
    cost += Math.max(0, ...beyond) / 10;
    if (cost < least) [best, least] = [{curve, bend: sign * bend}, cost];
    if (least < 0.5) break;
  }
  taken.get(pair).push(best.bend);
  const c = best.curve, steps = 120;
  let first = 0, last = steps;
  while (first < steps - 1 && within(at(c, first / steps), a)) first++;
  while (last > first + 1 && within(at(c, last / steps), b)) last--;
  const tip = at(c, last / steps), size = arrow.directed ? 6 + 1.6 * arrow.width : 0;
  let neck = last;
  while (neck > first && Math.hypot(at(c, neck / steps)[0] - tip[0], at(c, neck / steps)[1] - tip[1]) < size) neck--;
  const t0 = first / steps, t1 = neck / steps, p0 = at(c, t0), p2 = at(c, t1);
  const tx = (1 - t0) * (c[2] - c[0]) + t0 * (c[4] - c[2]), ty = (1 - t0) * (c[3] - c[1]) + t0 * (c[5] - c[3]);
  arrow.path = `M${p0} Q${[p0[0] + tx * (t1 - t0), p0[1] + ty * (t1 - t0)]} ${p2}`;
  const places = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74].map(share => at(c, (first + share * (last - first)) / steps));
  arrow.middle = places.find(place => spots.every(spot => !inside(place, spot, 7)));
  if (arrow.middle) spots.push({x: arrow.middle[0], y: arrow.middle[1], w: 7, h: 6});
  arrow.reach = at(c, 0.5);
  const far = Math.hypot(p2[0] - tip[0], p2[1] - tip[1]) || 1;
  const bx = (p2[0] - tip[0]) / far * size, by = (p2[1] - tip[1]) / far * size;
  arrow.head = [tip, [tip[0] + bx - by / 2, tip[1] + by + bx / 2], [tip[0] + bx + by / 2, tip[1] + by - bx / 2]];
}

/* ---- drawing ---- */
function render(refit) {
  const focus = document.activeElement && document.activeElement.getAttribute("data-key");
  const shown = shownLinks();
  boxes = new Map();
  const bands = state.open.size ? flow() : ring();
  const every = bundle(shown);
  arrows = every.slice(0, !state.open.size ? MOST_PER_GROUP * data.groups.length : roomy() ? MOST / 2 : MOST);
  if (state.picked !== null) arrows = every.filter((arrow, k) => k < arrows.length || touches(arrow, state.picked));
  const all = [...boxes.values()];
  bounds = {
    left: Math.min(...all.map(b => b.x - b.w)), right: Math.max(...all.map(b => b.x + b.w)),
    top: Math.min(...all.map(b => b.y - b.h)), bottom: Math.max(...all.map(b => b.y + b.h)),
  };
  const overview = state.open.size < data.groups.length;
  const most = Math.max(1, ...arrows.map(arrow => arrow.links));
  for (const arrow of arrows) {
    arrow.width = overview ? 1 + 4 * arrow.links / most
      : 1 + 3 * Math.min(1, Math.abs(arrow.value) / data.crossLimit);
  }
  const taken = new Map(), spots = [...all];
  arrows.forEach(arrow => route(arrow, taken, spots));
  bounds.top = Math.min(bounds.top, ...arrows.map(arrow => arrow.reach[1]));
  bounds.bottom = Math.max(bounds.bottom, ...arrows.map(arrow => arrow.reach[1]));

  svg.replaceChildren();
  const ground = make("g"), lines = make("g"), front = make("g");
  svg.append(ground, lines, front);
  const tall = Math.max(...bands.map(band => band.half), 0);
  for (const band of bands) if (named) {
    ground.append(make("rect", {class: "band", rx: 10, x: band.x, width: band.width,
      y: -tall - HEAD, height: 2 * tall + HEAD}));
    const name = make("text", {class: "band-name", x: band.x + band.width / 2, y: -tall - HEAD / 2 + 2,
      tabindex: 0, role: "button", "data-key": "b" + band.g,
      "aria-label": "Close group " + data.groups[band.g]}, short(data.groups[band.g], Math.max(6, 2 * Math.floor(band.width / 16))));
    act(name, () => toggle(band.g));
    front.append(name);
  }
  for (const arrow of [...arrows].reverse()) drawArrow(arrow, lines);
  const linked = new Set(shown.flatMap(k => [k.source, k.target]));
  for (const [key, box] of boxes) front.append(key[0] === "s" ? drawNode(key, box, linked) : drawCard(key, box, shown));
  if (bands.length && named) bounds.top = Math.min(bounds.top, -tall - HEAD);
  if (bands.length) bounds.bottom = Math.max(bounds.bottom, tall);
  if (refit || !view) fit(); else look();
  say(shown, every);
  light();
  if (focus) { const again = find(focus); if (again) again.focus({preventScroll: true}); }
}
function find(key) { return [...svg.querySelectorAll("[data-key]")].find(n => n.getAttribute("data-key") === key); }
function act(node, action) {
  node.addEventListener("click", event => { event.stopPropagation(); if (!dragged) action(); });
  node.addEventListener("keydown", event => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); action(); }
  });
}
function lively(node, key, action) {
  act(node, action);
  for (const [name, value] of [["mouseenter", key], ["mouseleave", null], ["focus", key], ["blur", null]]) {
    node.addEventListener(name, () => { state.over = value; light(); });
  }
  return node;
}
function drawArrow(arrow, parent) {
  const group = make("g", {class: "arrow"});
  const paint = arrowColour(arrow.value);
  group.append(make("path", {class: "rim", d: arrow.path, "stroke-width": arrow.width + 2}),
    make("path", {d: arrow.path, stroke: paint, "stroke-width": arrow.width}));
  if (arrow.directed) group.append(make("polygon", {points: arrow.head.join(" "), fill: paint}));
  const both = arrow.a[0] === "s" && arrow.b[0] === "s";
  const lags = [...arrow.lags].sort((p, q) => p - q);
  if (arrow.middle && (arrows.length <= MOST_LABELS || touches(arrow, state.picked))) {
    const label = both ? lagsText(lags) : arrow.links;
    group.append(make("text", {x: arrow.middle[0], y: arrow.middle[1]}, label));
  }
  const joint = arrow.directed ? " → " : " – ";
  group.append(make("title", {}, nameOf(arrow.a) + joint + nameOf(arrow.b) + "\n" + count(arrow.links, "link")
    + ", strongest " + signed(arrow.value) + ", lag " + lags.map(lag => data.lags[lag]).join(", ")));
  arrow.node = group;
  parent.append(group);
}
function lagsText(lags) {
  const shown = lags.slice(0, 3).map(lag => data.lags[lag]);
  if (new Set(shown.map(text => text.split(" ")[1])).size === 1) {
    for (let k = 0; k < shown.length - 1; k++) shown[k] = shown[k].split(" ")[0];
  }
  return shown.join(", ") + (lags.length > 3 ? ", …" : "");
}
function nameOf(key) {
  const k = Number(key.slice(1));
  return key[0] === "s" ? signals[k].label : data.groups[k] || "all signals";
}
function drawNode(key, box, linked) {
  const i = Number(key.slice(1)), signal = signals[i];
  const node = make("g", {class: "node" + (linked.has(i) ? "" : " pale"), tabindex: 0, role: "button",
    "data-key": key, "aria-label": "Signal " + signal.label});
  node.append(make("rect", {x: box.x - box.w, y: box.y - box.h, width: 2 * box.w, height: 2 * box.h,
    rx: box.h, fill: nodeColour(signal.auto)}), make("text", {x: box.x, y: box.y}, short(signal.label)),
    make("title", {}, signal.label));
  return lively(node, key, () => pick(key));
}
function drawCard(key, box, shown) {
  const g = Number(key.slice(1)), top = box.y - box.h;
  const within = shown.filter(k => signals[k.source].group === g && signals[k.target].group === g).length;
  const node = make("g", {class: "card", tabindex: 0, role: "button", "data-key": key,
    "aria-label": "Open group " + nameOf(key)});
  node.append(make("rect", {x: box.x - box.w, y: top, width: 2 * box.w, height: 2 * box.h, rx: 9}),
    make("text", {class: "name", x: box.x, y: top + 16}, short(nameOf(key))),
    make("text", {class: "note", x: box.x, y: top + 32}, count(members[g].length, "signal") + ", " + count(within, "link")),
    make("title", {}, nameOf(key) + ": click to open"));
  members[g].forEach((i, k) => node.append(make("circle", {class: "dot", r: 4.4,
    cx: box.x + 12 * (k % box.across - (Math.min(box.across, members[g].length) - 1) / 2),
    cy: top + 48 + 12 * Math.floor(k / box.across), fill: nodeColour(signals[i].auto)})));
  return lively(node, key, () => toggle(g));
}
function light() {
  const key = state.over || state.picked;
  const near = new Set([key]);
  svg.classList.toggle("dim", boxes.has(key));
  for (const arrow of arrows) {
    arrow.node.classList.toggle("near", touches(arrow, key));
    if (touches(arrow, key)) near.add(arrow.a).add(arrow.b);
  }
  for (const node of svg.querySelectorAll(".node, .card")) {
    node.classList.toggle("near", near.has(node.getAttribute("data-key")));
    node.classList.toggle("picked", node.getAttribute("data-key") === state.picked);
  }
}

/* ---- words ---- */
function say(shown, every) {
  const rule = "|value| > " + state.least.toFixed(2) + (state.lag === "" ? "" : ", lag " + data.lags[state.lag]);
  const linked = new Set(shown.flatMap(k => [k.source, k.target]));
  const alone = signals.length - linked.size;
  let text = links.length ? `${shown.length} of ${count(links.length, "link")} between signals, ${rule}` : "No links between signals";
  if (state.weak) text = `No link has |value| > ${data.least}; the strongest are shown. ` + text;
  if (every.length > arrows.length) text += `; ${arrows.length} of ${every.length} arrows drawn, the strongest`;
  if (alone && links.length) text += `; ${count(alone, "signal")} without such a link` + (state.open.size ? " pale" : "");
  if (state.open.size && state.open.size < data.groups.length) text += "; links among closed groups not drawn";
  const lone = arrows.some(arrow => !arrow.directed) ? " Line without head: lag 0, no direction." : "";
  const number = state.open.size < data.groups.length ? " On an arrow: lag, or links it stands for."
    : data.inTicks ? " Number on an arrow: lag in ticks." : " Time on an arrow: how long the effect takes.";
  byId("status").textContent = text + "." + (arrows.length ? number : "") + lone;
  byId("least").textContent = state.least.toFixed(2);
  byId("open-all").hidden = byId("close-all").hidden = !named;
  describe(shown);
}
function list(title, rows) {
  html("h3", `${title} (${rows.length})`, panel);
  const items = html("ul", undefined, panel);
  for (const [text, note, action, hint] of rows) {
    const item = html("li", undefined, items), button = html("button", text, item);
    button.type = "button";
    button.addEventListener("click", action);
    if (hint) item.title = hint;
    html("span", note, item);
  }
}
function describe(shown) {
  panel.replaceChildren();
  if (state.picked === null) {
    html("h2", count(signals.length, "signal"), panel);
    html("p", "Point at a signal to see its causes and effects; click it to keep them.", panel);
    if (named) {
      list("Groups", data.groups.map((name, g) => [name, count(members[g].length, "signal"), () => toggle(g)]));
    } else {
      list("Signals", signals.map((s, i) => [s.label, "", () => pick("s" + i)]));
    }
    return;
  }
  const i = Number(state.picked.slice(1)), signal = signals[i];
  html("h2", signal.label, panel);
  if (signal.label !== signal.name) html("p", signal.name, panel);
  if (named) html("p", "Group: " + data.groups[signal.group], panel);
  html("p", "Auto-dependence " + signed(signal.auto), panel);
  const by = (end, other) => shown.filter(k => k[end] === i).sort((p, q) => Math.abs(q.value) - Math.abs(p.value))
    .map(k => [signals[k[other]].label, `lag ${data.lags[k.lag]}   ${signed(k.value)}`, () => pick("s" + k[other]), "p-value " + k.p]);
  list("Causes", by("target", "source"));
  list("Effects", by("source", "target"));
}

/* ---- what a person does ---- */
function pick(key) {
  state.picked = key === state.picked ? null : key;
  state.over = null;
  const group = key && signals[Number(key.slice(1))].group;
  const opens = state.picked !== null && !state.open.has(group);
  if (opens) state.open.add(group);
  render(opens);
}
function toggle(group) {
  state.over = null;
  if (!state.open.delete(group)) state.open.add(group);
  if (state.picked !== null && !state.open.has(signals[Number(state.picked.slice(1))].group)) state.picked = null;
  render(true);
  const next = find((state.open.has(group) ? "b" : "g") + group);
  if (next) next.focus({preventScroll: true});
  state.over = null;
  light();
}
function look() { svg.setAttribute("viewBox", [view.x, view.y, view.w, view.h].join(" ")); }
function fit() {
  const spare = 40, ratio = (svg.clientWidth || 4) / (svg.clientHeight || 3);
  let w = bounds.right - bounds.left + 2 * spare, h = bounds.bottom - bounds.top + 2 * spare;
  w = Math.max(w, svg.clientWidth / 1.6, h * ratio);
  h = w / ratio;
  view = {x: (bounds.left + bounds.right - w) / 2, y: (bounds.top + bounds.bottom - h) / 2, w, h};
  look();
}
function zoom(factor, x = view.x + view.w / 2, y = view.y + view.h / 2) {
  view = {x: x - (x - view.x) * factor, y: y - (y - view.y) * factor, w: view.w * factor, h: view.h * factor};
  look();
}
let dragged = false, grip = null;
svg.addEventListener("wheel", event => {
  event.preventDefault();
  const place = svg.getBoundingClientRect();
  zoom(Math.exp(event.deltaY / 500), view.x + (event.clientX - place.left) / place.width * view.w,
    view.y + (event.clientY - place.top) / place.height * view.h);
}, {passive: false});
svg.addEventListener("pointerdown", event => { grip = [event.clientX, event.clientY, view.x, view.y]; dragged = false; });
addEventListener("pointermove", event => {
  if (!grip) return;
  const dx = event.clientX - grip[0], dy = event.clientY - grip[1], scale = view.w / svg.clientWidth;
  if (Math.hypot(dx, dy) > 4) dragged = true;
  if (dragged) { view.x = grip[2] - dx * scale; view.y = grip[3] - dy * scale; look(); }
});
addEventListener("pointerup", () => { grip = null; });
addEventListener("resize", fit);
svg.addEventListener("click", () => { if (!dragged && state.picked !== null) { state.picked = null; render(false); } });
addEventListener("keydown", event => {
  if (event.key === "Escape") { state.picked = state.over = null; render(false); }
});
byId("nearer").addEventListener("click", () => zoom(0.8));
byId("farther").addEventListener("click", () => zoom(1.25));
byId("fit").addEventListener("click", fit);
byId("open-all").addEventListener("click", () => { state.open = new Set(data.groups.keys()); render(true); });
byId("close-all").addEventListener("click", () => { state.open.clear(); state.picked = null; render(true); });
let waiting = 0;
byId("strength").addEventListener("input", event => {
  state.least = Number(event.target.value);
  state.weak = false;
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => render(false));
});
byId("lag").addEventListener("change", event => { state.lag = event.target.value; render(false); });
function search() {
  const wanted = byId("search").value.trim().toLowerCase();
  if (!wanted) return;
  const names = signals.map(s => [s.label.toLowerCase(), s.name.toLowerCase()]);
  let i = names.findIndex(pair => pair.includes(wanted));
  if (i < 0) i = names.findIndex(pair => pair.some(name => name.includes(wanted)));
  if (i < 0) { byId("status").textContent = "No signal's name holds “" + byId("search").value.trim() + "”."; return; }
  if (state.picked !== "s" + i) pick("s" + i);
}
byId("controls").addEventListener("submit", event => { event.preventDefault(); search(); });
byId("search").addEventListener("change", search);

/* ---- begin ---- */
for (const signal of signals) byId("names").append(Object.assign(html("option"), {value: signal.label}));
for (const lag of [...new Set(links.map(k => k.lag))].sort((p, q) => p - q)) {
  byId("lag").append(Object.assign(html("option", data.lags[lag]), {value: String(lag)}));
}
byId("strength").max = data.crossLimit;
if (links.length && !shownLinks().length) {
  const sizes = links.map(k => Math.abs(k.value)).sort((p, q) => q - p);
  state.least = Math.max(0, Math.floor(sizes[Math.min(FEW, sizes.length) - 1] * 100 - 1e-6) / 100);
  state.weak = true;
}
byId("strength").value = state.least;
byId("cross-bar").style.background = `linear-gradient(to right, ${data.cross})`;
byId("auto-bar").style.background = `linear-gradient(to right, ${data.node})`;
byId("cross-low").textContent = "−" + data.crossLimit;
byId("cross-high").textContent = data.crossLimit;
byId("auto-low").textContent = String(data.autoLow).replace("-", "−");
byId("auto-high").textContent = data.autoHigh;
if (!data.overview) state.open = new Set(data.groups.keys());
render(true);
})();
