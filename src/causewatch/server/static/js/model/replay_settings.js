/** What a replay did otherwise than the watch does. */

import * as format from "../format.js";

const ticks = (n) => format.counted(n, "tick");
const times = (x) => `${format.number(x)} ×`;
const NAMES = {
  limit: ["limit", (x) => `${format.number(x)} × the one learnt`],
  raise_after: ["raised after", ticks],
  clear_after: ["cleared after", ticks],
  clear_below: ["cleared below", times],
  merge_within: ["opened again within", ticks],
  join_within: ["an alarm of its own after", ticks],
  health_after: ["unwell for", ticks],
};

/** In one line: "raised after 3 ticks (the watch: 1 tick)", or that nothing was different. */
export function differences(settings, inForce) {
  const parts = Object.entries(NAMES)
    .filter(([name]) => typeof settings?.[name] === "number" && settings[name] !== inForce[name])
    .map(([name, [title, write]]) => {
      const own = inForce[name];
      return `${title} ${write(settings[name])}${typeof own === "number" ? ` (the watch: ${name === "limit" ? format.number(own) : write(own)})` : ""}`;
    });
  return parts.length ? parts.join(", ") : "with the settings in force";
}
