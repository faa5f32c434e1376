/** What is wrong with an unwell signal, in words: "stands still" rather than "frozen". */

/** By problem: what the signal does (after its name), a word or two, and what that means. */
const WORDS = {
  missing: ["sends no value", "no value", "no values come"],
  stale: ["sends nothing new", "nothing new", "no new value has come for a while; the last one is held"],
  frozen: ["stands still", "stands still", "it shows the same value all the time"],
  out_of_range: ["is out of its range", "out of range", "far outside the range it had in normal operation"],
  unlike: ["is no longer as learnt", "not as learnt", "it is no longer as learnt"],
  rate_wrong: ["come at another rate", "other rate", "rows come at another rate than in normal operation"],
  not_judged: ["are not judged", "not judged", "rows come and are not judged, so that nothing is watched"],
  incomplete: ["go on from a state that is not whole", "state not whole", "saves or events of an earlier run are missing or damaged"],
  silent: ["do not come", "no rows", "no rows come at all"],
  not_kept: ["cannot be kept", "not kept", "what is seen cannot be written down"],
};

/** Problems of the stream as a whole: its rows, not a signal, do what the words say. */
const OF_ROWS = new Set(["rate_wrong", "not_judged", "silent", "incomplete", "not_kept"]);

/** What stands for the stream where a signal's name is expected. */
export const STREAM = "(stream)";

/** The sign of ill health, wherever it is told. */
export const UNWELL = "◆";

function words(problem) {
  const plain = String(problem || "unwell").replaceAll("_", " ");
  return WORDS[problem] ?? [`is ${plain}`, plain, plain];
}

/** What a signal does: "stands still", to follow its name. */
export function does(problem) {
  return words(problem)[0];
}

/** Whether a problem is one of the rows rather than of a signal. */
export function ofRows(problem) {
  return OF_ROWS.has(problem);
}

/** What an alarm about health is about: "Signal unwell", "Stream unwell". */
export function unwellWords(problem) {
  return ofRows(problem) ? "Stream unwell" : "Signal unwell";
}

/**
 * What is known about the rows beyond the sentence of an alarm about them: since when, by the clock of
 * the machine that watches. "" for other alarms, and for those that are over.
 *
 * @param {object} alarm
 * @param {object|null} status  How the watch stands.
 */
export function streamDetail(alarm, status) {
  const found = status?.unwell[STREAM];
  return !alarm.cleared_at && ofRows(alarm.problem) && found?.state === alarm.problem ? found.detail : "";
}

/** A word or two for a tag. */
export function inShort(problem) {
  return words(problem)[1];
}

/** What it means. */
export function meaning(problem) {
  return words(problem)[2];
}
