/** How much later an effect follows, as times; the server says them, as it does in sentences and reports. */

import { span } from "./format.js";
import { live } from "./live.js";

/** How many lags a list names. */
const MOST_LAGS = 3;

/** "20 s"; "at once" for a link within one interval. */
export function lagText(lag) {
  // An alarm of an earlier model may know lags that this one does not.
  return live.plant.lags[lag] ?? span(lag * live.plant.every);
}

/** "10, 30 s": the lags of several links, at most three of them. */
export function lagList(links) {
  const lags = [...new Set(links.map((link) => link.lag))].sort((p, q) => p - q);
  const shown = lags.slice(0, MOST_LAGS).map(lagText);
  const unit = (text) => /^[\d.]+ (\D+)$/.exec(text)?.[1];
  const alike = shown.every((text) => unit(text) && unit(text) === unit(shown[0]));
  const words = shown.map((text, k) => (alike && k < shown.length - 1 ? text.split(" ")[0] : text));
  return words.join(", ") + (lags.length > MOST_LAGS ? ", …" : "");
}

/** "at once" or "20 s later". */
export function laterText(lag) {
  return lag ? `${lagText(lag)} later` : lagText(lag);
}
