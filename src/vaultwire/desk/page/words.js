// How the page says things: counts, times, states and names.

export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString()} ${number === 1 ? one : many}`;
}

export function nameOf(id) {
  return `${id.startsWith("p") ? "proposal" : "change"} ${id.slice(1)}`;
}

export function capital(text) {
  return text ? text[0].toUpperCase() + text.slice(1) : "";
}

// A client chooses names, also those with characters that are not seen or turn a text around: their numbers are shown.
const HIDDEN = /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\u{e0000}-\u{e0fff}]/gu;

export function plain(text) {
  return text.replace(HIDDEN, (each) => `[U+${each.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
}

export function baseName(path) {
  return plain((path ?? "").split("/").pop());
}

// "Plan.md", "Plan.md and 2 more": short enough for the name of a button.
export function subject(item) {
  const first = item.files?.[0];
  if (!first) return plain(item.label || item.summary || "");
  const more = (item.file_count ?? item.files.length) - 1;
  return baseName(first.to || first.path) + (more > 0 ? ` and ${more} more` : "");
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const dayLong = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const dayYear = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

export function timeOf(iso) {
  return clock.format(new Date(iso));
}

export function fullTime(iso) {
  return full.format(new Date(iso));
}

export function dayKey(iso) {
  const at = new Date(iso);
  return `${at.getFullYear()}-${at.getMonth() + 1}-${at.getDate()}`;
}

export function dayName(iso, now = new Date()) {
  const at = new Date(iso);
  const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
  const days = Math.round((midnight(now) - midnight(at)) / 86_400_000);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return (at.getFullYear() === now.getFullYear() ? dayLong : dayYear).format(at);
}

// A sign beside each word, so that colour is never the only one.
const STATES = {
  waiting: ["waits", "●", "Waits for you"],
  stale: ["stale", "!", "Stale: the note has changed since"],
  undone: ["undone", "↶", "Undone"],
  "undone in part": ["undone", "↶", "Undone in part"],
  accepted: ["kept", "✓", "Accepted"],
  "accepted as edited": ["kept", "✓", "Accepted as edited"],
  refused: ["refused", "×", "Refused"],
  withdrawn: ["refused", "–", "Withdrawn by its client"],
};

export function stateOf(item) {
  const known = STATES[item.state];
  if (known) return known;
  if (item.is_reviewed) return ["kept", "✓", "Kept"];
  return ["made", "○", "Not looked at yet"];
}

export function waits(item) {
  return item.state === "waiting" || item.state === "stale";
}

// What j, k and the end of an action look for: something the person has not decided yet.
export function isOpen(item) {
  return waits(item) || ((item.state === "made" || item.state === "undone in part") && !item.is_reviewed);
}

export function canKeep(item) {
  return !waits(item) && !item.is_reviewed && (item.state === "made" || item.state === "undone in part");
}

export function clientOf(item) {
  // A client chooses its name, but no tool: what the person does is done with the tool "desk".
  if (item.client === "you") return item.tool === "desk" ? "You" : "“you” (a client of this name)";
  return plain(item.client || "Unknown client");
}
