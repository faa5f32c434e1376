/**
 * Who may stream. Browsers open about six connections to one server, and a stream keeps one for
 * good: a seventh window would get no answer at all. So only some of the windows stream at a time;
 * the others ask now and then, and take over when one is closed.
 */

const MOST = 4;

/**
 * A place among those that stream: a function that gives it back, or null if there is none. Where
 * the browser knows no locks (plain http from another machine), everybody gets one.
 */
export async function takeSlot() {
  if (!navigator.locks) return () => {};
  for (let k = 0; k < MOST; k += 1) {
    const release = await attempt(`causewatch-stream-${k}`);
    if (release) return release;
  }
  return null;
}

function attempt(name) {
  return new Promise((tell) => {
    const hold = (lock) => (lock ? new Promise((release) => tell(release)) : tell(null));
    navigator.locks.request(name, { ifAvailable: true }, hold).catch(() => tell(() => {}));
  });
}
