/** The alarms that are loaded, latest raised first, with the cursor to those before them. */

import { get } from "../api.js";
import { seconds } from "../format.js";
import { matches } from "./query.js";

const PAGE = 100;

export class AlarmList {
  constructor(filters) {
    this.filters = filters;
    this.byId = new Map();
    this.sorted = null; // made when it is asked for: many alarms may change at once
    this.next = null;
    this.loaded = false;
  }

  /** Load the latest page; what was loaded before stays and is brought up to date. */
  async refresh() {
    const page = await this.fetch(null);
    const known = page.alarms.some((alarm) => this.byId.has(alarm.id));
    if (!this.loaded || (!known && page.next !== null)) {
      // Nothing in common: there would be a hole between the two, so start anew.
      this.byId.clear();
      this.next = page.next;
    }
    this.loaded = true;
    for (const alarm of page.alarms) this.byId.set(alarm.id, alarm);
    this.sorted = null;
  }

  /** Load the page before the oldest alarm that is loaded. */
  async more() {
    if (this.next === null) return;
    const page = await this.fetch(this.next);
    for (const alarm of page.alarms) this.byId.set(alarm.id, alarm);
    this.next = page.next;
    this.sorted = null;
  }

  /**
   * Take an alarm that arrived live.
   * @returns "new", "changed", "gone" (it no longer fits the filters) or null (not of this list).
   */
  take(alarm) {
    const known = this.byId.has(alarm.id);
    if (!matches(alarm, this.filters)) {
      if (!known) return null;
      this.byId.delete(alarm.id);
      this.sorted = null;
      return "gone";
    }
    if (!known && !this.reaches(alarm)) return null;
    this.byId.set(alarm.id, alarm);
    this.sorted = null;
    return known ? "changed" : "new";
  }

  /** Whether an alarm would stand within the loaded part: older ones come with their page. */
  reaches(alarm) {
    if (!this.loaded) return false;
    return this.next === null || this.oldest === null || seconds(alarm.raised_at) >= this.oldest;
  }

  /** Raise time of the oldest alarm that is loaded; null if there is none. */
  get oldest() {
    const last = this.alarms.at(-1);
    return last ? seconds(last.raised_at) : null;
  }

  fetch(before) {
    return get("/api/alarms", { ...this.filters, before: before ?? undefined, most: PAGE });
  }

  /** The alarms, latest raised first. */
  get alarms() {
    if (this.sorted === null) {
      const raised = new Map([...this.byId.values()].map((one) => [one, seconds(one.raised_at) ?? 0]));
      this.sorted = [...raised.keys()].sort(
        (one, other) => raised.get(other) - raised.get(one) || (one.id < other.id ? 1 : -1),
      );
    }
    return this.sorted;
  }
}
