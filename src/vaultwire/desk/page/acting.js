// What the parts of the page that decide have in common.

import { html } from "./vendor/htm-preact-3.1.1.js";
import { waits } from "./words.js";

export const READ_ONLY = "This server only reads (--read-only), so it cannot write notes. You can keep changes and refuse proposals, but not undo or accept.";

// A button that decides. It stays where it is and keeps the focus when it may not be pressed. `writes`: it changes notes, which a
// read-only server does not do.
export function Act({ desk, state, words, name, about, off = false, writes = false, primary = false, keys = null, onAct }) {
  const isRefused = writes && state.readOnly;
  const isOff = off || isRefused || !state.online || state.busy;
  return html`<button type="button" class=${primary ? "primary" : null} data-decides=${about} aria-disabled=${isOff ? "true" : null} aria-label=${name} aria-keyshortcuts=${keys}
    onClick=${(event) => { if (isRefused) desk.say(READ_ONLY, true); else if (off) desk.say(`${name}: not possible now.`); else if (!isOff || desk.canAct()) onAct(event); }}>
    ${words}${keys && html` <kbd aria-hidden="true">${keys}</kbd>`}</button>`;
}

export function isText(file) {
  return file.action !== "remove" && file.action !== "move" && ["note", "canvas", "text"].includes(file.kind);
}

// A stale file can be edited where there is a text with both versions.
export function canEdit(file) {
  return isText(file) && file.can_edit !== false;
}

// After what waits comes the next that waits. Of other changes, a click stays on the change; a key goes on to the next that is
// open, with the focus where it was. Returns the id that it went to, true if it stayed.
export async function advance(desk, item, event, action) {
  const next = desk.nextOpen(item.id);
  const done = await action();
  const byKey = !event || event.detail === 0;
  if (!done) return false;
  const waiting = waits(item) ? await desk.showWaiting() : null;
  if (waiting) return waiting;
  if (byKey && next) desk.go(next.id);
  return (byKey && next?.id) || true;
}
