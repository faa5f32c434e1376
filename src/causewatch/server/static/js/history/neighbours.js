/** The alarms raised right before and right after another one. */

import { get } from "../api.js";
import { seconds } from "../format.js";

/** Pages that are gone through at most; one may be empty although others follow. */
const MOST_PAGES = 10;

/** The alarm raised right before; null if it is the first. */
export async function before(alarm) {
  const raised = seconds(alarm.raised_at);
  if (raised === null) return null;
  let cursor;
  let passed = false;
  for (let k = 0; k < MOST_PAGES; k += 1) {
    const page = await get("/api/alarms", { until: raised, before: cursor, most: 20 });
    for (const one of page.alarms) {
      if (passed || seconds(one.raised_at) < raised) return one;
      if (one.id === alarm.id) passed = true;
    }
    if (page.next === null) return null;
    cursor = page.next;
  }
  return null;
}

/**
 * The alarm raised right after; null if it is the latest. The list comes latest first, so the one
 * wanted is at the end: pages are gone through, but not for ever.
 */
export async function after(alarm) {
  const raised = seconds(alarm.raised_at);
  if (raised === null) return null;
  let cursor;
  let last = null;
  for (let k = 0; k < MOST_PAGES; k += 1) {
    const page = await get("/api/alarms", { since: raised, before: cursor, most: 100 });
    for (const one of page.alarms) {
      if (one.id === alarm.id) return last;
      last = one;
    }
    if (page.next === null) return last;
    cursor = page.next;
  }
  return null;
}
