/**
 * What people may do with an alarm: acknowledge, shelve, comment, say that this was normal, and take
 * the last two back. Used by the Now view and the page of an alarm.
 */
import { announce } from "./announce.js";
import { post } from "./api.js";
import { ask } from "./dialog.js";
import { h, replace, text } from "./dom.js";
import { span } from "./format.js";
import { live } from "./live.js";
import { mayAct, nameField, who, whyNot } from "./who.js";

const SHELVES = [15 * 60, 3600, 4 * 3600, 8 * 3600, 24 * 3600, 7 * 24 * 3600];
const LONGEST_TEXT = 2000;

/**
 * The buttons of an alarm.
 *
 * @param {object} alarm
 * @param {object} [options]  `onDone(events)` is called with what the server answered.
 * @returns {HTMLElement}  Its `update(alarm)` shows the buttons that fit the alarm as it is now; the
 *   focus stays on the same button where that is still there.
 */
export function actionBar(alarm, { onDone } = {}) {
  if (!mayAct()) {
    const sentence = h("p", { class: "soft action-bar" }, whyNot());
    sentence.update = () => {};
    return sentence;
  }
  const buttons = h("div", { class: "row" });
  const problem = h("p", { class: "error", role: "alert", hidden: true });
  const bar = h("div", { class: "action-bar", role: "group", "aria-label": "What to do with this alarm" }, buttons, problem);
  let state = "";
  let current = alarm;

  const done = (events, said) => {
    announce(said);
    for (const event of events) live.take(event);
    onDone?.(events);
  };
  const act = async (action, body, said) => {
    const { events } = await post(`/api/alarms/${encodeURIComponent(current.id)}/${action}`, body);
    done(events ?? [], said);
    return true;
  };
  /** Do something that needs no dialog, but for a name that is not known yet. */
  const directly = async (button, action, title, verb, said) => {
    if (!who()) {
      const name = nameField();
      await ask({ title, content: [name.element], verb, run: () => act(action, { by: name.name() }, said) });
      return;
    }
    if (button.getAttribute("aria-disabled")) return;
    button.setAttribute("aria-disabled", "true");
    problem.hidden = true;
    try {
      await act(action, { by: who() }, said);
    } catch (error) {
      text(problem, error.message);
      problem.hidden = false;
    } finally {
      button.removeAttribute("aria-disabled");
    }
  };

  bar.update = (latest) => {
    current = latest;
    const wanted = fitting(latest);
    if (wanted.join() === state) return;
    state = wanted.join();
    const focused = buttons.contains(document.activeElement) ? document.activeElement.dataset.action : null;
    replace(buttons, wanted.map((name) => {
      const { words, title, start, primary } = ACTIONS[name];
      const button = h("button", { type: "button", class: primary ? "primary" : null, title, "data-action": name }, words);
      button.addEventListener("click", async () => {
        await start({ button, alarm: current, act, directly });
        refocus(bar, buttons, name);
      });
      return button;
    }));
    problem.hidden = true;
    if (focused) (buttons.querySelector(`[data-action="${focused}"]`) ?? buttons.firstElementChild)?.focus();
  };
  bar.update(alarm);
  return bar;
}

/** If the focus was lost because a button or the whole card is gone, put it where one goes on. */
function refocus(bar, buttons, name) {
  if (document.activeElement && document.activeElement !== document.body) return;
  const next = bar.isConnected
    ? buttons.querySelector(`[data-action="${name}"]`) ?? buttons.firstElementChild
    : document.getElementById("view");
  next?.focus({ preventScroll: true });
}

/** The actions that make sense for an alarm as it is. */
function fitting(alarm) {
  const on = !alarm.cleared_at;
  return [
    !alarm.acknowledged_by && "ack",
    on && !live.shelved(alarm) && "shelve",
    on && live.shelved(alarm) && "unshelve",
    "comment",
    // Limits can only be widened where there is evidence; a silent sensor has none.
    !alarm.normal && alarm.peak_score !== null && "normal",
    on && alarm.problem === "unlike" && "accept",
    alarm.normal && "undo",
  ].filter(Boolean);
}

function remark(words, required) {
  return h("label", { class: "field-tall" }, words, h("textarea", { name: "text", maxlength: LONGEST_TEXT, required }));
}

function said(label) {
  return label.querySelector("textarea").value.trim();
}

const ACTIONS = {
  ack: {
    words: "Acknowledge", primary: true,
    title: "Say that you have seen it; it stays on",
    start: ({ button, directly }) => directly(button, "ack", "Acknowledge the alarm", "Acknowledge", "The alarm is acknowledged."),
  },
  shelve: {
    words: "Shelve …",
    title: "Put it out of sight for a time",
    start: ({ act }) => {
      const name = nameField();
      const note = remark("Why (may be left empty)", false);
      const time = h("select", { name: "seconds" }, SHELVES.map((s) => h("option", { value: s, selected: s === 3600 }, span(s))));
      return ask({
        title: "Shelve the alarm",
        content: [
          h("p", null, "Nothing is raised for its signals until then. If it is still on after that, it is raised again."),
          h("label", { class: "field-tall" }, "For how long, on the plant's clock", time),
          note, name.element,
        ],
        verb: "Shelve",
        run: () => act("shelve", { by: name.name(), text: said(note), seconds: Number(time.value) }, "The alarm is shelved."),
      });
    },
  },
  unshelve: {
    words: "Take off the shelf",
    title: "Show it among the active alarms again",
    start: ({ button, directly }) => directly(button, "unshelve", "Take the alarm off the shelf", "Take off", "The alarm is off the shelf."),
  },
  comment: {
    words: "Comment …",
    title: "Write down what you know",
    start: ({ act }) => {
      const name = nameField();
      const note = remark("What you know or have done", true);
      return ask({
        title: "Comment on the alarm",
        content: [note, name.element],
        verb: "Add comment",
        run: () => {
          if (!said(note)) throw new Error("The comment is empty; write something or cancel.");
          return act("comment", { by: name.name(), text: said(note) }, "The comment is added.");
        },
      });
    },
  },
  normal: {
    words: "This was normal …",
    title: "Widen the limits so that this is not raised again",
    start: ({ alarm, act }) => {
      const name = nameField();
      const note = remark("Why this is normal (may be left empty)", false);
      const named = (alarm.causes ?? []).map((cause) => cause.signal);
      const names = named.length ? named : Object.keys(alarm.signals).slice(0, 1);
      const list = names.slice(0, 6).join(", ") + (names.length > 6 ? ` and ${names.length - 6} more` : "");
      return ask({
        title: "This was normal",
        content: [
          h("p", null, `The limits of the signals concerned (${list}) become wider, so that the same is not raised again`
            + `${alarm.cleared_at ? "." : ", and the alarm is cleared."} This can be taken back on the alarm's page.`),
          note, name.element,
        ],
        verb: "Widen the limits",
        run: () => act("normal", { by: name.name(), text: said(note) }, "The limits are wider now."),
      });
    },
  },
  accept: {
    words: "Accept as it is …",
    title: "Judge the signal from where it is now",
    start: ({ alarm, act }) => {
      const name = nameField();
      const note = remark("Why this is right (may be left empty)", false);
      return ask({
        title: "Accept the signal as it is",
        content: [
          h("p", null, `${Object.keys(alarm.signals).join(", ")} is judged from where it is now, with the limits that were learnt.`
            + " The other answer is to learn a new model from recordings that hold how it is now."),
          note, name.element,
        ],
        verb: "Accept",
        run: () => act("accept", { by: name.name(), text: said(note) }, "The signal is accepted as it is."),
      });
    },
  },
  undo: {
    words: "Was not normal after all",
    title: "Take “this was normal” back: the limits are as they were",
    start: ({ button, directly }) => directly(button, "undo", "Take “this was normal” back", "Take back", "The limits are as they were."),
  },
};
