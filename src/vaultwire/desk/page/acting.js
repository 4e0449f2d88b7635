// What the parts of the page that decide have in common.

import { html } from "./vendor/htm-preact-3.1.1.js";

// A button that decides. It stays where it is and keeps the focus when it may not be pressed.
export function Act({ desk, state, words, name, about, off = false, primary = false, keys = null, onAct }) {
  const isOff = off || !state.online || state.busy;
  return html`<button type="button" class=${primary ? "primary" : null} data-decides=${about} aria-disabled=${isOff ? "true" : null} aria-label=${name} aria-keyshortcuts=${keys}
    onClick=${(event) => { if (off) desk.say(`${name}: not possible now.`); else if (!isOff || desk.canAct()) onAct(event); }}>
    ${words}${keys && html` <kbd aria-hidden="true">${keys}</kbd>`}</button>`;
}

export function isText(file) {
  return file.action !== "remove" && file.action !== "move" && ["note", "canvas", "text"].includes(file.kind);
}

// A click stays on the change; a key goes on to the next that is open, with the focus where it was.
export async function advance(desk, item, event, action) {
  const next = desk.nextOpen(item.id);
  const done = await action();
  const byKey = !event || event.detail === 0;
  if (done && byKey && next) desk.go(next.id);
  return done;
}
