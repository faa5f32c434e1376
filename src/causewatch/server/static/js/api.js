/** Requests to this server. Answers are JSON; what went wrong comes as `ApiError` with a sentence. */

const UNREACHABLE = "The server cannot be reached.";
const TIMEOUT = 30_000;
const PROBE = 5_000;
const TURNED_AWAY = "You are no longer let in; reload to give another token.";

/**
 * Whether this page is still let in. Each request with a token that is not valid any more counts
 * against this address, until nobody there is let in: after the first refusal none is sent.
 */
export const door = { shut: false, onShut: () => {} };

/** Send nothing more; the page has to be loaded again. */
export function shutDoor() {
  if (door.shut) return;
  door.shut = true;
  door.onShut(TURNED_AWAY);
}

/** A request that failed. `status` is 0 where no answer came. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

/**
 * `path` with `params` as its query; null, undefined and "" are left out, arrays are repeated.
 * Serves links as well: `address("/signals", {signal: ["A", "B"]})`.
 */
export function address(path, params) {
  const query = new URLSearchParams();
  for (const [name, value] of params instanceof URLSearchParams ? params : Object.entries(params ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") query.append(name, String(one));
    }
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/**
 * Ask for something. `signal` (AbortSignal) ends the request; it then throws an AbortError.
 * `patience`: milliseconds to wait for the answer.
 */
export function get(path, params, { signal, patience } = {}) {
  return request("GET", address(path, params), null, signal, patience);
}

/** Why the server refuses to stream `path`: null if it does not; throws where it cannot be reached. */
export async function refused(path) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), PROBE);
  try {
    const answer = await fetch(path, { headers: { Accept: "text/event-stream" }, cache: "no-store", signal: stop.signal });
    return answer.ok ? null : refusal(answer.status, parsed(await answer.text()));
  } catch {
    throw new ApiError(0, UNREACHABLE);
  } finally {
    clearTimeout(timer);
    stop.abort(); // a stream that was granted is not wanted here
  }
}

/** Ask for a change. */
export function post(path, body, params) {
  return request("POST", address(path, params), JSON.stringify(body ?? {}));
}

/** Remove something. */
export function remove(path) {
  return request("DELETE", path, "{}");
}

/**
 * Upload `bytes` (Blob, File or buffer). `onProgress(share)` is told how much has gone out, which
 * only XMLHttpRequest can say.
 */
export function send(path, bytes, params, onProgress) {
  return new Promise((resolve, reject) => {
    if (door.shut) throw new ApiError(401, TURNED_AWAY);
    const request = new XMLHttpRequest();
    request.open("POST", address(path, params));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("Accept", "application/json");
    request.upload.onprogress = (event) => {
      if (onProgress && event.lengthComputable) onProgress(event.loaded / event.total);
    };
    request.onload = () => {
      const data = parsed(request.responseText);
      if (request.status >= 200 && request.status < 300 && data !== undefined) resolve(data);
      else reject(refusal(request.status, data));
    };
    request.onerror = () => reject(new ApiError(0, UNREACHABLE));
    request.onabort = () => reject(new ApiError(0, "The upload was stopped."));
    request.send(bytes);
  });
}

async function request(method, url, body, signal, patience = TIMEOUT) {
  if (door.shut) throw new ApiError(401, TURNED_AWAY);
  const headers = { Accept: "application/json" };
  if (body !== null) headers["Content-Type"] = "application/json";
  const limit = AbortSignal.timeout(patience);
  let status = 0;
  let words = "";
  try {
    const answer = await fetch(url, {
      method, headers, body, cache: "no-store", redirect: "error",
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    status = answer.status;
    words = await answer.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, limit.aborted ? "The server took too long to answer." : UNREACHABLE);
  }
  const data = parsed(words);
  if (status >= 200 && status < 300 && data !== undefined) return data;
  throw refusal(status, data);
}

/** The JSON in `words`; null for an empty answer; undefined if it is something else. */
function parsed(words) {
  if (words.trim() === "") return null;
  try {
    return JSON.parse(words);
  } catch {
    return undefined;
  }
}

function refusal(status, data) {
  if (status === 401) {
    shutDoor();
    return new ApiError(status, TURNED_AWAY);
  }
  if (data && typeof data.error === "string") return new ApiError(status, data.error);
  const known = {
    403: "Your token does not allow this.",
    404: "There is nothing at this address.",
    413: "That is larger than the server takes.",
    429: "Too many attempts; wait a minute.",
  };
  return new ApiError(status, known[status] ?? `The server answered with ${status} and no reason.`);
}
