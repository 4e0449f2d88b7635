// The dialogs: why something could not be done and what could be, the reason of a refusal, and the keys.

import { advance } from "./acting.js";
import { html, useEffect, useRef, useState } from "./vendor/htm-preact-3.1.1.js";
import { count, nameOf, subject } from "./words.js";

const KEYS = [
  ["j", "Next change"], ["k", "Previous change"], ["n", "Next hunk"], ["p", "Previous hunk"],
  ["a", "Accept or keep (the hunk that has the focus, or the whole change)"], ["x", "Refuse or undo (the same)"], ["e", "Edit a proposal"],
  ["u", "Undo my last action on this page"], ["/", "Filter"], ["Esc", "Leave a field or dialog"], ["?", "These keys"],
];

// The browser keeps the focus inside, closes it with Esc, and gives the focus back.
function Box({ desk, title, children }) {
  const box = useRef(null);
  useEffect(() => {
    const element = box.current;
    element.showModal();
    return () => element.open && element.close();
  }, []);
  return html`<dialog ref=${box} aria-labelledby="dialog-title" onCancel=${(event) => { event.preventDefault(); desk.closeDialog(); }}>
    <h2 id="dialog-title">${title}</h2>${children}</dialog>`;
}

function Conflict({ desk, dialog }) {
  const { path, body, conflicts, possible } = dialog;
  const later = [...new Set(conflicts.flatMap((each) => each.changes ?? []).map((id) => (typeof id === "number" ? `c${id}` : id)))];
  const together = path === "decide" && body.action === "undo" && body.file === undefined && body.hunk === undefined && later.length ? [body.id, ...later] : null;
  const some = path === "decide_many" ? possible : [];
  return html`<${Box} desk=${desk} title=${path === "decide_many" ? `Not all of them can be ${body.action === "undo" ? "undone" : "kept"}` : body.action === "undo" ? "This cannot be undone alone" : "This is not possible now"}>
    ${path === "decide_many" && html`<p>${count(conflicts.length, "change")} of these cannot be ${body.action === "undo" ? "undone" : "kept"} now:</p>`}
    <ul class="conflicts">${conflicts.map((each, index) => html`<li key=${index}>${each.words}</li>`)}</ul>
    <p>Nothing was changed.</p>
    <div class="buttons">
      <button type="button" autofocus onClick=${() => desk.closeDialog()}>Leave all as it is</button>
      ${together && html`<button type="button" data-decides="together" onClick=${() => desk.decideMany({ ids: together, action: "undo" })}>Undo ${count(together.length, "change")} together</button>`}
      ${some.length > 0 && html`<button type="button" data-decides="possible" onClick=${() => desk.decideMany({ ids: some, action: body.action })}>${body.action === "undo" ? "Undo" : "Keep"} the ${some.length} that can be ${body.action === "undo" ? "undone" : "kept"}</button>`}
    </div></${Box}>`;
}

function Refuse({ desk, item }) {
  const [reason, setReason] = useState("");
  const clicks = useRef(0); // 0 if it was pressed by key
  const refuse = (event) => {
    event.preventDefault();
    return advance(desk, item, { detail: clicks.current }, () => desk.decide({ id: item.id, action: "refuse", reason: reason.trim() }));
  };
  return html`<${Box} desk=${desk} title=${`Refuse ${nameOf(item.id)}: ${subject(item)}`}>
    <form onSubmit=${refuse}>
      <p><label for="reason">Reason (optional). ${item.client || "The client"} is told.</label></p>
      <input id="reason" type="text" maxlength="1000" autocomplete="off" autofocus value=${reason} onInput=${(event) => setReason(event.target.value)} />
      <div class="buttons"><button type="button" onClick=${() => desk.closeDialog()}>Cancel</button>
      <button type="submit" class="primary" data-decides=${`${item.id} refuse`} onClick=${(event) => { clicks.current = event.detail; }}>Refuse</button></div></form></${Box}>`;
}

function Help({ desk }) {
  return html`<${Box} desk=${desk} title="Keys">
    <dl class="keys">${KEYS.map(([key, words]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${words}</dd></div>`)}</dl>
    <div class="buttons"><button type="button" autofocus onClick=${() => desk.closeDialog()}>Close</button></div></${Box}>`;
}

export function Dialogs({ desk, state }) {
  const { dialog } = state;
  if (!dialog) return null;
  if (dialog.kind === "conflict") return html`<${Conflict} desk=${desk} dialog=${dialog} />`;
  if (dialog.kind === "refuse") return html`<${Refuse} key=${dialog.item.id} desk=${desk} item=${dialog.item} />`;
  return html`<${Help} desk=${desk} />`;
}
