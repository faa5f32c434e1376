/**
 * The state of the plant as the server tells it, kept up to date for all views.
 *
 * One stream of server-sent events serves the whole page. If it breaks, the page reconnects by
 * itself; the server then begins with "hello", which replaces all state, and views fetch what they
 * missed. A page nobody looks at gives its connection back after a minute (browsers allow few to
 * one server) and asks every few seconds instead, so that alarms still reach its title; so does a page
 * for which the server has no live view left. A page that is no longer let in asks for nothing more.
 */
import { door, get, refused, shutDoor } from "./api.js";
import { seconds, setClock, time } from "./format.js";
import { STREAM } from "./health.js";
import { takeSlot } from "./slots.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 5_000;
/** The server sends its status every second; after so long without a word the stream is dead. */
const SILENCE = 15_000;
const HIDDEN_AFTER = 60_000;
const HIDDEN_EVERY = 10_000;
/** How often a window asks that has found no place to stream, in this browser or at the server. */
const ASK_EVERY = 2_000;
const FULL_EVERY = 5_000;

class Live extends EventTarget {
  plant = null;
  session = null;
  /** "connecting", "live" or "lost". */
  connection = "connecting";
  /** Why the connection is lost: a sentence; "" otherwise. */
  reason = "";
  /** Whether the server no longer lets this page in; nothing but loading it again helps. */
  turnedAway = false;
  /** When the connection was lost (`performance.now()`); null while it is there. */
  lostAt = null;
  /** What is known now; `alarms` are those that are on, by id. */
  now = {
    n: 0, t: null, time: null, score: null, alarm: false, values: [], expected: [], evidence: [],
    alarms: new Map(), status: null,
  };

  #places = new Map();
  #stream = null;
  #release = null;
  #turn = 0;
  #wait = FIRST_WAIT;
  #timer = 0;
  #silence = 0;
  #hiddenTimer = 0;
  #polling = 0;
  #queue = null;
  #losses = 0;
  #full = false;
  #peaks = new Map();

  /** Connect, and stay connected. Resolves once plant and session are loaded. */
  start() {
    door.onShut = (reason) => this.#turnAway(reason);
    document.addEventListener("visibilitychange", () => this.#seen());
    addEventListener("online", () => this.retry());
    // A page kept for the back button comes back with a dead stream.
    addEventListener("pageshow", (event) => event.persisted && this.#again());
    this.#open();
    return new Promise((resolve) => {
      if (this.plant) resolve();
      else this.addEventListener("hello", () => resolve(), { once: true });
    });
  }

  /** Whether the last tick known is one of an earlier run of the watch: none has come since. */
  get resumed() {
    return this.now.n === 0 && this.now.t !== null;
  }

  /** Whether rows have stopped coming, so that what is known is no longer of now. */
  get quiet() {
    const { status } = this.now;
    return Boolean(status?.ended || status?.away || status?.unwell[STREAM]?.state === "silent");
  }

  /** Place of a signal in all arrays, or -1. */
  index(name) {
    return this.#places.get(name) ?? -1;
  }

  /** Alarms that are on: anomalies first, then the latest raised. */
  alarms() {
    return [...this.now.alarms.values()].sort(
      (a, b) => (a.kind === "anomaly" ? 0 : 1) - (b.kind === "anomaly" ? 0 : 1)
        || (seconds(b.raised_at) ?? 0) - (seconds(a.raised_at) ?? 0),
    );
  }

  /** Whether an alarm is shelved at the time the stream has come to. */
  shelved(alarm) {
    const until = seconds(alarm.shelved_until);
    return until !== null && (this.now.t === null || until > this.now.t);
  }

  /**
   * The largest score of an alarm so far, or the largest evidence of one of its signals; null if
   * there is none. An alarm that is on is told anew only now and then; in between its peak comes with
   * the status, that of a signal with its evidence. (The score is not always the largest evidence:
   * that of a signal which is no longer as learnt counts for less.)
   */
  peak(alarm, signal = null) {
    const told = signal === null ? alarm.peak_score : alarm.signals[signal];
    if (alarm.cleared_at) return told;
    const since = signal === null ? this.now.status?.peaks?.[alarm.id] : this.#peaks.get(alarm.id)?.get(signal);
    const known = [told, since].filter((one) => Number.isFinite(one));
    return known.length ? Math.max(...known) : null;
  }

  /** Take over an alarm that an answer brought, unless the stream is there to bring it itself. */
  take(alarm) {
    if (this.connection !== "live" || !this.#stream) this.#alarm(alarm);
  }

  /** Try at once to connect again. */
  retry() {
    if (this.connection !== "live" || !this.#stream) this.#again();
  }

  #again() {
    this.#wait = FIRST_WAIT;
    this.#open();
  }

  async #open() {
    clearTimeout(this.#timer);
    this.#close();
    if (this.turnedAway) return;
    const turn = this.#turn;
    const release = await takeSlot();
    if (turn !== this.#turn) {
      release?.();
      return;
    }
    if (!release) {
      this.#ask();
      return;
    }
    this.#release = release;
    const stream = new EventSource("/api/live");
    this.#stream = stream;
    const on = (name, handle) =>
      stream.addEventListener(name, (event) => {
        if (this.#stream !== stream) return;
        this.#heard();
        let data;
        try {
          data = JSON.parse(event.data);
        } catch {
          this.#lost("The server sent something this page does not understand; load it again.");
          return;
        }
        if (this.#queue) this.#queue.push([handle, data]);
        else handle.call(this, data);
      });
    on("hello", (data) => {
      this.#full = false;
      return this.#hello(data);
    });
    on("ticks", this.#ticks);
    on("alarm", this.#alarm);
    on("status", this.#status);
    stream.onerror = () => this.#stream === stream && this.#lost();
    this.#heard();
  }

  /** Too many windows stream already: ask instead, and look again for a place. */
  async #ask(every = ASK_EVERY) {
    const turn = this.#turn;
    try {
      const data = await get("/api/now");
      if (turn !== this.#turn) return; // a stream has come meanwhile and knows better
      await this.#hello(data);
    } catch (error) {
      if (error.status === 403) shutDoor();
      if (turn === this.#turn) this.#lost(error.message);
      return;
    }
    if (turn === this.#turn) this.#timer = setTimeout(() => this.#open(), every);
  }

  #close() {
    clearTimeout(this.#silence);
    this.#turn += 1;
    this.#release?.();
    this.#release = null;
    this.#queue = null;
    this.#stream?.close();
    this.#stream = null;
  }

  #heard() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#lost("The server has fallen silent."), SILENCE);
  }

  /** The stream ended or never began: say why, and try again later. */
  async #lost(reason = "") {
    if (this.turnedAway) return;
    const loss = ++this.#losses;
    this.#close();
    const turn = this.#turn;
    clearTimeout(this.#timer);
    if (reason || !this.#full) this.#connected("lost", reason || this.reason || "The connection to the server broke.");
    if (!reason) {
      // A stream does not say why it was refused; a plain request for the same does. It comes before
      // the next try: a token that is no longer valid must not be sent again and again.
      const why = await refused("/api/live").catch((error) => error);
      if (why?.status === 403) shutDoor();
      if (this.turnedAway || loss !== this.#losses || turn !== this.#turn) return;
      this.#full = why?.status === 503;
      if (this.#full) {
        this.#ask(FULL_EVERY);
        return;
      }
      if (why) this.#connected("lost", why.message);
    }
    this.#timer = setTimeout(() => this.#open(), this.#wait * (0.8 + 0.4 * Math.random()));
    this.#wait = Math.min(LONGEST_WAIT, this.#wait * 2);
  }

  /** The server lets this page in no more: nothing is tried again. */
  #turnAway(reason) {
    this.turnedAway = true;
    this.#close();
    for (const timer of [this.#timer, this.#hiddenTimer]) clearTimeout(timer);
    clearInterval(this.#polling);
    this.#connected("lost", reason);
  }

  #connected(state, reason = "") {
    if (state === this.connection && reason === this.reason) return;
    this.connection = state;
    this.lostAt = state === "lost" ? this.lostAt ?? performance.now() : null;
    this.reason = reason;
    this.#tell("connection", { connection: state, reason });
  }

  async #hello(data) {
    if (!this.plant || this.plant.boot !== data.boot) {
      const stream = this.#stream;
      this.#queue = []; // what comes while the plant loads is taken up afterwards, in order
      try {
        const [plant, session] = await Promise.all([get("/api/plant"), get("/api/session")]);
        if (this.#stream !== stream) return;
        if (plant.boot !== data.boot) throw new Error("The server was restarted meanwhile.");
        const again = this.plant !== null;
        this.plant = plant;
        this.session = session;
        this.#places = new Map(plant.signals.map((signal, k) => [signal.name, k]));
        setClock(plant.clock, () => this.now.t);
        if (again) this.#tell("plant", plant);
      } catch (error) {
        if (this.#stream === stream) this.#lost(error.message);
        return;
      }
    }
    this.#wait = FIRST_WAIT;
    this.now = { ...data, alarms: new Map(data.alarms.map((alarm) => [alarm.id, alarm])) };
    this.now.status = known(data.status);
    for (const id of this.#peaks.keys()) if (!this.now.alarms.has(id)) this.#peaks.delete(id);
    for (const alarm of this.now.alarms.values()) this.#seePeak(alarm);
    const otherwise = this.#settle(data.clock);
    this.#connected("live");
    this.#tell("hello", data);
    if (otherwise) this.#tell("clock", data.clock);
    const queue = this.#queue ?? [];
    this.#queue = null;
    for (const [handle, later] of queue) {
      if (this.#queue) this.#queue.push([handle, later]); // a hello among them loads a plant again
      else handle.call(this, later);
    }
  }

  #ticks(data) {
    const last = data.ticks.at(-1);
    if (last) {
      const [t, score, alarm, values, expected, evidence] = last;
      Object.assign(this.now, { n: data.n, t, time: time(t), score, alarm: Boolean(alarm), values, expected, evidence });
      if (data.peaks && this.now.status) this.now.status.peaks = data.peaks;
      for (const one of this.now.alarms.values()) this.#seePeak(one);
    }
    this.#tell("ticks", data);
  }

  #alarm(alarm) {
    if (alarm.cleared_at) {
      this.now.alarms.delete(alarm.id);
      this.#peaks.delete(alarm.id);
    } else {
      this.now.alarms.set(alarm.id, alarm);
      this.#seePeak(alarm);
    }
    this.#tell("alarm", alarm);
  }

  #status(status) {
    this.now.status = known(status);
    const otherwise = this.#settle(status.clock);
    this.#tell("status", status);
    if (otherwise) this.#tell("clock", status.clock);
  }

  /**
   * Take over what times count, which is known for certain from the first row on only; gives whether
   * that is something else than what was shown so far.
   */
  #settle(clock) {
    if (!clock || clock === this.plant.clock) return false;
    this.plant.clock = clock;
    setClock(clock);
    return true;
  }

  #seePeak(alarm) {
    if (alarm.kind !== "anomaly") return;
    if (!this.#peaks.has(alarm.id)) this.#peaks.set(alarm.id, new Map());
    const seen = this.#peaks.get(alarm.id);
    for (const name of Object.keys(alarm.signals)) {
      const evidence = this.now.evidence[this.index(name)] ?? null;
      if (evidence !== null && !(evidence <= seen.get(name))) seen.set(name, evidence);
    }
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  #seen() {
    clearTimeout(this.#hiddenTimer);
    clearInterval(this.#polling);
    if (this.turnedAway) return;
    if (document.visibilityState === "hidden") {
      this.#hiddenTimer = setTimeout(() => this.#stepBack(), HIDDEN_AFTER);
    } else if (!this.#stream) {
      this.#again();
    }
  }

  /** Nobody looks: no stream, but alarms and status every few seconds. */
  #stepBack() {
    this.#losses += 1; // nobody waits for the stream any more
    clearTimeout(this.#timer);
    this.#close();
    this.#polling = setInterval(() => this.#poll(), HIDDEN_EVERY);
  }

  async #poll() {
    let data;
    try {
      data = await get("/api/now");
    } catch (error) {
      if (error.status === 403) shutDoor();
      if (!this.turnedAway) this.#connected("lost", error.message);
      return;
    }
    if (this.#stream) return; // somebody looks again
    if (data.boot !== this.plant?.boot) {
      clearInterval(this.#polling);
      this.#open(); // another run of the server: its hello puts everything right
      this.#seen();
      return;
    }
    this.#connected("live");
    const before = this.now.alarms;
    this.now = { ...data, alarms: new Map(data.alarms.map((alarm) => [alarm.id, alarm])) };
    this.now.status = known(data.status);
    const otherwise = this.#settle(data.clock);
    for (const alarm of data.alarms) {
      const old = before.get(alarm.id);
      if (!old || old.time !== alarm.time || old.event !== alarm.event) this.#tell("alarm", alarm);
    }
    this.#tell("status", data.status);
    if (otherwise) this.#tell("clock", data.clock);
  }
}

/** A status in which only what was said is found, also for a signal that is called "constructor". */
function known(status) {
  return { ...status, unwell: Object.assign(Object.create(null), status.unwell) };
}

export const live = new Live();
