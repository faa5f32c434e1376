/** The events of /api/live and what they carry, for people who write programs. */

import { h } from "../dom.js";

const EVENTS = [
  ["hello", "Everything that is known now, as /api/now gives it. It comes first, and again whenever you have fallen"
    + " behind: replace all you know. Another boot says that the server was restarted; then ask for /api/plant again.",
  `{"boot": "59c0…", "n": 3600, "t": 1773071990.0, "time": "2026-03-09T15:59:50",
 "score": 0.475, "alarm": false,
 "values": [881.8, …], "expected": [863.7, …], "evidence": [0.31, null, …],
 "alarms": [ALARM, …], "status": STATUS}`],
  ["ticks", "New ticks, at most 20 times a second. Arrays are in the order of the signals of /api/plant; null is"
    + " unknown. n counts the ticks so far, skipped those that were left out to save room.",
  `{"n": 3602, "at": 1794852000.1, "skipped": 0,
 "ticks": [[t, score, alarm 0 or 1, [values], [expected], [evidence]], …]}`],
  ["alarm", "An alarm was raised, updated, cleared, acknowledged or shelved. Each event repeats the whole alarm, as"
    + " /api/alarms gives it; cleared_at is null while it is on.",
  `{"id": "d1ade4ec53bb", "event": "raised", "time": "…", "kind": "anomaly" or "health",
 "raised_at": "…", "cleared_at": null, "onset": "…", "peak_score": 12.3, "headline": "…",
 "abstained": false, "causes": [{"signal", "score", "confidence"}, …],
 "broken_links": [{"source", "target", "lag", "normal", "observed", "deviation"}, …],
 "signals": {"LIT101": 1.8, …}, "problem": null or "frozen", …,
 "acknowledged_by": null, "acknowledged_at": null, "shelved_until": null,
 "comments": [{"by", "time", "text"}, …], "merged": 0, "normal": false}`],
  ["status", "How the watch stands, about once a second.",
    `{"clock": "utc", "rows": 3600, "ticks": 3600, "pace": 1.0, "lag": 0.4, "source": "…",
 "away": false, "trouble": "", "ended": false, "problems": {"out_of_order": 2},
 "unwell": {"LIT101": {"state": "frozen", "since": "…", "detail": "…"}},
 "peaks": {"d1ade4ec53bb": 12.3}, "viewers": 1}`],
];

/** The section about them. */
export function eventsSection() {
  return h(
    "section", { "aria-labelledby": "events-of-live" },
    h("h2", { id: "events-of-live" }, "Events of /api/live"),
    h("p", null, "A stream of server-sent events (text/event-stream): lines ", h("code", null, "event: NAME"), " and ",
      h("code", null, "data: JSON"), ", then an empty one. Times t are seconds on the clock of the recording; a score or"
      + " evidence of 1 is the limit."),
    h("pre", { class: "api-example", tabindex: "0" }, `curl -N -H "Authorization: Bearer TOKEN" ${window.location.origin}/api/live`),
    h("dl", { class: "api-events" }, EVENTS.map(([name, says, payload]) => [
      h("dt", null, h("code", null, name)),
      h("dd", null, h("p", null, says), h("pre", { class: "api-example", tabindex: "0", role: "region", "aria-label": `What ${name} carries` }, payload)),
    ])),
  );
}
