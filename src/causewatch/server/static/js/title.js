/**
 * The title of the window: what the view shows, and before it how many alarms are on. Views may call
 * `setTitle` at any time after they are mounted; until then their own `title` stands there.
 */

const LONGEST = 90;
let shown = "";
let ahead = "";

/** What is shown: "Signals: LIT101". */
export function setTitle(words) {
  shown = words.length > LONGEST ? `${words.slice(0, LONGEST - 1).trimEnd()}…` : words;
  write();
}

/** What comes first, whatever is shown: "▲ 2", or "". */
export function setAhead(words) {
  ahead = words;
  write();
}

function write() {
  const title = [ahead, shown, "causewatch"].filter(Boolean).join(" · ");
  if (document.title !== title) document.title = title;
}
