/** Filters of the history: read from and written to the address, sent to the server, applied to
 * alarms that arrive live. */

import { seconds } from "../format.js";
import { signalsOf } from "./words.js";

/**
 * The filters in an address: kind, on, signal, since, until, text, as the API calls them too.
 * What makes no sense is left out.
 */
export function readFilters(params) {
  const filters = {};
  const kind = params.get("kind");
  if (kind === "anomaly" || kind === "health") filters.kind = kind;
  const on = params.get("on");
  if (on === "true" || on === "false") filters.on = on;
  for (const name of ["signal", "text"]) {
    const value = (params.get(name) || "").trim();
    if (value !== "") filters[name] = value;
  }
  for (const name of ["since", "until"]) {
    const text = params.get(name);
    const value = text === null || text.trim() === "" ? NaN : Number(text);
    if (Number.isFinite(value)) filters[name] = value;
  }
  return filters;
}

/** Whether an alarm that arrives live belongs into a list with these filters; as the server decides. */
export function matches(alarm, filters) {
  if (filters.kind && alarm.kind !== filters.kind) return false;
  if (filters.on === "true" && alarm.cleared_at) return false;
  if (filters.on === "false" && !alarm.cleared_at) return false;
  if (filters.signal && !concerns(alarm, filters.signal)) return false;
  const raised = seconds(alarm.raised_at);
  const cleared = seconds(alarm.cleared_at);
  if (filters.since !== undefined && cleared !== null && cleared < filters.since) return false;
  if (filters.until !== undefined && raised !== null && raised > filters.until) return false;
  return !filters.text || searchText(alarm).includes(filters.text.toLowerCase());
}

function concerns(alarm, signal) {
  return (
    Object.hasOwn(alarm.signals || {}, signal) ||
    (alarm.causes || []).some((cause) => cause.signal === signal)
  );
}

function searchText(alarm) {
  const comments = (alarm.comments || []).map((remark) => remark.text);
  return [alarm.headline, alarm.id, ...signalsOf(alarm), ...comments].join("\n").toLowerCase();
}
