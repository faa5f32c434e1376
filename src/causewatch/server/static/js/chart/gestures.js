/**
 * Zoom and pan of a chart: wheel, drag, pinch and keys.
 *
 * The wheel zooms once the chart has the focus (or with Ctrl); before that it scrolls the page,
 * which would otherwise stop at every chart on the way. Drag pans, Shift and drag zooms to a box,
 * a double click goes back to live. One finger pans sideways (up and down still scrolls the page),
 * two fingers zoom.
 */

const KEYS = {
  ArrowLeft: (group, width) => group.pan(-width * 0.2),
  ArrowRight: (group, width) => group.pan(width * 0.2),
  PageUp: (group, width) => group.pan(-width),
  PageDown: (group, width) => group.pan(width),
  "+": (group) => group.zoom(0.5),
  "=": (group) => group.zoom(0.5),
  "-": (group) => group.zoom(2),
  "−": (group) => group.zoom(2),
  0: (group) => group.follow(undefined, true),
  Home: (group) => group.follow(undefined, true),
};

/** What the keys do, for people who cannot see it. */
export const HINT = "Arrow keys pan, plus and minus zoom, 0 goes back to live.";

/**
 * @param {HTMLElement} frame takes the focus and the keys
 * @param {uPlot} plot
 * @param {ChartGroup} group
 * @param {AbortSignal} signal ends it all
 */
export function gestures(frame, plot, group, signal) {
  const over = plot.over;
  const pointers = new Map(); // id → x within the drawing
  let start = null; // where a drag began and what was shown then
  let box = null;

  const listen = (target, type, handler, options = {}) =>
    target.addEventListener(type, handler, { ...options, signal });
  const place = (event) => event.clientX - over.getBoundingClientRect().left;
  const timeAt = (x) => {
    const [from, to] = group.range();
    return from === null ? null : from + ((to - from) * x) / over.clientWidth;
  };

  listen(over, "wheel", (event) => {
    const [from, to] = group.range();
    if (from === null) return;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      group.pan(((to - from) * event.deltaX) / over.clientWidth);
    } else if (event.ctrlKey || event.metaKey || frame.contains(document.activeElement)) {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 33 : 1; // some browsers count lines, not pixels
      const turn = Math.max(-300, Math.min(300, event.deltaY * lines));
      group.zoom(Math.exp(turn * 0.002), timeAt(place(event)));
    }
  }, { passive: false });

  listen(frame, "keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [from, to] = group.range();
    const action = KEYS[event.key];
    if (!action || from === null) return;
    event.preventDefault();
    action(group, to - from);
  });

  listen(over, "dblclick", () => group.follow(undefined, true));

  function begin() {
    const [from, to] = group.range();
    const places = [...pointers.values()];
    start = from === null ? null : { from, to, places, moved: false };
  }

  listen(over, "pointerdown", (event) => {
    if (event.button !== 0) return;
    frame.focus({ preventScroll: true });
    over.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    begin();
    box = event.shiftKey && pointers.size === 1 ? place(event) : null;
  });

  listen(over, "pointermove", (event) => {
    if (!start || !pointers.has(event.pointerId)) return;
    pointers.set(event.pointerId, place(event));
    const places = [...pointers.values()];
    if (box !== null) {
      const [left, right] = [box, places[0]].sort((one, other) => one - other);
      plot.setSelect({ left, width: right - left, top: 0, height: over.clientHeight }, false);
    } else if (places.length === 1) {
      const move = places[0] - start.places[0];
      if (!start.moved && Math.abs(move) < 4) return; // a click, not yet a drag
      start.moved = true;
      const shift = ((start.to - start.from) * move) / over.clientWidth;
      group.show(start.from - shift, start.to - shift, true);
    } else if (places.length === 2) {
      pinch(places);
    }
  });

  /** The two times under the fingers stay under them. */
  function pinch(places) {
    const scale = (start.to - start.from) / over.clientWidth;
    const [a, b] = start.places.map((x) => start.from + x * scale);
    const [x, y] = places;
    if (Math.abs(y - x) < 10 || a === b) return;
    const perPixel = (b - a) / (y - x);
    if (!(perPixel > 0)) return;
    const from = a - x * perPixel;
    group.show(from, from + perPixel * over.clientWidth, true);
  }

  function end(event) {
    if (!pointers.has(event.pointerId)) return;
    const x = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    if (box !== null) {
      plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      const [left, right] = [box, x].sort((one, other) => one - other);
      box = null;
      if (event.type === "pointerup" && right - left > 4) group.show(timeAt(left), timeAt(right), true);
    }
    begin(); // the finger that stays goes on panning from here
    if (!pointers.size) start = null;
  }
  listen(over, "pointerup", end);
  listen(over, "pointercancel", end);
}
