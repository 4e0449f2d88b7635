// Talks with the host of an MCP App: JSON-RPC by postMessage (SEP-1865, 2026-01-26). It knows nothing of what is shown.

const PROTOCOL = "2026-01-26";
const DARK = "prefers-color-scheme";
// Our colours that the host's own stand in for, where it gives them.
const STYLES = {
  "--paper": "--color-background-primary", "--ground": "--color-background-primary", "--ink": "--color-text-primary", "--soft": "--color-text-secondary",
  "--line": "--color-border-primary", "--prose": "--font-sans", "--mono": "--font-mono",
};

let last = 0;
const waiting = new Map();
const handlers = new Map();
let abilities = {};

function send(message) {
  parent.postMessage({ jsonrpc: "2.0", ...message }, "*"); // the host's origin is not known here
}

function request(method, params) {
  last += 1;
  const id = last;
  send({ id, method, params });
  return new Promise((done, failed) => waiting.set(id, { done, failed }));
}

function answer({ id, method, params }) {
  if (method === "ui/resource-teardown" || method === "ping") send({ id, result: {} });
  else send({ id, error: { code: -32601, message: `Method not found: ${method}` } });
  handlers.get(method)?.(params ?? {});
}

function receive(event) {
  const message = event.data;
  if (event.source !== parent || message?.jsonrpc !== "2.0") return;
  if (message.method && message.id !== undefined) answer(message);
  else if (message.method) handlers.get(message.method)?.(message.params ?? {});
  else if (waiting.has(message.id)) {
    const { done, failed } = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) failed(new Error(String(message.error.message)));
    else done(message.result);
  }
}

// The host's theme counts, not that of the computer: rules of the styles for dark are switched by hand.
const themeHeard = new EventTarget();
let theme = null;
const asked = globalThis.matchMedia.bind(globalThis);
globalThis.matchMedia = (query) => {
  if (!query.includes(DARK) || theme === null) return asked(query);
  themeHeard.media = query;
  return themeHeard;
};
Object.defineProperty(themeHeard, "matches", { get: () => theme === "dark" });

function wear(context) {
  if (context.theme === "light" || context.theme === "dark") {
    theme = context.theme;
    document.documentElement.style.colorScheme = theme;
    document.documentElement.dataset.theme = theme;
    for (const sheet of document.styleSheets) {
      for (const rule of sheet.cssRules) {
        if (rule instanceof CSSMediaRule && (rule.isDark || rule.conditionText.includes(DARK))) {
          rule.isDark = true;
          rule.media.mediaText = theme === "dark" ? "all" : "not all";
        }
      }
    }
    themeHeard.dispatchEvent(new Event("change"));
  }
  for (const [ours, theirs] of Object.entries(STYLES)) {
    const value = context.styles?.variables?.[theirs];
    if (typeof value === "string") document.documentElement.style.setProperty(ours, value);
  }
}

// A frame cannot see how high its content would like to be, so the host is told.
function tellSize() {
  const box = document.documentElement;
  const tell = () => send({ method: "ui/notifications/size-changed", params: { width: Math.ceil(box.getBoundingClientRect().width), height: Math.ceil(box.getBoundingClientRect().height) } });
  const watch = new ResizeObserver(tell);
  watch.observe(box);
  return () => watch.disconnect();
}

// Begins the conversation. `onResult` gets the result of the call that opened the view, perhaps more than once.
export async function begin({ onResult, onCancelled, onEnd }) {
  addEventListener("message", receive);
  handlers.set("ui/notifications/tool-result", onResult);
  handlers.set("ui/notifications/tool-cancelled", onCancelled);
  handlers.set("ui/notifications/host-context-changed", wear);
  const told = await request("ui/initialize", { appInfo: { name: "vaultwire", version: "1" }, appCapabilities: {}, protocolVersion: PROTOCOL });
  abilities = told?.hostCapabilities ?? {};
  wear(told?.hostContext ?? {});
  send({ method: "ui/notifications/initialized", params: {} });
  const rest = tellSize();
  handlers.set("ui/resource-teardown", () => { rest(); onEnd(); });
}

export function canCallTools() {
  return Boolean(abilities.serverTools);
}

export function textOf(result) {
  return (result?.content ?? []).filter((each) => each.type === "text").map((each) => each.text).join("\n");
}

// Returns the result of a tool. A failure is an Error with the words of the tool, or of the host.
export async function callTool(name, args) {
  if (!canCallTools()) throw new Error("This client does not let a view ask the vault.");
  const result = await request("tools/call", { name, arguments: args });
  if (result?.isError) throw new Error(textOf(result));
  return result;
}

export async function openLink(url) {
  if (!abilities.openLinks) throw new Error("This client opens no links.");
  const result = await request("ui/open-link", { url });
  if (result?.isError) throw new Error("The client did not open it.");
}
