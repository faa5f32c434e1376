/** Ranges and labels of the value axis. */

/**
 * A range that keeps calm: it grows as soon as the values need it, but shrinks only once they fill
 * less than half of it, so that a live chart does not breathe with every tick.
 *
 * @param {() => number|null} least the smallest height worth showing, for signals that stand still;
 *   null where nothing is known of their size: then a tenth of the value
 */
export function calmRange(least) {
  let shown = null;
  return (_plot, min, max) => {
    if (min === null || max === null || !Number.isFinite(min) || !Number.isFinite(max)) return shown ?? [0, 1];
    let size = max - min;
    if (shown && min >= shown[0] && max <= shown[1] && size >= 0.5 * (shown[1] - shown[0])) return shown;
    const floor = least() || Math.abs(max) * 0.1 || 1;
    if (size < floor) {
      const middle = (min + max) / 2;
      [min, max, size] = [middle - floor / 2, middle + floor / 2, floor];
      if (shown && min >= shown[0] && max <= shown[1] && size >= 0.5 * (shown[1] - shown[0])) return shown;
    }
    shown = [min - 0.08 * size, max + 0.08 * size];
    return shown;
  };
}

/** Formats by number of decimals: making one costs more than a hundred uses. */
const FORMATS = Array.from({ length: 7 }, (_, digits) => new Intl.NumberFormat("en-GB", {
  minimumFractionDigits: digits, maximumFractionDigits: digits,
}));

/** Labels with as many decimals as their distance asks for. */
export function axisNumbers(marks, step) {
  const most = Math.max(...marks.map(Math.abs), 0);
  if (most >= 1e6 || (most > 0 && most < 1e-3)) {
    return marks.map((mark) => (mark === 0 ? "0" : mark.toExponential(1).replace("-", "−")));
  }
  let decimals = 0; // as many as it takes to write the step itself: 0.025 needs three
  while (decimals < 6 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6) decimals += 1;
  return marks.map((mark) => FORMATS[decimals].format(mark).replace("-", "−"));
}
