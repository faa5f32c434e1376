/** What screen readers are told: new and cleared alarms, and results of actions. */
import { live } from "./live.js";

const region = document.getElementById("announcer");
let waiting = [];
let timer = 0;

/** Say a sentence, politely. Sentences that come together are said together. */
export function announce(sentence) {
  waiting.push(sentence);
  if (timer) return;
  timer = setTimeout(() => {
    timer = 0;
    region.textContent = waiting.slice(-3).join(" ");
    waiting = [];
  }, 150);
}

/** Tell of alarms as they are raised and cleared; updates of an alarm are not news. */
export function watchAlarms() {
  live.addEventListener("alarm", ({ detail: alarm }) => {
    if (alarm.event === "raised") announce(`New alarm: ${alarm.headline}`);
    if (alarm.event === "cleared") announce(`Alarm over: ${alarm.headline}`);
  });
}
