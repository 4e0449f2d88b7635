// The page's one way to the server. Addresses are relative, so the page works below any path.

export class ApiError extends Error {
  constructor(status, code, message, details) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details ?? {};
  }
}

let csrf = "";

async function answered(response) {
  let body = null;
  try {
    body = await response.json();
  } catch {
    // Not from the desk: the status says enough.
  }
  if (response.ok && body !== null) return body;
  const error = body?.error ?? {};
  const words = response.status === 401
    ? "This page may not read the vault any more. Run “vaultwire desk” to open it again."
    : error.message ?? `The server answered with status ${response.status}.`;
  throw new ApiError(response.status, error.code ?? "", words, error.details);
}

async function asked(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", redirect: "error", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "NO_CONNECTION", "The server does not answer. Nothing was changed by this page.", {});
  }
  return answered(response);
}

export function address(name, params) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params ?? {})) {
    if (value !== "" && value !== null && value !== undefined) query.set(key, String(value));
  }
  const text = query.toString();
  return `api/${name}${text ? `?${text}` : ""}`;
}

export function get(name, params, signal) {
  return asked(address(name, params), { signal });
}

export async function start() {
  const told = await get("start");
  csrf = told.csrf;
  return told;
}

function send(name, body) {
  return asked(`api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Vaultwire-Desk": csrf },
    body: JSON.stringify(body),
  });
}

export async function post(name, body) {
  try {
    return await send(name, body);
  } catch (error) {
    // A server that was started again has a new token. It has refused this request, so asking again repeats nothing.
    if (error.status !== 403) throw error;
    const old = csrf;
    await start();
    if (csrf === old) throw error;
    return send(name, body);
  }
}

// News from the server, by one stream for all pages of this browser: a browser keeps few connections to one server, and a stream
// takes one for as long as its page is open. The page that holds the lock has the stream and tells the others. Where there are no
// locks (no TLS, another computer), a page has a stream of its own while it is seen.
export function listen({ onOpen, onLost, onChanged }) {
  const hear = { open: onOpen, lost: onLost, changed: onChanged };
  if (!navigator.locks) {
    let close = null;
    const look = () => {
      if (document.hidden) close = close?.();
      else close ??= stream((kind, news) => hear[kind](news));
    };
    document.addEventListener("visibilitychange", look);
    look();
    return;
  }
  const name = `vaultwire-desk ${location.pathname}`;
  const pages = new BroadcastChannel(name);
  let last = null; // what the page with the stream has told of the connection
  const tell = (kind, news) => {
    if (kind !== "changed") last = kind;
    hear[kind](news);
    pages.postMessage({ kind, news });
  };
  pages.addEventListener("message", ({ data }) => {
    if (data.kind !== "new page") hear[data.kind]?.(data.news);
    else if (last) pages.postMessage({ kind: last });
  });
  pages.postMessage({ kind: "new page" });
  navigator.locks.request(name, () => {
    stream(tell);
    return new Promise(() => {}); // held until the page is closed
  });
}

const RETRY_FIRST = 500;
const RETRY_LAST = 10_000;

// EventSource gives up when the server answers with an error, so this opens it again itself. Returns what ends it.
function stream(tell) {
  let source = null;
  let wait = RETRY_FIRST;
  let closed = false;
  const open = () => {
    if (closed) return;
    source = new EventSource("api/events");
    source.addEventListener("open", () => {
      wait = RETRY_FIRST;
      tell("open");
    });
    source.addEventListener("changed", (event) => tell("changed", JSON.parse(event.data)));
    source.addEventListener("error", () => {
      source.close();
      tell("lost");
      setTimeout(open, wait);
      wait = Math.min(wait * 2, RETRY_LAST);
    });
  };
  open();
  return () => {
    closed = true;
    source.close();
  };
}
